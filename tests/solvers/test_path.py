"""Paths of λ on incomplete graphs: the solutions of separate fits, in every model, and where starts come from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from condrank import ConditionalRanker, RelationGraph
from condrank.objective.losses import QUADRATIC, get_loss
from condrank.objective.relations import RELATIONS
from condrank.observations.edges import Edges
from condrank.solvers.dual import DualSystem
from condrank.solvers.dual_path import PathSplit, solve_dual_path
from condrank.solvers.path import Starts
from condrank.solvers.system import Options
from drawn_graphs import graphs
from reference import naive_scores
from reference_incomplete import GAMMA, RNG, X, holes, losses, models

ALPHAS = [1.0, 0.1, 30.0, 0.3]


@pytest.mark.filterwarnings("ignore:relation=")
@models
@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize("constant", [False, True])
def test_a_path_gives_the_models_of_separate_fits(relation, loss, solver, constant):
    params = {"kernel": "rbf", "gamma": GAMMA, "tol": 1e-10, "solver": solver, "constant": constant}
    if relation != "reciprocal":
        params["prior"] = "similarity"
    graph = RelationGraph(X, holes(0.5))
    ranker = ConditionalRanker(relation, loss, 1.0, **params).fit(graph)
    found = list(ranker.path(ALPHAS))
    assert [one.alpha_ for one in found] == ALPHAS
    for one in found:
        alone = ConditionalRanker(relation, loss, one.alpha_, **params).fit(graph)
        assert_allclose(one.predict(X), alone.predict(X), atol=1e-7)


@losses
@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_a_path_of_two_domains_gives_the_models_of_separate_fits(loss, solver):
    objects = RNG.normal(size=(9, 3))
    graph = RelationGraph(X, holes(0.6)[:, :9], objects=objects)
    params = {"kernel": "rbf", "gamma": GAMMA, "tol": 1e-10, "solver": solver, "loss": loss}
    for one in ConditionalRanker(**params).fit(graph).path(ALPHAS):
        alone = ConditionalRanker(alpha=one.alpha_, **params).fit(graph)
        assert_allclose(one.predict(X, objects), alone.predict(X, objects), atol=1e-7)


@given(
    graph=graphs(),
    relation=st.sampled_from(sorted(RELATIONS)),
    loss=st.sampled_from([one.name for one in QUADRATIC]),
    shared=st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_the_path_of_any_graph_equals_the_naive_twin(graph, relation, loss, shared):
    K, sources, targets, values, weights = graph
    edges = Edges(sources, targets, values, weights, (len(K), len(K)))
    system = DualSystem.kronecker(RELATIONS[relation], get_loss(loss), K, None, edges)
    alphas = np.array([0.5, 20.0, 2.0])
    found = dict(solve_dual_path(system, edges.values, alphas, Options(1e-11, 500), split=PathSplit(shared, None)))
    for place, alpha in enumerate(alphas):
        expected = naive_scores(K, sources, targets, values, alpha, relation=relation, loss=loss, weights=weights)
        assert found[place].converged
        assert_allclose(system.kernel.predict(found[place].W), expected, atol=1e-6 * max(1.0, np.abs(expected).max()))


def test_a_start_is_exact_if_the_solution_is_a_combination_of_others():
    rng = np.random.default_rng(0)
    A = np.diag([1.0, 5.0, 20.0])
    b = rng.normal(size=3)
    starts = Starts(b, tol=1e-14)
    assert starts.at(1.0) is None
    for alpha in (100.0, 0.5, 3.0, 10.0):
        starts.add(alpha, np.linalg.solve(A + alpha * np.eye(3), b))
    # Three solutions span the space.
    assert_allclose(starts.at(0.01), np.linalg.solve(A + 0.01 * np.eye(3), b), rtol=1e-6)


def test_rough_solutions_give_no_worse_start_than_the_last_of_them():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(40, 40))
    A, b, tol = F @ F.T, rng.normal(size=40), 1e-3
    starts, last = Starts(b, tol), b
    for alpha in (100.0, 30.0, 10.0):
        noise = rng.normal(size=40)
        noise *= tol * np.linalg.norm(b) / np.linalg.norm(noise)
        last = np.linalg.solve(A + alpha * np.eye(40), b + noise)
        starts.add(alpha, last)
    size = [np.linalg.norm(A @ x + 3 * x - b) for x in (starts.at(3.0), last)]
    assert size[0] < size[1]
