"""The dual solver on any graph: ties, loops, repeated edges, rows of one edge, singular kernels."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from condrank.objective.relations import RELATIONS
from condrank.observations.edges import Edges
from condrank.solvers.dual import DualSystem, solve_dual
from condrank.solvers.edge_preconditioner import EdgePreconditioner, EdgeSpectrum
from drawn_graphs import graphs
from reference import loss_named, naive_scores


@given(
    graph=graphs(),
    relation=st.sampled_from(sorted(RELATIONS)),
    loss=st.sampled_from(["regression", "ranking", "intercept"]),
    backend=st.sampled_from(["numba", "numpy"]),
    t=st.integers(0, 12),
)
@settings(max_examples=120, deadline=None)
def test_the_dual_solution_of_any_graph_equals_the_naive_twin(graph, relation, loss, backend, t):
    K, sources, targets, values, weights = graph
    n = len(K)
    expected = naive_scores(K, sources, targets, values, 1.0, relation=relation, loss=loss, weights=weights)
    edges = Edges(sources, targets, values, weights, (n, n))
    system = DualSystem.kronecker(RELATIONS[relation], loss_named(loss), K, None, edges, backend)
    spectrum = EdgeSpectrum(RELATIONS[relation], K, K, 4)
    preconditioner = EdgePreconditioner(system, spectrum, t, 1.0) if t and len(spectrum.strengths) else None
    a, found = solve_dual(system, 1.0, tol=1e-12, max_iter=500, preconditioner=preconditioner)
    assert found.converged
    scale = max(1.0, np.abs(expected).max())
    assert_allclose(system.kernel.predict(a), expected, atol=1e-6 * scale)
