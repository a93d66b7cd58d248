"""Offsets of the ranking loss, one free number a row, in coordinates.

With β = Uᵀ1 in an orthonormal basis, Λ = λ/(σσᵀ + λ), τ = Λβ² and ω = n - ‖β‖², offsets o solve T o = f with

    ordinary                            T = diag(ω + τ)
    symmetric, reciprocal (s = ±1)      T = B - ½ s ββᵀ,   B = ½ diag(n + ω + τ) + ½ s diag(β) Λ diag(β).

All eigenvalues of B lie between n/2 and 3n/2, because xᵀ(diag(τ) ± diag(β) Λ diag(β))x = ½ Σ Λ_kl (β_l x_k ± β_k x_l)²
is not negative and ω + τ ≤ n. As Λ is one minus a few products (`condrank.solvers.damping`), B is a diagonal plus a few
products, and Woodbury's identity inverts it.
"""

from __future__ import annotations

import numpy as np

from condrank.solvers.damping import damping_factors


class Offsets:
    """Solves T o = f for rows f (k, r), O(krp) with p factors (10 to 120), after O(rp²) for the factors.

    Parameters
    ----------
    sigma : ndarray of shape (r,)
        Eigenvalues, not negative.
    sums : ndarray of shape (r,)
        β.
    damped : ndarray of shape (r,)
        τ, with all digits also where it is small.
    n : int
        Number of objects.
    outside : float
        ω.
    sign : {0, 1, -1}
        s.
    alpha : float
        λ.
    """

    def __init__(
        self, sigma: np.ndarray, sums: np.ndarray, damped: np.ndarray, n: int, outside: float, sign: int, alpha: float
    ):
        self.sign, self.diagonal = sign, outside + damped
        if not sign:
            return
        self.size, dtype = n + outside, sums.dtype
        self.inverse = 2 / (self.size + damped)
        U, V = damping_factors(sigma, sigma, alpha)
        left = (0.5 * sign) * sums[:, None] * np.column_stack([np.ones(len(sums)), -U])
        right = (self.inverse * sums)[:, None] * np.column_stack([np.ones(len(sums)), V])
        core = right.T @ left
        np.einsum("ii->i", core)[:] += 1
        self.left = np.linalg.solve(core.T, (left * self.inverse[:, None]).T).T.astype(dtype, copy=False)
        self.right = right.astype(dtype, copy=False)
        # z = B⁻¹β, and 1 - ½ s βᵀz without a difference of two large numbers: Bβ = ½(n + ω)β + ½(1 + s)τβ.
        self.turned = self.without((damped * sums)[None])[0] if sign > 0 else np.zeros_like(sums)
        self.z = (2 / self.size) * (sums - self.turned)
        gap = (2 * outside + float(sums @ self.turned)) / self.size if sign > 0 else 2 * n / self.size
        self.scale = 0.5 * sign / gap

    def __call__(self, f: np.ndarray, along: np.ndarray | float | None = None) -> np.ndarray:
        """T⁻¹f for every row. ``along`` is fᵀβ (k,) where that is known with more digits."""
        if not self.sign:
            return f / self.diagonal
        out = self.without(f)
        share = f @ self.z if along is None else (2 / self.size) * (along - f @ self.turned)
        out += np.multiply.outer(self.scale * share, self.z)
        return out

    def without(self, f: np.ndarray) -> np.ndarray:
        """B⁻¹f for every row."""
        out = f * self.inverse
        out -= (f @ self.right) @ self.left.T
        return out

    def factors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """T⁻¹ = diag(first) + second diag(third) secondᵀ, for the symmetric and the reciprocal relation."""
        Q, _ = np.linalg.qr(self.right)
        core = (Q.T @ self.left) @ (self.right.T @ Q)
        weights, turn = np.linalg.eigh(-(core + core.T) / 2)
        return self.inverse, np.column_stack([Q @ turn, self.z]), np.append(weights, self.scale).astype(weights.dtype)
