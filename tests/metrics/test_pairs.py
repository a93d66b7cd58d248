"""Measures of pairs: averages, sums over blocks, and one truth for many scores."""

from __future__ import annotations

import numpy as np
import pytest

from condrank import metrics
from condrank.metrics import inversions
from condrank.metrics.pairs import TruePairs

nan = float("nan")


def test_micro_pools_pairs_and_macro_averages_queries():
    Y_true = [[1, 2, 3], [0, 1, nan], [4, 4, 4]]
    Y_score = [[1, 3, 2], [5, 5, 0], [1, 2, 3]]
    assert metrics.rank_loss(Y_true, Y_score) == 1.5 / 4
    assert metrics.rank_loss(Y_true, Y_score, average="macro") == pytest.approx((1 / 3 + 1 / 2) / 2)
    np.testing.assert_allclose(metrics.rank_loss(Y_true, Y_score, average=None), [1 / 3, 1 / 2, nan])
    assert metrics.concordance_index(Y_true, Y_score) == 1 - 1.5 / 4


def test_counts_of_blocks_of_rows_add_up(rng):
    Y, H = rng.integers(0, 4, (7, 9)), rng.integers(0, 5, (7, 9))
    parts = [metrics.pair_counts(Y[:3], H[:3]), metrics.pair_counts(Y[3:], H[3:])]
    wrong, comparable = (sum(part[i].sum() for part in parts) for i in (0, 1))
    assert wrong / comparable == metrics.rank_loss(Y, H)
    assert parts[0][0].dtype == np.float64
    assert parts[0][1].dtype == np.int64


@pytest.mark.parametrize("n_levels", [3, 1000])
@pytest.mark.parametrize("n_scores", [1, 10**6])
def test_one_truth_serves_many_scores(n_levels, n_scores, rng, monkeypatch):
    monkeypatch.setattr(inversions, "CACHED_ENTRIES", 150)
    Y = rng.integers(0, n_levels, (7, 60)).astype(float)
    Y[rng.random(Y.shape) < 0.2] = nan
    truth = TruePairs(Y, n_scores)
    for H in (rng.normal(size=Y.shape), rng.integers(0, 9, Y.shape), rng.normal(size=(60, 7)).T.astype(np.float32)):
        wrong, comparable = metrics.pair_counts(Y, H)
        np.testing.assert_array_equal(truth.wrong(H), wrong)
        np.testing.assert_array_equal(truth.comparable, comparable)
    with pytest.raises(ValueError, match="Y_score must be finite"):
        truth.wrong(np.full(Y.shape, nan))
    with pytest.raises(ValueError, match="Y_true must be finite"):
        TruePairs(np.full((2, 2), np.inf))
    assert TruePairs(np.empty((0, 3))).wrong(np.empty((0, 3))).shape == (0,)


def test_signed_zeros_are_tied_and_close_scores_are_not():
    assert metrics.rank_loss([0, 1], [0.0, -0.0]) == 0.5
    assert metrics.rank_loss([-0.0, 0.0, 1], [3, 2, 1.0]) == 1
    assert metrics.rank_loss([0, 1], [1.0, np.nextafter(1.0, 2)]) == 0
    assert metrics.rank_loss([2**60, 2**60 + 1], [2**60 + 1, 2**60]) == 1  # equal as float64
