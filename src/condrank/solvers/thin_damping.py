"""The damping λ/(s gᵀ + λ) of residuals in the eigenbasis, as a product of thin matrices.

That is possible because it is smooth in log s and log g.
"""

from __future__ import annotations

import numpy as np

from condrank.base.blocks import in_threads, row_blocks
from condrank.base.measured import CACHED_ENTRIES

# The relative precision that sums must have.
PRECISE = 1e-12


class Damping:
    """Λ = λ/(s gᵀ + λ) ≈ left @ right, to working precision relative to each sum computed with it.

    With a = s/c and b = g c/λ, (1 + a)(1 + b)Λ = (1 + a)(1 + b)/(1 + ab) is analytic in log b in the strip |Im| < π.
    It is interpolated at Chebyshev points of log b, about six per unit of the range. As Λ ≥ 1/((1 + a)(1 + b)), sums of
    Λ with positive weights keep their relative precision, even if they are small, up to a factor max(a, b).

    Parameters
    ----------
    s, g : ndarray of shapes (r,) and (r',)
        Eigenvalues, not negative; zero for directions outside the span.
    alpha : float
        λ.
    """

    def __init__(self, s: np.ndarray, g: np.ndarray, alpha: float):
        self.s, self.g, self.alpha = s, g, alpha
        self.left, self.right = self._factors()

    def dense(self, rows: slice = slice(None)) -> np.ndarray:
        """Λ itself, or a block of its rows."""
        D = np.multiply.outer(self.s[rows], self.g)
        D += self.alpha
        return np.divide(self.alpha, D, out=D)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """X Λ for X (k, r)."""
        return X @ self.left if self.right is None else (X @ self.left) @ self.right

    def before(self, X: np.ndarray) -> np.ndarray:
        """Λ X for X (r', k)."""
        return self.left @ (X if self.right is None else self.right @ X)

    def symmetric(self) -> tuple[np.ndarray, np.ndarray]:
        """Λ = W diag(ε) Wᵀ for s = g, with as few columns as working precision allows. O(r²p)."""
        c = 1 + self.s / float(np.sqrt(self.alpha))
        scaled = self.dense() * c
        scaled *= c[:, None]
        if self.right is None:
            values, W = np.linalg.eigh(scaled)
        else:
            Q, _ = np.linalg.qr(self.left * c[:, None])
            values, core = np.linalg.eigh(Q.T @ (scaled @ Q))
            W = Q @ core
        kept = np.abs(values) > 2 * np.finfo(values.dtype).eps * np.abs(values).max()
        return W[:, kept] / c[:, None], values[kept]

    def _factors(self) -> tuple[np.ndarray, np.ndarray | None]:
        s, g, alpha, dtype = self.s, self.g, self.alpha, self.s.dtype
        eps = float(np.finfo(dtype).eps)
        c = float(np.sqrt(alpha * s.max() / g.max()))
        a, b = s / c, g * (c / alpha)
        # Below this b, Λ is one to working precision: these get one more point, at b = 0.
        none = b < eps / 10 / a.max()
        low, high = (float(np.log(end)) for end in (b[~none].min(initial=b.max()), b.max()))
        half = max((high - low) / 2, 1e-3)
        rho = (np.pi + np.hypot(np.pi, half)) / half
        n_points = int(np.ceil(-np.log(eps / 20) / np.log(rho))) + 1
        if 2 * n_points > len(g) or none.all():
            return self.dense(), None
        angles = np.cos(np.pi * np.arange(n_points) / (n_points - 1))
        points = (high + low) / 2 + half * angles
        b_points = np.exp(points)
        left = (1 + b_points) / (1 + np.multiply.outer(a, b_points))
        weights = np.where(np.arange(n_points) % 2, -1.0, 1.0)
        weights[[0, -1]] /= 2
        x = np.log(np.where(none, b.max(), b).astype(np.float64))
        gap = x - points[:, None]
        hit = gap == 0
        gap[hit] = 1
        right = weights[:, None] / gap
        right[:, hit.any(axis=0)] = hit[:, hit.any(axis=0)]
        right /= right.sum(axis=0)
        if none.any():
            left = np.column_stack([left, np.ones_like(a)])
            right = np.vstack([np.where(none, 0, right), none])
        # (1 + a)(1 + b)Λ lies between 1 and its values at these corners. If those are large, values near 1 lose digits.
        corners = np.array([[a.max(), b.min()], [a.min(), b.max()]])
        largest = ((1 + corners).prod(axis=1) / (1 + corners.prod(axis=1))).max()
        if eps * largest < PRECISE:
            left, right = _fewer_columns(left * (1 + a)[:, None], right, 2 * eps)
            left /= (1 + a)[:, None]
        right /= 1 + b
        return left.astype(dtype, copy=False), right.astype(dtype, copy=False)


def _fewer_columns(left: np.ndarray, right: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """The same product with only the terms above noise: half of the points, a tenth for extreme λ. O(rp²)."""
    Q, core = np.linalg.qr(left)
    Q_right, core_right = np.linalg.qr(right.T)
    u, values, v = np.linalg.svd(core @ core_right.T, full_matrices=False)
    kept = values > noise * values[0]
    return Q @ (u[:, kept] * values[kept]), v[kept] @ Q_right.T


def between(damping: Damping, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left Λ right, by thin products if Λ is one."""
    if damping.right is None:
        return (left @ damping.left) @ right
    return (left @ damping.left) @ (damping.right @ right)


def weigh(s: np.ndarray, g: np.ndarray, alpha: float, M: np.ndarray, fitted: bool = False) -> np.ndarray:
    """Λ∘M, or if ``fitted`` (1 - Λ)∘M, for M (r, r'), in blocks that stay in the processor's cache."""
    out = np.empty(M.shape, dtype=M.dtype)

    def work(block: slice) -> None:
        D = np.multiply.outer(s[block], g)
        weight = np.divide(D, D + alpha, out=D) if fitted else np.divide(alpha, D + alpha, out=D)
        np.multiply(weight, M[block], out=out[block])

    in_threads(work, row_blocks(*M.shape, budget=CACHED_ENTRIES))
    return out
