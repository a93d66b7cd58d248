"""Solutions for many λ: a system's own way, or one λ after the other, each started from the solutions before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from condrank.solvers.shifted import PathWatch
from condrank.solvers.system import DEFAULTS, Options, Solution, System

# Solutions that a start is made of.
KEPT_SOLUTIONS = 3


class Starts:
    """A start for one λ: the best combination of solutions x_j for other λ_j (Galerkin).

    The combination y solves Xᵀ(A + λ)X y = Xᵀb. No product with A is needed, as A x_j ≈ b - λ_j x_j. O(k size) for k
    solutions.

    Parameters
    ----------
    rhs : ndarray
        b, of any shape.
    tol : float
        Relative residual of the solutions. Combinations in which their errors would weigh more than the solutions are
        not considered.
    """

    def __init__(self, rhs: np.ndarray, tol: float):
        self.rhs, self.least = rhs, min(0.1, max(10 * tol, 100 * float(np.finfo(rhs.dtype).eps)))
        self._known: list[tuple[float, np.ndarray]] = []

    def add(self, alpha: float, x: np.ndarray) -> None:
        """Keep a solution. The oldest one is forgotten."""
        self._known = [*self._known[1 - KEPT_SOLUTIONS :], (alpha, x)]

    def at(self, alpha: float) -> np.ndarray | None:
        """A start for λ; None without solutions, or if they vanish."""
        scales = [float(np.linalg.norm(x)) for _, x in self._known]
        known = [(a, x, s) for (a, x), s in zip(self._known, scales, strict=True) if 0 < s < np.inf]
        if not known:
            return None
        alphas, scales = np.array([a for a, _, _ in known]), np.array([s for _, _, s in known])
        gram = np.array([[float(np.vdot(x, z)) / s / t for _, z, t in known] for _, x, s in known])
        along = np.array([float(np.vdot(x, self.rhs)) / s for _, x, s in known])
        # ⟨x_i, A x_j⟩ = ⟨x_i, b⟩ - λ_j ⟨x_i, x_j⟩, symmetric but for the residuals.
        inner = along[:, None] / scales - alphas * gram
        inner = (inner + inner.T) / 2
        strengths, U = np.linalg.eigh(gram)
        U = U[:, strengths > self.least**2 * strengths[-1]]
        system = U.T @ (inner + alpha * gram) @ U
        y = U @ np.linalg.lstsq(system, U.T @ along, rcond=1e-12)[0] / scales
        if not np.isfinite(y).all():
            return None
        return sum(x.dtype.type(part) * x for part, (_, x, _) in zip(y, known, strict=True))  # pyright: ignore


def solve_path(
    system: System, alphas: Sequence[float], options: Options = DEFAULTS, watch: PathWatch | None = None
) -> Iterator[tuple[int, Solution]]:
    """Places in ``alphas`` and solutions, one at a time.

    Parameters
    ----------
    system : System
        A system. If it has a ``solve_path`` of its own, that decides about the order.
    alphas : sequence of float
        Values of λ > 0. Otherwise they are solved in this order: from large to small takes the fewest iterations.
    options : Options
        Tolerance, largest number of iterations, and a start for the first λ.
    watch : callable, optional
        Says which λ have iterated enough, in a system with a ``solve_path`` of its own; see
        `condrank.solvers.shifted.PathWatch`. Preconditioned iterates do not approach the solution from the side of
        simple models, so that nothing can be said before they converge.
    """
    own: Any = getattr(system, "solve_path", None)
    if own is not None:
        yield from own(alphas, options, watch)
        return
    rhs = getattr(system, "rhs", None)
    starts = Starts(rhs, options.tol) if isinstance(rhs, np.ndarray) else None
    start = options.start
    for place, alpha in enumerate(alphas):
        solution = system.solve(alpha, replace(options, start=start))
        yield place, solution
        start = solution.W if solution.n_iter is not None else None
        if starts is not None and start is not None and place + 1 < len(alphas):
            starts.add(alpha, solution.W)
            start = starts.at(alphas[place + 1])
