"""What measures refuse, and what they warn about."""

from __future__ import annotations

from warnings import catch_warnings, simplefilter

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning

from condrank import metrics

PER_RANKING = ["kendall_tau", "ndcg", "mean_reciprocal_rank", "average_precision", "precision_at_k"]

nan = float("nan")


@pytest.mark.parametrize("name", sorted(metrics.OF_ORDER | {"rm_squared"}))
@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (0, 3), (2, 0), (0,)])
def test_a_measure_that_is_defined_for_no_query_is_nan_with_a_warning(name, shape):
    measure = metrics.MEASURES[name]
    Y = np.zeros(shape)
    with pytest.warns(UndefinedMetricWarning, match=f"{name} is not defined for any") as record:
        assert np.isnan(measure(Y, Y))
    assert record[0].filename == __file__
    with catch_warnings():
        simplefilter("error")
        assert np.isnan(measure(Y, Y, average=None)).all()


@pytest.mark.parametrize(
    ("Y_true", "Y_score", "message"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2)), r"Y_score must have the shape of Y_true, \(2, 3\), got \(3, 2\)"),
        (np.zeros((2, 3)), np.zeros(6), r"Y_score must have the shape of Y_true, \(2, 3\), got \(6,\)"),
        (np.zeros((1, 2, 3)), np.zeros((1, 2, 3)), r"Y_true must have shape .* got \(1, 2, 3\)"),
        (np.zeros(2), [0, nan], "Y_score must be finite"),
        (np.zeros(2), [0, np.inf], "Y_score must be finite"),
        ([0, -np.inf], np.zeros(2), "Y_true must be finite, or NaN"),
        (["a", "b"], np.zeros(2), "Y_true must be a dense array of real numbers, got list"),
        (sparse.eye(2, format="csr"), np.eye(2), "must both be sparse, or neither, got Y_score as ndarray"),
        (np.zeros(2), np.zeros(2, dtype=complex), "Y_score must be a dense array of real numbers"),
    ],
)
@pytest.mark.parametrize("name", ["rank_loss", "kendall_tau", "ndcg"])
def test_bad_input_is_named(name, Y_true, Y_score, message):
    with pytest.raises(ValueError, match=message):
        metrics.MEASURES[name](Y_true, Y_score)


def test_bad_options_are_named():
    y = np.arange(3)
    for name in set(metrics.MEASURES) - {"pooled_concordance_index"}:
        measure = metrics.MEASURES[name]
        with pytest.raises(ValueError, match=r"average must be one of .* got 'mean'"):
            measure(y, y, average="mean")
    for name in PER_RANKING:
        with pytest.raises(ValueError, match=r"average must be one of .* got 'micro'"):
            metrics.MEASURES[name](y, y, average="micro")
    for k in (0, -1, 1.5, True):
        for measure in (metrics.ndcg, metrics.precision_at_k, metrics.recall_at_k, metrics.hit_rate_at_k):
            with pytest.raises(ValueError, match="k must be an integer of at least 1"):
                measure(y, y, k=k)
    with pytest.raises(ValueError, match="gain must be 'linear' or 'exponential', got 'log'"):
        metrics.ndcg(y, y, gain="log")
    with pytest.raises(ValueError, match="must not be negative for ndcg, got a smallest relevance of -1"):
        metrics.ndcg([nan, -1, 2], y)
    with pytest.raises(ValueError, match="at most 1000 for the exponential gain"):
        metrics.ndcg([0, 1, 1001], y, gain="exponential")


@pytest.mark.parametrize("name", ["mean_reciprocal_rank", "average_precision", "precision_at_k", "hit_rate_at_k"])
def test_a_warning_says_that_all_objects_are_relevant(name, rng):
    measure, ratings, h = metrics.MEASURES[name], rng.integers(1, 6, (4, 9)), rng.standard_normal((4, 9))
    holes = ratings.astype(np.float32)
    holes[1:, ::2] = nan  # left out, so that they are no objects that are not relevant
    for Y in (ratings, holes, holes[0]):
        with pytest.warns(UserWarning, match=f"above relevant=0, so {name} is 1 for all scores; set") as record:
            assert measure(Y, h if Y.ndim == 2 else h[0]) == 1
        assert [one.filename for one in record] == [__file__]
    with catch_warnings():
        simplefilter("error")
        measure(ratings, h, relevant=3)
        measure(np.nan_to_num(holes), h)
        assert (measure(ratings, h, average=None) == 1).all()
