"""Labels of a complete graph in the coordinates that held-out rows see, with the offsets of the fit to all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.model_selection.shortcuts.basis import Basis, WidenedBasis
from condrank.model_selection.shortcuts.residuals import RowSystems
from condrank.solvers.closed_form import ClosedForm


def corrections(system: ClosedForm, observed: Any, prior_weight: float) -> tuple[np.ndarray, np.ndarray | None]:
    """Dense labels to learn, Y - τK, and what to add to scores, τK."""
    Y = np.asarray(observed.to_dense()).astype(system.rows.basis.dtype, copy=False)
    if not prior_weight:
        return Y, None
    prior = prior_weight * system.cols.similarity(None, None)
    return Y - prior, prior


@dataclass
class Damped:
    """What a system over rows starts from: coordinates (n, q) of the labels' rows, and of their residuals."""

    rows: np.ndarray
    inner: np.ndarray
    outer: np.ndarray
    mean: np.ndarray


class SquareLabels:
    """Y (n, n) over a single domain.

    Rows of Y and of Yᵀ in the widened basis are kept; a further λ costs one matrix product, two for singular kernels.
    """

    def __init__(self, basis: Basis, Y: np.ndarray):
        self.basis, self.wide = basis, WidenedBasis(basis)
        self.rows, self.cols = self.wide.rows(Y), self.wide.rows(Y.T)
        self.inner = basis.U.T @ self.rows[:, : self.wide.rank]
        self.row_sums, self.col_sums = Y.sum(axis=1), Y.sum(axis=0)

    def damped(self, systems: RowSystems, sign: int) -> Damped:
        """Rows of λRY within the relation and outside of it; rows and columns of λRY for the ordinary one.

        For the ranking loss Y is what is left of it after the offsets of the fit.
        """
        wide, r = self.wide, self.wide.rank
        rows, cols, inner = self.rows, self.cols, self.inner
        o = np.zeros(wide.n, dtype=rows.dtype)
        damping = systems.damping.dense(slice(r))[:, :r]
        if systems.offsets is not None:
            o = self._offsets(systems, sign, damping)
            # Rows of o1ᵀ are multiples of 1, rows of 1oᵀ all the same.
            rows = rows - np.multiply.outer(o, wide.sums)
            cols = cols - wide.vector(o)
            inner = inner - np.multiply.outer(self.basis.U.T @ o, self.basis.sums)
        if not sign:
            return Damped(rows, self._damp(rows, inner, damping), self._damp(cols, inner.T, damping), o)
        within, inner = (rows + sign * cols) / 2, (inner + sign * inner.T) / 2
        return Damped(rows, self._damp(within, inner, damping), (rows - sign * cols) / 2, o)

    def _damp(self, rows: np.ndarray, inner: np.ndarray, damping: np.ndarray) -> np.ndarray:
        """Rows of the damped labels: Λ within the span, all that is outside."""
        damped = self.basis.U @ (damping * inner)
        if self.basis.full:
            return damped
        out = rows.copy()
        out[:, : self.wide.rank] += damped - self.basis.U @ inner
        return out

    def _offsets(self, systems: RowSystems, sign: int, damping: np.ndarray) -> np.ndarray:
        """o of the fit to all labels, (n,): T o = (λRY)1 within the span, row means outside."""
        assert systems.offsets is not None
        basis, wide, r = self.basis, self.wide, self.wide.rank
        f = np.zeros(len(wide.sigma), dtype=self.rows.dtype)
        outside = np.zeros(wide.n, dtype=self.rows.dtype)
        inner = self.inner
        if sign:
            f[:r] = basis.U.T @ (self.row_sums - sign * self.col_sums) / 2
            inner = (inner + sign * inner.T) / 2
        f[:r] += (damping * inner) @ basis.sums
        if wide.direction is not None:
            along = self.rows[:, r] if not sign else (self.rows[:, r] + sign * self.cols[:, r]) / 2
            f[:r] += wide.sums[r] * (basis.U.T @ along)
            outside = basis.project_out(self.row_sums) / wide.n
        return basis.U @ systems.offsets(f[None])[0, :r] + outside
