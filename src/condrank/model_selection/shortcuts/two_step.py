"""Two-step ridge regression with rows, columns or both left out of F = H Y H', without refitting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condrank.model_selection.shortcuts.basis import Basis
from condrank.nodes import Coordinates
from condrank.observations import Complete, Factored

# Smooths the columns of labels by a basis and λ.
Smoother = Callable[[Basis, float, np.ndarray], np.ndarray]


class TwoStepShortcuts:
    """Scores of `condrank.baselines.TwoStepRidge` for pairs that were left out. Four matrix products for each λ and μ.

    H = K(K + λ)⁻¹ is over the conditioning nodes and H' = G(G + μ)⁻¹ over the objects; h and h' are their diagonals.
    Without row i the first regression predicts ((H - diag h)Y)_i/(1 - h_i). It is computed as
    Y - ((I - H)Y)/(1 - h), which does not cancel for small λ. The second regression is computed in the same way.

    Parameters
    ----------
    rows, cols : Coordinates
        Coordinates of the conditioning nodes and of the objects.
    observed : Complete or Factored of shape (n, m)
        Labels.
    fit_intercept : bool
        Whether every model adds the mean c of its training labels. Its scores are those of Y - c, plus c: F + c(1 - f),
        where f are the scores of labels that are all one, an outer product of two vectors.
    """

    def __init__(
        self, rows: Coordinates, cols: Coordinates, observed: Complete | Factored, fit_intercept: bool = False
    ):
        self.fit_intercept = fit_intercept
        self.rows = Basis(rows)
        self.cols = self.rows if cols is rows else Basis(cols)
        self.Y = np.asarray(observed.to_dense()).astype(self.rows.U.dtype, copy=False)

    def leave_query_out(self, alpha: float, alpha_objects: float) -> np.ndarray:
        """Row i by the model without row i, (n, m)."""
        F = _smoothed(self.cols, alpha_objects, _left_out(self.rows, alpha, self.Y).T).T
        if not self.fit_intercept:
            return F
        means = _ratio(self.Y.sum() - self.Y.sum(axis=1, keepdims=True), self.Y.size - self.Y.shape[1])
        return F + means * self._missed(_left_out, _smoothed, alpha, alpha_objects)

    def leave_object_out(self, alpha: float, alpha_objects: float) -> np.ndarray:
        """Column j by the model without column j."""
        F = _left_out(self.cols, alpha_objects, _smoothed(self.rows, alpha, self.Y).T).T
        if not self.fit_intercept:
            return F
        means = _ratio(self.Y.sum() - self.Y.sum(axis=0), self.Y.size - self.Y.shape[0])
        return F + means * self._missed(_smoothed, _left_out, alpha, alpha_objects)

    def leave_both_out(self, alpha: float, alpha_objects: float) -> np.ndarray:
        """Entry (i, j) by the model without row i and without column j: setting 4."""
        F = _left_out(self.cols, alpha_objects, _left_out(self.rows, alpha, self.Y).T).T
        if not self.fit_intercept:
            return F
        n, m = self.Y.shape
        sums = self.Y.sum() - self.Y.sum(axis=1, keepdims=True) - self.Y.sum(axis=0) + self.Y
        return F + _ratio(sums, (n - 1) * (m - 1)) * self._missed(_left_out, _left_out, alpha, alpha_objects)

    def leave_edge_out(self, alpha: float, alpha_objects: float) -> np.ndarray:
        """Entry (i, j) with its label replaced by the score itself: (F - hh'Y)/(1 - hh').

        Two steps need a complete relation, so an edge cannot simply be left out. If its label is replaced by this
        score, the model predicts this score.
        """
        F = _smoothed(self.cols, alpha_objects, _smoothed(self.rows, alpha, self.Y).T).T
        t, t_objects = _kept_residual(self.rows, alpha), _kept_residual(self.cols, alpha_objects)
        # 1 - (1 - t)(1 - t')
        gap = t[:, None] + t_objects - np.multiply.outer(t, t_objects)
        if self.fit_intercept:
            # The score also moves the mean, by a share 1/(nm) of its change.
            missed = self._missed(_smoothed, _smoothed, alpha, alpha_objects)
            F += self.Y.mean() * missed
            gap -= missed / self.Y.size
        return self.Y - (self.Y - F) / gap

    def _missed(self, by_rows: Smoother, by_cols: Smoother, alpha: float, alpha_objects: float) -> np.ndarray:
        """1 - f, (n, m): what the two steps miss of labels that are all one."""
        first = by_rows(self.rows, alpha, np.ones((len(self.Y), 1), dtype=self.Y.dtype))
        second = by_cols(self.cols, alpha_objects, np.ones((self.Y.shape[1], 1), dtype=self.Y.dtype))
        return 1 - first * second.T


def _ratio(sums: np.ndarray, count: int) -> np.ndarray:
    """Means; zero if no label is left."""
    return sums / count if count else np.zeros_like(sums)


def _kept_residual(basis: Basis, alpha: float) -> np.ndarray:
    """1 - h = U² λ/(σ + λ) + ω."""
    return (basis.U * basis.U) @ (alpha / (basis.sigma + alpha)) + basis.outside


def _left_out(basis: Basis, alpha: float, Y: np.ndarray) -> np.ndarray:
    inner = basis.U.T @ Y
    residual = basis.U @ ((alpha / (basis.sigma + alpha))[:, None] * inner)
    if not basis.full:
        residual += Y - basis.U @ inner
    return Y - residual / _kept_residual(basis, alpha)[:, None]


def _smoothed(basis: Basis, alpha: float, Y: np.ndarray) -> np.ndarray:
    return basis.U @ ((basis.sigma / (basis.sigma + alpha))[:, None] * (basis.U.T @ Y))
