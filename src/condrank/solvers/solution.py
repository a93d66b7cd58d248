"""What a solver is given beside λ, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

# Called after each iteration with its number and the iterate; True stops.
Watch = Callable[[int, np.ndarray], bool]


@dataclass(frozen=True)
class Iteration:
    """How to iterate: tolerance, most iterations, first guess and callback. A direct solver needs none of it."""

    tol: float = 1e-8
    max_iter: int = 1000
    start: Any = None
    watch: Watch | None = None


@dataclass(frozen=True)
class Solution:
    """The weights W of a model, and how they were found.

    Attributes
    ----------
    W : ndarray or scipy sparse array of shape (r, r')
        The weights.
    n_iter : int or None
        Iterations; None for a direct solver.
    converged : bool
        Whether the tolerance was reached.
    """

    W: Any
    n_iter: int | None = None
    converged: bool = True


class System(Protocol):
    """One graph, ready to be solved for any λ."""

    rows: Any
    cols: Any

    def solve(self, alpha: float, iteration: Iteration) -> Solution:
        """The weights for one λ."""
        ...
