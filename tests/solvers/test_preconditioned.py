"""The preconditioned iteration on incomplete graphs: its products, how fast it is, paths and convergence."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import reference
from condrank import ConditionalRanker, RelationGraph
from condrank.kernels import read_kernel
from condrank.nodes import ExactKernel, ExplicitFeatures, Nodes
from condrank.objective.losses import get_loss
from condrank.objective.relations import RELATIONS
from condrank.observations import Edges
from condrank.solvers.krylov import krylov
from condrank.solvers.primal import PrimalSystem
from condrank.solvers.system import Options
from reference import error
from reference_incomplete import (
    EVERYONE,
    GAMMA,
    NEW,
    TOL,
    N,
    X,
    edge_list,
    fit,
    holes,
    kernels,
    losses,
    models,
    naive,
)

# Labels of no particular form: only their symmetric or skew part can be learned, and a ranker warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")

# Edges without anything to learn


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_single_edge_of_a_conditioning_node_has_nothing_to_rank(relation, dense):
    labels = holes(0.5)
    labels[3] = np.nan
    alone = labels.copy()
    alone[3, 6] = 50.0
    without, with_edge = (system(labels, relation, "ranking", dense) for labels in (labels, alone))
    np.testing.assert_allclose(with_edge.rhs, without.rhs, atol=1e-12)
    W = np.random.default_rng(5).normal(size=without.rhs.shape)
    np.testing.assert_allclose(with_edge.apply(W, 0.1), without.apply(W, 0.1), atol=1e-12)
    for solver in ("primal", "explicit"):
        rankers = [fit(RelationGraph(X, given), relation, solver=solver) for given in (labels, alone)]
        assert error(rankers[1].predict(NEW), rankers[0].predict(NEW)) < 1e-7
    if relation != "reciprocal":  # regression learns from it
        rankers = [fit(RelationGraph(X, given), relation, "regression") for given in (labels, alone)]
        assert error(rankers[1].predict(NEW), rankers[0].predict(NEW)) > 1e-2


@losses
@pytest.mark.parametrize("relation", RELATIONS)
def test_labels_that_are_all_zero_take_no_iteration(relation, loss):
    labels = np.where(np.isnan(holes(0.5)), np.nan, 0.0)
    ranker = fit(RelationGraph(X, labels), relation, loss)
    assert ranker.n_iter_ == 0
    np.testing.assert_array_equal(ranker.predict(NEW), 0)


# The system itself


def system(labels, relation="ordinary", loss="ranking", dense=None, kernel="rbf", weights=None, nodes=X):
    sources, targets, y = edge_list(labels)
    edges = Edges(sources, targets, y, weights, labels.shape)
    if kernel == "linear":
        rows = ExplicitFeatures(read_kernel("linear"), Nodes(nodes))
    else:
        rows = ExactKernel(read_kernel("rbf", GAMMA), Nodes(nodes))
    return PrimalSystem(RELATIONS[relation], get_loss(loss), rows, rows, edges, dense=dense)


def naive_product(Z, W, weights, relation, loss, alpha):
    """Π[Zᵀ L(ZWZᵀ) Z] + λW, row by row and entry by entry."""
    F = Z @ W @ Z.T
    M = np.zeros((len(W), len(W)))
    for i in range(len(F)):
        total = weights[i].sum()
        mean = weights[i] @ F[i] / total if loss == "ranking" and total else 0.0
        for j in range(len(F)):
            M += weights[i, j] * (F[i, j] - mean) * np.outer(Z[i], Z[j])
    sign = reference.SIGNS[relation]
    return (M + sign * M.T) / (2 if sign else 1) + alpha * W


@kernels
@models
def test_dense_and_sampled_products_equal_the_naive_one(relation, loss, kernel):
    labels = holes(0.4)
    labels[2] = np.nan
    n_pairs = int((~np.isnan(labels)).sum())
    rng = np.random.default_rng(10)
    weights = rng.uniform(0.1, 3, n_pairs)
    all_weights = np.zeros((N, N))
    all_weights[~np.isnan(labels)] = weights
    dense, sampled = (system(labels, relation, loss, d, kernel, weights) for d in (True, False))
    assert (dense.dense, sampled.dense) == (True, False)
    W = RELATIONS[relation].project(rng.normal(size=dense.rhs.shape))
    expected = naive_product(dense.Z, W, all_weights, relation, loss, 0.3)
    assert error(dense.apply(W, 0.3), expected) < 1e-12
    assert error(sampled.apply(W, 0.3), expected) < 1e-12
    np.testing.assert_array_equal(dense.rhs, sampled.rhs)
    assert dense.density == pytest.approx(weights.sum() / N**2)
    solutions = [one.solve(0.3, Options(TOL)) for one in (dense, sampled)]
    assert error(solutions[0].W, solutions[1].W) < 1e-8
    residual = expected_residual(solutions[0].W, dense, all_weights, relation, loss)
    assert residual < 2 * TOL


def expected_residual(W, one, weights, relation, loss):
    """Relative residual, by the naive product."""
    return np.linalg.norm(naive_product(one.Z, W, weights, relation, loss, 0.3) - one.rhs) / np.linalg.norm(one.rhs)


def test_products_are_dense_from_a_share_of_observed_pairs_on():
    assert system(holes(0.5)).dense
    labels = np.full((N, N), np.nan)
    labels[0, :6] = 1.0
    assert not system(labels).dense


# How fast


@models
def test_few_iterations_are_enough_where_plain_cg_needs_many(relation, loss):
    rng = np.random.default_rng(11)
    n = 300
    nodes, labels = rng.normal(size=(n, 3)), rng.normal(size=(n, n))
    sign = reference.SIGNS[relation]
    labels = (labels + sign * labels.T) / (2 if sign else 1)
    graph = RelationGraph(nodes, np.where(rng.random((n, n)) < 0.9, labels, np.nan))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        ranker = ConditionalRanker(relation, loss, 0.01, "rbf", gamma=0.1, solver="primal", tol=1e-8).fit(graph)
    assert 1 <= ranker.n_iter_ <= 30
    one = ranker.fitted_.system
    plain = krylov(lambda W: one.apply(W, 0.01), one.rhs, tol=1e-8, max_iter=5 * ranker.n_iter_ - 1)
    assert not plain.converged
    assert np.linalg.norm(one.apply(ranker.coef_, 0.01) - one.rhs) <= 2e-8 * np.linalg.norm(one.rhs)


def test_the_tolerance_is_a_relative_residual():
    graph = RelationGraph(X, holes(0.5))
    counts = []
    for tol in (1e-2, 1e-5, 1e-9, 0.0):
        ranker = fit(graph, alpha=1e-3, tol=tol)
        one = ranker.fitted_.system
        residual = np.linalg.norm(one.apply(ranker.coef_, 1e-3) - one.rhs) / np.linalg.norm(one.rhs)
        assert residual <= max(1.01 * tol, 1e-13)
        counts.append(ranker.n_iter_)
    assert counts == sorted(set(counts))


# Paths


@models
def test_a_path_equals_separate_fits(relation, loss):
    graph = RelationGraph(X, holes(0.5))
    alphas = [1e-2, 1.0, 30.0, 1e-3]
    ranker = fit(graph, relation, loss)
    before = ranker.predict(NEW)
    for solver in ("primal", "explicit"):
        rankers = list(fit(graph, relation, loss, solver=solver).path(alphas))
        assert [one.alpha_ for one in rankers] == alphas
        for alpha, one in zip(alphas, rankers, strict=True):
            expected = naive(edge_list(holes(0.5)), alpha, relation=relation, loss=loss)
            assert error(one.predict(EVERYONE, EVERYONE), expected) < 1e-6
            assert one.alpha == alpha
    np.testing.assert_array_equal(ranker.predict(NEW), before)


def test_a_path_starts_from_the_solution_before():
    ranker = fit(RelationGraph(X, holes(0.5)), alpha=0.1)
    again, near = ranker.path([0.1, 0.100001])
    assert again.n_iter_ == 0
    assert 1 <= near.n_iter_ < ranker.n_iter_
    with pytest.raises(ValueError, match=r"alphas must be a finite number greater than 0, got -1"):
        next(ranker.path([1.0, -1]))


# Convergence


def test_a_path_of_too_few_iterations_warns():
    graph = RelationGraph(X, holes(0.5))
    ranker = fit(graph, alpha=100.0, max_iter=12)  # enough for this one
    with pytest.warns(ConvergenceWarning, match="no convergence"):
        list(ranker.path([1e-5]))


def test_few_edges_that_do_not_converge_can_be_solved_at_once():
    graph = RelationGraph(X, holes(0.5))
    few = {"kernel": "rbf", "gamma": GAMMA, "alpha": 1e-6, "max_iter": 2}
    advice = rf"or solve the {graph.n_edges} edges directly with solver='explicit'"
    with pytest.warns(ConvergenceWarning, match=advice):
        ConditionalRanker(solver="dual", **few).fit(graph)
    ConditionalRanker(solver="explicit", **few).fit(graph)
    for other in ({"solver": "primal"}, {"pairwise_kernel": "linear"}):
        with pytest.warns(ConvergenceWarning) as seen:
            ConditionalRanker(**few, **other).fit(graph)
        assert not any("explicit" in str(one.message) for one in seen)


@models
def test_too_few_iterations_warn(relation, loss):
    graph = RelationGraph(X, holes(0.5))
    with pytest.warns(ConvergenceWarning, match=r"no convergence to tol=1e-10 in 2 iterations; raise max_iter") as seen:
        ranker = ConditionalRanker(relation, loss, 1e-3, "rbf", gamma=GAMMA, tol=TOL, solver="primal", max_iter=2).fit(
            graph
        )
    assert ranker.n_iter_ == 2
    assert np.isfinite(ranker.predict(NEW)).all()
    # The caller's line is shown.
    assert [w.filename for w in seen if w.category is ConvergenceWarning] == [__file__]


@pytest.mark.parametrize(("relation", "sign"), [("symmetric", 1), ("reciprocal", -1)])
@pytest.mark.parametrize("seed", [5, 7, 10])
def test_a_small_alpha_stays_in_the_relation_and_converges(relation, sign, seed):
    """Rounding errors outside of W = ±Wᵀ grew by orders of magnitude from one iteration to the next."""
    rng = np.random.default_rng(seed)
    nodes, new = rng.standard_normal((8, 3)), rng.standard_normal((3, 3))
    nodes[1] = nodes[0]
    sources, targets = rng.integers(0, 7, (2, 40))
    labels = rng.integers(-2, 3, (8, 8)).astype(float)
    labels = (labels + sign * labels.T)[sources, targets]
    ranker = ConditionalRanker(relation, "ranking", 1e-7, "rbf", solver="primal", tol=1e-12, max_iter=3000)
    ranker.fit(RelationGraph.from_edges(nodes, sources, targets, labels))
    assert ranker.n_iter_ < 3000
    np.testing.assert_array_equal(ranker.coef_, sign * ranker.coef_.T)

    def K(one, other):
        return reference.kernel_values("rbf", one, other)

    options = {"relation": relation, "loss": "ranking", "K_queries": K(new, nodes), "K_objects": K(new, nodes)}
    expected = reference.naive_scores(K(nodes, nodes), sources, targets, labels, 1e-7, **options)
    np.testing.assert_allclose(ranker.predict(new, new), expected, atol=1e-5 * np.abs(expected).max())
