"""Two-step ridge regression with rows, columns or both left out of F = H Y H', without refitting."""

from __future__ import annotations

import numpy as np

from condrank.model_selection.shortcuts.basis import Basis
from condrank.nodes import Coordinates
from condrank.observations import Complete, Factored


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
    """

    def __init__(self, rows: Coordinates, cols: Coordinates, observed: Complete | Factored):
        self.rows = Basis(rows)
        self.cols = self.rows if cols is rows else Basis(cols)
        self.Y = np.asarray(observed.to_dense()).astype(self.rows.U.dtype, copy=False)

    def leave_query_out(self, alpha: float, alpha_objects: float) -> np.ndarray:
        """Row i by the model without row i, (n, m)."""
        return _smoothed(self.cols, alpha_objects, _left_out(self.rows, alpha, self.Y).T).T

    def leave_object_out(self, alpha: float, alpha_objects: float) -> np.ndarray:
        """Column j by the model without column j."""
        return _left_out(self.cols, alpha_objects, _smoothed(self.rows, alpha, self.Y).T).T

    def leave_both_out(self, alpha: float, alpha_objects: float) -> np.ndarray:
        """Entry (i, j) by the model without row i and without column j: setting 4."""
        return _left_out(self.cols, alpha_objects, _left_out(self.rows, alpha, self.Y).T).T

    def leave_edge_out(self, alpha: float, alpha_objects: float) -> np.ndarray:
        """Entry (i, j) with its label replaced by the score itself: (F - hh'Y)/(1 - hh').

        Two steps need a complete relation, so an edge cannot simply be left out. If its label is replaced by this
        score, the model predicts this score.
        """
        F = _smoothed(self.cols, alpha_objects, _smoothed(self.rows, alpha, self.Y).T).T
        t, t_objects = _kept_residual(self.rows, alpha), _kept_residual(self.cols, alpha_objects)
        # 1 - (1 - t)(1 - t')
        gap = t[:, None] + t_objects - np.multiply.outer(t, t_objects)
        return self.Y - (self.Y - F) / gap


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
