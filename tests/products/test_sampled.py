"""Sampled products: numba loops, in threads or not, and their NumPy twins, against dense products."""

import numpy as np
import pytest

from condrank.base import blocks as _blocks
from condrank.observations import Edges
from condrank.products import sampled
from condrank.products.sampled import SampledProducts

BACKENDS = ["numpy", pytest.param("numba", marks=pytest.mark.skipif(sampled.numba_loops() is None, reason="no numba"))]
backends = pytest.mark.parametrize("backend", BACKENDS)


def pattern(n, m, density, seed=0):
    """A random pattern with an empty first, middle and last row, and a full one."""
    observed = np.random.default_rng(seed).random((n, m)) < density
    observed[[0, n // 2, n - 1]] = False
    observed[1] = True
    return observed


def products(observed, backend):
    edges = Edges.from_holes(np.where(observed, 1.0, np.nan))
    return SampledProducts(edges.indptr, edges.indices, edges.shape, backend)


@pytest.fixture
def threads(monkeypatch):
    """Sizes of the pool of threads for each block that was handed to it, where there are three processors."""
    sizes, pool = [], _blocks._pool

    def told(n_threads):
        sizes.append(n_threads)
        return pool(n_threads)

    monkeypatch.setattr(_blocks, "_pool", told)
    for module in (_blocks, sampled):
        monkeypatch.setattr(module, "n_processors", lambda: 3)
    return sizes


@backends
@pytest.mark.parametrize("width", [1, 2, 7])
@pytest.mark.parametrize("shape", [(9, 9), (6, 11), (11, 4)])
def test_sampled_products_equal_dense_ones(shape, width, backend):
    observed = pattern(*shape, 0.4)
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(shape[0], width)), rng.normal(size=(shape[1], width))
    entries = rng.normal(size=observed.sum())
    S = np.zeros(shape)
    S[observed] = entries
    one = products(observed, backend)
    np.testing.assert_allclose(one.at_edges(A, B), (A @ B.T)[observed], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(one.times(entries, B), S @ B, rtol=1e-12, atol=1e-14)
    assert one.n_pairs == observed.sum()


@pytest.mark.skipif(sampled.numba_loops() is None, reason="no numba")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_backends_are_equal_in_threads_and_not(dtype, threads, monkeypatch):
    monkeypatch.setattr(sampled, "THREADS_LEAST_MULTIPLICATIONS", 0)
    observed = pattern(60, 50, 0.3)
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(60, 9)).astype(dtype), rng.normal(size=(50, 9)).astype(dtype)
    entries = rng.normal(size=observed.sum()).astype(dtype)
    by_numpy, by_numba = (products(observed, backend) for backend in ("numpy", "numba"))
    expected = by_numpy.at_edges(A, B), by_numpy.times(entries, B)
    assert threads == []
    threaded = by_numba.at_edges(A, B), by_numba.times(entries, B)
    assert threads == [3] * 24  # twelve blocks each
    for module in (_blocks, sampled):
        monkeypatch.setattr(module, "n_processors", lambda: 1)
    alone = by_numba.at_edges(A, B), by_numba.times(entries, B)
    assert len(threads) == 24
    for twin, in_threads, in_one in zip(expected, threaded, alone, strict=True):
        np.testing.assert_array_equal(in_threads, in_one)  # every entry is one thread's
        np.testing.assert_allclose(in_one, twin, rtol=1e-5, atol=100 * np.finfo(dtype).eps)
        assert in_threads.dtype == twin.dtype == dtype


@backends
@pytest.mark.parametrize("entries", [8, 300, 10_000])
@pytest.mark.parametrize(("m", "width"), [(50, 41), (50, 1), (7, 64)])
def test_a_product_with_panels_is_that_with_the_matrix(m, width, entries, backend, monkeypatch):
    monkeypatch.setattr(sampled, "PANEL_ENTRIES", entries)
    monkeypatch.setattr(sampled, "PANEL_LEAST_COLUMNS", 3)
    observed = pattern(60, m, 0.4)  # rows with fewer than eight pairs and with more
    rng = np.random.default_rng(5)
    B, values = rng.normal(size=(m, width)), rng.normal(size=observed.sum())
    panels, one = sampled.Panels(B), products(observed, backend)
    assert panels.columns.shape[2] == min(width, max(3, entries // m // 16 * 16))
    assert panels.columns.ctypes.data % 64 == 0
    np.testing.assert_array_equal(panels.whole(), B)
    np.testing.assert_allclose(one.times(values, panels), one.times(values, B), rtol=1e-12, atol=1e-13)


@backends
def test_threads_take_few_and_uneven_rows(backend, threads):
    for observed in (
        np.ones((1, 5), dtype=bool),
        np.ones((2, 1), dtype=bool),
        np.vstack([np.zeros((5, 30)), np.ones((1, 30)), np.zeros((5, 30))]).astype(bool),
        np.vstack([np.zeros((20, 3)), np.ones((1, 3))]).astype(bool),
        np.zeros((4, 3), dtype=bool),
    ):
        n, m = observed.shape
        A, B = np.arange(n * 2.0).reshape(n, 2), 1 + np.arange(m * 2.0).reshape(m, 2)
        one = products(observed, backend)
        np.testing.assert_allclose(one.at_edges(A, B), (A @ B.T)[observed])
        np.testing.assert_allclose(one.times(np.ones(observed.sum()), B), observed.astype(float) @ B)


@backends
def test_memory_order_does_not_matter(backend):
    observed = pattern(8, 7, 0.5)
    rng = np.random.default_rng(3)
    A, B, entries = rng.normal(size=(8, 4)), rng.normal(size=(7, 4)), rng.normal(size=observed.sum())
    one = products(observed, backend)
    expected = one.at_edges(A, B), one.times(entries, B)
    strided = np.repeat(B, 2, axis=1)[:, ::2]
    for A_other, B_other in ((np.asfortranarray(A), np.asfortranarray(B)), (A, strided)):
        np.testing.assert_allclose(one.at_edges(A_other, B_other), expected[0], rtol=1e-12)
        np.testing.assert_allclose(one.times(entries, B_other), expected[1], rtol=1e-12)


def test_numpy_gathers_in_blocks(monkeypatch):
    observed = pattern(9, 8, 0.6)
    rng = np.random.default_rng(4)
    A, B = rng.normal(size=(9, 5)), rng.normal(size=(8, 5))
    expected = (A @ B.T)[observed]
    for budget in (1, 5, 17, 10_000):
        monkeypatch.setattr(sampled, "GATHERED_ENTRIES", budget)
        np.testing.assert_allclose(products(observed, "numpy").at_edges(A, B), expected, rtol=1e-12)


def test_numba_is_for_large_products_and_optional(monkeypatch):
    asked = []
    monkeypatch.setattr(sampled, "numba_loops", lambda: asked.append(True))  # as where numba is not installed
    observed = pattern(8, 7, 0.5)
    A, B = np.ones((8, 4)), np.full((7, 4), 2.0)
    for backend, work, expected in (("auto", 1 << 24, 0), ("auto", 1, 2), ("numba", 1 << 24, 2), ("numpy", 1, 0)):
        monkeypatch.setattr(sampled, "NUMBA_LEAST_MULTIPLICATIONS", work)
        asked.clear()
        one = products(observed, backend)
        np.testing.assert_array_equal(one.at_edges(A, B), np.full(observed.sum(), 8.0))
        np.testing.assert_array_equal(one.times(np.ones(observed.sum()), B)[1], np.full(4, 14.0))
        assert len(asked) == expected
