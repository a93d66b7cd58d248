"""The shortcuts against retraining, on nodes with ties, duplicates, zero columns and singular kernels."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import reference_shortcuts as twins
from condrank import RelationGraph
from condrank.kernels import read_kernel
from condrank.model_selection.shortcuts import LeaveEdgeOut, LeaveNodeOut, LeaveQueryOut
from condrank.objective.relations import get_relation
from condrank.observations import Complete
from condrank.problem.coordinates import fit_coordinates
from condrank.solvers.closed_form import ClosedForm
from reference import loss_named, loss_options

SHORTCUTS = {
    LeaveQueryOut: twins.leave_query_out,
    LeaveNodeOut: twins.leave_node_out,
    LeaveEdgeOut: twins.leave_edge_out,
}


def numbers(rows, columns):
    return arrays(np.int64, (rows, columns), elements=st.integers(-4, 4)).map(lambda M: M / 2)


@settings(max_examples=40)
@given(
    st.sampled_from(list(SHORTCUTS)),
    st.sampled_from(["ordinary", "symmetric", "reciprocal"]),
    st.sampled_from(["regression", "ranking", "intercept"]),
    st.sampled_from([1e-4, 1e-2, 1.0, 100.0]),
    st.data(),
)
def test_every_shortcut_equals_retraining(shortcut, relation, loss, share, data):
    n, d = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 6))
    X, Y = data.draw(numbers(n, d)), data.draw(numbers(n, n))
    constant = data.draw(st.booleans())
    kernel = read_kernel(data.draw(st.sampled_from(["linear", "rbf"])), gamma=0.3, constant=constant)
    assume(constant or (X != 0).any())
    rows = fit_coordinates(kernel, RelationGraph(X, Y, probabilities=False).nodes)
    K = rows.similarity(None, None)
    alpha = share * np.linalg.eigvalsh(K)[-1] ** 2
    prior = data.draw(st.sampled_from([0.0, 0.5])) if relation != "reciprocal" else 0.0
    assume((relation, loss) != ("reciprocal", "intercept"))
    options, observed = loss_options(loss), Complete(Y)
    system = ClosedForm(get_relation(relation), loss_named(loss), rows, rows, observed, prior)
    found = shortcut(system, observed, prior).scores(alpha)
    expected = SHORTCUTS[shortcut](K, Y, alpha, relation=relation, **options, prior_weight=prior)
    scale = max(np.abs(expected).max(), np.abs(Y).max())
    assert np.abs(found - expected).max() <= 1e-8 * scale
