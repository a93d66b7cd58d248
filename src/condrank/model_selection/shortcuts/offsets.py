"""Offsets of the ranking loss: every row has a free offset. Their system is the coupled matrix of the closed form."""

from __future__ import annotations

import numpy as np

from condrank.solvers.thin_damping import Damping


class Offsets:
    """Solves T o = f for rows f (k, q) in coordinates of a basis with σ, β = Uᵀ1 and ‖β‖² = n.

    Ordinary: T = diag(τ), τ = Λβ². Symmetric and reciprocal (s = ±1): T = B - ½ s ββᵀ with
    B = ½ diag(n + τ) + ½ s diag(β) Λ diag(β), where Λ is a thin product. O(kqp).
    """

    def __init__(self, damping: Damping, sums: np.ndarray, n: int, sign: int):
        self.sign, self.sums = sign, sums
        self.tau = damping((sums**2)[None])[0]
        if not sign:
            return
        self.diagonal = 2 / (n + self.tau)
        left, right = damping.left, damping.right
        if right is None:
            B = 0.5 * sign * np.multiply.outer(sums, sums) * left
            np.einsum("ii->i", B)[:] += 0.5 * (n + self.tau)
            self.inverse, self.thin = np.linalg.inv(B), None
        else:
            scaled = (self.diagonal * sums)[:, None] * left
            core = (right * sums) @ scaled
            np.einsum("ii->i", core)[:] += 2 * sign
            self.thin = scaled, np.linalg.solve(core, right * (sums * self.diagonal))
        self.z, gap = deflated(sums, self._without((self.tau * sums)[None])[0], n, sign)
        self.scale = 0.5 * sign / gap

    def __call__(self, f: np.ndarray) -> np.ndarray:
        """T⁻¹f for every row."""
        if not self.sign:
            return f / self.tau
        out = self._without(f)
        out += np.multiply.outer(self.scale * (f @ self.z), self.z)
        return out

    def _without(self, f: np.ndarray) -> np.ndarray:
        """B⁻¹f."""
        if self.thin is None:
            return f @ self.inverse
        left, right = self.thin
        out = f * self.diagonal
        out -= (f @ left) @ right
        return out


def deflated(sums: np.ndarray, Bv: np.ndarray, n: int, sign: int) -> tuple[np.ndarray, float]:
    """z = B⁻¹β and 1 - ½ s βᵀz, from B⁻¹(τβ), without a difference of two large numbers.

    As Λβ² = τ, Bβ = ½nβ + ½(1 + s)τβ.
    """
    if sign < 0:
        return (2 / n) * sums, 2.0
    return (2 / n) * (sums - Bv), float(sums @ Bv) / n
