"""The ranker by similarity alone."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel

from condrank import RelationGraph
from condrank.baselines import SimilarityRanker

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


def test_scores_are_the_similarities_themselves():
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
