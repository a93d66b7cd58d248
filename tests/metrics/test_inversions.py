"""Counting wrongly ordered pairs: both backends against the naive count."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.stats import kendalltau

import reference_metrics as naive
from condrank import metrics
from condrank.metrics import inversion_loops, inversions, pairs
from condrank.metrics.given import Given

nan = float("nan")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("n_objects", [31, 32, 33, 63, 64, 65, 257, 1000])
@pytest.mark.parametrize("n_levels", [2, 5, 40, 10**6])
def test_backends_agree_with_the_naive_count(n_objects, n_levels, dtype, rng):
    Y = rng.integers(0, n_levels, (3, n_objects)).astype(dtype)
    H = (Y + rng.integers(0, n_levels, Y.shape)).astype(dtype)
    if dtype is not np.int64:
        Y[rng.random(Y.shape) < 0.2] = nan
        Y[1] = nan
    results = {backend: pairs.count_pairs(Given(Y, H), backend=backend) for backend in ("numba", "numpy")}
    lower = Y[:, :, None] < Y[:, None, :]
    twice = 2 * (lower & (H[:, :, None] > H[:, None, :])).sum((1, 2)) + (lower & (H[:, :, None] == H[:, None])).sum(
        (1, 2)
    )
    for twice_wrong, comparable in results.values():
        np.testing.assert_array_equal(twice_wrong, twice)
        np.testing.assert_array_equal(comparable, lower.sum((1, 2)))


def test_more_objects_than_fit_into_sixteen_bits_are_counted(rng):
    y, h = rng.integers(0, 30_000, (1, 70_000)), rng.standard_normal((1, 70_000))
    counts = [pairs.count_pairs(Given(y, h), backend=backend) for backend in ("numba", "numpy")]
    np.testing.assert_array_equal(counts[0], counts[1])
    tau = kendalltau(y[0], h[0]).statistic
    assert metrics.kendall_tau(y, h) == pytest.approx(tau, rel=1e-9)


def test_a_level_that_the_sample_misses_is_still_counted():
    y, h = np.zeros((2, 5000)), np.tile(np.arange(5000.0), (2, 1))
    y[:, 1:2500] = 1
    y[1, 1001] = 2  # every second entry is sampled
    assert inversions.few_levels(y[:1]) is not None
    assert inversions.few_levels(y) is None
    lower = y[1][:, None] < y[1]
    for backend in ("numba", "numpy"):
        twice_wrong, comparable = pairs.count_pairs(Given(y, h), backend=backend)
        assert comparable[1] == lower.sum()
        assert twice_wrong[1] == 2 * (lower & (h[1][:, None] > h[1])).sum()


def test_numba_is_optional(monkeypatch, rng):
    Y, H = rng.standard_normal((2, 5, 60))
    with_numba = pairs.count_pairs(Given(Y, H), backend="numba")
    monkeypatch.setitem(sys.modules, "numba", None)
    inversion_loops.numba_kernels.cache_clear()
    try:
        assert inversion_loops.numba_kernels() is None
        monkeypatch.setattr(inversions, "METRICS_NUMBA_LEAST_ENTRIES", 0)
        wrong, comparable = metrics.pair_counts(Y, H)
    finally:
        inversion_loops.numba_kernels.cache_clear()
    np.testing.assert_array_equal(wrong, with_numba[0] / 2)
    np.testing.assert_array_equal(comparable, [naive.pair_counts(y, h)[1] for y, h in zip(Y, H, strict=True)])
