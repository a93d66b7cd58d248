"""Closed forms on complete graphs: three relations × two losses from one eigendecomposition.

With Z (n, r), ZᵀZ = diag(σ), b = Zᵀ1, D = σσᵀ + λ (elementwise) and Π the relation's projection, the minimiser of

    ½‖L(Y - Z W Zᵀ)‖² + ½ λ‖W‖²,   W = Π[W],

where L is the identity (regression) or subtracts each row's mean (ranking), is

    regression            W = Π[ZᵀYZ] / D
    ranking               W = (R + Π[w bᵀ]) / D,   R = Π[Zᵀ Y C Z]

with a vector w that costs O(r²) for the ordinary relation and one r×r Cholesky factorisation for the other two.
The paper has the first two of these six and states that no efficient closed form is known for the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from condrank._blocks import row_blocks
from condrank.nodes import Coordinates
from condrank.relations import Relation


class ClosedForm:
    """A complete graph reduced to r×r sums, from which W follows for any λ.

    Parameters
    ----------
    relation : Relation
        Its projection; two domains need the ordinary one.
    loss : {"regression", "ranking"}
        Ranking is conditioned on the rows of the observations.
    rows, cols : Coordinates
        Fitted coordinates of the conditioning nodes and of the objects; the same object for a single domain.
    observations : Complete or Factored, of shape (n, m)
        The relation, known for every pair.
    prior_weight : float
        τ of the similarity prior: labels are taken as corrections of τ k(v, v').

    Notes
    -----
    The reduction costs two matrix products; a further λ costs O(rr') (or r³/3, symmetric and reciprocal ranking).
    """

    def __init__(
        self,
        relation: Relation,
        loss: str,
        rows: Coordinates,
        cols: Coordinates,
        observations: Any,
        prior_weight: float = 0.0,
    ):
        self.relation, self.loss, self.rows, self.cols = relation, loss, rows, cols
        self.R = relation.project(self._reduce(observations, prior_weight))

    def _reduce(self, observations: Any, prior_weight: float) -> np.ndarray:
        """ZᵀYZ' or ZᵀYCZ', minus the prior's own part, before the projection."""
        rows, cols = self.rows, self.cols
        G = rows.rotate(observations.reduce(rows.basis, cols.basis))
        G = cols.rotate(G.T).T
        if self.loss == "ranking":
            sums = rows.rotate(rows.basis.T @ observations.row_sums().astype(rows.basis.dtype))
            if prior_weight:
                # τ(diag(σ²) - (σb)bᵀ/m): the second term joins the row sums.
                sums = sums - prior_weight * rows.sigma * rows.ones
            _subtract_outer(G, sums / cols.n_nodes, cols.ones)
        if prior_weight:
            np.einsum("ii->i", G)[:] -= prior_weight * rows.sigma**2
        return G

    def solve(self, alpha: float) -> np.ndarray:
        """W (r, r') for one λ. Takes two r×r' arrays (three for W = ±Wᵀ ranking), one of them the result."""
        inverse = np.multiply.outer(self.rows.sigma, self.cols.sigma)
        inverse += alpha
        np.reciprocal(inverse, out=inverse)  # 1/D, which becomes W
        w = self._correction(inverse, alpha) if self.loss == "ranking" else None
        for block in row_blocks(*inverse.shape):
            if w is None:
                inverse[block] *= self.R[block]
            else:
                inverse[block] *= self.R[block] + self._projected_outer(w, block)
        return inverse

    def _correction(self, inverse: np.ndarray, alpha: float) -> np.ndarray:
        """The vector w of the ranking loss, from ``inverse`` = 1/D. Nothing in it cancels as λ goes to 0.

        Ordinary: w = σ c / (ω + u) with c = (R/D) b and u = (λ/D)(b²/σ). As σσᵀ/D = 1 - λ/D, σ c is also
        Rx - (R λ/D) x with x = b/σ, and Rx = 0 where 1 lies in the span of Z, as the rows of YC sum to zero.
        """
        g, b = self.cols.sigma, self.cols.ones
        x = b / g
        u = alpha * (inverse @ (b * x))
        damped = alpha * np.einsum("ij,ij,j->i", self.R, inverse, x)
        if self.relation.sign:
            return self._coupled_correction(inverse, alpha, x, u, damped)
        left_over = self.R @ x if self.cols.outside else 0.0
        return (left_over - damped) / (self.cols.outside + u)

    def _coupled_correction(
        self, inverse: np.ndarray, alpha: float, x: np.ndarray, u: np.ndarray, damped: np.ndarray
    ) -> np.ndarray:
        """Both rows and columns of W = ±Wᵀ are corrected by one vector, w = q T⁻¹ f with q = √σ and f = q c.

        T = n I - ½ diag(σ((1/D)b²)) - ½ s diag(qb)(1/D)diag(qb) is written with p = b/q as
        ½(n I - s ppᵀ) + ½ diag(ω + u) + ½ s diag(p)(λ/D)diag(p), symmetric positive definite.
        """
        sign, n, omega = self.relation.sign, self.cols.n_nodes, self.cols.outside
        q = np.sqrt(self.cols.sigma)
        p = q * x
        Rx = self.R @ x
        f = (Rx - damped) / q
        T = inverse * (0.5 * sign * alpha * p)
        T *= p[:, None]
        np.einsum("ii->i", T)[:] += 0.5 * (n + omega + u)
        if sign < 0:
            for block in row_blocks(*T.shape):
                T[block] += np.multiply.outer(0.5 * p[block], p)
            factor = linalg.cho_factor(T.T, lower=True, overwrite_a=True, check_finite=False)
            return q * linalg.cho_solve(factor, f, check_finite=False)
        # Symmetric: T = B - ½ppᵀ is nearly singular along p when λ is small and 1 lies in the span of Z. As
        # Bp = ½(n + ω)p + p∘u, the numerator pᵀB⁻¹f and the denominator 1 - ½pᵀB⁻¹p of the rank-one update have
        # forms that do not cancel; and pᵀf = xᵀRx - xᵀ(R λ/D)x, where xᵀRx = 1ᵀYC1 = 0 for 1 in the span.
        factor = linalg.cho_factor(T.T, lower=True, overwrite_a=True, check_finite=False)
        Bf, Bv = linalg.cho_solve(factor, np.column_stack([f, p * u]), check_finite=False).T
        pf = (x @ Rx if omega else 0.0) - x @ damped
        pBf = 2 / (n + omega) * (pf - (p * u) @ Bf)
        gap = (2 * omega + p @ Bv) / (n + omega)
        return q * (Bf + (p - Bv) * (pBf / gap / (n + omega)))

    def _projected_outer(self, w: np.ndarray, block: slice) -> np.ndarray:
        """A block of rows of Π[w bᵀ]."""
        b = self.cols.ones
        outer = np.multiply.outer(w[block], b)
        if self.relation.sign:
            outer += self.relation.sign * np.multiply.outer(b[block], w)
            outer *= 0.5
        return outer


def _subtract_outer(G: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """G -= x yᵀ, a block of rows at a time."""
    for block in row_blocks(*G.shape):
        G[block] -= np.multiply.outer(x[block], y)
