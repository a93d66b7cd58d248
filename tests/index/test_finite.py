"""An index gives no score that is not finite, and loses no object whose score is not."""

import numpy as np
import pytest

from condrank import ConditionalRanker

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(30, 3))
OBJECTS = np.vstack([X, np.full((1, 3), 1e200), np.full((1, 3), -1e200), [[1e200, -1e200, 1e200]]])
FAR = np.array([[1e200, 1e200, 1e200], [1e200, -1e200, 1e200], [-1e200, 1e200, -1e200]])


def index_of(objects, **options):
    ranker = ConditionalRanker("symmetric", "regression", **options).fit(X, X @ X.T)
    return ranker.index(objects)


@pytest.mark.parametrize("options", [{}, {"prior": "similarity"}, {"solver": "dual", "kernel": "poly", "degree": 1}])
@pytest.mark.parametrize("k", [1, 5, 33])
@pytest.mark.parametrize("choice", ["all", "candidates", "each"])
def test_scores_that_overflow_are_refused(options, k, choice):
    index = index_of(OBJECTS, **options)
    given = {"all": {}, "candidates": {"candidates": range(28, 33)}, "each": {"candidates": [list(range(20, 33))] * 3}}
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="scores overflow"):
        index.top(FAR, k, **given[choice])


def test_objects_with_a_score_of_minus_infinity_are_not_lost():
    index = index_of(np.vstack([X[:2], -X[:2], np.full((1, 3), -1e200)]))
    far = np.full((1, 3), 1e200)
    with np.errstate(all="ignore"):
        with pytest.raises(ValueError, match="scores overflow"):
            index.top(far, 5)
        with pytest.raises(ValueError, match="scores overflow"):
            index.top(far, 4, exclude=[0])


def test_short_rankings_of_finite_scores_are_given():
    index = index_of(X[:6])
    index.remove([5])
    found = index.top(X[:2], 9, exclude=[[0, 1, 5], [2]])
    assert (found.indices >= 0).sum(axis=1).tolist() == [3, 4]
    assert np.isfinite(found.scores[found.indices >= 0]).all()
    assert index.top(X[:2], 9, candidates=[1, 2], exclude=[2, 3]).indices.tolist() == [[1], [1]]
