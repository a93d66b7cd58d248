"""Sums of smooth functions of eigenvalues."""

import numpy as np
import pytest

from condrank.model_selection.shortcuts.smooth_sums import SmoothSums


@pytest.mark.parametrize("weighted", [False, True])
def test_smooth_sums_keep_their_relative_precision(weighted):
    rng = np.random.default_rng(0)
    s, A = np.append(0, np.logspace(-8, 3, 40)), rng.random((5, 41))
    A[:, 0] = 0  # without it the sums go to zero for large y
    # The second run takes the tables of the first; e is an edge of a bin, and √e a point inside of one.
    sums = SmoothSums(A, s, s if weighted else None)
    for y in (np.logspace(-6, 9, 57), np.array([np.exp(0.5), np.e, 7.0, 1e5])):
        exact = (A * (s if weighted else 1)) @ (1 / (1 + np.multiply.outer(s, y)))
        block = slice(1, 4)
        assert np.abs(sums.at(y)(block) / exact[block] - 1).max() <= 1e-13
