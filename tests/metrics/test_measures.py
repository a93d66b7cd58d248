"""All measures together: conventions, types of input, and scikit-learn and scipy as independent oracles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from condrank import metrics

nan = float("nan")
GAMES = ("log_loss", "brier_score", "accuracy")


def test_measures_follow_their_conventions():
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
    y, h = rng.integers(0, 2 if name in GAMES else 3, 12), rng.integers(0, 9, 12)
    if name == "pooled_concordance_index":
        assert measure(y.tolist(), h.tolist()) == measure(y[None].astype(np.float32), h[None].astype(np.float16))
        return
    value = measure(y, h)
    assert isinstance(value, float)
    assert measure(y.tolist(), h.tolist()) == pytest.approx(value)
    assert measure(y[None].astype(np.float32), h[None].astype(np.float16), average="macro") == pytest.approx(value)
    assert measure(np.asfortranarray(np.stack([y, y])), np.stack([h, h])[:, ::1]) == pytest.approx(value)
    assert measure(y, h, average=None).shape == (1,)
    assert np.isfinite(measure(y > 0, h))


@pytest.mark.parametrize("tied", [False, True])
def test_measures_agree_with_scipy_and_scikit_learn(tied, rng):
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


def test_input_is_left_alone(rng):
    Y, H = rng.standard_normal((2, 4, 9)) ** 2
    Y[0, 0], Y[:, 1] = nan, 0
    before = Y.copy(), H.copy()
    Y.flags.writeable = H.flags.writeable = False
    for name, measure in metrics.MEASURES.items():
        measure(np.minimum(Y, 1) if name in GAMES else Y, H)
    np.testing.assert_array_equal(Y, before[0])
    np.testing.assert_array_equal(H, before[1])


def test_measures_are_listed_by_their_names():
    others = {"LOWER_IS_BETTER", "MEASURES", "coverage", "make_scorer", "pair_counts"}
    assert set(metrics.MEASURES) | others == set(metrics.__all__)
    assert set(metrics.MEASURES) >= metrics.LOWER_IS_BETTER | metrics.OF_ORDER
    assert all(name == measure.__name__ for name, measure in metrics.MEASURES.items())
