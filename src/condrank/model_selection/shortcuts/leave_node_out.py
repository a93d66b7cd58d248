"""Leaves out one node at a time, as conditioning node and as object: exact scores of its row without refitting."""

from __future__ import annotations

import numpy as np

from condrank.base.blocks import in_threads, row_blocks
from condrank.base.measured import CACHED_ENTRIES
from condrank.model_selection.shortcuts.basis import Basis
from condrank.model_selection.shortcuts.intercepts import Intercepts, over_nodes
from condrank.model_selection.shortcuts.labels import LeftOut, Noise, SquareLabels, corrections
from condrank.model_selection.shortcuts.residuals import RowSystems
from condrank.nodes import ExactKernel
from condrank.observations import Complete, Factored
from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.thin_damping import Damping


class LeaveNodeOut(LeftOut):
    """Scores of every row i, with its loop, by the model without node i. For a single domain.

    Each node has a system over its unknown row and column. All are solved at once by conjugate gradients with the
    diagonal as preconditioner. A λ costs three products of n×n matrices and some thin ones. Ordinary regression is the
    sum of symmetric and reciprocal regression. An intercept takes symmetric regression a second time, for ones.

    Parameters
    ----------
    system : ClosedForm
        The complete graph in coordinates: relation, loss and eigendecomposition.
    observed : Complete or Factored of shape (n, n)
        Its labels, with conditioning nodes as rows; probabilities minus their centre.
    prior_weight : float
        τ of the similarity prior.

    Attributes
    ----------
    n_iter : int
        Iterations for the last λ: the largest number of any block of rows.
    n_direct : int
        Number of rows for which the iteration did not converge for the last λ, solved directly in O(n³) each.
    """

    def __init__(self, system: ClosedForm, observed: Complete | Factored, prior_weight: float = 0.0):
        if system.rows is not system.cols:
            raise ValueError("leave-node-out needs a single domain, where a node is conditioning node and object")
        self.relation, self.ranking = system.relation, system.loss.centres_rows
        self.intercept = system.loss.fits_intercept
        Y, self.prior = corrections(system, observed, prior_weight)
        if self.prior is not None and isinstance(system.rows, ExactKernel) and system.rows.kernel.has_identity:
            # A node that was left out has no identity any more.
            np.fill_diagonal(self.prior, prior_weight * system.rows.diagonal(known=False))
        self.basis = Basis(system.rows)
        self.labels, self.noise = SquareLabels(self.basis, Y), Noise(Y, square=True)
        self.intercepts = None
        if self.intercept:
            # A constant has no skew part, so only the symmetric part of the labels has to do with the intercept.
            self.intercepts = Intercepts(self.basis, self.basis, (Y + Y.T) / 2, over_nodes)
            self.ones = SquareLabels(self.basis, np.ones_like(Y))
        self.n_iter = self.n_direct = 0

    def scores(self, alpha: float) -> np.ndarray:
        """Row i by the model without node i, (n, n)."""
        self.n_iter = self.n_direct = 0
        if self.intercepts is not None:
            out = self._with_intercept(alpha)
        else:
            signs = [self.relation.sign] if self.relation.sign else [1, -1]
            F = self._ranking(alpha) if self.ranking else sum(self._regression(alpha, sign) for sign in signs)
            out = F @ self.basis.U.T
        if self.relation.sign < 0:
            np.fill_diagonal(out, 0)
        if self.prior is not None:
            out += self.prior
        return out

    def _constants(self) -> np.ndarray:
        assert self.intercepts is not None
        return self.intercepts.constants

    def _with_intercept(self, alpha: float) -> np.ndarray:
        """Regression with an intercept, (n, n)."""
        assert self.intercepts is not None
        U, systems = self.basis.U, RowSystems(self.labels.wide, 1, False, alpha)
        scores = self._regression(alpha, 1, systems=systems) @ U.T
        missed = 1 - self._regression(alpha, 1, self.ones, systems) @ U.T
        s = self.intercepts.residuals_of_ones(Damping(self.basis.sigma, self.basis.sigma, alpha))
        out = self.intercepts.add(scores, missed, s)
        if not self.relation.sign:
            out += self._regression(alpha, -1) @ U.T
        return out

    def _regression(
        self, alpha: float, sign: int, labels: SquareLabels | None = None, systems: RowSystems | None = None
    ) -> np.ndarray:
        labels = self.labels if labels is None else labels
        wide, rank = labels.wide, labels.wide.rank
        systems = RowSystems(wide, sign, False, alpha) if systems is None else systems
        p = systems.within(labels.damped(systems, sign).inner)
        self._count(systems)
        loop = np.einsum("ij,ij->i", wide.U, p)[:, None]
        return labels.within(sign)[:, :rank] - (p[:, :rank] + sign * loop * self.basis.U) / 2

    def _ranking(self, alpha: float) -> np.ndarray:
        wide, rank, sign = self.labels.wide, self.labels.wide.rank, self.relation.sign
        systems = RowSystems(wide, sign, True, alpha)
        given = self.labels.damped(systems, sign)
        first, second = systems.row_and_column(given.inner, given.outer)
        self._count(systems)
        changes = systems.offset_changes(first, second) - given.offset
        F = np.empty((wide.n, rank), dtype=first.dtype)

        def work(block: slice) -> None:
            x, y = first[block], second[block]
            if sign:
                x, y = (x + y) / 2, sign * (x - y) / 2
            part = np.subtract(self.labels.rows[block, :rank], x[:, :rank], out=F[block])
            part -= np.vecdot(wide.U[block], y)[:, None] * self.basis.U[block]
            part += np.multiply.outer(changes[block], self.basis.sums)

        in_threads(work, row_blocks(*F.shape, budget=CACHED_ENTRIES))
        return F

    def _count(self, systems: RowSystems) -> None:
        self.n_iter, self.n_direct = max(self.n_iter, systems.n_iter), self.n_direct + systems.n_direct
