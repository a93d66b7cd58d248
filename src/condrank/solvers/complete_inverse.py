"""The inverse of a complete graph's system: the closed forms, applied to any right-hand side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank.base.blocks import in_threads, row_blocks
from condrank.base.measured import CACHED_ENTRIES
from condrank.nodes import Coordinates
from condrank.objective.losses import Loss
from condrank.objective.relations import Relation
from condrank.solvers.offsets import Offsets


class CompleteInverse:
    """The inverse of W ↦ Π[Zᵀ L(Z W Zᵀ) Z] + λW on a complete graph, for one λ.

    Applying it costs O(rr'). Parameters are those of `ClosedForm`. 1/D is computed again wherever it is needed, one
    block of rows at a time in the processor's cache: that is faster than reading it from memory. The object keeps one
    r×r matrix only for an intercept, if it is applied more than once.
    """

    def __init__(self, relation: Relation, loss: Loss, rows: Coordinates, cols: Coordinates, alpha: float):
        self.relation, self.loss, self.rows, self.cols, self.alpha = relation, loss, rows, cols, alpha
        self.shape = len(rows.sigma), len(cols.sigma)
        if loss.centres_rows:
            # λ/D lies in (0, 1], so sums over it never cancel. Sums over σσᵀ/D = 1 - λ/D would.
            self.x = cols.ones / cols.sigma
            self._offsets: Offsets | None = None
        elif loss.fits_intercept:
            self.x, self.x_rows = cols.ones / cols.sigma, rows.ones / rows.sigma
            self.gap = self._constant_gap()
            self.even: np.ndarray | None = None

    def __call__(self, R: np.ndarray, *, centred: bool = False, last: bool = False) -> np.ndarray:
        """W for a right-hand side R = Π[R].

        ``centred`` means that R comes from labels whose rows sum to zero (with an intercept, whose sum is zero), which
        avoids a cancellation. ``last`` means that the inverse will not be applied again, so nothing is kept for that.
        """
        vanishes = centred and self.cols.outside == 0.0
        constant = 0.0
        if self.loss.fits_intercept:
            if not last:
                return self._with_constant(R)
            constant = self._constant(R, vanishes)
        left = right = np.empty(0)
        if self.loss.centres_rows and self.relation.sign:
            w = self._coupled_correction(R, vanishes)
            left = np.column_stack([w, self.cols.ones])
            right = np.vstack([self.cols.ones, self.relation.sign * w]) / 2
        W = np.empty(self.shape, dtype=np.result_type(R, self.rows.sigma))

        def work(block: slice, D: np.ndarray) -> None:
            out = W[block]
            if left.size:
                np.matmul(left[block], right, out=out)  # Π[w bᵀ]
            elif self.loss.centres_rows:
                inverse = np.reciprocal(D, out=D)
                np.multiply.outer(self._correction(R[block], inverse, vanishes), self.cols.ones, out=out)
                out += R[block]
                out *= inverse
                return
            elif constant:
                np.multiply.outer(constant * self.rows.ones[block], self.cols.ones, out=out)
            else:
                np.divide(R[block], D, out=out)
                return
            out += R[block]
            out /= D

        self._each_denominator(work)
        return W

    @property
    def offsets(self) -> Offsets:
        """The system of offsets of symmetric and reciprocal ranking, made when it is first needed."""
        if self._offsets is None:
            damped, ends = np.empty_like(self.x), self._ends

            def work(block: slice, inverse: np.ndarray) -> None:
                damped[block] = inverse @ ends

            self._each_block(work)
            self._offsets = self._coupled_offsets(damped)
        return self._offsets

    def correction(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Vectors w (r,) and b (r',) with W = (R + Π[w bᵀ])/D for R = Π[left rightᵀ]; None if W = R/D."""
        sign, b, alpha = self.relation.sign, self.cols.ones, self.alpha
        if not self.loss.centres_rows:
            if not self.loss.fits_intercept:
                return None
            ends = b * right
            total = self._sum(lambda block, inverse: float((self.rows.ones * left)[block] @ (inverse @ ends)))
            return total / self.gap * self.rows.ones, b
        x = self.x
        columns = np.column_stack([right * x, left * x if sign else b * x]) * alpha
        products = np.empty((self.shape[0], 2), dtype=columns.dtype)

        def work(block: slice, inverse: np.ndarray) -> None:
            products[block] = inverse @ columns

        self._each_block(work)
        if sign:
            Rx = 0.5 * ((right @ x) * left + sign * (left @ x) * right)
            damped = 0.5 * (left * products[:, 0] + sign * right * products[:, 1])
            return self._coupled_solution(Rx, damped, vanishes=False), b
        return left * ((right @ x) - products[:, 0]) / (self.cols.outside + products[:, 1]), b

    def _each_block(self, work: Callable[[slice, np.ndarray], Any]) -> None:
        """Call ``work`` with blocks of rows of 1/D, in threads."""
        self._each_denominator(lambda block, D: work(block, np.reciprocal(D, out=D)))

    def _each_denominator(self, work: Callable[[slice, np.ndarray], Any]) -> None:
        """Call ``work`` with blocks of rows of D, in threads."""
        # σσᵀ + λ is one product of two columns and two rows.
        left = np.column_stack([self.rows.sigma, np.full_like(self.rows.sigma, self.alpha)])
        right = np.vstack([self.cols.sigma, np.ones_like(self.cols.sigma)])

        in_threads(lambda block: work(block, left[block] @ right), row_blocks(*self.shape, budget=CACHED_ENTRIES))

    def _sum(self, work: Callable[[slice, np.ndarray], float]) -> float:
        """The sum of ``work`` over blocks of rows of 1/D, in an order that does not depend on the threads."""
        parts: dict[int, float] = {}

        def add(block: slice, inverse: np.ndarray) -> None:
            parts[block.start] = work(block, inverse)

        self._each_block(add)
        return float(sum(parts[start] for start in sorted(parts)))

    def _constant_gap(self) -> float:
        """N - Σ B²/D with B = b b'ᵀ, N = n n'; by σσ'/D = 1 - λ/D a sum of positive terms, which does not cancel.

        N - Σ (b²/σ)(b'²/σ') = (n - ω) ω' + ω n', and the rest is Σ (b²/σ)(b'²/σ') λ/D.
        """
        rows, cols = self.rows, self.cols
        left, right = rows.ones * self.x_rows, self.alpha * (cols.ones * self.x)
        n, m = float(rows.n_nodes), float(cols.n_nodes)
        outside = (n - rows.outside) * cols.outside + rows.outside * m
        return outside + self._sum(lambda block, inverse: float(left[block] @ (inverse @ right)))

    def _with_constant(self, R: np.ndarray) -> np.ndarray:
        """W for an iteration: R/D, then t B/D, where B/D is kept from the first call on."""
        plain = np.empty(self.shape, dtype=np.result_type(R, self.rows.sigma))
        self._each_block(lambda block, inverse: np.multiply(inverse, R[block], out=plain[block]))
        rows, cols = self.rows.ones, self.cols.ones
        if self.even is None:
            self.even = np.empty(self.shape, dtype=rows.dtype)
            even = self.even
            self._each_block(
                lambda block, inverse: np.multiply(inverse, np.multiply.outer(rows[block], cols), out=even[block])
            )
        constant = float(rows @ (plain @ cols)) / self.gap
        for block in row_blocks(*self.shape, budget=CACHED_ENTRIES):
            plain[block] += plain.dtype.type(constant) * self.even[block]
        return plain

    def _constant(self, R: np.ndarray, vanishes: bool) -> float:
        """t = ⟨B, R/D⟩/(N - ⟨B, B/D⟩) with W = (R + tB)/D: the mean of the values of W.

        ⟨B, R/D⟩ = xᵀRx' - ⟨xx'ᵀ, R λ/D⟩ with x = b/σ. The first term is the sum of the labels, 0, if they are centred
        and 1 lies in both spans.
        """
        if vanishes and self.rows.outside == 0.0:
            left, right = self.x_rows, -self.alpha * self.x
        else:
            left, right = self.rows.ones, self.cols.ones

        def work(block: slice, inverse: np.ndarray) -> float:
            return float(left[block] @ (np.multiply(inverse, R[block], out=inverse) @ right))

        return self._sum(work) / self.gap

    def _correction(self, R: np.ndarray, inverse: np.ndarray, vanishes: bool) -> np.ndarray:
        """The vector w of ordinary ranking, for a block of rows; rows are independent of each other.

        w = σ c / (ω + u) with c = (R/D) b and u = (λ/D)(b²/σ). As σσᵀ/D = 1 - λ/D, σ c is also Rx - (R λ/D) x with
        x = b/σ. Rx = 0 if 1 lies in the span of Z and the rows of YC sum to zero, so nothing cancels for small λ.
        """
        x = self.alpha * self.x
        u = inverse @ (self.cols.ones * x)
        damped = (inverse * R) @ x
        return (-damped if vanishes else R @ self.x - damped) / (self.cols.outside + u)

    @property
    def _ends(self) -> np.ndarray:
        """λ b²/σ: its product with 1/D is τ = (λ/D)(b²/σ)."""
        return self.alpha * self.cols.ones * self.x

    def _coupled_offsets(self, damped: np.ndarray) -> Offsets:
        """The system of symmetric and reciprocal ranking, where one vector corrects both rows and columns of W.

        w = q T⁻¹ q c with q = √σ and T = n I - ½ diag(σ((1/D)b²)) - ½ s diag(qb)(1/D)diag(qb): the system of offsets,
        with β = b/q and τ = ``damped``.
        """
        sigma, n, outside = self.cols.sigma, self.cols.n_nodes, self.cols.outside
        return Offsets(sigma, np.sqrt(sigma) * self.x, damped, n, outside, self.relation.sign, self.alpha)

    def _coupled_correction(self, R: np.ndarray, vanishes: bool) -> np.ndarray:
        """The vector w for W = ±Wᵀ, from Rx and (R λ/D) x. The first time this pass gives τ for the offsets too."""
        damped, ends, scaled = np.empty_like(self.x), self._ends, self.alpha * self.x
        of_ones = np.empty_like(self.x) if self._offsets is None else None

        def work(block: slice, inverse: np.ndarray) -> None:
            if of_ones is not None:
                of_ones[block] = inverse @ ends
            damped[block] = np.multiply(inverse, R[block], out=inverse) @ scaled

        self._each_block(work)
        if of_ones is not None:
            self._offsets = self._coupled_offsets(of_ones)
        return self._coupled_solution(R @ self.x, damped, vanishes)

    def _coupled_solution(self, Rx: np.ndarray, damped: np.ndarray, vanishes: bool) -> np.ndarray:
        """The vector w for W = ±Wᵀ, from f = q c = (Rx - (R λ/D) x)/q.

        βᵀf = xᵀRx - xᵀ(R λ/D)x, where xᵀRx = 1ᵀYC1 = 0 if the rows of the labels sum to zero and 1 is in the span.
        """
        q = np.sqrt(self.cols.sigma)
        along = (0.0 if vanishes else self.x @ Rx) - self.x @ damped
        return q * self.offsets(((Rx - damped) / q)[None], along)[0]
