"""Products by SciPy's BLAS against NumPy's, for every order in memory."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from condrank.base.dense import beside_lapack

ORDERS = [np.ascontiguousarray, np.asfortranarray, lambda A: np.repeat(A, 2, axis=1)[:, ::2]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(5, 7, 3), (1, 4, 1), (6, 1, 2)])
def test_products_beside_lapack_are_those_of_numpy(shape, dtype):
    rng, (n, m, k) = np.random.default_rng(0), shape
    A, B, v = (rng.normal(size=size).astype(dtype) for size in ((n, m), (m, k), m))
    for left, right in product(ORDERS, ORDERS):
        found = beside_lapack(left(A), right(B))
        assert found.dtype == dtype
        assert found.flags.f_contiguous
        np.testing.assert_allclose(found, A @ B, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-6)
        np.testing.assert_allclose(beside_lapack(left(A), v), A @ v, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(beside_lapack(left(A).T, A @ v), A.T @ (A @ v), rtol=1e-4, atol=1e-5)
