"""Scores of pairs by models from which they were left out, without refitting."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.checks import check_choice
from condrank.baselines import TwoStepRidge
from condrank.fitting.reading import read_settings
from condrank.graph import RelationGraph
from condrank.model_selection._splitter import check_graph
from condrank.model_selection.held_out import Shortcut, check_one_out
from condrank.model_selection.shortcuts import TwoStepShortcuts
from condrank.problem.problem import Problem
from condrank.solvers.closed_form import ClosedFormSolver

TWO_STEP = ("leave-query-out", "leave-object-out", "leave-both-out", "leave-edge-out")


def left_out_scores(ranker: Any, graph: RelationGraph, cv: str = "leave-node-out") -> np.ndarray:
    """Scores of all pairs of a complete graph, each by the model that was fitted without its row, node or edge.

    The scores equal those after refitting for each of them, at the cost of a few fits in total.

    Parameters
    ----------
    ranker : ConditionalRanker or TwoStepRidge
        Its parameters are used; it is not fitted itself.
    graph : RelationGraph
        A complete graph.
    cv : {"leave-query-out", "leave-node-out", "leave-edge-out"}
        What is left out of each model, as in `condrank.ConditionalRankerCV`. For two-step ridge it is one of
        "leave-query-out", "leave-object-out", "leave-both-out" (setting 4) and "leave-edge-out".

    Returns
    -------
    ndarray of shape (n_queries, n_objects)

    Notes
    -----
    Scores are computed as labels minus residuals. If a model knows nothing about what was left out, only rounding noise
    of the labels remains. `condrank.ConditionalRankerCV` counts scores that differ only by such noise as tied.

    Examples
    --------
    >>> from condrank import ConditionalRanker
    >>> from condrank.datasets import make_digits_task
    >>> from condrank.metrics import rank_loss
    >>> from condrank.model_selection import left_out_scores
    >>> train, _ = make_digits_task(n_train=80, n_test=10, random_state=0)
    >>> scores = left_out_scores(ConditionalRanker("symmetric", kernel="rbf", gamma=0.1, alpha=0.1), train)
    >>> bool(rank_loss(train.to_dense(), scores) < 0.1)
    True
    """
    check_graph(graph)
    if isinstance(ranker, TwoStepRidge):
        return _two_step(ranker, graph, cv)
    check_one_out(cv, graph)
    settings = read_settings(ranker, graph)
    if not has_closed_form(Problem(graph, settings)):
        raise ValueError(
            f"left-out scores need the closed form of a complete graph, but {graph.density:.2%} of the pairs are "
            f"observed, with loss={ranker.loss!r} and solver={ranker.solver!r}; use cross_validate"
        )
    shortcut = Shortcut(cv, ranker, graph, [settings.prior_weight])
    return shortcut.shortcuts[0].scores(settings.alpha) + settings.centre


def has_closed_form(problem: Problem) -> bool:
    """Whether a problem has a closed form, which the shortcuts need."""
    solver, settings = ClosedFormSolver(), problem.settings
    if any(kernel.depends_on_training for kernel in settings.kernels):
        return False  # leaving a node out changes the kernel of the others
    return settings.solver in solver.serves and settings.loss in solver.losses and solver.refuses(problem) is None


def _two_step(ranker: TwoStepRidge, graph: RelationGraph, cv: str) -> np.ndarray:
    check_choice("cv", cv, TWO_STEP)
    alphas, relation = ranker.check_alphas(graph), graph.relation
    given: Any = relation
    shortcuts = TwoStepShortcuts(*ranker.coordinates(graph), given, bool(ranker.fit_intercept))
    return getattr(shortcuts, cv.replace("-", "_"))(*alphas)
