"""Watching a fit: the loss on held-out nodes, the best iterate so far, and scikit-learn's callbacks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.observations import Observations
from condrank.problem.settings import Settings
from condrank.rankers.base import NOTHING_TO_RANK, Scorer, pooled_rank_loss, rankable
from condrank.solvers.solution import Iteration, Solution, System

# Edges up to which one factorisation takes a few seconds at most.
FEW = 3000


class HeldOut:
    """Rank loss on held-out nodes after each iteration; stops when it has not fallen for some time.

    Parameters
    ----------
    queries, objects : Nodes
        Held-out conditioning nodes and objects.
    truth : Observations
        Their relation, with a row for each conditioning node.
    patience : int
        Iterations without a new lowest loss after which to stop.

    Attributes
    ----------
    history : list of float
        Loss after each iteration.
    best : ndarray
        Weights of the lowest loss.
    """

    def __init__(self, queries: Nodes, objects: Nodes, truth: Observations, patience: int):
        if not rankable(truth):
            raise ValueError(f"{NOTHING_TO_RANK} in the validation graph; hold out more nodes")
        self.sides, self.truth, self.patience = (queries, objects), truth, patience
        self.history: list[float] = []
        self.best: np.ndarray | None = None

    @property
    def best_iteration(self) -> int:
        """Number of the iteration with the lowest loss, from 1."""
        return int(np.argmin(self.history)) + 1

    def stop_after(self, scorer: Scorer, W: np.ndarray) -> bool:
        """Note the loss of a model and, if it is the lowest so far, its weights; True asks to stop."""
        self.history.append(pooled_rank_loss(scorer, *self.sides, self.truth))
        if self.best_iteration == len(self.history):
            self.best = W.copy()
        return len(self.history) - self.best_iteration >= self.patience


class WatchedFit:
    """One run of a solver under watch: callbacks, early stopping, and the best iterate if it is interrupted.

    Parameters
    ----------
    ranker : ConditionalRanker
        Gets its fitted attributes when there are weights, not before.
    model : Model or EdgeModel
        Without weights.
    fitted : dict
        Attributes that the ranker gets beside the model.
    context : CallbackContext
        scikit-learn's, of the whole fit.
    held_out : HeldOut, optional
        For early stopping.
    """

    def __init__(self, ranker: Any, model: Any, fitted: dict[str, Any], context: Any, held_out: HeldOut | None):
        self.ranker, self.model, self.fitted, self.context, self.held_out = ranker, model, fitted, context, held_out
        self.has_callbacks = bool(getattr(ranker, "_skl_callbacks", []))
        self.last: tuple[int, np.ndarray] | None = None
        self.stopped = False

    def run(self, system: System, settings: Settings, start: Any) -> None:
        """Solve, and leave the ranker fitted: also when interrupted after an iteration."""
        try:
            solution = system.solve(settings.alpha, Iteration(settings.tol, settings.max_iter, start, self.watch))
        except KeyboardInterrupt:
            self._interrupted()
            raise
        if not self.stopped:
            warn_unless_converged(solution, settings, stacklevel=6)
        self._keep(solution.n_iter, solution.W)

    def watch(self, number: int, W: np.ndarray) -> bool:
        """Called after each iteration; True stops."""
        self.last = number, W
        stop = self.held_out is not None and self.held_out.stop_after(self.model.with_weights(W), W)
        if self.has_callbacks:
            step = self.context.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self.ranker)
            stop |= step.call_on_fit_task_end(
                estimator=self.ranker, reconstruction_attributes=lambda: self._attributes(number, W.copy())
            )
        self.stopped = stop
        return stop

    def _attributes(self, number: int | None, W: Any) -> dict[str, Any]:
        """Fitted attributes at an iterate."""
        return self.fitted | {"_model": self.model.with_weights(W), "n_iter_": number}

    def _keep(self, number: int | None, W: Any) -> None:
        vars(self.ranker).pop("history_", None)
        if self.held_out is not None:
            self.ranker.history_ = self.held_out.history
            if self.held_out.best is not None:
                number, W = self.held_out.best_iteration, self.held_out.best
        vars(self.ranker).update(self._attributes(number, W))

    def _interrupted(self) -> None:
        if self.last is None:
            return
        number, W = self.last
        self._keep(number, W.copy())
        warnings.warn(
            f"fit interrupted after {number} iterations: the ranker holds the "
            f"{'best' if self.held_out else 'last'} iterate so far",
            ConvergenceWarning,
            stacklevel=6,
        )


def warn_unless_converged(solution: Solution, settings: Settings, stacklevel: int) -> None:
    """ConvergenceWarning for an iteration that ran out of steps."""
    if solution.converged:
        return
    said = f"no convergence to tol={settings.tol:g} in {solution.n_iter} iterations; raise max_iter, tol or alpha"
    direct = settings.loss != "logistic" and settings.pairwise_kernel is None and not settings.compared
    # Coefficients of the edges come as a vector.
    if direct and np.ndim(solution.W) == 1 and len(solution.W) <= FEW:
        said += f", or have the {len(solution.W):,} edges solved at once by solver='explicit'"
    warnings.warn(said, ConvergenceWarning, stacklevel=stacklevel)


def hold_out(
    graph: RelationGraph, share: float, random_state: Any, by_columns: bool = False
) -> tuple[RelationGraph, RelationGraph]:
    """Split a graph by nodes: a training graph and one of held-out nodes, with no edge between the two (setting 4).

    In two domains only the conditioning nodes are split (setting 2): the rows, or ``by_columns`` the columns.
    """
    n = graph.shape[int(by_columns)]
    n_held = max(2, round(share * n))
    if not 0 < share < 1 or n - n_held < 2:
        raise ValueError(f"validation_fraction must leave nodes on both sides, got {share!r} of {n} nodes")
    order = check_random_state(random_state).permutation(n)
    rest, held = np.sort(order[n_held:]), np.sort(order[:n_held])
    train, test = (graph[:, rest], graph[:, held]) if by_columns else (graph[rest], graph[held])
    if train.n_edges == 0:
        raise ValueError(f"no edge is left to learn from when {n_held} of {n} nodes are held out")
    return train, test
