"""The interface of solvers: whether a solver refuses a problem, what it costs, and the system that it builds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from condrank.objective.losses import QUADRATIC, Loss
from condrank.problem.problem import Problem

# Called after each iteration with its number and the iterate; True stops.
Watch = Callable[[int, np.ndarray], bool]


@dataclass(frozen=True)
class Options:
    """How to solve: tolerance, largest number of iterations, start and callback. Direct solvers ignore all of them."""

    tol: float = 1e-8
    max_iter: int = 1000
    start: Any = None
    watch: Watch | None = None


DEFAULTS = Options()
# Why all solvers but the dual one refuse pairwise kernels.
ONLY_DUAL = "pairwise_kernel is solved in the dual: use solver='auto' or 'dual'"


@dataclass(frozen=True)
class Solution:
    """The weights W of a model, and how they were found.

    Attributes
    ----------
    W : ndarray
        The weights: (r, r'); (1 + n_compared, r, r) with compared features; (n_pairs,) for a solver over edges.
    n_iter : int or None
        Number of iterations; None for a direct solver.
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
        """The weights for one λ.

        ``rhs`` replaces the right-hand side of the labels and has the shape of the weights. The system is symmetric, so
        this also serves adjoint solves.
        """
        ...

    def model(self, W: Any = None) -> Any:
        """The model with these weights; None gives a model that gets its weights later, by ``with_weights``.

        If the loss fits an intercept, the model has the one that is best for these weights and the labels.
        """
        ...


class Peak(NamedTuple):
    """Bytes at the peak of a fit beyond its inputs, and the number of features of the dual preconditioner."""

    memory: int
    rank: int = 0


@dataclass(frozen=True)
class Cost:
    """The cost of a fit.

    Attributes
    ----------
    flops : float
        Floating-point operations, each kind weighted by its speed relative to a matrix product.
    peak : callable
        Returns the memory, which is counted only if needed.
    """

    flops: float
    peak: Callable[[], Peak]


class Solver(ABC):
    """A way to solve a problem. A new solver is a subclass in its own file, and one line in ``SOLVERS``.

    Attributes
    ----------
    name : str
        Name of the solver, the fitted attribute ``solver_``.
    serves : tuple of str
        Values of the parameter ``solver`` for which it may be chosen.
    losses : tuple of Loss
        Losses that it can minimise.
    is_direct : bool
        It does not iterate. If it does not refuse, "auto" takes it without comparing it with iterative solvers.
    iterates : bool
        It can start from an earlier solution.
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
        """Why it cannot solve a problem, and what to use instead; None if it can."""

    @abstractmethod
    def cost(self, problem: Problem) -> Cost:
        """Its cost, estimated from the sizes and a sample of the kernel."""

    def path_cost(self, problem: Problem, alphas: Sequence[float]) -> Cost:
        """Its cost for several λ. By default it is `cost`: a further λ is cheap, or costs all solvers the same."""
        return self.cost(problem)

    def reason(self, problem: Problem) -> str:
        """Why it is a good choice, for the plan."""
        return "as asked for"

    @abstractmethod
    def build(self, problem: Problem, coordinates: Any = None, rank: int | None = None) -> System:
        """The system, ready to be solved. ``coordinates`` are those of an earlier fit, ``rank`` is that of `Peak`."""
