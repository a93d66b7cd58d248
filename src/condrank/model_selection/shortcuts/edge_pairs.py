"""Leaves out both directions of an edge of a symmetric or reciprocal relation: one small system per pair of nodes."""

from __future__ import annotations

import numpy as np

from condrank.model_selection.shortcuts.basis import Basis, complete_basis
from condrank.model_selection.shortcuts.intercepts import Intercepts, over_both_directions
from condrank.solvers.offsets import Offsets
from condrank.solvers.thin_damping import Damping


class EdgePairs:
    """Scores of the pairs of a single domain, for W = s Wᵀ.

    The residuals x at (i, j) and y at (j, i) appear as p = x + s y and q = x - s y. With R1 = U² Λ U²ᵀ,
    M_ij = Σ Λ_kl U_ik U_jk U_il U_jl and Λ = Σ ε w wᵀ, M is Σ ε (U diag(w) Uᵀ)², one product for each term:

        regression    p = 2 (λRY)_ij / (R1 + s M)
        ranking       (½ [R1 + s M, 0; 0, 1] - [gᵀT⁻¹g']) [p; q] = [parts of λRY within and outside the relation]

    where g, g' are ½(u_i κ_j + s u_j κ_i) and ½(u_i - s u_j), κ = Λ(uβ), and T⁻¹ is also diagonal plus thin.

    Parameters
    ----------
    basis : Basis
        Eigenvectors of the node kernel. They are completed to n, because each pair has another complement.
    Y : ndarray of shape (n, n)
        Labels.
    sign : {1, -1}
        Sign s of the relation.
    ranking : bool
        Whether rows have free offsets.
    intercept : bool
        Whether one constant is fitted to all pairs.
    """

    def __init__(self, basis: Basis, Y: np.ndarray, sign: int, ranking: bool, intercept: bool = False):
        self.U, self.sigma = complete_basis(basis)
        self.U2 = self.U * self.U
        self.Y, self.sign, self.ranking = Y, sign, ranking
        self.sums = self.U.sum(axis=0)
        self.inner = self.U.T @ (Y @ self.U)
        self.within = (self.inner + sign * self.inner.T) / 2
        self.intercepts = None
        if intercept:
            self.intercepts = Intercepts(basis, basis, (Y + Y.T) / 2, over_both_directions)

    def scores(self, alpha: float) -> np.ndarray:
        """Entry (i, j) by the model without (i, j) and (j, i), (n, n)."""
        damping = Damping(self.sigma, self.sigma, alpha)
        W, values = damping.symmetric()
        dense = damping.dense()
        UW = self.U2 @ W
        R1 = (UW * values) @ UW.T
        M = np.zeros_like(R1)
        for w, value in zip(W.T, values, strict=True):
            square = (self.U * w) @ self.U.T
            square *= square
            square *= value
            M += square
        own = R1 + self.sign * M
        # On the diagonal p = 2x: both directions are the same.
        np.einsum("ii->i", own)[:] = 2 * R1.diagonal() if self.sign > 0 else 1.0
        out = self._ranking(damping, dense, own) if self.ranking else self._regression(dense, own)
        if self.intercepts is not None:
            basis = self.intercepts.rows
            s = self.intercepts.residuals_of_ones(Damping(basis.sigma, basis.sigma, alpha))
            out = self.intercepts.add(out, self._residual(s.copy(), own), s)
        if self.sign < 0:
            np.fill_diagonal(out, 0)
        return out

    def _regression(self, dense: np.ndarray, own: np.ndarray) -> np.ndarray:
        residual = self._residual((self.U @ (dense * self.within)) @ self.U.T, own)
        return (self.Y + self.sign * self.Y.T) / 2 - residual

    @staticmethod
    def _residual(fitted: np.ndarray, own: np.ndarray) -> np.ndarray:
        """p/2 from the residuals λRY of the fit to all pairs, in place."""
        np.einsum("ii->i", fitted)[:] *= 2
        fitted /= own
        return fitted

    def _ranking(self, damping: Damping, dense: np.ndarray, own: np.ndarray) -> np.ndarray:
        U, beta, s = self.U, self.sums, self.sign
        tau = damping((beta**2)[None])[0]
        offsets = Offsets(self.sigma, beta, tau, len(U), 0.0, s, damping.alpha)
        sums = U.T @ (self.Y.sum(axis=1) - s * self.Y.sum(axis=0)) / 2 + (dense * self.within) @ beta
        o_inner = offsets(sums[None])[0]
        shift = np.multiply.outer(o_inner, beta)
        within = self.within - (shift + s * shift.T) / 2
        o = U @ o_inner
        inner = (U @ (dense * within)) @ U.T
        left = self.Y - o[:, None]
        outer = (left - s * left.T) / 2

        kappa = (U * beta) @ dense
        pairs = _Products(U, self.U2, kappa, *offsets.factors())
        pp = (pairs.XX + pairs.XX.T + 2 * s * pairs.XXt) / 4
        pq = (pairs.Xi - pairs.Xi.T - s * pairs.Xj + s * pairs.Xj.T) / 4
        loops = pairs.uu.diagonal()
        qq = (loops[:, None] + loops - 2 * s * pairs.uu) / 4
        a, d = own / 2 - pp, 0.5 - qq
        n_own = np.arange(len(U))
        # For a loop p = 2x, and there is no second direction.
        a[n_own, n_own] = (own.diagonal() / 2 - pairs.XX.diagonal()) / 2 if s > 0 else 1.0
        pq[n_own, n_own], d[n_own, n_own] = 0.0, 1.0
        determinant = a * d - pq * pq
        p, q = (d * inner + pq * outer) / determinant, (a * outer + pq * inner) / determinant
        change = p * (pairs.Xi + s * pairs.Xj.T) / 2 + q * (loops[:, None] - s * pairs.uu) / 2
        change[n_own, n_own] = p.diagonal() / 2 * pairs.Xi.diagonal()
        return left - (p + q) / 2 + change


class _Products:
    """Products with J = T⁻¹ for all pairs, with X = u_i κ_j, and Xt for the reversed pair.

    XX = XᵀJX, XXt = XᵀJXt, Xi = u_iᵀJX, Xj = u_jᵀJX, uu = u_iᵀJu_j; J = diag(diagonal) + thin diag(weights) thinᵀ.
    """

    def __init__(
        self,
        U: np.ndarray,
        U2: np.ndarray,
        kappa: np.ndarray,
        diagonal: np.ndarray,
        thin: np.ndarray,
        weights: np.ndarray,
    ):
        self.XX = U2 @ (diagonal * kappa**2).T
        Uk = U * kappa
        self.XXt = (Uk * diagonal) @ Uk.T
        self.Xi = U2 @ (diagonal * kappa).T
        self.Xj = (U * diagonal) @ Uk.T
        at = U @ thin
        self.uu = (U * diagonal) @ U.T + (at * weights) @ at.T
        for column, along, weight in zip(thin.T, at.T, weights, strict=True):
            A = (U * column) @ kappa.T
            self.XX += weight * A * A
            self.XXt += weight * A * A.T
            self.Xi += weight * along[:, None] * A
            self.Xj += weight * A * along
