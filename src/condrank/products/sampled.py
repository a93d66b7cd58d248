"""Sampled products: dense times dense at the observed edges only, and sparse times dense.

These loops take most of the time of an iteration on a sparse graph. numba compiles them on first use (cached on disk,
without the GIL), and they run in threads over blocks of rows. Without numba, NumPy and SciPy do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import by_rows, in_threads, n_processors
from condrank.base.measured import (
    GATHERED_ENTRIES,
    NUMBA_LEAST_MULTIPLICATIONS,
    PANEL_ENTRIES,
    PANEL_LEAST_COLUMNS,
    PANELS_LEAST_BYTES,
    THREADS_LEAST_MULTIPLICATIONS,
)

Loops = tuple[Callable[..., None], Callable[..., None], Callable[..., None]]


class Panels:
    """A copy of B (m, r) in panels of columns, so that what a panel has of all rows stays in the processor's cache.

    Sampled products read rows of B in the order of the edges. If B is larger than the cache, each comes from memory.

    Parameters
    ----------
    B : ndarray of shape (m, r)
        A matrix that is multiplied many times.

    Attributes
    ----------
    columns : ndarray of shape (n_panels, m, width)
        The panels, at an address that vector instructions like. The last one is filled up with zeros.
    """

    def __init__(self, B: np.ndarray):
        self.shape = m, r = B.shape
        width = min(r, max(PANEL_LEAST_COLUMNS, PANEL_ENTRIES // max(1, m) // 16 * 16))
        self.columns = aligned_zeros((-(-r // width), m, width), B.dtype)
        for number, panel in enumerate(self.columns):
            part = B[:, number * width : (number + 1) * width]
            panel[:, : part.shape[1]] = part

    def whole(self) -> np.ndarray:
        """B."""
        m, r = self.shape
        return np.moveaxis(self.columns, 0, 1).reshape(m, -1)[:, :r]


def panels_pay(n_nodes: int) -> bool:
    """Whether a node kernel in single precision is so large that products with its panels are faster."""
    return 4 * n_nodes**2 > PANELS_LEAST_BYTES


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros that begin at a multiple of 64 bytes, a line of the cache. Large arrays of NumPy begin 16 bytes later."""
    size, line = int(np.prod(shape)), 64 // dtype.itemsize
    raw = np.zeros(size + line, dtype=dtype)
    skip = (-raw.ctypes.data % 64) // dtype.itemsize
    return raw[skip : skip + size].reshape(shape)


class SampledProducts:
    """Products over the pattern of observed edges of an n×m relation, in compressed sparse rows.

    Parameters
    ----------
    indptr, indices : ndarray of int
        The pattern, as in `condrank.observations.Edges`.
    shape : (int, int)
        n and m.
    backend : {"auto", "numba", "numpy"}
        "auto" uses numba if it is installed and the products are large.
    """

    def __init__(self, indptr: np.ndarray, indices: np.ndarray, shape: tuple[int, int], backend: str = "auto"):
        self.indptr, self.indices, self.shape = indptr, indices, shape
        self.backend = backend

    @property
    def n_pairs(self) -> int:
        """Number of observed pairs."""
        return len(self.indices)

    def at_edges(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """A[i]·B[j] for every observed pair (i, j), from A (n, r) and B (m, r). O(n_pairs r)."""
        out = np.empty(self.n_pairs, dtype=np.result_type(A, B))
        loops = self._loops(A.shape[1])
        A, B = by_rows(A), by_rows(B)  # both are read by rows
        if loops is not None:
            self._in_threads(
                lambda first, last: loops[0](self.indptr, self.indices, A, B, first, last, out), A.shape[1]
            )
            return out
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        step = max(1, GATHERED_ENTRIES // max(1, A.shape[1]))
        for start in range(0, self.n_pairs, step):
            edges = slice(start, start + step)
            np.einsum("ij,ij->i", A[rows[edges]], B[self.indices[edges]], out=out[edges])
        return out

    def times(self, entries: np.ndarray, B: np.ndarray | Panels) -> np.ndarray:
        """S B (n, r) for the sparse S with ``entries`` at the observed pairs and B (m, r). O(n_pairs r)."""
        loops = self._loops(B.shape[1])
        if isinstance(B, Panels):
            return self._times_panels(entries, B, loops)
        if loops is None:
            S = sparse.csr_array((entries, self.indices, self.indptr), shape=self.shape)
            return np.asarray(S @ B)
        out = np.zeros((self.shape[0], B.shape[1]), dtype=np.result_type(entries, B))
        B = by_rows(B)
        self._in_threads(
            lambda first, last: loops[1](self.indptr, self.indices, entries, B, first, last, out), B.shape[1]
        )
        return out

    def _times_panels(self, entries: np.ndarray, B: Panels, loops: Loops | None) -> np.ndarray:
        if loops is None:
            return self.times(entries, B.whole())
        out = aligned_zeros((self.shape[0], B.shape[1]), np.result_type(entries, B.columns))
        self._in_threads(
            lambda first, last: loops[2](self.indptr, self.indices, entries, B.columns, first, last, out), B.shape[1]
        )
        return out

    def _loops(self, width: int) -> Loops | None:
        if self.backend == "numpy" or (self.backend == "auto" and self.n_pairs * width < NUMBA_LEAST_MULTIPLICATIONS):
            return None
        return numba_loops()

    def _in_threads(self, loop: Callable[[int, int], Any], width: int) -> None:
        """Run a loop in threads over blocks of rows that have about the same number of edges."""
        if self.n_pairs * width < THREADS_LEAST_MULTIPLICATIONS:
            loop(0, self.shape[0])
            return
        n_blocks = 4 * n_processors()
        shares = np.linspace(0, self.n_pairs, n_blocks + 1)
        bounds = np.unique(np.searchsorted(self.indptr, shares).clip(0, self.shape[0]))
        bounds[0], bounds[-1] = 0, self.shape[0]
        in_threads(loop, bounds[:-1].tolist(), bounds[1:].tolist())


def at_edges_loop(indptr, indices, A, B, first, last, out):
    """A[i]·B[j] at the pairs of rows first..last."""
    for i in range(first, last):
        e, stop = indptr[i], indptr[i + 1]
        # Four edges at a time read the row of A once, and four rows of B side by side.
        while e + 4 <= stop:
            j0, j1, j2, j3 = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
            t0, t1, t2, t3 = A[i, 0] * B[j0, 0], A[i, 0] * B[j1, 0], A[i, 0] * B[j2, 0], A[i, 0] * B[j3, 0]
            for k in range(1, A.shape[1]):
                a = A[i, k]
                t0 += a * B[j0, k]
                t1 += a * B[j1, k]
                t2 += a * B[j2, k]
                t3 += a * B[j3, k]
            out[e], out[e + 1], out[e + 2], out[e + 3] = t0, t1, t2, t3
            e += 4
        while e < stop:
            j = indices[e]
            total = A[i, 0] * B[j, 0]
            for k in range(1, A.shape[1]):
                total += A[i, k] * B[j, k]
            out[e] = total
            e += 1


def times_loop(indptr, indices, entries, B, first, last, out):
    """Rows first..last of S B, added to out."""
    for i in range(first, last):
        e, stop = indptr[i], indptr[i + 1]
        # Four edges at a time read and write the row of the result once.
        while e + 4 <= stop:
            j0, j1, j2, j3 = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
            v0, v1, v2, v3 = entries[e], entries[e + 1], entries[e + 2], entries[e + 3]
            for k in range(B.shape[1]):
                out[i, k] += v0 * B[j0, k] + v1 * B[j1, k] + v2 * B[j2, k] + v3 * B[j3, k]
            e += 4
        while e < stop:
            j, value = indices[e], entries[e]
            for k in range(B.shape[1]):
                out[i, k] += value * B[j, k]
            e += 1


def times_panels_loop(indptr, indices, entries, columns, first, last, out):
    """Rows first..last of S B, added to out, for B in panels of columns."""
    for number in range(columns.shape[0]):
        panel, start = columns[number], number * columns.shape[2]
        for i in range(first, last):
            # A view of the row: places that are sums would be checked for negative ones, and not vectorised.
            row = out[i, start : start + columns.shape[2]]
            e, stop = indptr[i], indptr[i + 1]
            while e + 8 <= stop:
                j0, j1, j2, j3 = indices[e], indices[e + 1], indices[e + 2], indices[e + 3]
                j4, j5, j6, j7 = indices[e + 4], indices[e + 5], indices[e + 6], indices[e + 7]
                v0, v1, v2, v3 = entries[e], entries[e + 1], entries[e + 2], entries[e + 3]
                v4, v5, v6, v7 = entries[e + 4], entries[e + 5], entries[e + 6], entries[e + 7]
                for k in range(len(row)):
                    total = v0 * panel[j0, k] + v1 * panel[j1, k] + v2 * panel[j2, k] + v3 * panel[j3, k]
                    total += v4 * panel[j4, k] + v5 * panel[j5, k] + v6 * panel[j6, k] + v7 * panel[j7, k]
                    row[k] += total
                e += 8
            while e < stop:
                j, value = indices[e], entries[e]
                for k in range(len(row)):
                    row[k] += value * panel[j, k]
                e += 1


def has_numba() -> bool:
    """Whether numba is installed. It is not imported, which takes longer than to load a model."""
    return find_spec("numba") is not None


@cache
def numba_loops() -> Loops | None:
    """The loops, compiled; None if numba is not installed."""
    try:
        from numba import njit
    except ImportError:
        return None
    # Sums may be reordered, so that they can be vectorised. NaN and infinity keep their meaning.
    compiled = njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, error_model="numpy")
    return compiled(at_edges_loop), compiled(times_loop), compiled(times_panels_loop)
