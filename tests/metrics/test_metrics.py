"""Measures: averages, conventions, errors, and scikit-learn and scipy as independent oracles."""

from __future__ import annotations

import sys
from warnings import catch_warnings, simplefilter

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import kendalltau
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

import reference_metrics as naive
from condrank import metrics
from condrank.metrics import inversion_loops, inversions
from condrank.metrics.pairs import TruePairs

PER_RANKING = ["kendall_tau", "ndcg", "mean_reciprocal_rank", "average_precision", "precision_at_k"]
nan = float("nan")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


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


def test_conventions_by_hand():
    assert metrics.rank_loss([1, 2], [7, 7]) == 0.5
    assert metrics.auc([-1, 0, 2], [0, 1, 1]) == 0.75  # zero and below are negative
    assert metrics.auc([1, 2, 3], [1, 2, 3], relevant=2) == 1
    assert metrics.mean_reciprocal_rank([0, 1], [3, 3]) == 0.75  # rank 1 or 2
    assert metrics.precision_at_k([1, 0, 0], [2, 2, 1], k=1) == 0.5
    assert metrics.precision_at_k([1, 0, nan], [2, 1, 9], k=10) == 0.5  # two objects are observed
    assert metrics.average_precision([1, 0], [1, 1]) == 0.75
    np.testing.assert_array_equal(metrics.mean_reciprocal_rank([[0, 0], [0, 1]], np.eye(2), None), [nan, 1])


@pytest.mark.parametrize("name", sorted(metrics.MEASURES))
def test_every_measure_takes_one_query_lists_and_dtypes(name, rng):
    measure = metrics.MEASURES[name]
    y, h = rng.integers(0, 3, 12), rng.integers(0, 9, 12)
    value = measure(y, h)
    assert isinstance(value, float)
    assert measure(y.tolist(), h.tolist()) == pytest.approx(value)
    assert measure(y[None].astype(np.float32), h[None].astype(np.float16), average="macro") == pytest.approx(value)
    assert measure(np.asfortranarray(np.stack([y, y])), np.stack([h, h])[:, ::1]) == pytest.approx(value)
    assert measure(y, h, average=None).shape == (1,)
    assert np.isfinite(measure(y > 0, h))


@pytest.mark.parametrize("name", sorted(metrics.MEASURES))
@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (0, 3), (2, 0), (0,)])
def test_undefined_everywhere_is_nan_with_a_warning(name, shape):
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
        (sparse.eye(2, format="csr"), np.eye(2), "Y_true must be a dense array of real numbers, got csr"),
        (np.zeros(2), np.zeros(2, dtype=complex), "Y_score must be a dense array of real numbers"),
    ],
)
@pytest.mark.parametrize("name", ["rank_loss", "kendall_tau", "ndcg"])
def test_bad_input_is_named(name, Y_true, Y_score, message):
    with pytest.raises(ValueError, match=message):
        metrics.MEASURES[name](Y_true, Y_score)


def test_bad_options_are_named():
    y = np.arange(3)
    for measure in metrics.MEASURES.values():
        with pytest.raises(ValueError, match=r"average must be one of .* got 'mean'"):
            measure(y, y, average="mean")
    for name in PER_RANKING:
        with pytest.raises(ValueError, match=r"average must be one of .* got 'micro'"):
            metrics.MEASURES[name](y, y, average="micro")
    for k in (0, -1, 1.5, True):
        for measure in (metrics.ndcg, metrics.precision_at_k):
            with pytest.raises(ValueError, match="k must be an integer of at least 1"):
                measure(y, y, k=k)
    with pytest.raises(ValueError, match="gain must be 'linear' or 'exponential', got 'log'"):
        metrics.ndcg(y, y, gain="log")
    with pytest.raises(ValueError, match="must not be negative for ndcg, got a smallest relevance of -1"):
        metrics.ndcg([nan, -1, 2], y)
    with pytest.raises(ValueError, match="at most 1000 for the exponential gain"):
        metrics.ndcg([0, 1, 1001], y, gain="exponential")


@pytest.mark.parametrize("tied", [False, True])
def test_oracles_agree(tied, rng):
    Y = rng.integers(0, 4, (20, 30))
    H = rng.integers(0, 12, Y.shape) if tied else rng.standard_normal(Y.shape)
    binary = Y > 2
    tau = [kendalltau(y, h).statistic for y, h in zip(Y, H, strict=True)]
    np.testing.assert_allclose(metrics.kendall_tau(Y, H, average=None), tau, rtol=1e-12)
    areas = [roc_auc_score(y, h) for y, h in zip(binary, H, strict=True)]
    np.testing.assert_allclose(metrics.auc(binary, H, average=None), areas, rtol=1e-12)
    np.testing.assert_allclose(metrics.auc(Y, H, average=None, relevant=2), areas, rtol=1e-12)
    for k in (None, 1, 7, 50):
        assert metrics.ndcg(Y, H, k=k) == pytest.approx(ndcg_score(Y, H, k=k))
        assert metrics.ndcg(Y, H, k=k, gain="exponential") == pytest.approx(ndcg_score(2**Y - 1, H, k=k))
    if not tied:
        precisions = [average_precision_score(y, h) for y, h in zip(binary, H, strict=True)]
        np.testing.assert_allclose(metrics.average_precision(Y, H, None, relevant=2), precisions, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("n_objects", [31, 32, 33, 63, 64, 65, 257, 1000])
@pytest.mark.parametrize("n_levels", [2, 5, 40, 10**6])
def test_backends_agree_with_the_naive_count(n_objects, n_levels, dtype, rng):
    Y = rng.integers(0, n_levels, (3, n_objects)).astype(dtype)
    H = (Y + rng.integers(0, n_levels, Y.shape)).astype(dtype)
    if dtype is not np.int64:
        Y[rng.random(Y.shape) < 0.2] = nan
        Y[1] = nan
    results = {backend: inversions.count_pairs(Y, H, backend=backend) for backend in ("numba", "numpy")}
    lower = Y[:, :, None] < Y[:, None, :]
    twice = 2 * (lower & (H[:, :, None] > H[:, None, :])).sum((1, 2)) + (lower & (H[:, :, None] == H[:, None])).sum(
        (1, 2)
    )
    for twice_wrong, comparable in results.values():
        np.testing.assert_array_equal(twice_wrong, twice)
        np.testing.assert_array_equal(comparable, lower.sum((1, 2)))


@pytest.mark.parametrize("n_levels", [3, 1000])
@pytest.mark.parametrize("n_scores", [1, 10**6])
def test_one_truth_serves_many_scores(n_levels, n_scores, rng, monkeypatch):
    monkeypatch.setattr(inversions, "BLOCK_ENTRIES", 150)
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


def test_more_objects_than_fit_sixteen_bits(rng):
    y, h = rng.integers(0, 30_000, (1, 70_000)), rng.standard_normal((1, 70_000))
    counts = [inversions.count_pairs(y, h, backend=backend) for backend in ("numba", "numpy")]
    np.testing.assert_array_equal(counts[0], counts[1])
    tau = kendalltau(y[0], h[0]).statistic
    assert metrics.kendall_tau(y, h) == pytest.approx(tau, rel=1e-9)


def test_a_level_that_the_sample_misses_is_still_counted():
    y, h = np.zeros((2, 5000)), np.tile(np.arange(5000.0), (2, 1))
    y[:, 1:2500] = 1
    y[1, 1001] = 2  # every second entry is sampled
    assert inversions._few_levels(y[:1]) is not None
    assert inversions._few_levels(y) is None
    lower = y[1][:, None] < y[1]
    for backend in ("numba", "numpy"):
        twice_wrong, comparable = inversions.count_pairs(y, h, backend=backend)
        assert comparable[1] == lower.sum()
        assert twice_wrong[1] == 2 * (lower & (h[1][:, None] > h[1])).sum()


def test_signed_zeros_are_tied_and_close_scores_are_not():
    assert metrics.rank_loss([0, 1], [0.0, -0.0]) == 0.5
    assert metrics.rank_loss([-0.0, 0.0, 1], [3, 2, 1.0]) == 1
    assert metrics.rank_loss([0, 1], [1.0, np.nextafter(1.0, 2)]) == 0
    assert metrics.rank_loss([2**60, 2**60 + 1], [2**60 + 1, 2**60]) == 1  # not told apart as float64


def test_numba_is_optional(monkeypatch, rng):
    Y, H = rng.standard_normal((2, 5, 60))
    with_numba = inversions.count_pairs(Y, H, backend="numba")
    monkeypatch.setitem(sys.modules, "numba", None)
    inversion_loops.numba_kernels.cache_clear()
    try:
        assert inversion_loops.numba_kernels() is None
        monkeypatch.setattr(inversions, "NUMBA_ENTRIES", 0)
        wrong, comparable = metrics.pair_counts(Y, H)
    finally:
        inversion_loops.numba_kernels.cache_clear()
    np.testing.assert_array_equal(wrong, with_numba[0] / 2)
    np.testing.assert_array_equal(comparable, [naive.pair_counts(y, h)[1] for y, h in zip(Y, H, strict=True)])


@pytest.mark.parametrize("relevant", [0.1, np.float64(0.1)])
def test_relevant_is_compared_in_the_type_of_the_relevances(relevant):
    y, h = np.array([0.1, 0.2, 0.05], dtype=np.float32), [1, 2, 3]  # 0.1 in single precision is above 0.1 in double
    assert metrics.auc(y, h, relevant=relevant) == 0.5
    assert metrics.precision_at_k(y, h, k=3, relevant=relevant) == pytest.approx(1 / 3)
    assert metrics.average_precision(y, h, relevant=relevant) == 0.5
    assert metrics.mean_reciprocal_rank(y[::2], h[::2], None, relevant=relevant).tolist() == pytest.approx(
        [nan], nan_ok=True
    )
    large = [2**60, 2**60 + 1]
    assert metrics.precision_at_k(large, [2, 1], k=2, relevant=2**60) == 0.5
    assert metrics.auc(large, [2, 1], relevant=2**60) == 0


@pytest.mark.parametrize("name", ["mean_reciprocal_rank", "average_precision", "precision_at_k"])
def test_relevant_objects_alone_are_warned_of(name, rng):
    measure, ratings, h = metrics.MEASURES[name], rng.integers(1, 6, (4, 9)), rng.standard_normal((4, 9))
    holes = ratings.astype(np.float32)
    holes[1:, ::2] = nan  # left out, so that they are no objects that are not relevant
    for Y in (ratings, holes, holes[0]):
        with pytest.warns(
            UserWarning, match=f"above relevant=0, so that {name} is 1 whatever the scores; set"
        ) as record:
            assert measure(Y, h if Y.ndim == 2 else h[0]) == 1
        assert [one.filename for one in record] == [__file__]
    with catch_warnings():
        simplefilter("error")
        measure(ratings, h, relevant=3)
        measure(np.nan_to_num(holes), h)
        assert (measure(ratings, h, average=None) == 1).all()


def test_input_is_left_alone(rng):
    Y, H = rng.standard_normal((2, 4, 9)) ** 2
    Y[0, 0], Y[:, 1] = nan, 0
    before = Y.copy(), H.copy()
    Y.flags.writeable = H.flags.writeable = False
    for measure in metrics.MEASURES.values():
        measure(Y, H)
    np.testing.assert_array_equal(Y, before[0])
    np.testing.assert_array_equal(H, before[1])


def test_names():
    assert set(metrics.MEASURES) | {"MEASURES", "pair_counts"} == set(metrics.__all__)
    assert all(name == measure.__name__ for name, measure in metrics.MEASURES.items())
