"""Leaves out one row at a time, whose node stays as an object: exact scores without refitting."""

from __future__ import annotations

from copy import copy

import numpy as np

from condrank.base.blocks import in_threads, row_blocks
from condrank.base.measured import CACHED_ENTRIES
from condrank.model_selection.shortcuts.basis import EVERY_ROW, Basis, Rows, centred_basis
from condrank.model_selection.shortcuts.intercepts import Intercepts, constants, over_rows
from condrank.model_selection.shortcuts.labels import LeftOut, Noise, SquareLabels, corrections
from condrank.model_selection.shortcuts.residuals import RowSystems
from condrank.model_selection.shortcuts.smooth_sums import SmoothSums
from condrank.observations import Complete, Factored
from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.thin_damping import Damping, weigh


class LeaveQueryOut(LeftOut):
    """Scores of every row i by the model without row i.

    For the ordinary relation a λ costs two matrix products; the ranking loss needs one more eigendecomposition, once.
    For symmetric and reciprocal relations each row has a system, solved by iterations with thin products.

    Parameters
    ----------
    system : ClosedForm
        The complete graph in coordinates: relation, loss and eigendecomposition.
    observed : Complete or Factored of shape (n, m)
        Its labels, with conditioning nodes as rows; probabilities minus their centre.
    prior_weight : float
        τ of the similarity prior.

    Attributes
    ----------
    n_iter, n_direct : int
        As for `LeaveNodeOut`; zero for the ordinary relation, which needs no iteration.
    """

    def __init__(self, system: ClosedForm, observed: Complete | Factored, prior_weight: float = 0.0):
        self.relation, self.ranking = system.relation, system.loss.centres_rows
        self.intercept = system.loss.fits_intercept
        Y, self.prior = corrections(system, observed, prior_weight)
        self.basis = Basis(system.rows)
        self.noise = Noise(Y, square=self.relation.sign != 0)
        self.n_iter = self.n_direct = 0
        self.picked: Rows = EVERY_ROW
        #: Whether rows on which the iteration fails are left as NaN, instead of being solved directly (`RowSystems`).
        self.leaves_failed = False
        if self.relation.sign:
            self.labels = SquareLabels(self.basis, Y)
            if self.intercept:
                self.intercepts = Intercepts(self.basis, self.basis, Y, over_rows)
                self.ones = SquareLabels(self.basis, np.ones_like(Y))
            return
        objects = self.basis if system.cols is system.rows else Basis(system.cols)
        # The ranking loss is regression with the kernel CKC of the objects, except for the mean of each row's scores.
        if self.ranking:
            self.V, self.g, self.means = centred_basis(objects)
        else:
            self.V, self.g = objects.U, objects.sigma
        if self.intercept:
            self.sums, self.one_outside = objects.sums, objects.one_outside
            self.along_outside = Y @ objects.one_outside
        self.rows = Y @ self.V
        self.inner = self.basis.U.T @ self.rows
        self.outside = None if self.basis.full else self.rows - self.basis.U @ self.inner
        # U²Λ, and (U²s)Λ for U²E = (U²s)Λ g/λ.
        squares = self.basis.U**2
        self.shares = [SmoothSums(squares, self.basis.sigma), SmoothSums(squares, self.basis.sigma, self.basis.sigma)]

    def taking(self, rows: np.ndarray) -> LeaveQueryOut:
        """The same for k rows only, if there is no intercept: O(r² + k(r + m)r) for a λ."""
        some = copy(self)
        some.picked, some.noise = rows, self.noise.taking(rows)
        if not self.relation.sign:
            some.shares = [share.taking(rows) for share in self.shares]
        return some

    def scores(self, alpha: float) -> np.ndarray:
        """Row i by the model without row i, (n, m)."""
        out = self._coupled(alpha) if self.relation.sign else self._ordinary(alpha)
        if self.prior is not None:
            out += self.prior[self.picked]
        return out

    def _share(self, alpha: float) -> float:
        if self.relation.sign or self.intercept or not len(self.g):
            return 1.0
        return self._fitted_share(alpha)

    def _constants(self) -> np.ndarray:
        return self.intercepts.constants if self.relation.sign else self.added[:, None]

    def _fitted_share(self, alpha: float) -> float:
        """The size of scores without an intercept relative to that of the labels."""
        return min(1.0, float(self.basis.sigma[-1] * self.g[-1]) / alpha)

    def _ordinary(self, alpha: float) -> np.ndarray:
        """F = [YV - (U(Λ∘UᵀYV) + outside)/(U²Λ + ω)] Vᵀ, Λ = λ/(s gᵀ + λ)."""
        U, s, g = self.basis.U[self.picked], self.basis.sigma, self.g
        if not len(g):  # never so with an intercept: kernels have a positive eigenvalue, centred ones may have none
            return np.zeros((len(U), len(self.V)), dtype=U.dtype)
        # For large λ, (fit - h YV)/(1 - h) with h = U²E and E = 1 - Λ is used instead: each form cancels where the
        # other does not. Over all rows, h has at most the mean of E over s, which is largest for the largest g.
        large = bool(np.mean(s / (s + alpha / g[-1])) < 0.5)
        F = U @ weigh(s, g, alpha, self.inner, fitted=large)
        labels, own = self.rows[self.picked], self.basis.outside[self.picked]
        outside = None if self.outside is None else self.outside[self.picked]
        shares = self.shares[large].at(g / alpha)
        kept = np.empty_like(F) if self.intercept else None

        def divide(block: slice) -> None:
            part, share = F[block], shares(block)
            if large:
                share *= g / alpha
                part -= share * labels[block]
                part /= np.subtract(1, share, out=share)
            else:
                if outside is not None:
                    part += outside[block]
                    share += own[block, None]
                part /= share
                np.subtract(labels[block], part, out=part)
            if kept is not None:
                kept[block] = share

        in_threads(divide, row_blocks(*F.shape, budget=CACHED_ENTRIES), products=True)
        if kept is not None:
            self.added = self._add_intercepts(F, kept, alpha, large)
        out = F @ self.V.T
        if self.intercept and self.one_outside.any():
            out += np.multiply.outer(self.added, self.one_outside)
        if self.ranking:
            out += ((F / g) @ self.means)[:, None]
        return out

    def _add_intercepts(self, F: np.ndarray, kept: np.ndarray, alpha: float, large: bool) -> np.ndarray:
        """Add the part of the intercepts within the span of V to F (n, r'), and return the intercepts c (n,).

        s and the residuals of ones are s and s/(U²Λ + ω) in the coordinates of V, and 1 - VVᵀ1 outside them.
        """
        basis, g, length = self.basis, self.g, float(self.one_outside @ self.one_outside)
        damping = Damping(basis.sigma, g, alpha)
        if large:  # 1 - U(Eβ), where E = 1 - Λ is small
            s = damping(basis.U * (basis.sums * basis.sigma))
            s *= -g / alpha
            s += 1
        else:
            s = damping(basis.U * basis.sums)
            s += basis.one_outside[:, None]
        s *= self.sums
        missed = np.divide(s, kept, out=kept)
        total = float(np.vdot(s, self.rows)) + float(self.along_outside.sum())
        whole = float((s @ self.sums).sum()) + len(F) * length
        numerators = total - np.vecdot(s, self.rows - F) - self.along_outside
        found = constants(numerators, whole - np.vecdot(s, missed) - length, whole)
        missed *= found[:, None]
        F += missed
        return found

    def _coupled(self, alpha: float) -> np.ndarray:
        rows, rank = self.picked, self.labels.wide.rank
        wide = self.labels.wide.taking(rows)
        systems = RowSystems(wide, self.relation.sign, self.ranking, alpha, self.leaves_failed)
        given = self.labels.damped(systems, self.relation.sign, rows)
        x = systems.row(given.inner + given.outer)
        missed = None
        if self.intercept:
            of_ones = self.ones.damped(systems, self.relation.sign, rows)
            missed = systems.row(of_ones.inner + of_ones.outer)
        self.n_iter, self.n_direct = systems.n_iter, systems.n_direct
        F = self.labels.rows[rows, :rank] - x[:, :rank]
        if self.ranking:
            F += np.multiply.outer(systems.offset_changes(x, x) - given.offset, self.basis.sums)
        out = F @ self.basis.U.T
        if missed is not None:
            missed = 1 - (self.ones.rows[:, :rank] - missed[:, :rank]) @ self.basis.U.T
            s = self.intercepts.residuals_of_ones(Damping(self.basis.sigma, self.basis.sigma, alpha))
            return self.intercepts.add(out, missed, s)
        if self.relation.sign < 0:
            own = np.arange(wide.n)[rows]
            out[np.arange(len(own)), own] = 0
        return out
