"""The intercept of models from which rows, nodes or edges were left out.

Let S be the residual operator of regression without an intercept, s = S1 and q = 1ᵀs. Without the pairs B the residuals
of labels Y at B are r_Y = [S_BB]⁻¹(SY)_B, and those of labels that are all one are r_1. The residual operator of the
rest is S - S_·B [S_BB]⁻¹ S_B·, so the constant that is fitted to the rest is

    c_B = (sᵀY - s_Bᵀr_Y) / (q - s_Bᵀr_1).

The scores of B are those of the labels Y - c_B, plus c_B: F_Y + c_B r_1. So an intercept takes the shortcut itself,
once for the labels and once for ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condrank.model_selection.shortcuts.basis import Basis
from condrank.solvers.thin_damping import Damping, between

# Sums over the pairs that are left out with each entry: of entries of an (n, m) array.
Sums = Callable[[np.ndarray], np.ndarray]


class Intercepts:
    """Adds the intercepts c_B to left-out scores of regression.

    Parameters
    ----------
    rows, cols : Basis
        Bases of the conditioning nodes and of the objects.
    Y : ndarray of shape (n, m)
        Labels; for a symmetric relation with both directions left out, their symmetric part.
    sums : callable
        Sums an (n, m) array over the pairs that are left out with each row, (n, 1), or with each entry, (n, m).

    Attributes
    ----------
    constants : ndarray of shape (n, 1) or (n, m)
        The intercepts that were added last.
    """

    constants: np.ndarray

    def __init__(self, rows: Basis, cols: Basis, Y: np.ndarray, sums: Sums):
        self.rows, self.cols, self.Y, self.sums = rows, cols, Y, sums

    def add(self, scores: np.ndarray, missed: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Left-out scores with an intercept, F_Y + c_B r_1, in the array of r_1. O(nm).

        Parameters
        ----------
        scores : ndarray of shape (n, m)
            F_Y: left-out scores without an intercept.
        missed : ndarray of shape (n, m)
            r_1: left-out residuals of labels that are all one.
        s : ndarray of shape (n, m)
            `residuals_of_ones`.
        """
        total, gap = float(np.vdot(s, self.Y)), float(s.sum(dtype=np.float64))
        left = total - self.sums(s * (self.Y - scores))
        self.constants = constants(left, gap - self.sums(s * missed), gap)
        missed *= self.constants
        missed += scores
        return missed

    def residuals_of_ones(self, damping: Damping) -> np.ndarray:
        """s = λR1, (n, m), written with Λ, so that it keeps its digits for small λ. O(nmp), where p is a few dozen."""
        rows, cols = self.rows, self.cols
        s = between(damping, rows.U * rows.sums, (cols.U * cols.sums).T)
        s += rows.one_outside[:, None]
        s += np.multiply.outer(rows.U @ rows.sums, cols.one_outside)
        return s


def constants(numerators: np.ndarray, gaps: np.ndarray, whole: float) -> np.ndarray:
    """c_B; 0 if no pair is left to fit a constant to, where the gap is only rounding noise of the whole."""
    alone = gaps <= 4 * len(gaps) * float(np.finfo(gaps.dtype).eps) * whole
    return np.divide(numerators, gaps, out=np.zeros_like(gaps), where=~alone)


def over_rows(entries: np.ndarray) -> np.ndarray:
    """A row is left out."""
    return entries.sum(axis=1, keepdims=True)


def over_nodes(entries: np.ndarray) -> np.ndarray:
    """A row and the same column of a symmetric array are left out; the loop is in both."""
    return 2 * entries.sum(axis=1, keepdims=True) - entries.diagonal()[:, None]


def over_edges(entries: np.ndarray) -> np.ndarray:
    """An entry is left out."""
    return entries


def over_both_directions(entries: np.ndarray) -> np.ndarray:
    """An entry of a symmetric array is left out with its other direction."""
    both = 2 * entries
    np.einsum("ii->i", both)[:] /= 2
    return both
