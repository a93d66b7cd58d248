"""A preconditioner that does not help is dropped, and one that helps is kept; the solution is right in both cases."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from condrank.base.measured import TRIAL_ITERATIONS
from condrank.objective.relations import ORDINARY
from condrank.observations.edges import Edges
from condrank.solvers import dual
from condrank.solvers.dual import DualSystem, solve_dual
from condrank.solvers.dual_plan import RankPlan
from condrank.solvers.edge_preconditioner import EdgePreconditioner, EdgeSpectrum
from reference import loss_named, naive_scores

N = 30


def drawn():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 2))
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=-1))
    sources, targets = rng.integers(0, N, size=(2, 600))
    edges = Edges(sources, targets, rng.normal(size=600), None, (N, N))
    return K, edges, DualSystem.kronecker(ORDINARY, loss_named("regression"), K, None, edges)


class Adversary(EdgePreconditioner):
    """Definite, but with eigenvalues over twelve decades that have nothing to do with the system."""

    calls = 0

    def at(self, alpha):
        scales = 10 ** np.random.default_rng(0).uniform(-6, 6, self.system.edges.n_pairs)

        def inverse(c):
            self.calls += 1
            return scales * c

        return inverse


def planned(monkeypatch, system, kind, expected=20.0):
    """Make the plan of "auto" build this preconditioner and promise these iterations."""
    made = kind(system, EdgeSpectrum(ORDINARY, system.kernel.K, system.kernel.G, 20), 100, 0.1)
    plan = RankPlan(system, None, 0.1, (0, 100), np.array([100.0, expected]), np.array([2.0, 1.0]), 100)
    monkeypatch.setattr(RankPlan, "build", lambda self: made)
    monkeypatch.setattr(dual, "plan_preconditioner", lambda *args, **kwargs: plan)
    return made


def test_an_adversary_is_dropped_and_the_solution_is_right(monkeypatch):
    K, edges, system = drawn()
    made = planned(monkeypatch, system, Adversary)
    watched = []
    a, found = solve_dual(system, 0.1, tol=1e-10, watch=lambda count, a: watched.append(count) or False)
    assert made.calls == TRIAL_ITERATIONS + 1
    assert found.converged
    assert found.n_iter == watched[-1] == len(set(watched))
    options = {"relation": "ordinary", "loss": "regression", "weights": edges.weights}
    expected = naive_scores(K, edges.sources, edges.indices, edges.values, 0.1, **options)
    assert_allclose(system.kernel.predict(a), expected, rtol=1e-6, atol=1e-7)


def test_a_watch_that_stops_at_the_end_of_the_trial_stops(monkeypatch):
    _, _, system = drawn()
    planned(monkeypatch, system, Adversary)
    found = solve_dual(system, 0.1, tol=1e-10, watch=lambda count, a: count == TRIAL_ITERATIONS + 1)[1]
    assert not found.converged
    assert found.n_iter == TRIAL_ITERATIONS + 1


def test_the_most_iterations_include_the_trial(monkeypatch):
    _, _, system = drawn()
    planned(monkeypatch, system, Adversary)
    most = TRIAL_ITERATIONS + 3
    found = solve_dual(system, 0.1, tol=1e-10, max_iter=most)[1]
    assert not found.converged
    assert found.n_iter == most


@pytest.mark.parametrize("tol", [1e-4, 1e-10])
def test_one_that_helps_is_kept(monkeypatch, tol):
    _, _, system = drawn()
    planned(monkeypatch, system, EdgePreconditioner)
    helped = solve_dual(system, 0.1, tol=tol)[1]
    plain = solve_dual(system, 0.1, tol=tol, preconditioner=None)[1]
    assert helped.converged
    assert helped.n_iter < plain.n_iter / 2
