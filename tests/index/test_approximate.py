"""Approximate indexes: exact scores of the objects they find, and most of the best ones found."""

import tracemalloc

import numpy as np

from condrank.index.approximate import scores_at

RNG = np.random.default_rng(0)


def test_scores_of_found_objects_take_little_memory():
    Q, objects = RNG.normal(size=(500, 64)), RNG.normal(size=(300, 64))
    places = RNG.integers(0, 300, size=(500, 200))
    tracemalloc.start()
    found = scores_at(Q, objects, places)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6  # all vectors at once are 51 MB
    np.testing.assert_allclose(found, np.take_along_axis(Q @ objects.T, places, axis=1), rtol=1e-10, atol=1e-10)
