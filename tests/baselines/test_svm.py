"""RankSVM against general-purpose minimisers, and its preference pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from sklearn.base import clone

from condrank.baselines import RankSVM
from condrank.baselines.svm import preference_pairs
from condrank.datasets import make_rock_paper_scissors
from reference_baselines import RELATIONS, SIGNS, make_labels, some_edges

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


def naive_pairs(edges):
    """Every pair of edges of a node with different labels, and the product of their weights."""
    Y, M = edges.to_dense(), edges.matrix(edges.weights).toarray()
    n, m = Y.shape
    return {(v, a, b): M[v, a] * M[v, b] for v in range(n) for a in range(m) for b in range(m) if Y[v, a] > Y[v, b]}


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


@pytest.mark.parametrize("relation", RELATIONS)
def test_rank_svm_minimises_the_squared_hinge(relation):
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
def test_rank_svm_minimises_the_hinge(relation):
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


def test_rank_svm_of_one_pair_is_known_and_of_none_refused():
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


def test_rank_svm_may_learn_from_a_sample_of_the_pairs():
    graph, test = make_rock_paper_scissors(10, random_state=0)
    everything = RankSVM("reciprocal", random_state=0).fit(graph)
    sample = RankSVM("reciprocal", max_pairs=1000, random_state=0).fit(graph)
    assert sample.n_pairs_ <= 1000 < everything.n_pairs_
    assert abs(sample.score(test) - everything.score(test)) < 0.05
    np.testing.assert_array_equal(clone(sample).fit(graph).coef_, sample.coef_)
