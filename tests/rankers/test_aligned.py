"""Scores of aligned pairs are entries of the scores of all pairs; a node that is given often is placed once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import NearestNeighbours, SimilarityRanker, TwoStepRidge
from condrank.nodes.exact import ExactKernel
from condrank.rankers import aligned

rng = np.random.default_rng(0)
X, NEW, OBJECTS = rng.normal(size=(15, 3)), rng.normal(size=(6, 3)), rng.normal(size=(8, 3))
Y = rng.normal(size=(15, 15))
FIRST, SECOND = rng.integers(0, 6, 60), rng.integers(0, 8, 60)
RANKERS = [
    ConditionalRanker(),
    ConditionalRanker(kernel="rbf"),
    ConditionalRanker(kernel="rbf", prior="similarity", prior_weight=0.5),
    ConditionalRanker(kernel="linear", prior="similarity"),
    ConditionalRanker(kernel="rbf", n_components=5, random_state=0, prior="similarity"),
    ConditionalRanker(relation="reciprocal", kernel="rbf", compared=[0, 2]),
    ConditionalRanker(relation="reciprocal", kernel="rbf", loss="logistic", compared=[1]),
    ConditionalRanker(relation="symmetric", kernel="rbf", solver="explicit"),
    ConditionalRanker(pairwise_kernel="poly2D", kernel="rbf"),
    SimilarityRanker("rbf"),
    NearestNeighbours(n_neighbors=2),
    TwoStepRidge(),
]


def fitted(ranker):
    labels = np.sign(Y - Y.T) if getattr(ranker, "relation", "") == "reciprocal" else Y
    labels = Y + Y.T if getattr(ranker, "relation", "") == "symmetric" else labels
    return ranker.fit(RelationGraph(X, labels))


@pytest.mark.parametrize("entries", [1 << 25, 20], ids=["at once", "tiles"])
@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_pairs_are_entries_of_the_scores_of_all_pairs(ranker, entries, monkeypatch):
    monkeypatch.setattr(aligned, "ALIGNED_COORDINATES_ENTRIES", entries)
    monkeypatch.setattr(aligned, "CHEAP_FEATURES_MOST", 0)
    ranker = fitted(ranker)
    want = ranker.predict(NEW, OBJECTS)[FIRST, SECOND]
    np.testing.assert_allclose(ranker.predict_edges(NEW[FIRST], OBJECTS[SECOND]), want, rtol=1e-9, atol=1e-10)
    alone = ranker.predict_edges(NEW, OBJECTS[:6])
    np.testing.assert_allclose(alone, np.diag(ranker.predict(NEW, OBJECTS[:6])), rtol=1e-9, atol=1e-10)


def test_a_node_that_is_given_often_is_placed_once(monkeypatch):
    ranker, seen = fitted(ConditionalRanker(kernel="rbf")), []
    transform = ExactKernel.transform
    monkeypatch.setattr(ExactKernel, "transform", lambda self, nodes: seen.append(len(nodes)) or transform(self, nodes))
    ranker.predict_edges(NEW[FIRST], OBJECTS[SECOND])
    assert sum(seen) <= len(NEW) + len(OBJECTS)


def test_sparse_features_and_no_pairs():
    ranker = fitted(ConditionalRanker(kernel="rbf"))
    want = ranker.predict(NEW, OBJECTS)[FIRST, SECOND]
    found = ranker.predict_edges(sparse.csr_array(NEW[FIRST]), sparse.csr_array(OBJECTS[SECOND]))
    np.testing.assert_allclose(found, want, rtol=1e-9)
    with pytest.raises(ValueError, match="must be aligned, got 6 and 8"):
        ranker.predict_edges(NEW, OBJECTS)
