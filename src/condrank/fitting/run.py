"""One run of a solver, with callbacks, early stopping, and a usable result after an interrupt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from condrank.base.measured import EXPLICIT_QUICK_EDGES
from condrank.base.warn import warn
from condrank.fitting.fitted import FittedRanker
from condrank.fitting.held_out import HeldOut
from condrank.fitting.partial import held_sums
from condrank.fitting.plan import Plan
from condrank.problem.problem import Problem
from condrank.problem.settings import Settings
from condrank.solvers import SOLVERS
from condrank.solvers.system import Options, Solution, System


class Run:
    """One run of a solver, watched after each iteration.

    Parameters
    ----------
    ranker : ConditionalRanker
        The estimator that scikit-learn's callbacks get.
    keep : callable
        Called with the fitted state at the end, or if the run is interrupted after at least one iteration.
    context : CallbackContext
        scikit-learn's context of the whole fit.
    held_out : HeldOut, optional
        Held-out nodes of early stopping.
    """

    def __init__(self, ranker: Any, keep: Callable[[FittedRanker], None], context: Any, held_out: HeldOut | None):
        self.ranker, self.keep, self.context, self.held_out = ranker, keep, context, held_out
        self.has_callbacks = bool(getattr(ranker, "_skl_callbacks", []))
        self.last: tuple[int, np.ndarray] | None = None
        self.stopped = False
        self.state: Any = None

    def __call__(
        self, problem: Problem, plan: Plan, coordinates: Any = None, start: Any = None, system: System | None = None
    ) -> None:
        """Build the planned system, unless it is given, and solve it: from coordinates and a start if there are any."""
        settings = problem.settings
        if system is None:
            system = SOLVERS[plan.solver].build(problem, coordinates, plan.rank)
        self.state = FittedRanker.of(problem, plan, system, held_sums(system, problem.observed))
        try:
            solution = system.solve(settings.alpha, Options(settings.tol, settings.max_iter, start, self.watch))
        except KeyboardInterrupt:
            self._interrupted()
            raise
        if not self.stopped:
            warn_unless_converged(solution, settings)
        self._finish(solution.n_iter, solution.W)

    def watch(self, number: int, W: np.ndarray) -> bool:
        """Called after each iteration; True stops the solver."""
        self.last = number, W
        stop = self.held_out is not None and self.held_out.stop_after(self.state.model.with_weights(W), W)
        if self.has_callbacks:
            step = self.context.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self.ranker)
            stop |= step.call_on_fit_task_end(
                estimator=self.ranker,
                reconstruction_attributes=lambda: {"fitted_": self.state.with_weights(W.copy(), number)},
            )
        self.stopped = stop
        return stop

    def _finish(self, number: int | None, W: Any) -> None:
        history = None
        if self.held_out is not None:
            history = self.held_out.history
            if self.held_out.best is not None:
                number, W = self.held_out.best_iteration, self.held_out.best
        self.keep(self.state.with_weights(W, number, history))

    def _interrupted(self) -> None:
        if self.last is None:
            return
        number, W = self.last
        self._finish(number, W.copy())
        which = "best" if self.held_out else "last"
        warn(
            f"fit interrupted after {number} iterations: the ranker holds the {which} iterate so far",
            ConvergenceWarning,
        )


def warn_unless_converged(solution: Solution, settings: Settings) -> None:
    """Warn about an iteration that reached max_iter before it converged (ConvergenceWarning)."""
    if solution.converged:
        return
    message = f"no convergence to tol={settings.tol:g} in {solution.n_iter} iterations; raise max_iter, tol or alpha"
    direct = settings.loss.is_quadratic and settings.pairwise_kernel is None and not settings.compared
    # A solution over the edges is a vector of coefficients.
    if direct and np.ndim(solution.W) == 1 and len(solution.W) <= EXPLICIT_QUICK_EDGES:
        message += f", or solve the {len(solution.W):,} edges directly with solver='explicit'"
    warn(message, ConvergenceWarning)
