"""Coverage of intervals against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import refused
from condrank.metrics import coverage


def naive(Y, lower, upper):
    """One share per query, pair by pair."""
    shares = []
    for y, low, high in zip(Y, lower, upper, strict=True):
        inside = [a <= v <= b for v, a, b in zip(y, low, high, strict=True) if not np.isnan(v)]
        shares.append((sum(inside), len(inside)))
    return shares


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_coverage_is_the_share_of_labels_inside(seed):
    random = np.random.default_rng(seed)
    Y = np.where(random.random((4, 5)) < 0.3, np.nan, random.integers(0, 4, size=(4, 5)))
    Y[0] = [0, 1, 2, 3, 3]
    lower = random.integers(-1, 3, size=Y.shape).astype(float)
    upper = lower + random.integers(0, 3, size=Y.shape)
    upper[0, 0] = np.inf
    shares = naive(Y, lower, upper)
    assert coverage(Y, lower, upper) == pytest.approx(sum(s for s, _ in shares) / sum(n for _, n in shares))
    each = [s / n if n else np.nan for s, n in shares]
    np.testing.assert_allclose(coverage(Y, lower, upper, average=None), each)
    assert coverage(Y, lower, upper, average="macro") == pytest.approx(np.nanmean(each))
    known = ~np.isnan(Y)
    groups = np.nonzero(known)[0]
    assert coverage(Y[known], lower[known], upper[known], groups=groups) == coverage(Y, lower, upper)


def test_refusals():
    refused("lower must have the shape", coverage, [1.0, 2.0], [1.0], [2.0, 3.0])
    refused("upper must be numbers or infinite", coverage, [1.0], [0.0], [np.nan])
    refused("lower must be at most upper", coverage, [1.0], [3.0], [2.0])
    refused("average must be one of", coverage, [1.0], [0.0], [2.0], average="sum")
