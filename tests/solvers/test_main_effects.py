"""The preconditioner of main effects: definite, near the inverse of what it stands for, and chosen for constants."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from builders import known_in_blocks
from condrank.objective.relations import RELATIONS
from condrank.observations.edges import Edges
from condrank.solvers import main_effects
from condrank.solvers.dual import DualSystem, solve_dual
from condrank.solvers.dual_plan import plan_preconditioner
from condrank.solvers.main_effects import MainEffects, largest
from reference import loss_named, naive_scores

LOSSES = ["regression", "ranking", "intercept"]


def drawn(relation, loss, *, n=40, n_edges=600, constant=1.0, two_domains=False, uneven=False, seed=0):
    """A narrow kernel plus a constant, on random edges with weights; nodes are drawn unevenly if asked for."""
    rng = np.random.default_rng(seed)
    m = n - 7 if two_domains else n
    K, G = (np.exp(-(((X := rng.normal(size=(size, 6)))[:, None] - X) ** 2).sum(axis=-1)) + constant for size in (n, m))
    sources, targets = ((size * rng.random(n_edges) ** (3 if uneven else 1)).astype(int) for size in (n, m))
    weights = rng.uniform(0.5, 2, n_edges)
    edges = Edges(sources, targets, rng.normal(size=n_edges), weights, (n, m))
    system = DualSystem.kronecker(RELATIONS[relation], loss_named(loss), K, G if two_domains else None, edges)
    return system, K, G


def as_matrix(operator, size):
    return np.array([operator(unit) for unit in np.eye(size)]).T


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("relation", list(RELATIONS))
def test_it_is_symmetric_definite_and_improves_the_condition(relation, loss, uneven):
    system, _, _ = drawn(relation, loss, uneven=uneven)
    size = system.edges.n_pairs
    inverse = as_matrix(MainEffects(system).at(0.5), size)
    # Its factor is in single precision.
    assert_allclose(inverse, inverse.T, atol=1e-6 * np.abs(inverse).max())
    assert np.linalg.eigvalsh(inverse)[0] > 0
    A = as_matrix(lambda c: system.apply(c, 0.5), size)
    root = np.linalg.cholesky(inverse)
    # The few strongest may stay: conjugate gradients take one step for each.
    plain, better = np.linalg.eigvalsh(A), np.linalg.eigvalsh(root.T @ A @ root)
    assert better[-4] / better[0] < 0.5 * plain[-4] / plain[0]


@pytest.mark.parametrize("two_domains", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("relation", list(RELATIONS))
def test_scores_are_those_of_the_naive_twin_in_fewer_iterations(relation, loss, two_domains):
    if two_domains and relation != "ordinary":
        pytest.skip("one domain only")
    system, K, G = drawn(relation, loss, two_domains=two_domains)
    edges = system.edges
    options = {"relation": relation, "loss": loss, "weights": edges.weights}
    options |= {"K_domain": G} if two_domains else {}
    expected = naive_scores(K, edges.sources, edges.indices, edges.values, 0.5, **options)
    _, plain = solve_dual(system, 0.5, tol=1e-10, preconditioner=None)
    a, found = solve_dual(system, 0.5, tol=1e-10, preconditioner=MainEffects(system))
    assert found.converged
    assert found.n_iter < 0.75 * plain.n_iter
    assert_allclose(system.kernel.predict(a), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("relation", "constant"), [("ordinary", 12.0), ("symmetric", 7.0)])
def test_a_strong_constant_is_left_out_for_single_precision(relation, constant, monkeypatch):
    """Where nothing centres the constant away, P would need the digits of double precision if it held all of it."""
    system, _, _ = drawn(relation, "regression", constant=constant, n_edges=1200)
    factored, n_iter = [], {}
    monkeypatch.setattr(main_effects, "largest", lambda M: factored.append(M.dtype) or largest(M))
    for kept in (1.0, main_effects.KEPT):
        monkeypatch.setattr(main_effects, "KEPT", kept)
        a, found = solve_dual(system, 0.5, tol=1e-8, preconditioner=MainEffects(system))
        assert found.converged
        n_iter[kept] = found.n_iter
        assert_allclose(a, solve_dual(system, 0.5, tol=1e-10, preconditioner=None)[0], atol=1e-6 * np.abs(a).max())
    assert factored == [np.float32, np.float64, np.float32]
    assert n_iter[main_effects.KEPT] < 1.7 * n_iter[1.0]


def test_it_is_planned_for_a_constant_only():
    large = {"n": 150, "n_edges": 6000}
    with_constant, _, _ = drawn("symmetric", "ranking", constant=1.0, **large)
    without, _, _ = drawn("symmetric", "ranking", constant=0.0, **large)
    assert isinstance(plan_preconditioner(with_constant, 1.0).build(), MainEffects)
    assert plan_preconditioner(without, 1.0).build() is None


@pytest.mark.parametrize(("uneven", "effects"), [(0.0, False), (1.0, True), (4.0, True)])
def test_it_is_planned_where_pairs_are_known_in_blocks(uneven, effects):
    """Wide kernels have a constant part. Mean squares expect few plain iterations: right on random pairs only."""
    graph = known_in_blocks(1400, 160, 0.3, uneven)
    K, G = (rbf_kernel(nodes.rows, gamma=0.05) for nodes in (graph.nodes, graph.objects))
    system = DualSystem.kronecker(RELATIONS["ordinary"], loss_named("regression"), K, G, graph.relation)
    plan = plan_preconditioner(system, 1.0, 1e-4)
    assert plan.uneven == (uneven > 0)
    assert isinstance(plan.build(), MainEffects) == effects
    if effects:
        _, plain = solve_dual(system, 1.0, tol=1e-4, preconditioner=None)
        _, found = solve_dual(system, 1.0, tol=1e-4)
        assert 0.5 < plan.iterations[0] / plain.n_iter < 2
        assert 0.5 < plan.expected / found.n_iter < 2
        assert found.n_iter < 0.75 * plain.n_iter


def test_idle_nodes_and_single_edges_are_allowed():
    edges = Edges(np.array([0, 0, 3]), np.array([1, 2, 1]), np.array([1.0, -1.0, 0.5]), None, (9, 9))
    K = np.eye(9) + 1
    for relation in RELATIONS:
        system = DualSystem.kronecker(RELATIONS[relation], loss_named("ranking"), K, None, edges)
        a, found = solve_dual(system, 0.1, tol=1e-10, preconditioner=MainEffects(system))
        assert found.converged
        assert_allclose(a, solve_dual(system, 0.1, tol=1e-12, preconditioner=None)[0], atol=1e-8)
