"""Closed forms on complete graphs: three relations × two losses from one eigendecomposition.

With Z (n, r), ZᵀZ = diag(σ), b = Zᵀ1, D = σσᵀ + λ (elementwise) and Π the relation's projection, the minimiser of

    ½‖L(Y - Z W Zᵀ)‖² + ½ λ‖W‖²,   W = Π[W],

where L is the identity (regression) or subtracts each row's mean (ranking), is

    regression            W = Π[ZᵀYZ] / D
    ranking               W = (R + Π[w bᵀ]) / D,   R = Π[Zᵀ Y C Z]

with a vector w that costs O(r²) for the ordinary relation and one r×r Cholesky factorisation for the other two.
The paper has the first two of these six and states that no efficient closed form is known for the others.
The same inverse, applied to any right-hand side R, preconditions the iteration on incomplete graphs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from condrank._blocks import CACHED, row_blocks
from condrank.nodes import Coordinates
from condrank.relations import Relation
from condrank.solvers.solution import Iteration, Solution


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
        self.rhs = relation.project(self._reduce(observations, prior_weight))

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
            sums = sums / cols.n_nodes
            for block in row_blocks(*G.shape, budget=CACHED):
                G[block] -= np.multiply.outer(sums[block], cols.ones)
        if prior_weight:
            np.einsum("ii->i", G)[:] -= prior_weight * rows.sigma**2
        return G

    def solve(self, alpha: float, iteration: Iteration | None = None) -> Solution:
        """W (r, r') for one λ. Takes two r×r' arrays (three for W = ±Wᵀ ranking), one of them the result."""
        inverse = CompleteInverse(self.relation, self.loss, self.rows, self.cols, alpha)
        W = inverse(self.rhs, centred=True, overwrite=True)
        # Explicit features are reduced in double precision, whatever theirs is.
        return Solution(W.astype(self.rows.basis.dtype, copy=False))

    def apply(self, W: np.ndarray, alpha: float) -> np.ndarray:
        """Π[Zᵀ L(Z W Z'ᵀ) Z'] + λW = Π[σ W (diag(σ') - bbᵀ/m)] + λW, the last term for ranking. O(rr')."""
        out = W * self.cols.sigma
        if self.loss == "ranking":
            means = (W @ self.cols.ones) / self.cols.n_nodes
            for block in row_blocks(*out.shape, budget=CACHED):
                out[block] -= np.multiply.outer(means[block], self.cols.ones)
        out *= self.rows.sigma[:, None]
        out = self.relation.project(out)
        out += alpha * W
        return out


class CompleteInverse:
    """The inverse of W ↦ Π[Zᵀ L(Z W Zᵀ) Z] + λW on a complete graph, for one λ.

    Parameters are those of `ClosedForm`. Holds 1/D and, for symmetric and reciprocal ranking, one Cholesky factor;
    applying it costs O(rr').
    """

    def __init__(self, relation: Relation, loss: str, rows: Coordinates, cols: Coordinates, alpha: float):
        self.relation, self.loss, self.rows, self.cols, self.alpha = relation, loss, rows, cols, alpha
        inverse = np.multiply.outer(rows.sigma, cols.sigma)
        inverse += alpha
        self.inverse = np.reciprocal(inverse, out=inverse)  # 1/D
        if loss == "ranking":
            # λ/D lies in (0, 1]: sums over it never cancel, where sums over σσᵀ/D = 1 - λ/D would.
            self.x = cols.ones / cols.sigma
            self.u = alpha * (self.inverse @ (cols.ones * self.x))
            if relation.sign:
                self.factor = self._coupled_factor()

    def __call__(self, R: np.ndarray, *, centred: bool = False, overwrite: bool = False) -> np.ndarray:
        """W for a right-hand side R = Π[R].

        ``centred`` says that R came from labels whose rows sum to zero, which spares it a cancellation;
        ``overwrite`` gives the memory of 1/D to the result, after which the inverse is spent.
        """
        w = self._correction(R, centred) if self.loss == "ranking" else None
        W = self.inverse if overwrite else np.empty_like(self.inverse)
        for block in row_blocks(*W.shape, budget=CACHED):
            numerator = R[block] if w is None else R[block] + self._projected_outer(w, block)
            np.multiply(self.inverse[block], numerator, out=W[block])
        return W

    def _correction(self, R: np.ndarray, centred: bool) -> np.ndarray:
        """The vector w of the ranking loss. Nothing in it cancels as λ goes to 0.

        Ordinary: w = σ c / (ω + u) with c = (R/D) b and u = (λ/D)(b²/σ). As σσᵀ/D = 1 - λ/D, σ c is also
        Rx - (R λ/D) x with x = b/σ, and Rx = 0 where 1 lies in the span of Z and the rows of YC sum to zero.
        """
        vanishes = centred and self.cols.outside == 0.0
        damped = self.alpha * np.einsum("ij,ij,j->i", R, self.inverse, self.x)
        if self.relation.sign:
            return self._coupled_correction(R @ self.x, damped, vanishes)
        left = -damped if vanishes else R @ self.x - damped
        return left / (self.cols.outside + self.u)

    def _coupled_factor(self) -> tuple[np.ndarray, bool]:
        """Cholesky factor of T (reciprocal) or of B = T + ½ppᵀ (symmetric), for W = ±Wᵀ.

        Both rows and columns of W are corrected by one vector, w = q T⁻¹ q c with q = √σ and
        T = n I - ½ diag(σ((1/D)b²)) - ½ s diag(qb)(1/D)diag(qb), which is written with p = b/q as
        ½(n I - s ppᵀ) + ½ diag(ω + u) + ½ s diag(p)(λ/D)diag(p), symmetric positive definite.
        """
        sign = self.relation.sign
        p = np.sqrt(self.cols.sigma) * self.x
        T = self.inverse * (0.5 * sign * self.alpha * p)
        T *= p[:, None]
        np.einsum("ii->i", T)[:] += 0.5 * (self.cols.n_nodes + self.cols.outside + self.u)
        if sign < 0:
            for block in row_blocks(*T.shape, budget=CACHED):
                T[block] += np.multiply.outer(0.5 * p[block], p)
        return linalg.cho_factor(T.T, lower=True, overwrite_a=True, check_finite=False)

    def _coupled_correction(self, Rx: np.ndarray, damped: np.ndarray, vanishes: bool) -> np.ndarray:
        """The vector w for W = ±Wᵀ, from f = q c = (Rx - (R λ/D) x)/q."""
        n, omega = self.cols.n_nodes, self.cols.outside
        q = np.sqrt(self.cols.sigma)
        f = (Rx - damped) / q
        if self.relation.sign < 0:
            return q * linalg.cho_solve(self.factor, f, check_finite=False)
        # Symmetric: T = B - ½ppᵀ is nearly singular along p when λ is small and 1 lies in the span of Z. As
        # Bp = ½(n + ω)p + p∘u, the numerator pᵀB⁻¹f and the denominator 1 - ½pᵀB⁻¹p of the rank-one update have
        # forms that do not cancel; and pᵀf = xᵀRx - xᵀ(R λ/D)x, where xᵀRx = 1ᵀYC1 = 0 for 1 in the span.
        p = q * self.x
        v = p * self.u
        Bf, Bv = linalg.cho_solve(self.factor, np.column_stack([f, v]), check_finite=False).T
        pf = (0.0 if vanishes else self.x @ Rx) - self.x @ damped
        pBf = 2 / (n + omega) * (pf - v @ Bf)
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
