"""(A + λI) x = b for many λ from one Krylov sequence.

The Krylov space of A and b does not depend on λ. Lanczos' method makes an orthonormal basis V of it with VᵀAV = T,
tridiagonal. For each λ, T + λI = L D Lᵀ has a recurrence of its own, and with it a direction and a solution x = Vy:
that of conjugate gradients for this λ. A further λ costs no product with A.

Where iterates are judged before they converge, another solution in the same space is better: the one whose error is
smallest in the norm of (A + δI)(A + λI). With δ = 0 it minimises the objective ½‖b - Ax‖² + ½λ xᵀAx of a model with the
coefficients x, as conjugate gradients on its weights do, while the scores of conjugate gradients on x (δ = ∞) first
jump about. A small δ > 0 keeps x finite where A is singular. (T + δI)(T + λI) has two diagonals on either side, and a
recurrence with one more term.

Directions and solutions are linear in the basis. They are updated for a block of basis vectors at a time, by matrix
products of (n_alphas, block) by (block, size), so that many λ take hardly longer than one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from condrank.solvers.krylov import Operator, scale_exponent

# Called with the number of iterations, the places of the λ that still run, their solutions (n_running, size) and their
# relative residuals. Returns which of these have iterated enough.
PathWatch = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]

# Basis vectors of a block: at least this many, and then this share of all vectors so far. They are kept in memory.
LEAST_BLOCK, BLOCK_SHARE, MOST_BLOCK = 8, 0.4, 64
# δ is at least this many rounding errors, in single precision, of the first Ritz value.
DELTA_EPS = 10


@dataclass(frozen=True)
class Shifted:
    """Solutions for many λ.

    Attributes
    ----------
    X : ndarray of shape (n_alphas, size)
        Solutions.
    n_iter : ndarray of shape (n_alphas,)
        Products after which each λ ended.
    converged : ndarray of bool, shape (n_alphas,)
        Whether the recurrence of its residual reached the tolerance, or a watch ended it.
    """

    X: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray


class _Pivots:
    """For each running λ the last rows of L and D, and the entries z of D⁻¹L⁻¹ times the right-hand side."""

    def __init__(self, alphas: np.ndarray, size: float):
        self.alphas, self.size, self.count = alphas, size, 0
        self.D, self.z = np.ones_like(alphas), np.zeros_like(alphas)

    def keep(self, places: np.ndarray) -> None:
        """Go on with some of the λ."""
        for name, values in vars(self).items():
            if isinstance(values, np.ndarray):
                setattr(self, name, values[places])

    def step(self, diagonal: float, beside: float, after: float) -> tuple[np.ndarray, np.ndarray]:
        """Take in the next row of T; the new row of L beside its diagonal, (n_running,) for each of two places."""
        e = beside / self.D
        self.D = self.alphas + diagonal - beside * e
        self.z = (self.size if self.count == 0 else 0.0) - e * self.z
        self.count += 1
        return e, np.zeros_like(e)

    def residual(self, after: float) -> np.ndarray:
        """Norm of the residual, relative to the right-hand side."""
        return after * np.abs(self.z / self.D) / self.size


class _JudgedPivots(_Pivots):
    """The same for (T + δI)(T + λI). ``spread`` is (‖residual‖ / its last entry in the basis)², the same for all λ."""

    def __init__(self, alphas: np.ndarray, size: float):
        super().__init__(alphas, size)
        self.D_before, self.e, self.z_before = np.ones_like(alphas), np.zeros_like(alphas), np.zeros_like(alphas)
        self.delta = self.diagonal = self.beside = 0.0
        self.pivot = self.spread = 1.0

    def step(self, diagonal: float, beside: float, after: float) -> tuple[np.ndarray, np.ndarray]:
        """Take in the next row of T."""
        if self.count == 0:
            self.delta = max(float(self.alphas.min()), DELTA_EPS * 2.0**-23 * diagonal)
        both, product = self.alphas + self.delta, self.alphas * self.delta
        f = self.beside * beside / self.D_before
        e = (beside * (self.diagonal + diagonal + both) - f * self.D_before * self.e) / self.D
        D = beside**2 + diagonal**2 + after**2 + both * diagonal + product - e**2 * self.D - f**2 * self.D_before
        rhs = self.size * (diagonal + self.delta if self.count == 0 else beside if self.count == 1 else 0.0)
        self.z, self.z_before = rhs - e * self.z - f * self.z_before, self.z
        self.D, self.D_before, self.e = D, self.D, e
        # The residual is orthogonal to (A + δI)V: a multiple of (T + δI)⁻¹ times the last unit vector.
        self.pivot = diagonal + self.delta - (beside**2 / self.pivot if self.count else 0.0)
        self.spread = 1 + (after / self.pivot) ** 2 * self.spread
        self.diagonal, self.beside, self.count = diagonal, beside, self.count + 1
        return e, f

    def residual(self, after: float) -> np.ndarray:
        """Norm of the residual, relative to the right-hand side."""
        return super().residual(after) * np.sqrt(self.spread)


class _Block:
    """The recurrences of the running λ over one block of basis vectors, as coefficients of what they start from.

    ``direction`` and ``solution``, each (n_running, 2 + block), are coefficients of the last two directions and of the
    basis vectors; ``before`` are those of the direction before the last.
    """

    def __init__(self, pivots: _Pivots, n_steps: int):
        m = len(pivots.alphas)
        self.pivots, self.residual = pivots, np.ones(m)
        self.direction, self.before, self.solution = np.zeros((3, m, n_steps + 2))
        self.direction[:, 0] = self.before[:, 1] = 1
        self.alive, self.done, self.n_steps = np.ones(m, bool), np.zeros(m, bool), np.zeros(m, int)

    def step(self, j: int, diagonal: float, beside: float, after: float, tol: float) -> None:
        """Take in row j of T in this block, with the entries beside its diagonal."""
        p = self.pivots
        with np.errstate(all="ignore"):
            e, f = p.step(diagonal, beside, after)
            self.alive &= np.isfinite(p.D) & (p.D > 0)
            on = self.alive
            p.D[~on] = 1.0
            e, f = np.where(on, e, 0.0), np.where(on, f, 0.0)
            residual = p.residual(after)
        direction = -e[:, None] * self.direction - f[:, None] * self.before
        direction[:, j + 2] += 1
        self.direction, self.before = direction, self.direction
        self.solution[on] += (p.z / p.D)[on, None] * direction[on]
        self.n_steps[on] += 1
        self.residual[on] = residual[on]
        self.done |= on & (self.residual <= tol)
        self.alive = on & ~self.done


def shifted_krylov(
    apply: Operator,
    rhs: np.ndarray,
    alphas: np.ndarray,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    watch: PathWatch | None = None,
) -> Shifted:
    """Solve apply(x) + λ x = rhs for every λ, each until ‖residual‖ ≤ tol ‖rhs‖.

    Parameters
    ----------
    apply : callable
        A symmetric linear function with ``apply + λ`` positive definite. A λ for which it is not ends without
        convergence.
    rhs : ndarray of shape (size,)
        Right-hand side.
    alphas : ndarray of shape (n_alphas,)
        Values of λ, in any order.
    tol, max_iter : float, int
        As for `condrank.solvers.krylov.krylov`.
    watch : callable, optional
        Called after each block of iterations with the λ that were in it; see `PathWatch`. The solutions are then those
        that can be judged early, which are accurate to a relative residual of about 10⁻⁵.

    Notes
    -----
    As many products as conjugate gradients take for the smallest λ, and O(n_alphas size) further operations for each.
    Memory: three vectors for each λ and the vectors of a block. Rounding makes the basis lose its orthogonality. That
    delays convergence, as in conjugate gradients. The residuals are those of the recurrence; check true ones if they
    matter.
    """
    n_alphas, dtype = len(alphas), rhs.dtype
    exponent = scale_exponent(rhs)
    b = np.ldexp(rhs, -exponent) if exponent else rhs
    X, n_iter, converged = np.zeros((n_alphas, len(b)), dtype), np.zeros(n_alphas, int), np.zeros(n_alphas, bool)
    size = float(np.linalg.norm(b))
    if size == 0:
        return Shifted(X, n_iter, ~converged)
    pivots = (_Pivots if watch is None else _JudgedPivots)(np.array(alphas, np.float64), size)
    running = np.arange(n_alphas)
    P, P_before = np.zeros((2, n_alphas, len(b)), dtype)
    last, v, beside = np.zeros_like(b), b / dtype.type(size), 0.0
    while len(running) and pivots.count < max_iter:
        n_steps = min(max_iter - pivots.count, max(LEAST_BLOCK, min(MOST_BLOCK, int(BLOCK_SHARE * pivots.count))))
        V, block = np.empty((n_steps, len(b)), dtype), _Block(pivots, n_steps)
        for j in range(n_steps):
            V[j] = v
            w = apply(v)
            w -= dtype.type(beside) * last
            diagonal = float(v @ w)
            w -= dtype.type(diagonal) * v
            after = float(np.linalg.norm(w))
            block.step(j, diagonal, beside, after, tol)
            if not block.alive.any() or not after > 0:
                V = V[: j + 1]
                break
            last, v, beside = v, w / dtype.type(after), after

        def combined(
            coefficients: np.ndarray, V: np.ndarray = V, P: np.ndarray = P, P_before: np.ndarray = P_before
        ) -> np.ndarray:
            coefficients = coefficients.astype(dtype)
            part = coefficients[:, 2 : len(V) + 2] @ V
            part += coefficients[:, :1] * P
            part += coefficients[:, 1:2] * P_before
            return part

        X[running] += combined(block.solution)
        n_iter[running] += block.n_steps
        converged[running] = block.done
        going = block.alive
        if watch is not None:
            seen = np.ldexp(X[running], exponent) if exponent else X[running]
            enough = watch(pivots.count, running, seen, block.residual)
            converged[running[going & enough]] = True
            going = going & ~enough
        P, P_before = combined(block.direction)[going], combined(block.before)[going]
        running = running[going]
        pivots.keep(going)
    return Shifted(np.ldexp(X, exponent) if exponent else X, n_iter, converged)
