"""Nearest neighbours against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from condrank import RelationGraph
from condrank.baselines import NearestNeighbours
from reference_baselines import make_labels, some_edges

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


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
def test_nearest_neighbours_are_those_of_plain_loops(k, holes):
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


def test_nearest_neighbours_of_two_domains_with_weights_are_those_of_plain_loops():
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


def test_nearest_neighbours_of_classes_and_known_zeros_are_those_of_dense_labels():
    rng = np.random.default_rng(15)
    X, labels = rng.standard_normal((9, 2)), rng.integers(0, 3, 9)
    classes = RelationGraph.from_classes(X, labels)
    zeros = RelationGraph(X, sparse.csr_array(classes.to_dense()), unstored="zero")
    expected = NearestNeighbours(3).fit(X, classes.to_dense()).predict(X[:4], X[2:] + 0.1)
    for graph in (classes, zeros):
        scores = NearestNeighbours(3).fit(graph).predict(X[:4], X[2:] + 0.1)
        np.testing.assert_allclose(scores, expected, atol=1e-12)
