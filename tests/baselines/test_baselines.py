"""Baselines against naive twins: explicit edge kernels, loops over neighbours, general-purpose minimisers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.model_selection import GridSearchCV

from condrank import ConditionalRanker, RelationGraph
from condrank.base.blocks import row_blocks
from condrank.baselines import ExplicitRankRLS, NearestNeighbours, RankSVM, SimilarityRanker, TwoStepRidge
from condrank.baselines.svm import preference_pairs
from condrank.datasets import make_digits_task, make_rock_paper_scissors
from condrank.metrics import rank_loss
from condrank.objective.relations import get_relation
from condrank.observations import Edges
from condrank.solvers.explicit import (
    all_edges,
    explicit_bytes,
    product_features,
    solve_explicit,
    solve_positive,
    weight_matrix,
)
from reference import edge_kernel, naive_complete, naive_observed, naive_scores

RELATIONS = ("ordinary", "symmetric", "reciprocal")
LOSSES = ("regression", "ranking")
SIGNS = {"ordinary": 0, "symmetric": 1, "reciprocal": -1}

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


def make_labels(n, m, rng, relation="ordinary", holes=0.0):
    """Whole numbers, so that there are ties; with holes, one of them a whole row."""
    Y = rng.integers(-2, 3, (n, m)).astype(float)
    if SIGNS[relation]:
        Y = Y + SIGNS[relation] * Y.T
    if holes:
        Y[rng.random((n, m)) < holes] = np.nan
        Y[n // 2] = np.nan
    return Y


# Edge-wise RLS and RankRLS


@pytest.mark.parametrize("features", ["product", "kernel", "auto"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("holes", [0.0, 0.5])
def test_explicit_rls_is_the_naive_solution(relation, loss, features, holes):
    rng = np.random.default_rng(0)
    X, X_new, X_other = rng.standard_normal((9, 4)), rng.standard_normal((3, 4)), rng.standard_normal((2, 4))
    Y = make_labels(9, 9, rng, relation, holes)
    ranker = ExplicitRankRLS(relation, loss, 0.3, features).fit(X, Y)
    options = {"relation": relation, "loss": loss}
    np.testing.assert_allclose(ranker.predict(X), naive_observed(X @ X.T, Y, 0.3, **options), atol=1e-9)
    new = naive_observed(X @ X.T, Y, 0.3, K_queries=X_new @ X.T, K_objects=X_other @ X.T, **options)
    np.testing.assert_allclose(ranker.predict(X_new, X_other), new, atol=1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_explicit_rls_is_conditional_ranking(relation, loss):
    rng = np.random.default_rng(1)
    X, X_new = rng.standard_normal((12, 3)), rng.standard_normal((4, 3))
    Y = make_labels(12, 12, rng)  # neither symmetric nor reciprocal: the part is learned
    parameters = {"relation": relation, "loss": loss, "alpha": 0.01, "kernel": "rbf", "gamma": 0.3, "constant": True}
    expected = ConditionalRanker(**parameters).fit(X, Y)
    for features in ("product", "kernel"):
        ranker = ExplicitRankRLS(features=features, **parameters).fit(X, Y)
        np.testing.assert_allclose(ranker.coef_, expected.coef_, atol=1e-6)
        np.testing.assert_allclose(ranker.predict(X_new), expected.predict(X_new), atol=1e-7)


@pytest.mark.parametrize("features", ["product", "kernel"])
@pytest.mark.parametrize("loss", LOSSES)
def test_explicit_rls_of_two_domains(loss, features):
    rng = np.random.default_rng(2)
    X, X_objects = rng.standard_normal((7, 3)), rng.standard_normal((5, 2))
    K, G = rbf_kernel(X, gamma=0.5), rbf_kernel(X_objects, gamma=0.5)
    Y = make_labels(7, 5, rng, holes=0.3)
    graph = RelationGraph(X, Y, objects=X_objects)
    ranker = ExplicitRankRLS("ordinary", loss, 0.1, features, kernel="rbf", gamma=0.5).fit(graph)
    np.testing.assert_allclose(ranker.predict(graph), naive_observed(K, Y, 0.1, loss=loss, K_domain=G), atol=1e-9)
    with pytest.raises(ValueError, match="one domain"):
        ExplicitRankRLS("symmetric").fit(graph)


@pytest.mark.parametrize("features", ["product", "kernel"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 6), n_edges=st.integers(1, 20), d=st.integers(1, 3))
def test_explicit_rls_with_repeats_weights_and_loops(relation, loss, features, seed, n, n_edges, d):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)).astype(float)  # repeated and zero nodes: singular kernels
    X[0, 0] = 1
    sources, targets = rng.integers(0, n, (2, n_edges))
    values, weights = rng.integers(-1, 2, n_edges).astype(float), rng.integers(0, 3, n_edges).astype(float)
    weights[0] = 1
    graph = RelationGraph.from_edges(X, sources, targets, values, weights)
    centre = graph.centre if relation == "reciprocal" else 0.0
    options = {"relation": relation, "loss": loss, "weights": weights, "centre": centre}
    expected = naive_scores(X @ X.T, sources, targets, values, 0.5, **options)
    ranker = ExplicitRankRLS(relation, loss, 0.5, features).fit(graph)
    np.testing.assert_allclose(ranker.predict(X), expected, atol=1e-8)


def test_probabilities_are_centred_where_only_some_are_known():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((8, 3))
    P = rng.random((8, 8))
    Y = np.triu(P, 1) + np.tril(1 - P.T, -1) + 0.5 * np.eye(8)
    Y[rng.random((8, 8)) < 0.4] = np.nan
    graph = RelationGraph(X, Y, probabilities=True)
    ranker = ExplicitRankRLS("reciprocal", "regression", 0.1).fit(graph)
    expected = naive_observed(X @ X.T, Y, 0.1, relation="reciprocal", loss="regression", centre=0.5)
    np.testing.assert_allclose(ranker.predict(X), expected, atol=1e-9)
    np.testing.assert_allclose(ranker.predict(X) + ranker.predict(X).T, 1, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_tiny_alpha_on_singular_features(loss):
    # Strategies sum to one: centred product features have rank 6 of 9, and λ is far below rounding of the system.
    rng = np.random.default_rng(4)
    X = rng.dirichlet(np.ones(3), 12)
    Y = make_labels(12, 12, rng)
    product, kernel = (
        ExplicitRankRLS("ordinary", loss, 2.0**-40, features).fit(X, Y) for features in ("product", "kernel")
    )
    expected = ConditionalRanker("ordinary", loss, 2.0**-40).fit(X, Y).predict(X)
    expected, first, second = (
        F - F.mean(axis=1, keepdims=True) for F in (expected, product.predict(X), kernel.predict(X))
    )
    np.testing.assert_allclose(first, expected, atol=1e-6)
    np.testing.assert_allclose(second, expected, atol=1e-6)


@pytest.mark.parametrize("name", RELATIONS)
def test_product_features_have_the_edge_kernel(name):
    rng = np.random.default_rng(5)
    relation = get_relation(name)
    starts, ends = rng.standard_normal((2, 6, 4))
    Phi = product_features(relation, starts, ends)
    K = edge_kernel(starts @ starts.T, ends @ ends.T, starts @ ends.T, ends @ starts.T, name)
    np.testing.assert_allclose(Phi @ Phi.T, K, atol=1e-12)
    weights = rng.standard_normal(Phi.shape[1])
    W = weight_matrix(relation, weights, 4, 4)
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", starts, W, ends), Phi @ weights, atol=1e-12)
    np.testing.assert_allclose(np.sum(W**2), np.sum(weights**2))  # the penalty is the same


def test_explicit_solver_refuses_what_is_too_large():
    edges = Edges.from_holes(np.eye(3))
    ordinary = get_relation("ordinary")
    with pytest.raises(ValueError, match=r"GiB.*1,000,000 product features"):
        solve_explicit(ordinary, "ranking", np.zeros((3, 1000)), np.zeros((3, 1000)), edges, 1.0, features="product")
    assert explicit_bytes(ordinary, 1000, 1000, 9, "product") > 1e12
    assert explicit_bytes(ordinary, 1000, 1000, 9) == explicit_bytes(ordinary, 1000, 1000, 9, "kernel")
    with pytest.raises(ValueError, match="features must be one of"):
        ExplicitRankRLS(features="edges").fit(np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="allowed"):
        ExplicitRankRLS(max_bytes=1000).fit(np.eye(3), np.eye(3))


def test_explicit_solver_pieces():
    rng = np.random.default_rng(6)
    A = rng.standard_normal((5, 5))
    G, rhs = A @ A.T, rng.standard_normal(5)
    np.testing.assert_allclose(solve_positive(G.copy(), rhs, 0.1), np.linalg.solve(G + 0.1 * np.eye(5), rhs))
    np.testing.assert_allclose(solve_positive(G.copy(), rhs, 1e-14), np.linalg.solve(G, rhs), rtol=1e-6)
    graph = RelationGraph.from_classes(np.eye(3), [0, 1, 1])
    np.testing.assert_array_equal(all_edges(graph.relation).to_dense(), graph.to_dense())
    np.testing.assert_array_equal(all_edges(graph.relation, 0.5).to_dense(), graph.to_dense() - 0.5)
    # One reciprocal coordinate has no product features: all scores are equal.
    scores = ExplicitRankRLS("reciprocal", "regression").fit([[1.0], [2.0]], [[0, 1], [-1, 0]]).predict([[3.0]])
    np.testing.assert_array_equal(scores, 0)


# RankSVM


def naive_pairs(edges):
    """Every pair of edges of a node with different labels, and the product of their weights."""
    Y, M = edges.to_dense(), edges.matrix(edges.weights).toarray()
    n, m = Y.shape
    return {(v, a, b): M[v, a] * M[v, b] for v in range(n) for a in range(m) for b in range(m) if Y[v, a] > Y[v, b]}


def some_edges(seed=7, n=8, m=6, n_edges=40):
    rng = np.random.default_rng(seed)
    sources, targets = rng.integers(0, n, n_edges), rng.integers(0, m, n_edges)
    values, weights = rng.integers(0, 4, n_edges).astype(float), rng.integers(1, 3, n_edges).astype(float)
    return Edges(sources, targets, values, weights, (n, m))


def test_preference_pairs_are_all_pairs():
    edges = some_edges()
    query, better, worse, weight = preference_pairs(edges, 10_000, np.random.RandomState(0))
    expected = naive_pairs(edges)
    found = dict(zip(zip(query, better, worse, strict=True), weight, strict=True))
    assert len(found) == len(query) == len(expected)
    assert found == expected


def test_preference_pairs_are_sampled_for_each_node():
    edges = some_edges(n_edges=60)
    expected = naive_pairs(edges)
    query, better, worse, weight = preference_pairs(edges, 30, np.random.RandomState(0))
    found = list(zip(query, better, worse, strict=True))
    assert len(found) <= 30 < len(expected)
    assert len(set(found)) == len(found)
    assert set(found) <= set(expected)
    assert set(query) == {v for v, _, _ in expected}
    for v in set(query):
        kept, total = np.sum(query == v), sum(1 for one in expected if one[0] == v)
        ratio = [w / expected[one] for one, w in zip(found, weight, strict=True) if one[0] == v]
        np.testing.assert_allclose(ratio, total / kept)
    again = preference_pairs(edges, 30, np.random.RandomState(0))
    np.testing.assert_array_equal(again[1], better)


def naive_differences(X, Y, relation):
    """Rows Π[x_v (x_a - x_b)ᵀ], flattened, for every preference pair."""
    rows = []
    for v in range(len(Y)):
        for a in range(len(Y)):
            for b in range(len(Y)):
                if Y[v, a] > Y[v, b]:
                    D = np.outer(X[v], X[a] - X[b])
                    rows.append((D + SIGNS[relation] * D.T) / (2 if SIGNS[relation] else 1))
    return np.array(rows).reshape(len(rows), -1)


@pytest.mark.parametrize("relation", RELATIONS)
def test_rank_svm_with_squared_hinge(relation):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((7, 3))
    Y = make_labels(7, 7, rng, relation, holes=0.3)
    D = naive_differences(X, Y, relation)

    def objective(w):
        slack = np.maximum(0, 1 - D @ w)
        return 0.5 * w @ w + 0.2 * slack @ slack, w - 0.4 * D.T @ slack

    best = optimize.minimize(objective, np.zeros(9), jac=True, tol=1e-12).x.reshape(3, 3)
    ranker = RankSVM(relation, 0.2, "squared_hinge").fit(X, Y)
    assert ranker.n_pairs_ == len(D)
    np.testing.assert_allclose(ranker.predict(X), X @ best @ X.T, atol=1e-3)


@pytest.mark.parametrize("relation", RELATIONS)
def test_rank_svm_with_hinge(relation):
    rng = np.random.default_rng(9)
    X = rng.standard_normal((6, 3))
    Y = make_labels(6, 6, rng, relation, holes=0.4)
    D = naive_differences(X, Y, relation)

    def dual(a):
        w = D.T @ a
        return 0.5 * w @ w - a.sum(), D @ w - 1

    a = optimize.minimize(dual, np.zeros(len(D)), jac=True, bounds=[(0, 0.1)] * len(D), tol=1e-14).x
    best = (D.T @ a).reshape(3, 3)
    ranker = RankSVM(relation, 0.1, random_state=0).fit(X, Y)
    np.testing.assert_allclose(ranker.predict(X), X @ best @ X.T, atol=0.01)


def test_rank_svm_of_few_pairs():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="nothing to rank"):
        RankSVM().fit(X, np.ones((2, 2)))
    # One pair, w = min(C, 1/‖d‖²) d: both its copies together weigh C.
    ranker = RankSVM(C=0.1).fit(X, [[0, 1], [np.nan, 1]])
    np.testing.assert_allclose(ranker.predict(X), [[-0.1, 0.1], [0, 0]], atol=1e-6)
    assert ranker.n_pairs_ == 1
    with pytest.raises(ValueError, match="difference vectors"):
        RankSVM(max_bytes=10).fit(X, [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="max_pairs"):
        RankSVM(max_pairs=0).fit(X, [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="hinge must be"):
        RankSVM(hinge="squared").fit(X, [[0, 1], [1, 0]])


def test_rank_svm_with_a_sample_of_the_pairs():
    graph, test = make_rock_paper_scissors(10, random_state=0)
    everything = RankSVM("reciprocal", random_state=0).fit(graph)
    sample = RankSVM("reciprocal", max_pairs=1000, random_state=0).fit(graph)
    assert sample.n_pairs_ <= 1000 < everything.n_pairs_
    assert abs(sample.score(test) - everything.score(test)) < 0.05
    np.testing.assert_array_equal(clone(sample).fit(graph).coef_, sample.coef_)


# Two-step kernel ridge regression


@pytest.mark.parametrize("alpha_objects", [None, 2.0])
def test_two_step_ridge(alpha_objects):
    rng = np.random.default_rng(10)
    X, X_new = rng.standard_normal((9, 3)), rng.standard_normal((4, 3))
    Y = make_labels(9, 9, rng)
    mu = 0.3 if alpha_objects is None else alpha_objects
    for K, K_new, kernel in ((X @ X.T, X_new @ X.T, "linear"), (rbf_kernel(X), rbf_kernel(X_new, X), "rbf")):
        A = np.linalg.inv(K + 0.3 * np.eye(9)) @ Y @ np.linalg.inv(K + mu * np.eye(9))
        ranker = TwoStepRidge(0.3, alpha_objects, kernel=kernel).fit(X, Y)
        np.testing.assert_allclose(ranker.predict(X), K @ A @ K, atol=1e-9)
        np.testing.assert_allclose(ranker.predict(X_new, X_new), K_new @ A @ K_new.T, atol=1e-9)


def test_two_step_ridge_of_two_domains():
    rng = np.random.default_rng(11)
    X, X_objects = rng.standard_normal((6, 3)), rng.standard_normal((8, 2))
    Y = make_labels(6, 8, rng)
    K, G = rbf_kernel(X, gamma=1), rbf_kernel(X_objects, gamma=1)
    expected = K @ np.linalg.inv(K + 0.1 * np.eye(6)) @ Y @ np.linalg.inv(G + np.eye(8)) @ G
    graph = RelationGraph(X, Y, objects=X_objects)
    np.testing.assert_allclose(TwoStepRidge(0.1, 1.0, kernel="rbf", gamma=1).fit(graph).predict(X), expected, atol=1e-9)
    Y[0, 0] = np.nan
    with pytest.raises(ValueError, match="complete graph"):
        TwoStepRidge().fit(RelationGraph(X, Y, objects=X_objects))


# Nearest neighbours


def naive_neighbours(K_queries, Y, k, K_objects=None, weights=None):
    """Loops over queries and objects; K_objects None: the objects are the columns of Y."""
    weights = np.ones(Y.shape) if weights is None else weights
    mean = np.nansum(weights * Y) / np.sum(weights[~np.isnan(Y)])
    n_objects = Y.shape[1] if K_objects is None else len(K_objects)
    scores = np.empty((len(K_queries), n_objects))
    for q, similarity in enumerate(K_queries):
        near = np.argsort(-similarity, kind="stable")[:k]
        for o in range(n_objects):
            ends = [(o, 1.0)]
            if K_objects is not None:
                ends = [(e, max(0.0, K_objects[o, e])) for e in np.argsort(-K_objects[o], kind="stable")[:k]]
            total = count = 0.0
            for u in near:
                for e, b in ends:
                    if not np.isnan(Y[u, e]):
                        a = max(0.0, similarity[u]) * b * weights[u, e]
                        total, count = total + a * Y[u, e], count + a
            scores[q, o] = total / count if count > 0 else mean
    return scores


@pytest.mark.parametrize("holes", [0.0, 0.7])
@pytest.mark.parametrize("k", [1, 3, 50])
def test_nearest_neighbours(k, holes):
    rng = np.random.default_rng(12)
    X = rng.standard_normal((10, 2))
    X[1] = X[0]  # tied similarities
    X_new, X_other = rng.standard_normal((4, 2)), rng.standard_normal((3, 2))
    Y = make_labels(10, 10, rng, holes=holes)
    ranker = NearestNeighbours(k, kernel="linear").fit(X, Y)
    np.testing.assert_allclose(ranker.predict(X_new), naive_neighbours(X_new @ X.T, Y, k), atol=1e-12)
    np.testing.assert_allclose(ranker.predict(X), naive_neighbours(X @ X.T, Y, k), atol=1e-12)
    expected = naive_neighbours(X_new @ X.T, Y, k, X_other @ X.T)
    np.testing.assert_allclose(ranker.predict(X_new, X_other), expected, atol=1e-12)


def test_nearest_neighbours_of_two_domains_with_weights():
    rng = np.random.default_rng(13)
    X, X_objects = rng.standard_normal((8, 3)), rng.standard_normal((6, 2))
    edges = some_edges(13)
    graph = RelationGraph.from_edges(X, edges.sources, edges.indices, edges.values, edges.weights, objects=X_objects)
    weights = edges.matrix(edges.weights).toarray()
    ranker = NearestNeighbours(2, kernel="rbf", gamma=1).fit(graph)
    K, G = rbf_kernel(X, gamma=1), rbf_kernel(X_objects, gamma=1)
    known = naive_neighbours(K, edges.to_dense(), 2, weights=weights)
    np.testing.assert_allclose(ranker.predict(graph), known, atol=1e-12)
    # Copies of the objects are new to it.
    new = naive_neighbours(K, edges.to_dense(), 2, G, weights)
    np.testing.assert_allclose(ranker.predict(X, X_objects.copy()), new, atol=1e-12)


def test_nearest_neighbours_know_the_training_objects_of_a_graph():
    rng = np.random.default_rng(14)
    X = rng.standard_normal((12, 3))
    Y = make_labels(12, 12, rng, holes=0.2)
    graph = RelationGraph(X, Y)
    train, some = graph[:8], graph[[3, 10, 0]]
    ranker = NearestNeighbours(3, kernel="rbf").fit(train)
    K = rbf_kernel(X)[:, :8]
    known = naive_neighbours(K[[3, 10, 0]], Y[:8, :8], 3)
    new = naive_neighbours(K[[3, 10, 0]], Y[:8, :8], 3, K[[3, 10, 0]])
    scores = ranker.predict(some)
    np.testing.assert_allclose(scores[:, [0, 2]], known[:, [3, 0]], atol=1e-12)
    np.testing.assert_allclose(scores[:, 1], new[:, 1], atol=1e-12)
    np.testing.assert_allclose(ranker.predict(train), ranker.predict(X[:8]), atol=1e-12)


def test_nearest_neighbours_know_training_objects_by_their_ids():
    rng = np.random.default_rng(15)
    X, Y = rng.standard_normal((12, 3)), make_labels(12, 12, rng, holes=0.2)
    graph = RelationGraph(X, Y, ids=[f"n{i}" for i in range(12)])
    ranker = NearestNeighbours(3, kernel="rbf").fit(graph[:8])
    # Features that were made anew, as a pipeline does, in another order.
    some = [3, 10, 0]
    again = RelationGraph(X[some], Y[np.ix_(some, some)], ids=["n3", "n10", "n0"])
    np.testing.assert_array_equal(ranker.predict(again), ranker.predict(graph[some]))
    nameless = RelationGraph(X[some], Y[np.ix_(some, some)])
    assert not np.allclose(ranker.predict(nameless), ranker.predict(again))


def test_nearest_neighbours_of_classes_and_known_zeros():
    rng = np.random.default_rng(15)
    X, labels = rng.standard_normal((9, 2)), rng.integers(0, 3, 9)
    classes = RelationGraph.from_classes(X, labels)
    zeros = RelationGraph(X, sparse.csr_array(classes.to_dense()), unstored="zero")
    expected = NearestNeighbours(3).fit(X, classes.to_dense()).predict(X[:4], X[2:] + 0.1)
    for graph in (classes, zeros):
        scores = NearestNeighbours(3).fit(graph).predict(X[:4], X[2:] + 0.1)
        np.testing.assert_allclose(scores, expected, atol=1e-12)


# Unsupervised


def test_similarity_ranker():
    rng = np.random.default_rng(16)
    X, X_new = rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    ranker = SimilarityRanker().fit(X)
    np.testing.assert_allclose(ranker.predict(X_new), cosine_similarity(X_new, X))
    np.testing.assert_allclose(ranker.predict(X_new, X_new), cosine_similarity(X_new))
    graph = RelationGraph(X, np.eye(6))
    np.testing.assert_allclose(SimilarityRanker("rbf").fit(graph).predict(graph), rbf_kernel(X))
    indefinite = X @ np.diag([1, -1, 1]) @ X.T
    whole = RelationGraph(indefinite, np.eye(6))
    ranker = SimilarityRanker("precomputed").fit(whole[:4])
    np.testing.assert_allclose(ranker.predict(whole[4:]), indefinite[4:, 4:])
    np.testing.assert_allclose(ranker.predict(indefinite[4:, :4]), indefinite[4:, :4])
    with pytest.raises(ValueError, match="subgraphs"):
        ranker.predict(indefinite[4:, :4], indefinite[4:, :4])
    with pytest.raises(ValueError, match="single domain"):
        SimilarityRanker().fit(RelationGraph(X, np.ones((6, 2)), objects=X[:2]))


# What all share

BASELINES = [
    ExplicitRankRLS(alpha=0.1),
    ExplicitRankRLS("symmetric", "regression", alpha=0.1, features="kernel"),
    RankSVM(C=0.1, random_state=0),
    TwoStepRidge(),
    NearestNeighbours(3, kernel="linear"),
    SimilarityRanker("linear"),
]
NAMES = ["RankRLS", "RLS", "RankSVM", "TwoStepRidge", "NearestNeighbours", "SimilarityRanker"]
every_baseline = pytest.mark.parametrize("baseline", BASELINES, ids=NAMES)


def small_graph(seed=17, n=14):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) + 0.5
    return RelationGraph(X, make_labels(n, n, rng, "symmetric"), ids=[f"node{i}" for i in range(n)])


@every_baseline
def test_interface(baseline):
    graph = small_graph()
    X = graph.nodes.base
    ranker = clone(baseline)
    with pytest.raises(NotFittedError):
        ranker.predict(X)
    assert ranker.fit(graph) is ranker
    assert ranker.get_params() == baseline.get_params()
    assert ranker.n_features_in_ == 3
    scores = ranker.predict(X[:5])
    assert scores.shape == (5, 14)
    ranking = ranker.rank(X[:5], top=4)
    np.testing.assert_array_equal(ranking.indices, np.argsort(-scores, axis=1, kind="stable")[:, :4])
    assert ranking.ids is not None
    assert ranking.ids[0, 0] == f"node{ranking.indices[0, 0]}"
    assert ranker.score(graph) == pytest.approx(1 - rank_loss(graph.to_dense(), ranker.predict(graph)))
    new = np.random.default_rng(0).standard_normal((5, 3))
    np.testing.assert_allclose(ranker.predict_edges(X[:5], new), np.diagonal(ranker.predict(X[:5], new)), atol=1e-12)
    assert ranker.predict(graph[[]]).shape == (0, 0)
    with pytest.raises(ValueError, match="top"):
        ranker.rank(X, top=0)
    with pytest.raises(ValueError, match="features"):
        ranker.predict(np.ones((2, 4)))
    with pytest.raises(ValueError, match="aligned"):
        ranker.predict_edges(X[:2], X[:3])
    with pytest.raises(ValueError, match="left out"):
        ranker.predict(graph, X)


@every_baseline
def test_sparse_features_and_a_precomputed_kernel_give_the_same(baseline):
    graph = small_graph()
    X, Y = graph.nodes.base, graph.to_dense()
    K = X @ X.T
    whole = RelationGraph(K, Y)
    train, test = np.arange(10), np.arange(10, 14)
    expected = clone(baseline).fit(graph[train])
    precomputed = clone(baseline).set_params(kernel="precomputed").fit(whole[train])
    np.testing.assert_allclose(precomputed.predict(whole[test]), expected.predict(graph[test]), atol=1e-3)
    np.testing.assert_allclose(precomputed.predict(K[10:, :10]), expected.predict(X[10:]), atol=1e-3)
    assert precomputed.score(whole[test]) == pytest.approx(expected.score(graph[test]), abs=0.02)
    sparsely = clone(baseline).fit(RelationGraph(sparse.csr_array(X), Y)[train])
    np.testing.assert_allclose(sparsely.predict(sparse.csr_array(X[10:])), expected.predict(X[10:]), atol=1e-3)
    with pytest.raises(ValueError, match="square kernel matrix"):
        clone(baseline).set_params(kernel="precomputed").fit(X, Y)


@every_baseline
def test_search_over_nodes(baseline):
    name, values = next(
        (name, values)
        for name, values in (
            ("alpha", [0.1, 10.0]),
            ("C", [0.01, 0.1]),
            ("n_neighbors", [1, 5]),
            ("gamma", [1.0, None]),
        )
        if name in baseline.get_params()
    )
    search = GridSearchCV(clone(baseline), {name: values}, cv=3, error_score="raise").fit(small_graph())
    assert 0 <= search.best_score_ <= 1


@pytest.mark.parametrize(
    "baseline", [BASELINES[0], BASELINES[2], BASELINES[4]], ids=["RankRLS", "RankSVM", "Neighbours"]
)
def test_a_graph_without_edges_is_refused(baseline):
    with pytest.raises(ValueError, match="no observed edge"):
        clone(baseline).fit(np.eye(2), np.full((2, 2), np.nan))


@every_baseline
@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_blocks(baseline, kernel, monkeypatch):
    graph = small_graph()
    if kernel == "precomputed":
        graph = RelationGraph(graph.nodes.base @ graph.nodes.base.T, graph.to_dense())
    make = clone(baseline).set_params(kernel=kernel)
    ranker = make.fit(graph[:9])
    test = graph[5:]
    expected, score, ranking = ranker.predict(test), ranker.score(test), ranker.rank(test, top=3)
    W = getattr(ranker, "coef_", None)
    for module in ("solvers.explicit", "rankers.base", "baselines.similarity", "baselines.neighbours", "models.model"):
        monkeypatch.setattr(f"condrank.{module}.row_blocks", lambda n_rows, *_, **__: row_blocks(n_rows, 1, 2))
    ranker = clone(make).fit(graph[:9])
    np.testing.assert_allclose(ranker.predict(test), expected, atol=1e-9)
    assert W is None or np.allclose(ranker.coef_, W, atol=1e-9)
    assert ranker.score(test) == score
    np.testing.assert_array_equal(ranker.rank(test, top=3).indices, ranking.indices)


# The paper's experiments


@pytest.mark.parametrize("relation", ["ordinary", "reciprocal"])
def test_rock_paper_scissors(relation):
    # Paper, w = 10: RLS .042, RankRLS .045 and .043 (reciprocal), RankSVM .045 and .041.
    train, test = make_rock_paper_scissors(10, random_state=1)
    for ranker in (
        ExplicitRankRLS(relation, "regression", 2.0**-30),
        ExplicitRankRLS(relation, "ranking", 2.0**-30),
        RankSVM(relation, random_state=0),
        RankSVM(relation, 100.0, "squared_hinge", random_state=0),
    ):
        assert 1 - ranker.fit(train).score(test) < 0.12
    assert 1 - NearestNeighbours(10).fit(train).score(test) < 0.4


def test_digits():
    train, test = make_digits_task(200, 150, random_state=0)
    assert 1 - SimilarityRanker().fit(train).score(test) < 0.35
    assert 1 - NearestNeighbours(5).fit(train).score(test) < 0.35
    assert 1 - TwoStepRidge(1.0, kernel="rbf", gamma=0.05).fit(train).score(test) < 0.35


def test_complete_naive_twin():
    rng = np.random.default_rng(18)
    X = rng.standard_normal((6, 2))
    Y = make_labels(6, 6, rng)
    np.testing.assert_allclose(ExplicitRankRLS().fit(X, Y).predict(X), naive_complete(X @ X.T, Y, 1.0), atol=1e-9)
