"""What a solver is: it answers whether it refuses a problem and what it costs, and builds a system to be solved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from condrank.objective.losses import QUADRATIC, Loss
from condrank.problem.problem import Problem

# Called after each iteration with its number and the iterate; True stops.
Watch = Callable[[int, np.ndarray], bool]


@dataclass(frozen=True)
class Options:
    """How to solve: tolerance, most iterations, first guess and callback. A direct solver needs none of it."""

    tol: float = 1e-8
    max_iter: int = 1000
    start: Any = None
    watch: Watch | None = None


DEFAULTS = Options()
# What every solver but the dual one says of other edge kernels.
ONLY_DUAL = "pairwise_kernel is solved in the dual: use solver='auto' or 'dual'"


@dataclass(frozen=True)
class Solution:
    """The weights W of a model, and how they were found.

    Attributes
    ----------
    W : ndarray
        The weights: (r, r'), with blocks for compared features (1 + n_compared, r, r), over edges (n_pairs,).
    n_iter : int or None
        Iterations; None for a direct solver.
    converged : bool
        Whether the tolerance was reached.
    """

    W: Any
    n_iter: int | None = None
    converged: bool = True


class System(Protocol):
    """One problem, ready to be solved for any λ."""

    rows: Any
    cols: Any

    def solve(self, alpha: float, options: Options = ..., rhs: np.ndarray | None = None) -> Solution:
        """The weights for one λ; with another right-hand side than that of the labels where one is given.

        ``rhs`` has the shape of the weights. The system is symmetric, so this also serves adjoint solves.
        """
        ...

    def model(self, W: Any = None) -> Any:
        """The model with these weights; without any, one that gets them by ``with_weights``."""
        ...


class Peak(NamedTuple):
    """Bytes at the peak of a fit beyond its inputs, and the features of the dual's preconditioner."""

    memory: int
    rank: int = 0


@dataclass(frozen=True)
class Cost:
    """What a solver takes.

    Attributes
    ----------
    flops : float
        Floating-point operations, each kind weighted by its speed relative to a matrix product.
    peak : callable
        Its memory, counted when it is asked for.
    """

    flops: float
    peak: Callable[[], Peak]


class Solver(ABC):
    """A way to solve a problem. A new one is a subclass in a file of its own, and a line in ``SOLVERS``.

    Attributes
    ----------
    name : str
        The fitted attribute ``solver_``.
    serves : tuple of str
        Values of the parameter ``solver`` that ask for it.
    losses : tuple of Loss
        Losses that it can minimise.
    is_direct : bool
        No iteration: taken by "auto" without a comparison of costs where it does not refuse.
    iterates : bool
        Can start from an earlier solution.
    over_edges : bool
        Its weights are coefficients of the observed edges.
    """

    name: str
    serves: tuple[str, ...]
    losses: tuple[Loss, ...] = QUADRATIC
    is_direct: bool = False
    iterates: bool = False
    over_edges: bool = False

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot solve a problem, with what to do instead; None if it can."""

    @abstractmethod
    def cost(self, problem: Problem) -> Cost:
        """What it takes, estimated from the sizes and a sample of the kernel."""

    def reason(self, problem: Problem) -> str:
        """Why it is a good choice, for people."""
        return "as asked for"

    @abstractmethod
    def build(self, problem: Problem, coordinates: Any = None, rank: int | None = None) -> System:
        """The system, ready to be solved; with coordinates of an earlier fit, and the planned ``rank`` of `Peak`."""
