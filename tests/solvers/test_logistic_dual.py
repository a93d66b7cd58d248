"""Newton's steps over the edges."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from condrank import ConditionalRanker, RelationGraph
from condrank.solvers.system import Options
from reference import error
from reference_games import games, ranker

# Repeated games between two nodes need not end alike, and a ranker warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


def test_steps_over_the_edges_converge_from_afar():
    fitted = ranker(0.1, solver="dual").fit(games())
    system = fitted.fitted_.system
    start = np.random.default_rng(6).normal(size=fitted.fitted_.model.W.shape) * 300
    found = system.solve(0.1, Options(1e-10, start=start))
    assert found.converged
    assert 3 < found.n_iter < 50
    np.testing.assert_allclose(found.W, fitted.fitted_.model.W, atol=1e-7 * np.abs(fitted.fitted_.model.W).max())


def test_steps_over_the_edges_are_preconditioned(monkeypatch):
    """With the low-rank preconditioner, which is made anew while the weights still change."""
    for name, value in (
        ("STEP_FLOPS", 0),
        ("PRECONDITIONER_BUILD_FLOPS_PER_FEATURE", 0),
        ("LOOK_LEAST_COST_RATIO", 0),
        ("PRECONDITIONER_COST_SHARE", 1),
    ):
        monkeypatch.setattr(f"condrank.solvers.dual_plan.{name}", value)
    rng = np.random.default_rng(7)
    nodes = rng.normal(size=(250, 4))
    first, second = np.nonzero(np.triu(rng.random((250, 250)) < 0.2, 1))
    won = np.where(rng.random(len(first)) < expit(2 * nodes[first, 0] - 2 * nodes[second, 0]), 1.0, -1.0)
    graph = RelationGraph.from_edges(nodes, first, second, won)
    params = {"gamma": 0.02, "constant": True}
    primal, dual = (ranker(0.01, solver=solver, **params).fit(graph) for solver in ("primal", "dual"))
    assert dual.fitted_.system._preconditioner is not None
    assert error(dual.predict(nodes), primal.predict(nodes)) < 1e-6
    np.testing.assert_allclose(dual.strengths(nodes), primal.strengths(nodes), atol=1e-5)


def test_steps_over_the_edges_are_seen_and_can_be_the_last():
    seen = []

    def watch(number, a):
        seen.append((number, a.copy()))
        return number == 2

    system = ranker(0.01, solver="dual").fit(games()).fitted_.system
    found = system.solve(0.01, Options(1e-10, watch=watch))
    assert [number for number, _ in seen] == [1, 2]
    assert (found.n_iter, found.converged) == (2, False)
    np.testing.assert_array_equal(found.W, seen[1][1])
    assert np.abs(seen[0][1] - seen[1][1]).max() > 0


def test_single_precision_ends_when_only_rounding_is_left():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    first, second = rng.integers(0, 300, size=(2, 3000))
    graph = RelationGraph.from_edges(X, first, second, np.sign(X[first, 0] - X[second, 1]), probabilities=False)
    ranker = ConditionalRanker("reciprocal", "logistic", 1e-3, kernel="rbf", gamma=0.3, constant=True, solver="dual")
    with pytest.warns(ConvergenceWarning, match="no convergence"):
        ranker.fit(graph)
    assert ranker.n_iter_ < 100
