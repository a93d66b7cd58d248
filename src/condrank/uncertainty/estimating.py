"""Variances of many functionals on the weights: one step by formula for each, and a few draws for what is left.

If all pairs were observed with the mean weight ρ, H would be D = ρσσ'ᵀ + λ in the eigenbasis (for what no loss
centres). So x = φ/D, projected, is close to the solution of Hx = φ, up to a factor c, and

    φᵀH⁻¹φ = (φᵀx)²/(xᵀHx) + rᵀH⁻¹r,        r = φ - cHx,   c = φᵀx/xᵀHx.

xᵀHx needs x only at the observed pairs. As 1/D is a sum of a few products (`condrank.solvers.thin_damping`), x is there
a sum of a few products of two vectors: O((n + m)r + n_pairs) for each functional and term, with no solution. The rest
rᵀH⁻¹r is small where the pairs are observed evenly. It is the mean square of rᵀw for w of covariance H⁻¹. For a draw
w = H⁻¹g it is rᵀw = φᵀw - c φᵀ(g/D), so a few draws serve all functionals. From one functional to the next the share of
the rest hardly differs. So it is fitted to all squares at once, and the squares of one functional count as far as they
tell more than the fit does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.products.sampled import SampledProducts, has_numba
from condrank.solvers.thin_damping import Damping
from condrank.uncertainty.functionals import Functionals

# Draws at first. They are doubled until the estimated relative error of a standard deviation is below this.
FIRST_DRAWS, MOST_ERROR = 6, 0.04
# Variances below this share of the largest are rounding errors of differences of a node and itself.
ROUNDED = 1e-6
# Values at the observed pairs that are held at a time.
HELD = 1 << 22


class FirstStep:
    """The first step for functionals, in single precision.

    Parameters
    ----------
    engine : SolvedPosterior
        With one block of weights (no compared features).
    asked : Functionals
        What variances are asked for.
    """

    def __init__(self, engine: Any, asked: Functionals):
        self.engine, self.asked = engine, asked
        system = engine.system
        self.rho, self.alpha, self.relation = system.density, engine.alpha, system.relation
        self._sides = system.rows, system.cols
        self.left, self.right = self._thin()
        self.inverse = self.left @ self.right
        self.rows = [(left.astype(np.float32), right.astype(np.float32)) for left, right, _ in asked.products()]
        # Compiled loops read only the observed pairs. Without them, all pairs of a dense graph take less time.
        self.dense = system.dense and not has_numba() and not engine.loss.fits_intercept
        edges = system.edges
        self.products = SampledProducts(edges.indptr, edges.indices, edges.shape, "numba" if has_numba() else "auto")
        self.even: np.ndarray | None = None
        if engine.mean is not None and asked.constants:
            self.even = asked.constants * engine.mean.astype(np.float32)
        self.along, self.energy = self._along(), self._energy()

    def times(self, W: np.ndarray) -> np.ndarray:
        """Functionals of weights (r, r'), (P,); less the mean over the edges if there is an intercept."""
        W = W.astype(np.float32, copy=False)
        total = sum(np.einsum("ij,ij->i", left @ W, right) for left, right in self.rows)
        return np.asarray(total if self.even is None else total - np.vdot(self.even, W), dtype=np.float64)

    def form(self, M: np.ndarray) -> np.ndarray:
        """φᵀ(M∘φ), (P,), for symmetric M if the relation has a sign."""
        s, total = self.relation.sign, np.zeros(len(self.asked))
        for left, right in self.rows:
            for other, right_other in self.rows:
                part = np.einsum("ij,ij->i", (left * other) @ M, right * right_other)
                if s:
                    part = 0.5 * (part + s * np.einsum("ij,ij->i", (left * right_other) @ M, right * other))
                total += part
        if self.even is not None:
            # (φ - e)ᵀM(φ - e) = φᵀMφ - 2(φ - e)ᵀMe - eᵀMe
            total -= 2 * self.times(M * self.even) + float(np.vdot(M * self.even, self.even))
        return total

    def _along(self) -> np.ndarray:
        """φᵀx, (P,)."""
        return self.form(self.inverse)

    def _energy(self) -> np.ndarray:
        """xᵀHx, (P,)."""
        self.penalty = self.alpha * self.form(self.inverse * self.inverse)
        return self.penalty + self._at_edges()

    def _at_edges(self) -> np.ndarray:
        """fᵀL_Ω f for the values f of x at the observed pairs, (P,)."""
        system = self.engine.system
        Z, Z_objects = (one.astype(np.float32) for one in (system.Z, system.Z_objects))
        left, right = self.left, self.right
        even = None
        if self.even is not None:
            even = system.products.at_edges(Z @ (self.even * self.inverse), Z_objects)
        out = np.empty(len(self.asked))
        for block in row_blocks(len(out), left.shape[1] * len(self.rows) * sum(system.edges.shape), budget=HELD):
            A = [_terms(one[block], left.T, Z) for one, _ in self.rows]
            B = [_terms(one[block], right, Z_objects) for _, one in self.rows]
            ends = np.concatenate(A, axis=1), np.concatenate(B, axis=1)
            for place, (one, other) in enumerate(zip(*ends, strict=True), start=block.start):
                f = self._values(one, other)
                out[place] = self._lost(f if even is None else f - even)
        return out

    def _thin(self) -> tuple[np.ndarray, np.ndarray]:
        """Terms (r, k) and (k, r') with 1/D ≈ left right: an x that is off by 1e-4 is as good a step."""
        sigma, weighted = (np.sqrt(self.rho) * side.sigma.astype(np.float64) for side in self._sides)
        damping = Damping(sigma.astype(np.float32), weighted.astype(np.float32), self.alpha)
        if damping.right is None:
            return damping.left / np.float32(self.alpha), np.eye(len(weighted), dtype=np.float32)
        # Relative to entries: with these factors all of them are between one and a small number.
        scale = np.sqrt(sigma.max() / weighted.max() * self.alpha)
        a, b = 1 + sigma / scale, 1 + weighted * (scale / self.alpha)
        Q, core = np.linalg.qr(damping.left * a[:, None])
        Q_right, core_right = np.linalg.qr((damping.right * b).T)
        u, values, v = np.linalg.svd(core @ core_right.T)
        kept = values > 1e-4 * values[0]
        left, right = Q @ (u[:, kept] * values[kept]), v[kept] @ Q_right.T
        return (left / a[:, None] / self.alpha).astype(np.float32), (right / b).astype(np.float32)

    def _values(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Σ_k one_k[i] other_k[j] at the observed pairs (i, j), or all of them as an array if products are dense."""
        products, s = self.products, self.relation.sign
        if self.dense:
            F = one.T @ other
            return 0.5 * (F + s * F.T) if s else F
        one, other = np.ascontiguousarray(one.T), np.ascontiguousarray(other.T)
        f = products.at_edges(one, other)
        return 0.5 * (f + s * products.at_edges(other, one)) if s else f

    def _lost(self, f: np.ndarray) -> float:
        """fᵀL_Ω f."""
        loss = self.engine.system.loss_operator
        if f.ndim == 1:
            return float(np.vdot(f, loss(f)))
        weighted = loss.mask.astype(np.float32, copy=False) * f
        total = float(np.vdot(weighted, f))
        if self.engine.loss.centres_rows:
            totals = np.ones(len(f))
            totals[loss.rows.filled] = loss.totals
            total -= float((weighted.sum(axis=1, dtype=np.float64) ** 2 / totals).sum())
        return total


def _terms(rows: np.ndarray, weights: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Z(weights_k∘rows_p), (P, k, n), as one product."""
    products = rows[:, None, :] * weights
    return (products.reshape(-1, rows.shape[1]) @ Z.T).reshape(*products.shape[:2], len(Z))


def estimate(engine: Any, asked: Functionals, most: int, rng: np.random.Generator) -> np.ndarray:
    """Variances φᵀH⁻¹φ of functionals, (P,), without the part of a constant; from at most ``most`` draws."""
    step = FirstStep(engine, asked)
    some = step.along > ROUNDED * step.along.max(initial=0.0)
    factor = np.divide(step.along, step.energy, out=np.zeros(len(asked)), where=some)
    first = np.maximum(factor * step.along, 0.0)
    first_step, squares, means = first[some], np.zeros(np.count_nonzero(some)), []
    traits, draws = _traits(step, first, some), engine.draws_of(most, rng)
    # The free constants of ranking are in all scores of a conditioning node together: a few draws would not show it.
    least = most if engine.loss.centres_rows and asked.constants else FIRST_DRAWS
    while True:
        for _ in range(min(most, max(least, 2 * len(means))) - len(means)):
            W, g = next(draws)
            away = step.times(W) - factor * step.times(step.inverse * g.astype(np.float32))
            share = away[some] ** 2 / first_step
            squares += share
            means.append(float(share.mean()) if len(share) else 0.0)
        shares, error = pooled_shares(squares / len(means), traits, means)
        if error <= MOST_ERROR or len(means) >= most:
            break
    first[some] *= 1 + shares
    return first


def _traits(step: FirstStep, first: np.ndarray, some: np.ndarray) -> np.ndarray:
    """What the share of the rest may depend on, (P, 4): how far x is from a solution, and where the labels decide."""
    along = step.along[some]
    before = step.form(np.ones_like(step.inverse))[some] / step.alpha  # the variance of the prior
    traits = step.energy[some] / along, step.penalty[some] / along, first[some] / before
    return np.column_stack([np.ones(len(along)), *traits])


def pooled_shares(squares: np.ndarray, traits: np.ndarray, means: list[float]) -> tuple[np.ndarray, float]:
    """Shares (P,) from means of n squares of normal draws, and the relative error of √(1 + share) that is left.

    A linear function of the traits is fitted to all. A mean of n squares has the relative variance 2/n; what the means
    vary more around the fit is the fit's own error τ². Both are averaged with weights 1/τ² and n/2. ``means`` has one
    number for each draw, the mean over all functionals: what these vary is an error that all have together.
    """
    n, total = len(means), float(np.mean(means))
    if not total:
        return squares, 0.0
    together = float(np.std(means, ddof=1)) / total / n**0.5
    size = 0.5 * float(np.mean(squares / (1 + squares)))
    if len(squares) <= 10 * traits.shape[1]:
        return squares, size * (2 / n) ** 0.5
    fitted = traits @ np.linalg.lstsq(traits, squares, rcond=None)[0]
    fitted = np.maximum(fitted, 0.1 * total)
    spread = float(np.mean((squares / fitted - 1) ** 2))
    own = max(0.0, (spread - 2 / n) / (1 + 2 / n))
    weight = own / (own + 2 / n)
    return fitted + weight * (squares - fitted), size * (weight * 2 / n + together**2) ** 0.5
