"""Logistic loss (Bradley–Terry with features) for reciprocal relations: P(v beats v') = sigmoid(h(v, v')).

Minimises Σ m (softplus(f) - t f) + ½ λ‖h‖² over skew-symmetric h, where f are the values of h at the observed edges and
t in [0, 1] their outcomes. Each step of Newton's method is a weighted least squares on an incomplete graph, solved only
as precisely as the step needs. `PrimalLogistic` takes its steps in W, `condrank.solvers.logistic_dual` over the edges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit

from condrank.base.measured import NEWTON_ITERATIONS_PER_ITERATION, NEWTON_STEPS
from condrank.base.warn import warn
from condrank.exceptions import RelationWarning
from condrank.objective.losses import LOGISTIC, REGRESSION
from condrank.observations.edges import all_edges
from condrank.problem.coordinates import check_alpha, fit_both
from condrank.problem.known_pairs import degree_weights
from condrank.problem.problem import Problem
from condrank.solvers.compared import ComparedSystem
from condrank.solvers.costs import CG_ARRAYS, iterated_bytes, iteration_flops, peak_with_coordinates
from condrank.solvers.iterations import expected
from condrank.solvers.krylov import krylov
from condrank.solvers.primal import PrimalSystem, compared_reason
from condrank.solvers.system import DEFAULTS, Cost, Options, Peak, Solution, Solver

INNER_ITERATIONS = 1000  # the most in a Newton step
STALLED = 10  # after this many steps without progress only rounding is left
SHORTEST = 1e-10  # the shortest part of a Newton step
LOOSEST = 0.1  # relative residual of the first steps; later steps use the size of their gradient: quadratic convergence


class Newton(ABC):
    """Newton's method for x, which is W or the edge coefficients, with values f at the edges.

    Parameters
    ----------
    weights, outcomes : ndarray of shape (n_pairs,)
        Weights m; and outcomes: 1 for a win, 0 for a loss, ½ for a tie, or a share of wins.
    """

    def __init__(self, weights: np.ndarray, outcomes: np.ndarray):
        self.weights, self.outcomes = weights, outcomes

    def solve(self, alpha: float, options: Options = DEFAULTS, rhs: np.ndarray | None = None) -> Solution:
        """x for one λ > 0. Stops when the gradient is ``options.tol`` times that at x = 0.

        With ``rhs``, solves Newton's linear system at ``options.start`` instead: the inverse of the Hessian there,
        applied to the right-hand side.
        """
        m = self.weights
        if rhs is not None:
            if options.start is None:
                raise ValueError("rhs needs options.start: the weights at which the loss is approximated")
            p = expit(self.values(self.start(options.start)))
            return Solution(self.direction(m * p * (1 - p), rhs, alpha, options.tol))
        first = self.gradient(m * (self.outcomes - 0.5))
        scale = float(np.linalg.norm(first))
        x = np.zeros_like(first) if options.start is None else self.start(options.start)
        if scale == 0:
            return Solution(np.zeros_like(x), 0, True)
        check_alpha(alpha, x.dtype)
        f = np.zeros_like(m) if options.start is None else self.values(x)
        if not self._objective(x, f, alpha) <= self._objective(np.zeros_like(x), np.zeros_like(f), alpha):
            x, f = np.zeros_like(x), np.zeros_like(f)  # a start at a much smaller λ is worse than none
        tol = max(options.tol, 50 * float(np.finfo(x.dtype).eps))
        smallest, since, lower = np.inf, 0, False
        for step in range(1, options.max_iter + 1):
            p = expit(f)
            gradient = self.gradient(m * (self.outcomes - p)) - alpha * x
            size = float(np.linalg.norm(gradient)) / scale
            if size <= tol:
                return Solution(x, step - 1, True)
            smallest, since = (size, 0) if size < smallest else (smallest, since + 1)
            # In double precision a lower objective is progress too. Single precision rounds it too coarsely.
            since = 0 if lower and x.dtype == np.float64 else since
            if since == STALLED:
                return Solution(x, step - 1, False)
            direction = self.direction(m * p * (1 - p), gradient, alpha, min(LOOSEST, size))
            x, f, lower = self._search(x, f, direction, alpha)
            if options.watch is not None and options.watch(step, x):
                return Solution(x, step, False)
        return Solution(x, options.max_iter, False)

    @abstractmethod
    def values(self, x: np.ndarray) -> np.ndarray:
        """f at the observed edges."""

    @abstractmethod
    def gradient(self, entries: np.ndarray) -> np.ndarray:
        """Entries at the edges, mapped to the space of x. For m (t - p) it is minus the gradient of the loss."""

    @abstractmethod
    def direction(self, weights: np.ndarray, gradient: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        """The step of weighted least squares, to a relative residual of ``tol``."""

    @abstractmethod
    def penalty(self, x: np.ndarray, f: np.ndarray) -> float:
        """‖h‖²."""

    def start(self, start: Any) -> np.ndarray:
        """x from an earlier solution."""
        return start

    def _search(
        self, x: np.ndarray, f: np.ndarray, direction: np.ndarray, alpha: float
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Take the longest step among 1, ½, ¼, … that does not increase the objective by more than rounding.

        Returns x and f, and whether the objective is lower by more than rounding. If no step is allowed, which is also
        the case for a direction that is not finite, x and f are those given.
        """
        change = self.values(direction)
        before = self._objective(x, f, alpha)
        rounding = 10 * float(np.finfo(x.dtype).eps) * abs(before)
        step = 1.0
        while step > SHORTEST:
            moved, values = x + step * direction, f + step * change
            after = self._objective(moved, values, alpha)
            if after <= before + rounding and np.isfinite(values).all():
                return moved, values, not after >= before - rounding
            step /= 2
        return x, f, False

    def _objective(self, x: np.ndarray, f: np.ndarray, alpha: float) -> float:
        losses = np.logaddexp(0, f.astype(np.float64, copy=False)) - self.outcomes * f.astype(np.float64, copy=False)
        return float(self.weights @ losses) + 0.5 * alpha * self.penalty(x, f)


class PrimalLogistic(Newton):
    """Newton's method in W, with the products of a `PrimalSystem`.

    Parameters
    ----------
    system : PrimalSystem
        A system with the regression loss; its labels are not used.
    outcomes : ndarray of shape (n_pairs,)
        As for `Newton`.
    """

    def __init__(self, system: PrimalSystem, outcomes: np.ndarray):
        super().__init__(system.weights, outcomes)
        self.system = system
        self.rows, self.cols = system.rows, system.cols

    def values(self, x: np.ndarray) -> np.ndarray:
        """z(v)ᵀ W z(v') at the observed pairs."""
        return self.system.values(x)

    def gradient(self, entries: np.ndarray) -> np.ndarray:
        """Π[Zᵀ S Z]."""
        return self.system.reduce(entries)

    def penalty(self, x: np.ndarray, f: np.ndarray) -> float:
        """‖W‖²."""
        size = float(np.linalg.norm(x))
        return size * size  # a power would raise an OverflowError

    def direction(self, weights: np.ndarray, gradient: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        """Solve (Π[Zᵀ(weights ∘ ZWZᵀ)Z] + λ) W = gradient, preconditioned by the closed form of the complete graph."""
        system = self.system
        n, m = system.edges.shape
        density = max(float(weights.sum(dtype=np.float64) / (n * m)), float(np.finfo(np.float32).tiny))
        return krylov(
            lambda W: system.reduce(weights * system.values(W)) + alpha * W,
            gradient,
            precondition=system.preconditioner(REGRESSION, alpha, density),
            tol=tol,
            max_iter=INNER_ITERATIONS,
        ).x

    def model(self, W: Any = None) -> Any:
        """The model. Its scores are log-odds, so the centre of the scale is not added."""
        return replace(self.system.model(W), logistic=True)


class NewtonSolver(Solver):
    """Newton's method on W for the logistic loss."""

    name = "newton"
    serves = ("auto", "iterative", "primal")
    losses = (LOGISTIC,)
    iterates = True

    def refuses(self, problem: Problem) -> str | None:
        """Never refuses: it solves every problem with the logistic loss."""
        return None

    def cost(self, problem: Problem) -> Cost:
        """The cost of coordinates and of the inner iterations of all steps."""
        iterations = NEWTON_ITERATIONS_PER_ITERATION * expected(problem).primal + NEWTON_STEPS
        flops = problem.sizes.flops + iterations * iteration_flops(problem, dense=False)
        # The right-hand side, CG with its preconditioner, and W and the gradients at the start and now.
        vectors = 1 + CG_ARRAYS + 3

        def peak() -> Peak:
            after = iterated_bytes(problem, vectors=vectors, dense=False, single=False, extra_pairs=5)
            return Peak(peak_with_coordinates(problem, after))

        return Cost(flops, peak)

    def reason(self, problem: Problem) -> str:
        """There is no closed form."""
        return compared_reason(problem) if problem.settings.compared else "the logistic loss has no closed form"

    def build(self, problem: Problem, coordinates: Any = None, rank: int | None = None) -> PrimalLogistic:
        """Set up the products over the games, with their outcomes as labels."""
        settings, edges = problem.settings, all_edges(problem.observed)
        if coordinates is None:
            one_domain = problem.queries is problem.objects
            coordinates = fit_both(problem, degree_weights(problem.observed, one_domain))
        rows, cols = coordinates
        if settings.compared:
            system = ComparedSystem(REGRESSION, rows, edges, settings.compared, settings.centre, dense=False)
        else:
            options = 0.0, settings.centre
            system = PrimalSystem(settings.relation, REGRESSION, rows, cols, edges, *options, dense=False)
        return PrimalLogistic(system, outcomes(edges.values, settings.centre))


def outcomes(labels: np.ndarray, centre: float) -> np.ndarray:
    """Labels as shares of wins: labels on the scale 0..1 stay, labels on the scale -1..1 are mapped to it."""
    share = labels if centre == 0.5 else (1 + labels) / 2
    if share.min(initial=0.0) < 0 or share.max(initial=1.0) > 1:
        raise ValueError(
            "loss='logistic' needs outcomes: 1 win, 0 tie, -1 loss, or winning probabilities within 0..1; "
            f"got labels from {labels.min():.3g} to {labels.max():.3g}"
        )
    if centre == 0.0 and labels.min(initial=1.0) == 0 and labels.max(initial=0.0) > 0:
        warn(
            "no label is negative, so 0 is read as a tie; if it is a loss, say so with RelationGraph(..., "
            "probabilities=True)",
            RelationWarning,
        )
    return share
