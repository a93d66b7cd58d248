"""The one fitted state of a ranker: frozen, and written in one place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from condrank.fitting.plan import Plan
from condrank.models.sums import FactoredSums
from condrank.nodes import Nodes
from condrank.problem.problem import Problem
from condrank.problem.settings import Settings
from condrank.solvers.system import Solution, System


class Scorer(Protocol):
    """Whatever scores objects conditioned on nodes; `condrank.models.model.Model` is one."""

    def blocks(self, queries: Nodes | None, objects: Nodes | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of all objects, a block of conditioning nodes at a time; None: the training nodes."""
        ...


@dataclass(frozen=True)
class Fitted:
    """What a ranker has learned.

    Attributes
    ----------
    model : Scorer
        Scores objects conditioned on nodes.
    objects : Nodes
        The training objects, for their number and their ids; none where only sums were kept.
    n_features : int
        Features of a node.
    """

    model: Any
    objects: Nodes
    n_features: int


@dataclass(frozen=True)
class FittedRanker(Fitted):
    """What a `condrank.ConditionalRanker` has learned, and how.

    Attributes
    ----------
    settings : Settings
        Of the fit; λ is that of the model.
    plan : Plan
        What was planned.
    n_iter : int or None
        Iterations; None for a direct solver.
    history : tuple of float or None
        Validation loss after each iteration of early stopping.
    trained_on : (Nodes, Nodes) or None
        The nodes that edges start and end at; None for a loaded ranker.
    system : System or None
        The factorisation, for a path and for warm starts; None for a loaded ranker.
    sums : FactoredSums or None
        Sums over the nodes, to which nodes can be added.
    """

    settings: Settings
    plan: Plan
    n_iter: int | None = None
    history: tuple[float, ...] | None = None
    trained_on: tuple[Nodes, Nodes] | None = None
    system: System | None = None
    sums: FactoredSums | None = None

    @classmethod
    def of(cls, problem: Problem, plan: Plan, system: System, sums: FactoredSums | None = None) -> FittedRanker:
        """The state of a fit whose weights are still to be found."""
        settings, queries, graph = problem.settings, problem.queries, problem.graph
        return cls(
            model=system.model(),
            objects=problem.objects,
            n_features=len(queries) if settings.kernel.is_precomputed else queries.base.shape[1],
            settings=settings,
            plan=plan,
            trained_on=(graph.nodes, graph.objects),
            system=system,
            sums=sums,
        )

    @property
    def alpha(self) -> float:
        """λ in use."""
        return self.settings.alpha

    @property
    def solver(self) -> str:
        """The solver that ran."""
        return self.plan.solver

    def with_weights(self, W: Any, n_iter: int | None = None, history: list[float] | None = None) -> FittedRanker:
        """The same state with weights."""
        told = None if history is None else tuple(history)
        return replace(self, model=self.model.with_weights(W), n_iter=n_iter, history=told)

    def at(self, alpha: float, solution: Solution) -> FittedRanker:
        """The same state at another λ."""
        return replace(
            self,
            model=self.model.with_weights(solution.W),
            n_iter=solution.n_iter,
            settings=replace(self.settings, alpha=alpha),
        )
