"""Leaves out one edge at a time: exact scores of every pair by the model without it."""

from __future__ import annotations

import numpy as np

from condrank.model_selection.shortcuts.basis import Basis
from condrank.model_selection.shortcuts.edge_pairs import EdgePairs
from condrank.model_selection.shortcuts.intercepts import Intercepts, over_edges
from condrank.model_selection.shortcuts.labels import LeftOut, Noise, corrections
from condrank.observations import Complete, Factored
from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.thin_damping import Damping, between


class LeaveEdgeOut(LeftOut):
    """Scores of every pair (i, j) by the model without that edge, and for W = ±Wᵀ without (j, i) either.

    For the ranking loss, the mean of row i is then over the other objects, and scores do not have the row's free
    offset.

    A λ costs two matrix products for ordinary regression and four for ordinary ranking. For symmetric and reciprocal
    relations it costs as many as the numerical rank of λ/D, about twenty to sixty, and twice as many for ranking.

    Parameters
    ----------
    system : ClosedForm
        The complete graph in coordinates: relation, loss and eigendecomposition.
    observed : Complete or Factored of shape (n, m)
        Its labels, with conditioning nodes as rows; probabilities minus their centre.
    prior_weight : float
        τ of the similarity prior.
    """

    def __init__(self, system: ClosedForm, observed: Complete | Factored, prior_weight: float = 0.0):
        self.relation, self.ranking = system.relation, system.loss.centres_rows
        self.intercept = system.loss.fits_intercept
        self.Y, self.prior = corrections(system, observed, prior_weight)
        self.noise = Noise(self.Y, square=self.relation.sign != 0)
        self.basis = Basis(system.rows)
        self.objects = self.basis if system.cols is system.rows else Basis(system.cols)
        if self.relation.sign:
            self.pairs = EdgePairs(self.basis, self.Y, self.relation.sign, self.ranking, self.intercept)
            self.intercepts = self.pairs.intercepts
            return
        self.intercepts = Intercepts(self.basis, self.objects, self.Y, over_edges) if self.intercept else None
        U, V = self.basis.U, self.objects.U
        self.inner = U.T @ (self.Y @ V)
        self.outside = None
        if not (self.basis.full and self.objects.full):
            self.outside = self.Y - (U @ self.inner) @ V.T

    def scores(self, alpha: float) -> np.ndarray:
        """Entry (i, j) by the model without that edge, (n, m)."""
        out = self.pairs.scores(alpha) if self.relation.sign else self._ordinary(alpha)
        if self.prior is not None:
            out += self.prior
        return out

    def _constants(self) -> np.ndarray:
        assert self.intercepts is not None
        return self.intercepts.constants

    def _ordinary(self, alpha: float) -> np.ndarray:
        """F = Y - (λRY)/(λR)_ii. For ranking, R has offsets projected out, and the row's offset is subtracted."""
        basis, objects = self.basis, self.objects
        if self.ranking and len(objects.U) == 1:
            return np.zeros_like(self.Y)  # a single object cannot be compared with another
        U, V = basis.U, objects.U
        damping = Damping(basis.sigma, objects.sigma, alpha)
        weighted = damping.dense()
        weighted *= self.inner
        U2 = U * U
        t = between(damping, U2, (V * V).T)
        t += basis.outside[:, None]
        t += np.multiply.outer(1 - basis.outside, objects.outside)
        if not self.ranking:
            residual = (U @ weighted) @ V.T
            if self.outside is not None:
                residual += self.outside
            residual /= t
            scores = np.subtract(self.Y, residual, out=residual)
            if self.intercepts is None:
                return scores
            s = self.intercepts.residuals_of_ones(damping)
            return self.intercepts.add(scores, s / t, s)
        # In the eigenbasis: τ = (λR)_QQ over the row sums, W = (λR)_Qj, and offsets o = (λRY)1/τ.
        m, beta = len(V), objects.sums
        tau = damping.before(beta**2)
        tau += objects.one_outside @ objects.one_outside
        W = damping.before(beta[:, None] * V.T)
        W += objects.one_outside
        o_inner = (weighted @ beta + U.T @ (self.Y @ objects.one_outside)) / tau
        o = U @ o_inner + basis.project_out(self.Y.sum(axis=1)) / m
        weighted -= damping.dense() * np.multiply.outer(o_inner, beta)
        residual = (U @ weighted) @ V.T
        if self.outside is not None:
            residual += self.outside - o[:, None] + np.multiply.outer(U @ o_inner, V @ beta)
        share = W / tau[:, None]
        t -= U2 @ (W * share)
        t -= basis.outside[:, None] / m
        residual /= t
        # How much the offset of row i changes with its label at j.
        change = U2 @ share
        change += basis.outside[:, None] / m
        return self.Y - residual - (o[:, None] - residual * change)
