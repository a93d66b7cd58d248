"""Sums Σ_k A_ik/(1 + s_k y) for many y and every λ. They are smooth in log y, so a table of a few points gives all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Width of a bin of log y, and number of Chebyshev points in it. Sums are analytic in log y in the strip |Im| < π, so
# each point adds about 1.1 digits.
WIDTH, POINTS = 1.0, 17


class SmoothSums:
    """F_i(y) = Σ_k A_ik w_k/(1 + s_k y), from tables of F at Chebyshev points of bins of log y, made when first needed.

    With positive A each sum keeps its relative precision, because F varies by at most a factor e within a bin.

    Parameters
    ----------
    A : ndarray of shape (n, r)
        Factors, not negative. They are not copied.
    s : ndarray of shape (r,)
        Eigenvalues, not negative.
    weights : ndarray of shape (r,), optional
        Weights w; by default ones.
    """

    def __init__(self, A: np.ndarray, s: np.ndarray, weights: np.ndarray | None = None):
        self.A, self.s = A, s
        self.weights = np.ones_like(s) if weights is None else weights
        self.tables: dict[int, np.ndarray] = {}
        self.points = np.cos(np.pi * np.arange(POINTS) / (POINTS - 1)) / 2
        self.signs = np.where(np.arange(POINTS) % 2, -1.0, 1.0)
        self.signs[[0, -1]] /= 2

    def taking(self, rows: np.ndarray) -> SmoothSums:
        """The sums of some rows, with tables of their own."""
        return SmoothSums(self.A[rows], self.s, self.weights)

    def at(self, y: np.ndarray) -> Callable[[slice], np.ndarray]:
        """A function that gives F at y for a block of rows, (n_rows, m), in O(m) per row. y (m,) ascends, positive."""
        place = np.log(y.astype(np.float64)) / WIDTH
        bins = np.floor(place).astype(int)
        self._tabulate(np.setdiff1d(bins, list(self.tables)))
        pieces = []
        for number in np.unique(bins):
            cols = slice(*np.searchsorted(bins, [number, number + 1]))
            pieces.append((cols, self.tables[number], self._coefficients(place[cols] - number - 0.5)))

        def block(rows: slice) -> np.ndarray:
            out = np.empty((len(self.A[rows]), len(y)), dtype=self.A.dtype)
            for cols, table, coefficients in pieces:
                out[:, cols] = table[rows] @ coefficients
            return out

        return block

    def _tabulate(self, bins: np.ndarray) -> None:
        if not len(bins):
            return
        y = np.exp(WIDTH * (bins[:, None] + 0.5 + self.points)).ravel()
        terms = self.weights[:, None] / (1 + np.multiply.outer(self.s, y))
        table = self.A @ terms.astype(self.A.dtype, copy=False)
        for k, number in enumerate(bins):
            self.tables[int(number)] = np.ascontiguousarray(table[:, k * POINTS : (k + 1) * POINTS])

    def _coefficients(self, place: np.ndarray) -> np.ndarray:
        """Barycentric weights of the points for places in [-½, ½], (POINTS, m)."""
        gap = place - self.points[:, None]
        hit = gap == 0
        gap[hit] = 1
        weights = self.signs[:, None] / gap
        weights[:, hit.any(axis=0)] = hit[:, hit.any(axis=0)]
        weights /= weights.sum(axis=0)
        return weights.astype(self.A.dtype, copy=False)
