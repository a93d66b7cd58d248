"""Labels of a complete graph in the coordinates of held-out rows, with the offsets of the fit to all labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.blocks import in_threads, row_blocks
from condrank.base.measured import CACHED_ENTRIES
from condrank.model_selection.shortcuts.basis import EVERY_ROW, Basis, Rows, WidenedBasis
from condrank.model_selection.shortcuts.residuals import RowSystems
from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.thin_damping import weigh

# The noise of scores is taken as NOISE units of rounding per node, for at least FEW nodes. Measured noise was up to one
# unit per node, and up to 700 units in all (it differs between processors) if a few nodes hardly determine the offsets
# of ranking.
NOISE, FEW = 16, 256


def corrections(system: ClosedForm, observed: Any, prior_weight: float) -> tuple[np.ndarray, np.ndarray | None]:
    """Dense labels to learn, Y - τK, and the prior τK to add to scores."""
    Y = np.asarray(observed.to_dense()).astype(system.rows.basis.dtype, copy=False)
    if not prior_weight:
        return Y, None
    prior = prior_weight * system.cols.similarity(None, None)
    return Y - prior, prior


class Noise:
    """Rounding noise of scores that are labels minus residuals. Scores that differ only by noise are ties.

    If a model without a row knows nothing about it (kernel values of a new node near zero, or two tied objects), the
    digits that remain of the difference are those of the label. Taken as an order, they would look like a good model.

    Parameters
    ----------
    Y : ndarray of shape (n, m)
        Labels from which the scores are computed.
    square : bool
        Whether rows and columns are the same nodes. Scores of a row then also have the noise of its column's labels.
    """

    def __init__(self, Y: np.ndarray, square: bool):
        largest = np.abs(Y).max(axis=1, initial=0)
        if square:
            largest = np.maximum(largest, np.abs(Y).max(axis=0, initial=0))
        self.largest = largest
        self.steps = (NOISE * max(*Y.shape, FEW) * np.finfo(Y.dtype).eps * largest)[:, None]

    def taking(self, rows: np.ndarray) -> Noise:
        """The noise of some rows."""
        some = copy(self)
        some.largest, some.steps = self.largest[rows], self.steps[rows]
        return some

    def settle(self, scores: np.ndarray, share: float = 1.0) -> np.ndarray:
        """Round scores, in place, to multiples of ``share`` times the noise of the labels."""

        def work(block: slice) -> None:
            part, numbers = scores[block], np.finfo(scores.dtype)
            # If all labels of a row are zero they have no noise; its scores still have that of their own last digit.
            own = numbers.eps * np.abs(part).max(axis=1, keepdims=True, initial=0)
            steps = np.maximum(np.maximum(share * self.steps[block], own), numbers.tiny)
            round_to(part, steps)

        in_threads(work, row_blocks(*scores.shape, budget=CACHED_ENTRIES))
        return scores


def round_to(scores: np.ndarray, steps: np.ndarray) -> None:
    """Round scores to multiples of steps, in place."""
    scores /= steps
    np.rint(scores, out=scores)
    scores *= steps


class LeftOut(ABC):
    """Rows, nodes or edges left out: exact scores, and scores rounded to their noise, for losses."""

    noise: Noise
    intercept: bool = False

    @abstractmethod
    def scores(self, alpha: float) -> np.ndarray:
        """Scores of the pairs that were left out, for one λ."""

    def settled(self, alpha: float) -> np.ndarray:
        """The same for rankings, with ties between scores that differ only by rounding noise.

        The intercept of each model is subtracted. Within a row it says nothing about the order, but every edge that is
        left out has its own: the mean of the other labels, which is the lower the higher its own label is.
        """
        scores = self.scores(alpha)
        if self.intercept:
            scores -= self._constants()
        return self.noise.settle(scores, self._share(alpha))

    @abstractmethod
    def _constants(self) -> np.ndarray:
        """Intercepts of the last models, (n, 1) or (n, m)."""

    def _share(self, alpha: float) -> float:
        """Noise of the scores relative to that of the labels."""
        return 1.0


@dataclass
class Damped:
    """Right-hand sides of a system over rows: coordinates (n, q) of residuals of the labels, and offsets of the fit."""

    inner: np.ndarray
    outer: np.ndarray
    offset: np.ndarray


@dataclass
class Parts:
    """Half-sum and half-difference of rows and columns, and the r×r sums of the half-sum."""

    within: np.ndarray
    outer: np.ndarray
    inner: np.ndarray


class SquareLabels:
    """Labels Y (n, n) of a single domain.

    Rows of Y and of Yᵀ are kept in the widened basis. A further λ costs one matrix product, two for singular kernels.
    """

    def __init__(self, basis: Basis, Y: np.ndarray):
        self.basis, self.wide = basis, WidenedBasis(basis)
        self.rows, self.cols = self.wide.rows(Y), self.wide.rows(Y.T)
        self.inner = basis.U.T @ self.rows[:, : self.wide.rank]
        self.row_sums, self.col_sums = Y.sum(axis=1), Y.sum(axis=0)
        self.parts: dict[int, Parts] = {}

    def damped(self, systems: RowSystems, sign: int, some: Rows = EVERY_ROW) -> Damped:
        """Rows of λRY within and outside the relation; rows and columns of λRY for the ordinary relation.

        For the ranking loss, the offsets of the fit are subtracted from Y. ``some`` picks the rows.
        """
        parts = self._parts(sign)
        rows, cols, inner = parts.within[some], parts.outer[some], parts.inner
        o = np.zeros(len(rows), dtype=rows.dtype)
        if systems.offsets is not None:
            o = self._offsets(systems, sign, inner)
            rows, cols, inner = self._less(o, sign, Parts(rows, cols, inner), some)
            o = o[some]
        first = self._damp(rows, inner, systems, some)
        return Damped(first, cols if sign else self._damp(cols, inner.T, systems, some), o)

    def _less(self, o: np.ndarray, sign: int, parts: Parts, some: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The parts minus offsets: rows of o1ᵀ are multiples of 1, rows of 1oᵀ are all equal."""
        rows, cols = np.empty_like(parts.within), np.empty_like(parts.outer)
        own, coordinates = o[some], self.wide.vector(o)[some]

        def work(block: slice) -> None:
            of_rows, of_cols = np.multiply.outer(own[block], self.wide.sums), coordinates[block]
            if sign:
                of_rows, of_cols = (of_rows + sign * of_cols) / 2, (of_rows - sign * of_cols) / 2
            np.subtract(parts.within[block], of_rows, out=rows[block])
            np.subtract(parts.outer[block], of_cols, out=cols[block])

        in_threads(work, row_blocks(*rows.shape, budget=CACHED_ENTRIES))
        of_inner = np.multiply.outer(self.basis.U.T @ o, self.basis.sums)
        if sign:
            of_inner = (of_inner + sign * of_inner.T) / 2
        return rows, cols, np.subtract(parts.inner, of_inner, out=of_inner)

    def within(self, sign: int) -> np.ndarray:
        """Rows of the part of the labels within the relation."""
        return self._parts(sign).within

    def _parts(self, sign: int) -> Parts:
        if not sign:
            return Parts(self.rows, self.cols, self.inner)
        if sign not in self.parts:
            within, outer = (self.rows + sign * self.cols) / 2, (self.rows - sign * self.cols) / 2
            self.parts[sign] = Parts(within, outer, (self.inner + sign * self.inner.T) / 2)
        return self.parts[sign]

    def _damp(self, rows: np.ndarray, inner: np.ndarray, systems: RowSystems, some: Rows) -> np.ndarray:
        """Rows of the damped labels: multiplied by Λ within the span, unchanged outside."""
        U = self.basis.U[some]
        damped = U @ weigh(self.basis.sigma, self.basis.sigma, systems.alpha, inner)
        if self.basis.full:
            return damped
        out = rows.copy()
        out[:, : self.wide.rank] += damped - U @ inner
        return out

    def _offsets(self, systems: RowSystems, sign: int, inner: np.ndarray) -> np.ndarray:
        """o of the fit to all labels, (n,): T o = (λRY)1 within the span, row means outside."""
        assert systems.offsets is not None
        basis, wide, r = self.basis, self.wide, self.wide.rank
        f = np.zeros(len(wide.sigma), dtype=self.rows.dtype)
        outside = np.zeros(wide.n, dtype=self.rows.dtype)
        if sign:
            f[:r] = basis.U.T @ (self.row_sums - sign * self.col_sums) / 2
        f[:r] += weigh(self.basis.sigma, self.basis.sigma, systems.alpha, inner) @ basis.sums
        if wide.direction is not None:
            along = self._parts(sign).within[:, r]
            f[:r] += wide.sums[r] * (basis.U.T @ along)
            outside = basis.project_out(self.row_sums) / wide.n
        return basis.U @ systems.offsets(f[None])[0, :r] + outside
