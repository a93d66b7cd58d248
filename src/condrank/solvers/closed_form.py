"""Closed forms on complete graphs: three relations × two losses from one eigendecomposition.

With Z (n, r), ZᵀZ = diag(σ), b = Zᵀ1, D = σσᵀ + λ (elementwise) and Π the relation's projection, the minimiser of

    ½‖L(Y - Z W Zᵀ)‖² + ½ λ‖W‖²,   W = Π[W],

where L is the identity (regression) or subtracts each row's mean (ranking), is

    regression            W = Π[ZᵀYZ] / D
    ranking               W = (R + Π[w bᵀ]) / D,   R = Π[Zᵀ Y C Z]

with a vector w that costs O(r²): for the symmetric and the reciprocal relation through one well-conditioned system.
The paper has the first two of these six and states that no efficient closed form is known for the others.
The same inverse, applied to any right-hand side R, preconditions the iteration on incomplete graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank.base.blocks import CACHED, in_threads, row_blocks
from condrank.nodes import Coordinates
from condrank.objective.relations import Relation
from condrank.solvers.solution import Iteration, Solution
from condrank.solvers.well_conditioned import WellConditioned


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
    The reduction costs two matrix products; a further λ costs O(rr').
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
        G = rows.rotate(observations.reduced(rows, cols))
        G = cols.rotate(G.T).T
        if self.loss == "ranking":
            sums = rows.rotate(observations.reduced_sums(rows))
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
        """W (r, r') for one λ. Takes one r×r' array, the result (before it, another for W = ±Wᵀ ranking)."""
        inverse = CompleteInverse(self.relation, self.loss, self.rows, self.cols, alpha)
        W = inverse(self.rhs, centred=True, last=True)
        # The r×r arithmetic of explicit features is in double precision, whatever theirs is.
        return Solution(W.astype(self.rows.nodes.dtype, copy=False))

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

    Parameters are those of `ClosedForm`. 1/D is made a block of rows at a time, in the processor's cache, wherever it
    is needed: that is faster than reading it from memory. Held is one r×r matrix, for symmetric and reciprocal
    ranking. Applying the inverse costs O(rr').
    """

    def __init__(self, relation: Relation, loss: str, rows: Coordinates, cols: Coordinates, alpha: float):
        self.relation, self.loss, self.rows, self.cols, self.alpha = relation, loss, rows, cols, alpha
        self.shape = len(rows.sigma), len(cols.sigma)
        self.coupled: WellConditioned | None = None
        if loss == "ranking":
            # λ/D lies in (0, 1]: sums over it never cancel, where sums over σσᵀ/D = 1 - λ/D would.
            self.x = cols.ones / cols.sigma
            if relation.sign:
                self.u = np.empty(self.shape[0], dtype=self.x.dtype)
                self.coupled = WellConditioned(self._coupled_matrix())

    def __call__(self, R: np.ndarray, *, centred: bool = False, last: bool = False) -> np.ndarray:
        """W for a right-hand side R = Π[R].

        ``centred`` says that R is of labels whose rows sum to zero, which spares it a cancellation; ``last`` that the
        inverse will not be applied again, so that W may have its memory.
        """
        vanishes = centred and self.cols.outside == 0.0
        left = right = np.empty(0)
        if self.loss == "ranking" and self.relation.sign:
            w = self._coupled_correction(R, vanishes)
            self.coupled = None if last else self.coupled
            left = np.column_stack([w, self.cols.ones])
            right = np.vstack([self.cols.ones, self.relation.sign * w]) / 2
        W = np.empty(self.shape, dtype=np.result_type(R, self.rows.sigma))

        def work(block: slice, inverse: np.ndarray) -> None:
            numerator = R[block]
            if self.loss == "ranking":
                if self.relation.sign:
                    numerator = left[block] @ right  # Π[w bᵀ]
                else:
                    numerator = np.multiply.outer(self._correction(R[block], inverse, vanishes), self.cols.ones)
                numerator += R[block]
            np.multiply(inverse, numerator, out=W[block])

        self._each_block(work)
        return W

    def _each_block(self, work: Callable[[slice, np.ndarray], None]) -> None:
        """Hand blocks of rows of 1/D to some work, in threads."""
        # σσᵀ + λ as one product of two columns and two rows.
        left = np.column_stack([self.rows.sigma, np.full_like(self.rows.sigma, self.alpha)])
        right = np.vstack([self.cols.sigma, np.ones_like(self.cols.sigma)])

        def on_block(block: slice) -> None:
            D = left[block] @ right
            work(block, np.reciprocal(D, out=D))

        in_threads(on_block, row_blocks(*self.shape, budget=CACHED))

    def _correction(self, R: np.ndarray, inverse: np.ndarray, vanishes: bool) -> np.ndarray:
        """The vector w of ordinary ranking, for a block of rows, which are independent of each other.

        w = σ c / (ω + u) with c = (R/D) b and u = (λ/D)(b²/σ). As σσᵀ/D = 1 - λ/D, σ c is also Rx - (R λ/D) x with
        x = b/σ, and Rx = 0 where 1 lies in the span of Z and the rows of YC sum to zero: nothing cancels for small λ.
        """
        x = self.alpha * self.x
        u = inverse @ (self.cols.ones * x)
        damped = (inverse * R) @ x
        return (-damped if vanishes else R @ self.x - damped) / (self.cols.outside + u)

    def _coupled_matrix(self) -> np.ndarray:
        """T (reciprocal) or B = T + ½ppᵀ (symmetric), for W = ±Wᵀ. Fills u on the way.

        Both rows and columns of W are corrected by one vector, w = q T⁻¹ q c with q = √σ and
        T = n I - ½ diag(σ((1/D)b²)) - ½ s diag(qb)(1/D)diag(qb), which is written with p = b/q as
        ½(n I - s ppᵀ) + ½ diag(ω + u) + ½ s diag(p)(λ/D)diag(p), symmetric positive definite. It was well
        conditioned wherever it was tried, which is not proven: `WellConditioned` falls back on a factorisation.
        """
        sign = self.relation.sign
        p = np.sqrt(self.cols.sigma) * self.x
        T = np.empty(self.shape, dtype=p.dtype)

        def work(block: slice, inverse: np.ndarray) -> None:
            self.u[block] = inverse @ (self.alpha * self.cols.ones * self.x)
            inverse *= sign * self.alpha
            if sign < 0:
                inverse += 1
            inverse *= 0.5 * p
            np.multiply(inverse, p[block, None], out=T[block])

        self._each_block(work)
        np.einsum("ii->i", T)[:] += 0.5 * (self.cols.n_nodes + self.cols.outside + self.u)
        return T

    def _coupled_correction(self, R: np.ndarray, vanishes: bool) -> np.ndarray:
        """The vector w for W = ±Wᵀ, from f = q c = (Rx - (R λ/D) x)/q."""
        assert self.coupled is not None
        n, omega = self.cols.n_nodes, self.cols.outside
        q = np.sqrt(self.cols.sigma)
        damped = np.empty_like(q)

        def work(block: slice, inverse: np.ndarray) -> None:
            damped[block] = np.multiply(inverse, R[block], out=inverse) @ (self.alpha * self.x)

        self._each_block(work)
        Rx = R @ self.x
        f = (Rx - damped) / q
        if self.relation.sign < 0:
            return q * self.coupled.solve(f)
        # Symmetric: T = B - ½ppᵀ is nearly singular along p when λ is small and 1 lies in the span of Z. As
        # Bp = ½(n + ω)p + p∘u, the numerator pᵀB⁻¹f and the denominator 1 - ½pᵀB⁻¹p of the rank-one update have
        # forms that do not cancel; and pᵀf = xᵀRx - xᵀ(R λ/D)x, where xᵀRx = 1ᵀYC1 = 0 for 1 in the span.
        p = q * self.x
        v = p * self.u
        Bf, Bv = self.coupled.solve(f), self.coupled.solve(v)
        pf = (0.0 if vanishes else self.x @ Rx) - self.x @ damped
        pBf = 2 / (n + omega) * (pf - v @ Bf)
        gap = (2 * omega + p @ Bv) / (n + omega)
        return q * (Bf + (p - Bv) * (pBf / gap / (n + omega)))
