"""Incomplete graphs: the preconditioned iteration and the edge-wise baseline against the naive twin."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import reference
from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import ConditionalRanker, RelationGraph
from condrank.nodes import ExactKernel, ExplicitFeatures, NodeKernel, Nodes
from condrank.objective.relations import RELATIONS
from condrank.observations import Edges
from condrank.solvers.krylov import krylov
from condrank.solvers.preconditioned import PrimalSystem
from condrank.solvers.solution import Iteration
from reference import naive_observed

LOSSES = ("regression", "ranking")
SOLVERS = ("primal", "iterative", "auto", "explicit")
TOL = 1e-10
N = 12
GAMMA = 0.3

# Labels of no particular form: only their symmetric or skew part can be learned, of which a ranker warns.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")

models = pytest.mark.parametrize(("relation", "loss"), [(r, loss) for r in RELATIONS for loss in LOSSES])
kernels = pytest.mark.parametrize("kernel", ["linear", "rbf"])
losses = pytest.mark.parametrize("loss", LOSSES)

RNG = np.random.default_rng(0)
X, NEW, Y = RNG.normal(size=(N, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=(N, N)) + 2
EVERYONE = np.vstack([X, NEW])


def holes(observed, seed=1):
    """Y with a share of its entries observed; "no loops": all but the diagonal."""
    if observed == "no loops":
        return np.where(np.eye(N, dtype=bool), np.nan, Y)
    return np.where(np.random.default_rng(seed).random((N, N)) < observed, Y, np.nan)


def values(kernel, first, second):
    return reference.kernel_values(kernel, first, second, gamma=GAMMA)


def scaled(share, K, K_objects=None):
    """λ as a share of the largest eigenvalue of the edge kernel."""
    return share * np.linalg.eigvalsh(K)[-1] * np.linalg.eigvalsh(K if K_objects is None else K_objects)[-1]


def error(found, expected):
    """Largest difference relative to the largest expected value."""
    assert found.shape == expected.shape
    return np.abs(found - expected).max() / np.abs(expected).max()


def as_dense(M):
    """The dual solver keeps its coefficients sparse."""
    return M.toarray() if sparse.issparse(M) else M


def edge_list(labels):
    sources, targets = np.nonzero(~np.isnan(labels))
    return sources, targets, labels[sources, targets]


def fit(graph, relation="ordinary", loss="ranking", alpha=0.1, kernel="rbf", **params):
    params = {"gamma": GAMMA, "tol": TOL, "solver": "primal", **params}
    return ConditionalRanker(relation, loss, alpha, kernel, **params).fit(graph)


def naive(edges, alpha, kernel="rbf", nodes=X, constant=0.0, **options):
    """Naive scores between all nodes, training ones first."""
    K = values(kernel, nodes, nodes) + constant
    K_all = values(kernel, np.vstack([nodes, NEW]), nodes) + constant
    return reference.naive_scores(K, *edges, alpha, K_queries=K_all, K_objects=K_all, **options)


# Every model, density and solver


@pytest.mark.parametrize("observed", [0.95, 0.5, 0.15, "no loops"])
@kernels
@models
def test_equals_naive(relation, loss, kernel, observed):
    labels = holes(observed)
    K, K_all = values(kernel, X, X), values(kernel, EVERYONE, X)
    for share in (1e-4, 1e-1):
        alpha = scaled(share, K)
        options = {"relation": relation, "loss": loss, "K_queries": K_all, "K_objects": K_all}
        expected = reference.naive_observed(K, labels, alpha, **options)
        for solver in SOLVERS:
            ranker = fit(RelationGraph(X, labels), relation, loss, alpha, kernel, solver=solver)
            assert error(ranker.predict(EVERYONE, EVERYONE), expected) < 1e-6
            assert error(ranker.predict(X), expected[:N, :N]) < 1e-6
            assert error(ranker.predict(NEW), expected[N:, :N]) < 1e-6
            assert error(K_all @ ranker.dual_coef_ @ K_all.T, expected) < 1e-6


@pytest.mark.parametrize("solver", ["primal", "explicit"])
@models
def test_complete_graph_equals_closed_form(relation, loss, solver):
    graph = RelationGraph(X, Y)
    for kernel in ("linear", "rbf"):
        closed, other = (fit(graph, relation, loss, 0.2, kernel, solver=s) for s in ("closed_form", solver))
        assert other.solver_ == solver
        assert (closed.n_iter_, other.n_iter_ is None) == (None, solver == "explicit")
        assert error(other.predict(NEW, EVERYONE), closed.predict(NEW, EVERYONE)) < 1e-7
        assert error(other.coef_, closed.coef_) < 1e-7


@models
def test_no_loops_is_not_the_complete_graph(relation, loss):
    filled = fit(RelationGraph(X, Y), relation, loss).predict(NEW)
    change = error(fit(RelationGraph(X, holes("no loops")), relation, loss).predict(NEW), filled)
    if relation == "reciprocal" and loss == "regression":  # a loop has no features
        assert change < 1e-7
    else:
        assert change > 1e-3


# Forms in which an incomplete relation comes


@models
def test_holes_stored_entries_and_edge_lists_are_the_same(relation, loss):
    labels = holes(0.5)
    sources, targets, y = edge_list(labels)
    y[::7] = 0  # stored zeros are observed
    labels[sources, targets] = y
    stored = sparse.coo_array((y, (sources, targets)), shape=(N, N))
    expected = naive((sources, targets, y), 0.1, relation=relation, loss=loss)
    shuffled = np.random.default_rng(2).permutation(len(y))
    names = np.array([f"node {i}" for i in range(N)])
    for graph in (
        RelationGraph(X, labels),
        RelationGraph(X, stored),
        RelationGraph(X, sparse.csr_array(stored)),
        RelationGraph.from_edges(X, sources, targets, y),
        RelationGraph.from_edges(X, sources[shuffled], targets[shuffled], y[shuffled]),
        RelationGraph.from_edges(X, names[sources], names[targets], y, ids=names),
    ):
        assert not graph.is_complete
        assert error(fit(graph, relation, loss).predict(EVERYONE, EVERYONE), expected) < 1e-6


@pytest.mark.parametrize("solver", ["primal", "explicit"])
@kernels
@models
def test_weights_and_repeated_edges(relation, loss, kernel, solver):
    rng = np.random.default_rng(3)
    sources, targets = rng.integers(0, N, size=(2, 150))
    y, weights = rng.normal(size=150) + 1, rng.choice([0.0, 0.25, 1.0, 3.0], size=150)
    assert len(np.unique(sources * N + targets)) < 140  # some do repeat
    edges = (sources, targets, y)
    for given in (weights, None):
        expected = naive(edges, 0.1, kernel, weights=given, relation=relation, loss=loss)
        ranker = fit(RelationGraph.from_edges(X, *edges, given), relation, loss, 0.1, kernel, solver=solver)
        assert error(ranker.predict(EVERYONE, EVERYONE), expected) < 1e-6


@models
def test_every_pair_but_with_other_weights(relation, loss):
    sources, targets, y = edge_list(Y)
    weights = np.random.default_rng(4).uniform(0.1, 20, size=len(y))
    graph = RelationGraph.from_edges(X, sources, targets, y, weights)
    assert not graph.is_complete
    expected = naive((sources, targets, y), 0.1, weights=weights, relation=relation, loss=loss)
    assert error(fit(graph, relation, loss).predict(EVERYONE, EVERYONE), expected) < 1e-6
    # All weights the same: the same as a smaller λ.
    heavy = RelationGraph.from_edges(X, sources, targets, y, np.full(len(y), 4.0))
    closed = fit(RelationGraph(X, Y), relation, loss, 0.1 / 4, solver="closed_form")
    assert error(fit(heavy, relation, loss, 0.1).predict(NEW), closed.predict(NEW)) < 1e-7


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@models
def test_nodes_without_edges(relation, loss, solver):
    labels = holes(0.5)
    labels[[0, 5, 11]] = np.nan  # no outgoing edges
    labels[:, [5, 7]] = np.nan  # no incoming edges; node 5 has none at all
    expected = naive(edge_list(labels), 0.1, relation=relation, loss=loss)
    found = fit(RelationGraph(X, labels), relation, loss, solver=solver).predict(EVERYONE, EVERYONE)
    assert error(found, expected) < 1e-6


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


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_only_single_edges_rank_nothing(relation, solver):
    graph = RelationGraph.from_edges(X, np.arange(N), (np.arange(N) + 3) % N, np.arange(N) + 1.0)
    np.testing.assert_allclose(fit(graph, relation, "ranking", solver=solver).predict(NEW), 0, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@models
def test_one_direction_only(relation, loss, solver):
    labels = np.where(np.triu(np.ones((N, N), dtype=bool), 1), Y - 2, np.nan)
    expected = naive(edge_list(labels), 0.1, relation=relation, loss=loss)
    ranker = fit(RelationGraph(X, labels), relation, loss, solver=solver)
    found = ranker.predict(EVERYONE, EVERYONE)
    assert error(found, expected) < 1e-6
    if sign := reference.SIGNS[relation]:
        np.testing.assert_allclose(found, sign * found.T, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@models
def test_all_labels_equal(relation, loss, solver):
    labels = np.where(np.isnan(holes(0.5)), np.nan, 3.0)
    found = fit(RelationGraph(X, labels), relation, loss, solver=solver).predict(EVERYONE, EVERYONE)
    if loss == "ranking":
        np.testing.assert_allclose(found, 0, atol=1e-10)
    else:
        assert error(found, naive(edge_list(labels), 0.1, relation=relation, loss=loss)) < 1e-6


@losses
@pytest.mark.parametrize("relation", RELATIONS)
def test_all_labels_zero_take_no_iteration(relation, loss):
    labels = np.where(np.isnan(holes(0.5)), np.nan, 0.0)
    ranker = fit(RelationGraph(X, labels), relation, loss)
    assert ranker.n_iter_ == 0
    np.testing.assert_array_equal(ranker.predict(NEW), 0)


@pytest.mark.parametrize("solver", SOLVERS)
@losses
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@kernels
def test_two_domains(kernel, rank_by, loss, solver):
    rng = np.random.default_rng(6)
    objects, new_objects = rng.normal(size=(9, 3)), rng.normal(size=(2, 3))
    labels = np.where(rng.random((N, 9)) < 0.6, rng.normal(size=(N, 9)) + 1, np.nan)
    graph = RelationGraph(X, labels, objects=objects)
    sides = [(X, np.vstack([X, NEW])), (objects, np.vstack([objects, new_objects]))]
    (A, A_all), (B, B_all) = sides if rank_by == "outgoing" else sides[::-1]
    K, K_domain = values(kernel, A, A), values(kernel, B, B)
    alpha = scaled(1e-3, K, K_domain)
    expected = reference.naive_observed(
        K,
        labels if rank_by == "outgoing" else labels.T,
        alpha,
        loss=loss,
        K_domain=K_domain,
        K_queries=values(kernel, A_all, A),
        K_objects=values(kernel, B_all, B),
    )
    ranker = fit(graph, "ordinary", loss, alpha, kernel, rank_by=rank_by, solver=solver)
    assert error(ranker.predict(A_all, B_all), expected) < 1e-6
    assert error(ranker.predict(A), expected[: len(A), : len(B)]) < 1e-6
    assert error(ranker.predict(graph), expected[: len(A), : len(B)]) < 1e-6


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@models
def test_incoming_is_the_fit_on_the_transpose(relation, loss, solver):
    labels = holes(0.5)
    expected = naive(edge_list(labels.T), 0.1, relation=relation, loss=loss)
    ranker = fit(RelationGraph(X, labels), relation, loss, rank_by="incoming", solver=solver)
    assert error(ranker.predict(EVERYONE, EVERYONE), expected) < 1e-6
    turned = fit(RelationGraph(X, labels.T), relation, loss, solver=solver)
    np.testing.assert_allclose(as_dense(ranker.coef_), as_dense(turned.coef_).T, atol=1e-8)
    if relation == "ordinary" and loss == "ranking":  # regression, and h = ±h', hardly see the difference
        assert error(ranker.predict(NEW), fit(RelationGraph(X, labels)).predict(NEW)) > 1e-2


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@pytest.mark.parametrize(("relation", "loss"), [(r, loss) for r in ("ordinary", "symmetric") for loss in LOSSES])
@kernels
def test_similarity_prior(kernel, relation, loss, solver):
    labels, tau = holes(0.5), -0.7
    K_new = values(kernel, EVERYONE, EVERYONE)
    alpha = scaled(1e-2, values(kernel, X, X))
    options = {"relation": relation, "loss": loss, "prior_weight": tau, "K_new": K_new}
    expected = naive(edge_list(labels), alpha, kernel, **options)
    ranker = fit(
        RelationGraph(X, labels), relation, loss, alpha, kernel, prior="similarity", prior_weight=tau, solver=solver
    )
    assert error(ranker.predict(EVERYONE, EVERYONE), expected) < 1e-6


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@models
@kernels
def test_constant_coordinate(kernel, relation, loss, solver):
    labels = holes(0.5)
    expected = naive(edge_list(labels), 0.1, kernel, constant=1.0, relation=relation, loss=loss)
    ranker = fit(RelationGraph(X, labels), relation, loss, 0.1, kernel, constant=True, solver=solver)
    assert error(ranker.predict(EVERYONE, EVERYONE), expected) < 1e-6


# Winning probabilities


@pytest.mark.parametrize("solver", SOLVERS)
@losses
@pytest.mark.parametrize("form", ["both directions", "both directions, told", "one direction, told"])
def test_probabilities_are_centred(form, loss, solver):
    P = 1 / (1 + np.exp(Y.T - Y))
    observed = np.random.default_rng(7).random((N, N)) < 0.6
    observed = np.triu(observed, 1) if form.startswith("one") else observed | observed.T
    labels = np.where(observed, P, np.nan)
    graph = RelationGraph(X, labels, probabilities=True if form.endswith("told") else None)
    assert graph.centre == 0.5
    expected = naive(edge_list(labels), 0.1, relation="reciprocal", loss=loss, centre=0.5)
    found = fit(graph, "reciprocal", loss, solver=solver).predict(EVERYONE, EVERYONE)
    assert error(found, expected) < 1e-6
    np.testing.assert_allclose(found + found.T, 1, atol=1e-10)


def test_one_direction_is_not_taken_for_probabilities_unasked():
    labels = np.where(np.triu(np.ones((N, N), dtype=bool), 1), 1 / (1 + np.exp(Y.T - Y)), np.nan)
    expected = naive(edge_list(labels), 0.1, relation="reciprocal", loss="regression")
    found = fit(RelationGraph(X, labels), "reciprocal", "regression").predict(EVERYONE, EVERYONE)
    assert error(found, expected) < 1e-6


# Numbers: single precision, singular kernels


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@models
@kernels
def test_single_precision(kernel, relation, loss, solver):
    labels = holes(0.5)
    alpha = scaled(1e-2, values(kernel, X, X))
    ranker = fit(
        RelationGraph(X.astype(np.float32), labels.astype(np.float32)), relation, loss, alpha, kernel, solver=solver
    )
    found = ranker.predict(EVERYONE.astype(np.float32), EVERYONE.astype(np.float32))
    assert found.dtype == np.float32
    assert error(found, naive(edge_list(labels), alpha, kernel, relation=relation, loss=loss)) < 2e-4


@pytest.mark.parametrize("solver", SOLVERS)
@models
@kernels
def test_singular_kernels(kernel, relation, loss, solver):
    nodes = np.vstack([X[:7], X[:3], np.zeros((2, 4))])  # three nodes twice, and one without any feature twice
    labels = holes(0.5)
    alpha = scaled(1e-3, values(kernel, nodes, nodes))
    expected = naive(edge_list(labels), alpha, kernel, nodes, relation=relation, loss=loss)
    ranker = fit(RelationGraph(nodes, labels), relation, loss, alpha, kernel, solver=solver)
    everyone = np.vstack([nodes, NEW])
    assert error(ranker.predict(everyone, everyone), expected) < 1e-6


@models
def test_more_features_than_nodes(relation, loss):
    rng = np.random.default_rng(8)
    wide, new, labels = rng.normal(size=(N, 20)), rng.normal(size=(2, 20)), holes(0.5)
    K, K_new = wide @ wide.T, new @ wide.T
    alpha = scaled(1e-2, K)
    options = {"relation": relation, "loss": loss, "K_queries": K_new, "K_objects": K_new}
    expected = reference.naive_observed(K, labels, alpha, **options)
    for solver in ("primal", "explicit"):
        for nodes, others in ((wide, new), (sparse.csr_array(wide), sparse.csr_array(new))):
            found = fit(RelationGraph(nodes, labels), relation, loss, alpha, "linear", solver=solver)
            assert error(found.predict(others, others), expected) < 1e-6


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@models
def test_precomputed_kernels_and_subgraphs(relation, loss, solver):
    rng = np.random.default_rng(9)
    everyone = rng.normal(size=(16, 4))
    labels = np.where(rng.random((16, 16)) < 0.6, rng.normal(size=(16, 16)), np.nan)
    by_kernel = RelationGraph(values("rbf", everyone, everyone), labels)
    train, test = [14, 0, 5, 2, 7, 9, 3, 15, 1], [4, 6, 8, 11]
    K, K_test = values("rbf", everyone[train], everyone[train]), values("rbf", everyone[test], everyone[train])
    options = {"relation": relation, "loss": loss, "K_queries": K_test, "K_objects": K_test}
    expected = reference.naive_observed(K, labels[np.ix_(train, train)], 0.1, **options)
    ranker = fit(by_kernel[train], relation, loss, 0.1, "precomputed", solver=solver)
    assert error(ranker.predict(by_kernel[test]), expected) < 1e-6
    assert error(ranker.predict(K_test, K_test), expected) < 1e-6
    by_features = fit(RelationGraph(everyone, labels)[train], relation, loss, solver=solver)
    assert error(by_features.predict(everyone[test], everyone[test]), expected) < 1e-6


# The system itself


def system(labels, relation="ordinary", loss="ranking", dense=None, kernel="rbf", weights=None, nodes=X):
    sources, targets, y = edge_list(labels)
    edges = Edges(sources, targets, y, weights, labels.shape)
    if kernel == "linear":
        rows = ExplicitFeatures(NodeKernel("linear"), Nodes(nodes))
    else:
        rows = ExactKernel(NodeKernel("rbf", GAMMA), Nodes(nodes))
    return PrimalSystem(RELATIONS[relation], loss, rows, rows, edges, dense=dense)


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
    solutions = [one.solve(0.3, Iteration(TOL)) for one in (dense, sampled)]
    assert error(solutions[0].W, solutions[1].W) < 1e-8
    residual = expected_residual(solutions[0].W, dense, all_weights, relation, loss)
    assert residual < 2 * TOL


def expected_residual(W, one, weights, relation, loss):
    """Relative residual, by the naive product."""
    return np.linalg.norm(naive_product(one.Z, W, weights, relation, loss, 0.3) - one.rhs) / np.linalg.norm(one.rhs)


def test_dense_products_from_a_share_of_observed_pairs_on():
    assert system(holes(0.5)).dense
    labels = np.full((N, N), np.nan)
    labels[0, :6] = 1.0
    assert not system(labels).dense


# How fast


@models
def test_few_iterations_and_plain_cg_needs_many(relation, loss):
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
    one = ranker._system
    plain = krylov(lambda W: one.apply(W, 0.01), one.rhs, tol=1e-8, max_iter=5 * ranker.n_iter_ - 1)
    assert not plain.converged
    assert np.linalg.norm(one.apply(ranker.coef_, 0.01) - one.rhs) <= 2e-8 * np.linalg.norm(one.rhs)


def test_tolerance_is_a_relative_residual():
    graph = RelationGraph(X, holes(0.5))
    counts = []
    for tol in (1e-2, 1e-5, 1e-9, 0.0):
        ranker = fit(graph, alpha=1e-3, tol=tol)
        one = ranker._system
        residual = np.linalg.norm(one.apply(ranker.coef_, 1e-3) - one.rhs) / np.linalg.norm(one.rhs)
        assert residual <= max(1.01 * tol, 1e-13)
        counts.append(ranker.n_iter_)
    assert counts == sorted(set(counts))


# Paths and warm starts


@models
def test_path_equals_separate_fits(relation, loss):
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


def test_path_starts_from_the_solution_before():
    ranker = fit(RelationGraph(X, holes(0.5)), alpha=0.1)
    again, near = ranker.path([0.1, 0.100001])
    assert again.n_iter_ == 0
    assert 1 <= near.n_iter_ < ranker.n_iter_
    with pytest.raises(ValueError, match=r"alphas must be a finite number greater than 0, got -1"):
        next(ranker.path([1.0, -1]))


@models
def test_warm_start_after_edges_were_added(relation, loss):
    rng = np.random.default_rng(12)
    n = 40
    nodes, labels = rng.normal(size=(n, 3)), rng.normal(size=(n, n))
    few = np.where(rng.random((n, n)) < 0.5, labels, np.nan)
    more = few.copy()
    more[rng.integers(0, n, 10), rng.integers(0, n, 10)] = 1.0
    params = {"warm_start": True, "tol": 1e-9}
    ranker = fit(RelationGraph(nodes, few), relation, loss, 0.01, **params)
    warm = ranker.fit(RelationGraph(nodes, more))
    cold = fit(RelationGraph(nodes, more), relation, loss, 0.01, tol=1e-9)
    assert warm is ranker
    assert error(warm.predict(nodes), cold.predict(nodes)) < 1e-6
    assert error(warm.predict(nodes), fit(RelationGraph(nodes, few), relation, loss, 0.01).predict(nodes)) > 1e-4
    assert 1 <= warm.n_iter_ < cold.n_iter_
    assert warm.fit(nodes, more).n_iter_ == 0  # nothing new to learn


def test_without_warm_start_every_fit_is_cold():
    ranker = fit(RelationGraph(X, holes(0.5)))
    first = ranker.n_iter_
    assert first > 0
    assert ranker.fit(X, holes(0.5)).n_iter_ == first
    assert ranker.set_params(warm_start=True).fit(X, holes(0.5)).n_iter_ == 0


def test_warm_start_refuses_other_nodes():
    labels = holes(0.5)
    for nodes, part in ((X + 1, labels), (X[:8], labels[:8, :8]), (NEW, labels[:3, :3])):
        ranker = fit(RelationGraph(X, labels), warm_start=True)
        expected = ranker.predict(X)
        with pytest.raises(ValueError, match=r"warm_start=True needs the nodes of the last fit"):
            ranker.fit(nodes, part)
        np.testing.assert_array_equal(ranker.predict(X), expected)  # the last fit stays
    graph = RelationGraph(X, labels)
    ranker = fit(graph, warm_start=True)
    with pytest.raises(ValueError, match=r"warm_start=True needs the nodes of the last fit"):
        ranker.fit(graph[:8])


def test_warm_start_refuses_another_subgraph():
    graph = RelationGraph(X, holes(0.5))
    ranker = fit(graph[:6], warm_start=True)
    with pytest.raises(ValueError, match=r"warm_start=True needs the nodes of the last fit"):
        ranker.fit(graph[6:])


def test_warm_start_with_another_kernel_is_cold():
    graph = RelationGraph(X, holes(0.5))
    ranker = fit(graph, warm_start=True).set_params(kernel="linear").fit(graph)
    assert error(ranker.predict(NEW), fit(graph, kernel="linear").predict(NEW)) < 1e-6


# Convergence


def test_a_path_of_too_few_iterations_warns():
    graph = RelationGraph(X, holes(0.5))
    ranker = fit(graph, alpha=100.0, max_iter=12)  # enough for this one
    with pytest.warns(ConvergenceWarning, match="no convergence"):
        list(ranker.path([1e-5]))


def test_few_edges_that_do_not_converge_can_be_solved_at_once():
    graph = RelationGraph(X, holes(0.5))
    few = {"kernel": "rbf", "gamma": GAMMA, "alpha": 1e-6, "max_iter": 2}
    advice = rf"or have the {graph.n_edges} edges solved at once by solver='explicit'"
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


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tol": -1e-3}, r"tol must be a finite number of at least 0, got -0\.001"),
        ({"tol": np.nan}, r"tol must be a finite number of at least 0, got nan"),
        ({"tol": "tight"}, r"tol must be a finite number of at least 0, got 'tight'"),
        ({"max_iter": 0}, r"max_iter must be a whole number of at least 1, got 0"),
        ({"max_iter": 10.5}, r"max_iter must be a whole number of at least 1, got 10\.5"),
        ({"max_iter": True}, r"max_iter must be a whole number of at least 1, got True"),
        ({"alpha": 0.0}, r"alpha must be a finite number greater than 0, got 0\.0"),
        ({"solver": "magic"}, r"solver must be one of \['auto', .*'explicit'\], got 'magic'"),
    ],
)
def test_parameters_are_checked(params, message):
    with pytest.raises(ValueError, match=message):
        fit(RelationGraph(X, holes(0.5)), **params)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_graph_without_edges_is_refused(solver):
    with pytest.raises(ValueError, match="no observed edge"):
        fit(RelationGraph(X, np.full((N, N), np.nan)), solver=solver)


@pytest.mark.parametrize(("relation", "sign"), [("symmetric", 1), ("reciprocal", -1)])
@pytest.mark.parametrize("seed", [5, 7, 10])
def test_small_lambda_stays_in_the_relation_and_converges(relation, sign, seed):
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


def test_the_prior_is_the_kernel_itself_also_when_clipped():
    K = TWELVE_NODES @ np.diag([1.0, 1.0, -0.2]) @ TWELVE_NODES.T
    sigma, Q = np.linalg.eigh(K)
    clipped = (Q * sigma.clip(0)) @ Q.T
    holes = np.where(RNG.random((12, 12)) < 0.7, TWELVE_LABELS, np.nan)
    options = {"alpha": 0.5, "loss": "regression"}
    ranker = ConditionalRanker(
        kernel="precomputed", prior="similarity", prior_weight=0.4, clip=True, solver="primal", tol=1e-12, **options
    ).fit(K, holes)
    expected = naive_observed(clipped, holes - 0.4 * K, **options) + 0.4 * K
    np.testing.assert_allclose(ranker.predict(K), expected, atol=1e-6)
