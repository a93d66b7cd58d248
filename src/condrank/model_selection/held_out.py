"""Scores of held-out pairs for many λ and τ, by which a search chooses.

Scores are affine in the weight τ of the prior, so the scores for τ = 0 and τ = 1 give all others. A further λ needs no
new factorisation. A whole λ × τ grid therefore costs one eigendecomposition per fold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from condrank.base.blocks import in_threads, one_thread_a_product, row_blocks
from condrank.base.checks import check_choice
from condrank.base.measured import SIDE_BY_SIDE_MOST_ENTRIES
from condrank.fitting.plan import Plan, make_plan
from condrank.fitting.reading import read_settings
from condrank.fitting.refusal import check_memory
from condrank.graph import RelationGraph
from condrank.kernels import Kernel, Precomputed
from condrank.metrics.pairs import TruePairs
from condrank.model_selection._splitter import Graphs, listed
from condrank.model_selection.shortcuts import LeaveEdgeOut, LeaveNodeOut, LeaveQueryOut
from condrank.model_selection.shortcuts.rough_rows import roughly
from condrank.nodes import Nodes
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.views import Views
from condrank.observations import Complete
from condrank.problem.problem import Problem
from condrank.solvers import SOLVERS
from condrank.solvers.closed_form import ClosedForm

# Blocks of conditioning nodes with their scores for each anchor.
Blocks = Iterator[tuple[slice, list[np.ndarray]]]
# The sorted labels of up to this many held-out pairs are kept from one λ to the next: 128 MiB.
KEPT = 2**25

SHORTCUTS = {"leave-query-out": LeaveQueryOut, "leave-node-out": LeaveNodeOut, "leave-edge-out": LeaveEdgeOut}


class HeldOutPairs(ABC):
    """Pairs of conditioning nodes and objects that were held out of a fit, and their true relation.

    Parameters
    ----------
    ranker : ConditionalRanker
        Its parameters are used, with other values of ``alpha`` and ``prior_weight``.
    train : RelationGraph
        The graph to fit models to.
    prior_weights : sequence of float
        The values of τ to try; (0,) without a prior.
    plan : Plan, optional
        Plan of the fit, if there is one already and its memory was checked.
    alphas : sequence of float, optional
        The λ that will be tried, for the plan; by default that of the ranker.

    Attributes
    ----------
    coordinates : tuple
        Coordinates of the conditioning nodes and of the objects of the training graph.
    truth : Observations
        The true relation of the held-out pairs, with conditioning nodes as rows.
    """

    truth: Any

    def __init__(
        self,
        ranker: Any,
        train: RelationGraph,
        prior_weights: Sequence[float],
        plan: Plan | None = None,
        alphas: Sequence[float] | None = None,
    ):
        settings = read_settings(ranker, train)
        self.prior_weights = list(prior_weights)
        # Scores are affine in τ: those for two values give all others.
        self.anchors = self.prior_weights if len(self.prior_weights) <= 2 else [0.0, 1.0]
        problem = Problem(train, settings)
        if plan is None:
            plan = make_plan(problem, alphas)
            check_memory(plan, problem)
        self.observed, self.settings, self.systems = problem.observed, settings, []
        self.coordinates: Any = None
        self._sorted: dict[int, Any] = {}
        for tau in self.anchors:
            of_tau = replace(problem, settings=replace(settings, prior_weight=tau))
            system = SOLVERS[plan.solver].build(of_tau, self.coordinates, plan.rank)
            self.coordinates = system.rows, system.cols
            self.systems.append(system)

    def counts(self, alphas: np.ndarray) -> np.ndarray:
        """Wrongly ordered and comparable pairs of objects, (n_prior_weights, n_alphas, 2)."""
        return self.counts_by_query(alphas).sum(axis=2)

    def counts_by_query(self, alphas: np.ndarray) -> np.ndarray:
        """The same as `counts` for each conditioning node, (n_prior_weights, n_alphas, n_queries, 2)."""
        counts = np.zeros((len(self.prior_weights), len(alphas), self.truth.shape[0], 2))
        n_scores = counts.shape[0] * counts.shape[1]

        def count(j: int, blocks: Blocks) -> None:
            for block, scores in blocks:
                pairs = self._kept_pairs(block, n_scores)
                counts[:, j, block, 1] = pairs.comparable
                for i, tau in enumerate(self.prior_weights):
                    counts[i, j, block, 0] = pairs.wrong(self._at(tau, scores))

        if self.is_independent and max(self.n_labels, self.systems[0].rhs.size) <= SIDE_BY_SIDE_MOST_ENTRIES:
            with one_thread_a_product():
                count(0, self.scores(float(alphas[0])))  # sorts the labels, for all others
                in_threads(lambda j: count(j, self.scores(float(alphas[j]))), range(1, len(alphas)))
            return counts
        for j, blocks in self.scores_of(alphas):
            count(j, blocks)
        return counts

    @property
    def is_independent(self) -> bool:
        """Whether each λ has scores of its own, so that several λ can be computed side by side."""
        return all(isinstance(system, ClosedForm) for system in self.systems)

    def _kept_pairs(self, block: slice, n_scores: int) -> Any:
        """The sorted labels of a block, kept for the next scores unless they are too many."""
        pairs = self._sorted.get(block.start) or self.true_pairs(block, n_scores)
        if self.n_labels <= KEPT:
            self._sorted[block.start] = pairs
        return pairs

    def scores_of(self, alphas: np.ndarray) -> Iterator[tuple[int, Blocks]]:
        """Places in ``alphas``, with the blocks of `scores`."""
        for j, alpha in enumerate(alphas):
            yield j, self.scores(float(alpha))

    @property
    def n_labels(self) -> int:
        """Number of labels that are compared."""
        return self.truth.shape[0] * self.truth.shape[1]

    def true_pairs(self, block: slice, n_scores: int) -> Any:
        """The labels of a block of conditioning nodes, sorted for comparison with many scores."""
        return TruePairs(self.truth.to_dense(block), n_scores)

    @abstractmethod
    def scores(self, alpha: float) -> Blocks:
        """Blocks of conditioning nodes, with their scores for each of the anchors."""

    def _at(self, tau: float, scores: list[np.ndarray]) -> np.ndarray:
        if tau in self.anchors:
            return scores[self.anchors.index(tau)]
        low, high = scores
        return low + high.dtype.type(tau) * (high - low)


class Shortcut(HeldOutPairs):
    """Every row, node or edge of a complete graph is held out in turn, without refitting.

    Parameters
    ----------
    name : {"leave-query-out", "leave-node-out", "leave-edge-out"}
        What is held out each time.
    ranker, graph, prior_weights, plan
        As for `HeldOutPairs`.

    Attributes
    ----------
    reusable : tuple or None
        Coordinates that a fit to the whole graph can reuse. A graph in single precision has none: the scores depend on
        small differences, so they are computed in double precision.
    """

    def __init__(
        self, name: str, ranker: Any, graph: RelationGraph, prior_weights: Sequence[float], plan: Plan | None = None
    ):
        double = graph.nodes.dtype == np.float64
        super().__init__(*in_double(ranker, graph), prior_weights, plan if double else None)
        self.reusable = self.coordinates if double else None
        self.truth = observed = self.observed
        if self.settings.centre:
            # The projection removes the centre of probabilities only if all labels are there.
            observed = Complete(observed.to_dense() - self.settings.centre)
        self.shortcuts: list[Any] = [
            SHORTCUTS[name](system, observed, tau) for system, tau in zip(self.systems, self.anchors, strict=True)
        ]

    @cached_property
    def for_rankings(self) -> list[Any]:
        """The shortcuts, in single precision where that is enough. Differences between two anchors are scaled."""
        return [roughly(self.shortcuts[0])] if len(self.shortcuts) == 1 else self.shortcuts

    @property
    def is_independent(self) -> bool:
        """An intercept is kept from the scores of a λ until it is subtracted from them."""
        return not self.shortcuts[0].intercept

    def scores(self, alpha: float) -> Blocks:
        """Blocks of rows of the relation, with scores by models from which they were held out."""
        scores = [shortcut.settled(alpha) for shortcut in self.for_rankings]
        for block in row_blocks(*self.truth.shape):
            yield block, [each[block] for each in scores]


def in_dtype(graph: RelationGraph, dtype: Any) -> RelationGraph:
    """The graph with its node data in a floating type: itself, or a graph with a copy of the data."""
    if graph.nodes.dtype == graph.objects.dtype == dtype:
        return graph
    nodes = graph.nodes.astype(dtype)
    return graph.part(nodes, graph.objects.astype(dtype) if graph.is_two_domain else nodes, graph.relation)


def in_double(ranker: Any, graph: RelationGraph) -> tuple[Any, RelationGraph]:
    """The ranker and the graph in double precision: the graph itself, or with a copy of the node data.

    If there are more features than nodes, the kernel matrix is smaller: it is computed, and used as a precomputed one.
    """
    settings = read_settings(ranker, graph)
    sides = [graph.nodes, graph.objects] if graph.is_two_domain else [graph.nodes]
    kernels = (settings.kernel, settings.object_kernel or settings.kernel)[: len(sides)]
    if (
        all(side.dtype == np.float64 for side in sides)
        or any(isinstance(side.base, Views) or side.base.shape[1] <= len(side) for side in sides)
        or any(not leaf.takes_features or leaf.name is None for kernel in kernels for leaf in kernel.body.leaves())
        or settings.approximation is not None
    ):
        return ranker, in_dtype(graph, np.float64)
    given = [Nodes(_kernel_in_double(one.body, side), None, side.ids) for one, side in zip(kernels, sides, strict=True)]
    precomputed: Any = clone(ranker)
    precomputed.set_params(
        kernel=Precomputed() + kernels[0].constant,
        object_kernel=Precomputed() + kernels[1].constant if graph.is_two_domain else None,
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        constant=False,
        feature_weights=None,
    )
    return precomputed, graph.part(given[0], given[-1], graph.relation)


def _kernel_in_double(kernel: Kernel, nodes: Nodes) -> np.ndarray:
    """The kernel matrix (n, n) in double precision of features in single precision, copied one block at a time."""
    K = np.empty((len(nodes), len(nodes)))
    blocks = list(row_blocks(len(nodes), nodes.base.shape[1]))
    for k, rows in enumerate(blocks):
        block = nodes.block(rows).astype(np.float64)
        values = NodeSimilarity(kernel, block)
        for cols in blocks[:k]:
            K[rows, cols] = values.similarity(None, nodes.block(cols).astype(np.float64))
            K[cols, rows] = K[rows, cols].T
        K[rows, rows] = values.training_kernel()
    return K


def check_one_out(cv: str, graph: RelationGraph) -> None:
    """Refuse a ``cv`` that cannot leave one out of this graph."""
    check_choice("cv", cv, tuple(SHORTCUTS))
    if cv == "leave-node-out" and graph.is_two_domain:
        raise ValueError(
            "cv='leave-node-out' needs a single domain, where a node is conditioning node and object; use "
            "cv='leave-query-out' or SettingSplit(setting=4)"
        )


def one_out(name: str, graph: RelationGraph, rank_by: str) -> Iterator[Graphs]:
    """Training and test graphs that each leave out one conditioning node, or one node; for fits one by one."""
    by_row = rank_by == "outgoing"
    n = graph.shape[0 if by_row else 1]
    edges, everything = listed(graph), (np.arange(graph.shape[0]), np.arange(graph.shape[1]))
    for i in range(n):
        one = np.array([i])
        test = graph.cut(one, everything[1]) if by_row else graph.cut(everything[0], one)
        if test.n_edges == 0:
            continue
        if name == "leave-node-out":
            rest = np.delete(np.arange(n), i)
            yield graph.cut(rest, rest), test
        else:
            kept = (edges.sources if by_row else edges.indices) != i
            yield graph.part(graph.nodes, graph.objects, edges.where(kept)), test
