"""Sums over blocks of nodes against the same sums over all of them at once."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from condrank.kernels import read_kernel
from condrank.nodes import ExplicitFeatures, Nodes
from condrank.nodes.feature_sums import FeatureSums

rng = np.random.default_rng(0)
N, P = 50, 4
PHI = rng.normal(size=(N, P)) * [1, 10, 0.1, 3] + [0, 5, 1, -20]
WEIGHTS = rng.uniform(0.2, 2, size=N)
A, B = rng.normal(size=(N, 3)), sparse.csr_array(np.eye(2)[rng.integers(2, size=N)])
CUTS = [0, 1, 13, 13, 40, N]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_blocks_add_up_to_the_sums_of_all_nodes(form, weighted):
    sums = FeatureSums(P, [3, 2])
    for start, stop in itertools.pairwise(CUTS):
        part = slice(start, stop)
        sums.add(form(PHI[part]), WEIGHTS[part] if weighted else None, [A[part], B[part]])
    weights = WEIGHTS if weighted else np.ones(N)
    mean = weights @ PHI / weights.sum()
    assert sums.total == pytest.approx(weights.sum(), rel=1e-14)
    np.testing.assert_allclose(sums.mean, mean, rtol=1e-13)
    np.testing.assert_allclose(sums.scatter, (PHI - mean).T @ (weights[:, None] * (PHI - mean)), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(sums.gram(), PHI.T @ (weights[:, None] * PHI), rtol=1e-12)
    np.testing.assert_allclose(sums.ones, weights @ PHI, rtol=1e-12)
    for factor, total, count in zip((A, B.toarray()), sums.factors, sums.counts, strict=True):
        np.testing.assert_allclose(total, factor.T @ PHI, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(count, factor.sum(axis=0), rtol=1e-12, atol=1e-12)


def test_joined_sums_are_those_of_all_nodes():
    first, second, whole = FeatureSums(P, [2]), FeatureSums(P, [2]), FeatureSums(P, [3])
    member = np.eye(3)[rng.integers(3, size=N)]
    member[:20, 2], member[20:, 0] = 0, 0
    first.add(PHI[:20], None, [member[:20, :2]])
    second.add(PHI[20:], None, [member[20:, [2, 1]]])
    whole.add(PHI, None, [member])
    joined = first.joined(second, [np.array([2, 1])], [3])
    for name in ("total", "mean", "scatter", "factors", "counts"):
        np.testing.assert_allclose(getattr(joined, name), getattr(whole, name), rtol=1e-11, atol=1e-11)
    assert first.total == 20  # as it was


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("distance", [1.0, 1e-2, 1e-4, 0.0])
def test_the_part_of_one_outside_the_span_is_the_residual(distance, shift, dtype):
    """Features that sum to one but for some noise: with a residual of every size, nought included."""
    free = np.random.default_rng(1).normal(size=(500, 3)) + shift
    last = 1 - free.sum(axis=1) + distance * np.random.default_rng(2).normal(size=500)
    X = np.column_stack([free, last]).astype(dtype)
    exact = X.astype(np.float64)
    residual = 1 - exact @ np.linalg.lstsq(exact, np.ones(500), rcond=None)[0]
    expected = float(residual @ residual)
    given = ExplicitFeatures(read_kernel(), Nodes(X)).outside
    if distance == 0.0 or (dtype == np.float32 and distance < 1e-3):
        assert given <= 500 * (1e-6 if dtype == np.float32 else 1e-18)  # rounding noise of 1 counts as nought
    else:
        assert given == pytest.approx(expected, rel=1e-8 if dtype == np.float64 else 1e-3)
