"""Vectors of the objects: coordinates where they are fewer, features that are not copied, single precision."""

import numpy as np

from condrank import ConditionalRanker
from reference_index import OBJECTS, QUERIES, RNG, D, N, X, Y, assert_same, linear


def test_fewer_directions_than_features_keep_coordinates():
    low = X[:, :2] @ RNG.normal(size=(2, D))
    ranker = ConditionalRanker().fit(low, Y)
    assert ranker.index(low)._held.objects.shape == (N, 2)
    assert_same(ranker.index(low).top(low, 5), ranker.rank(low, low, 5))


def test_features_of_a_linear_kernel_are_not_copied():
    objects = OBJECTS.copy()
    assert linear(constant=True).index(objects)._held.objects is objects


def test_single_precision_stays_single_precision(small_blocks):
    ranker = ConditionalRanker(constant=True).fit(X.astype(np.float32), Y.astype(np.float32))
    objects, queries = OBJECTS.astype(np.float32), QUERIES.astype(np.float32)
    found = ranker.index(objects).top(queries, 6)
    assert found.scores.dtype == np.float32
    assert_same(found, ranker.rank(queries, objects, 6))
    assert ranker.index(objects).top(QUERIES, 6).scores.dtype == np.float32
