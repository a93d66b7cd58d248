"""A fold of a search: models are fitted to one graph, for many λ, and measured on another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.base.measured import DENSE_FROM_SHARE_OF_PAIRS
from condrank.fitting.judging import edge_scores
from condrank.fitting.run import warn_unless_converged
from condrank.graph import RelationGraph
from condrank.metrics.edges import EdgePairs
from condrank.model_selection.held_out import Blocks, HeldOutPairs
from condrank.model_selection.settling import Settling
from condrank.models.edge import EdgeModel
from condrank.models.model import Model
from condrank.models.placed import PlacedEdges, PlacedKernel, at_edges
from condrank.models.rough import roughly
from condrank.observations import Edges
from condrank.products.kronecker import KroneckerEdges
from condrank.solvers.path import solve_path
from condrank.solvers.system import Options

# About how often the loss of a λ is looked at while it is iterated.
WATCHED = 4


class Fold(HeldOutPairs):
    """A training graph to fit models to, and a test graph to measure them on.

    Parameters
    ----------
    ranker, train, prior_weights, alphas
        As for `HeldOutPairs`.
    test : RelationGraph
        The held-out pairs.
    settle : bool
        Iterate each λ only until its loss has settled (`condrank.model_selection.settling`), or to the tolerance of the
        ranker if that comes first.
    """

    def __init__(
        self,
        ranker: Any,
        train: RelationGraph,
        test: RelationGraph,
        prior_weights: Sequence[float],
        alphas: Sequence[float] | None = None,
        settle: bool = False,
    ):
        super().__init__(ranker, train, prior_weights, alphas=alphas)
        # Losses of two anchors are not those of the prior weights between them.
        self.settle = settle and len(self.anchors) == 1
        self.given = test.conditioned(ranker.rank_by)
        self.sides, self.truth = self.given[:2], self.given.observed
        self.models: list[Any] = [system.model() for system in self.systems]
        self.is_sparse = isinstance(self.truth, Edges)
        self.placed: list[Any] = [None] * len(self.models)
        for k, model in enumerate(self.models):
            if isinstance(model, Model):
                edges: Any = self.truth
                few = self.is_sparse and edges.n_pairs < DENSE_FROM_SHARE_OF_PAIRS * np.prod(edges.shape)
                if few:
                    self.placed[k] = model.placed_edges(*self.sides, self.truth)
                else:
                    placed = replace(model.placed(*self.sides), sign=self.settings.relation.sign)
                    # Differences between two anchors are scaled, and their errors with them.
                    self.placed[k] = roughly(placed) if len(self.models) == 1 else placed
            elif self.is_sparse and isinstance(model, EdgeModel) and isinstance(model.kernel, KroneckerEdges):
                self.placed[k] = model.placed_edges(*self.sides, self.truth)

    @property
    def n_labels(self) -> int:
        """Number of labels that are compared: only the observed ones if the graph is incomplete."""
        return self.truth.n_pairs if self.is_sparse else super().n_labels

    def true_pairs(self, block: slice, n_scores: int) -> Any:
        """All observed edges of an incomplete graph at once, otherwise a block of the matrix."""
        if self.is_sparse:
            return EdgePairs(self.truth.indptr, self.truth.values, n_scores)
        return super().true_pairs(block, n_scores)

    def scores(self, alpha: float) -> Blocks:
        """Blocks of the conditioning nodes of the test graph, with their scores."""
        options = Options(self.settings.tol, self.settings.max_iter)
        solved = [system.solve(alpha, options) for system in self.systems]
        return self._blocks([model.with_weights(found.W) for model, found in zip(self.models, solved, strict=True)])

    def counts_by_query(self, alphas: np.ndarray) -> np.ndarray:
        """Counts, as for all held-out pairs.

        With ``settle`` a λ that was given up has the counts of the next larger one, which is clearly worse than the
        best one.
        """
        if not self.settle:
            return super().counts_by_query(alphas)
        counts, order = np.zeros((1, len(alphas), self.truth.shape[0], 2)), np.argsort(alphas)[::-1]
        watch = self._settling(len(alphas))
        counts[..., 1] = watch.comparable
        n_judged = 0
        options = Options(self.settings.tol, self.settings.max_iter, self.models[0].W)
        for place, solution in solve_path(self.systems[0], [float(alphas[j]) for j in order], options, watch):
            if not watch.is_over or watch.known[place]:
                warn_unless_converged(solution, self.settings)
            counts[0, order[place], :, 0] = watch.finish(place, solution.W)
            n_judged += 1
            if watch.is_over and not watch.known[n_judged : n_judged + 1].all():
                break
        for before, j in pairwise(order[n_judged - 1 :]):
            counts[:, j] = counts[:, before]
        return counts

    def scores_of(self, alphas: np.ndarray) -> Iterator[tuple[int, Blocks]]:
        """Places in ``alphas`` with blocks of scores: from large λ to small, each started from the solutions before."""
        order = np.argsort(alphas)[::-1]
        paths = []
        for system, model in zip(self.systems, self.models, strict=True):
            options = Options(self.settings.tol, self.settings.max_iter, model.W)
            paths.append(solve_path(system, [float(alphas[j]) for j in order], options))
        for solved in zip(*paths, strict=True):
            for k, (_, solution) in enumerate(solved):
                warn_unless_converged(solution, self.settings)
                self.models[k] = self.models[k].with_weights(solution.W)
            yield int(order[solved[0][0]]), self._blocks(self.models)

    def _settling(self, n_alphas: int) -> Settling:
        """The watch that follows the losses of this fold, of a single prior weight."""
        model, placed = self.models[0], self.placed[0]

        def wrong(W: np.ndarray) -> np.ndarray:
            counts = np.zeros(self.truth.shape[0])
            for block, scores in self._scored(model.with_weights(W), placed):
                counts[block] = self._kept_pairs(block, WATCHED * n_alphas).wrong(scores)
            return counts

        comparable = np.zeros(self.truth.shape[0])
        for block in [slice(0, len(comparable))] if self.is_sparse else row_blocks(*self.truth.shape):
            comparable[block] = self._kept_pairs(block, WATCHED * n_alphas).comparable
        return Settling(wrong, comparable, n_alphas)

    def _blocks(self, models: list[Any]) -> Blocks:
        """Blocks of scores by one model for each anchor."""
        return _together([self._scored(model, placed) for model, placed in zip(models, self.placed, strict=True)])

    def _scored(self, model: Any, placed: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of scores; for an incomplete graph one block, with a score for each observed edge."""
        if not self.is_sparse:
            return model.blocks(*self.sides) if placed is None else placed.blocks(model.W, model.prior_weight)
        everyone = slice(0, self.truth.shape[0])
        if isinstance(placed, PlacedEdges | PlacedKernel):
            return iter([(everyone, placed.scores(model.W, model.prior_weight))])
        if placed is not None:
            return iter([(everyone, at_edges(placed.blocks(model.W, model.prior_weight), self.truth))])
        return iter([(everyone, edge_scores(model, self.given))])


def _together(parts: list[Iterator[tuple[slice, np.ndarray]]]) -> Blocks:
    for blocks in zip(*parts, strict=True):
        yield blocks[0][0], [scores for _, scores in blocks]
