"""Candidates of a search: rankers that are not fitted, with the λ to try, and what fitting them costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from condrank.baselines import TwoStepRidge
from condrank.fitting.plan import make_plan
from condrank.fitting.reading import read_settings
from condrank.graph import RelationGraph
from condrank.model_selection._splitter import Graphs
from condrank.model_selection.preparation import RAW
from condrank.model_selection.prepared import PreparedRanker
from condrank.model_selection.relevance import changed, learn_weights
from condrank.model_selection.splits import SettingShuffleSplit
from condrank.problem.problem import Problem
from condrank.rankers.conditional import ConditionalRanker

# A step of the descent for feature weights learns from so many nodes: the noise of single steps averages out.
DESCENT_NODES = 200


@dataclass(frozen=True)
class Candidate:
    """A ranker that is not fitted.

    Attributes
    ----------
    name : str
        What it is, in words.
    ranker : ConditionalRanker, TwoStepRidge or a baseline
        The ranker.
    preparation : str
        How features are prepared for it.
    alphas : tuple of float
        The λ to try, the largest first; empty for a ranker without λ.
    prior_weights : tuple of float
        The weights τ of the prior to try; empty without a prior.
    complexity : int
        Number of parts: of two candidates that are about as good, the one with fewer is taken.
    choice : object
        What a search has chosen so far; its own business.
    n_steps : int
        Steps of the descent that learns feature weights, and λ with them, inside each training graph; 0 for none.
    is_baseline : bool
        Whether it is a baseline. Two-step ridge is none once a search has chosen its kernels.
    """

    name: str
    ranker: Any
    preparation: str = RAW
    alphas: tuple[float, ...] = ()
    prior_weights: tuple[float, ...] = ()
    complexity: int = 0
    choice: Any = None
    n_steps: int = 0
    is_baseline: bool = False

    @property
    def is_conditional(self) -> bool:
        """Whether it is a `ConditionalRanker`, which has a plan and a precision."""
        return isinstance(self.ranker, ConditionalRanker)

    def estimator(self) -> Any:
        """An unfitted estimator that takes features as they are given."""
        fresh: Any = clone(self.ranker)
        return fresh if self.preparation == RAW else PreparedRanker(fresh, self.preparation)

    def at(self, alpha: float | None, tau: float | None) -> Candidate:
        """The same with one λ and one prior weight."""
        params = ({} if alpha is None else {"alpha": alpha}) | ({} if tau is None else {"prior_weight": tau})
        alphas, taus = () if alpha is None else (alpha,), () if tau is None else (tau,)
        return replace(self, ranker=changed(self.ranker, **params), alphas=alphas, prior_weights=taus)


def weighted(candidate: Candidate, train: RelationGraph) -> Any:
    """The ranker of a candidate with feature weights and λ that are learned from holdouts of a training graph."""
    splits = SettingShuffleSplit(4, candidate.n_steps, test_size=1 / 3, random_state=0).split(train)
    return learn_weights(candidate.ranker, (sampled(pair) for pair in splits))


def sampled(pair: Graphs) -> Graphs:
    """A training graph of at most `DESCENT_NODES` nodes, and its held-out graph."""
    train, test = pair
    return (train if len(train) <= DESCENT_NODES else train[np.arange(DESCENT_NODES)]), test


def work(candidate: Candidate, graph: RelationGraph, times: int = 1) -> tuple[str, float]:
    """The kind of work and about how many operations fitting a candidate to a graph takes, so many times."""
    n, m = graph.shape
    if not candidate.is_conditional:
        # Eigendecompositions; or kernel values of both sides.
        steps = 30.0 * (n**3 + m**3)
        if not isinstance(candidate.ranker, TwoStepRidge):
            steps = 2.0 * (n * n + m * m) * min(max(n, m), 1000)
        return type(candidate.ranker).__name__, times * steps
    ranker = changed(candidate.ranker, alpha=min(candidate.alphas))
    plan = make_plan(Problem(graph, read_settings(ranker, graph, draw=False)), candidate.alphas)
    if candidate.n_steps:
        few = DESCENT_NODES / max(n, DESCENT_NODES)
        return plan.solver, times * plan.flops * (1 + 2 * candidate.n_steps * few**2)
    return plan.solver, times * max(len(candidate.prior_weights[:2]), 1) * plan.flops
