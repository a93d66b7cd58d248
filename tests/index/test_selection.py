"""The best objects so far, block by block."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from condrank.index.selection import Best


@given(
    scores=st.integers(0, 2**32 - 1).map(
        lambda seed: np.random.default_rng(seed).integers(0, 30, size=(6, 200)).astype(np.float32)
    ),
    k=st.integers(1, 210),
    width=st.integers(1, 200),
)
def test_the_best_so_far_are_the_first_of_a_stable_sort(scores, k, width):
    best = Best(6, k, scores.dtype)
    for start in range(0, 200, width):
        for rows in (slice(0, 4), slice(4, 6)):
            best.update(rows, start, scores[rows, start : start + width])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(best.places[:, :200], order)
    np.testing.assert_array_equal(best.scores[:, :200], np.take_along_axis(scores, order, axis=1))
    assert (best.places[:, 200:] == -1).all()
