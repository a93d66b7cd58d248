"""Rank loss on a sample of conditioning nodes, each with all objects, for graphs with too many pairs to score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from condrank.base.checks import check_count
from condrank.fitting.judging import NOTHING_TO_RANK
from condrank.graph import RelationGraph
from condrank.metrics import pair_counts
from condrank.rankers.base import Ranker, fitted_of
from condrank.rankers.checks import refuse_raw


@dataclass(frozen=True)
class SampledLoss:
    """A rank loss measured on a sample of the conditioning nodes.

    Attributes
    ----------
    loss : float
        Rank loss, pooled over the conditioning nodes of the sample.
    standard_error : float
        Standard error of the loss due to the draw; 0 if all conditioning nodes were taken, NaN for a sample of one.
    n_queries : int
        Number of conditioning nodes in the sample.
    """

    loss: float
    standard_error: float
    n_queries: int

    def __str__(self) -> str:
        return f"{self.loss:.4f} ± {self.standard_error:.4f} ({self.n_queries} conditioning nodes)"


def sampled_rank_loss(
    ranker: Any, graph: RelationGraph, n_queries: int = 1000, random_state: Any = None
) -> SampledLoss:
    """Rank loss of a ranker on a random sample of the conditioning nodes of a graph, each with all objects.

    This estimates ``1 - ranker.score(graph)``, which takes all of them. Scores and labels are made a few rows
    at a time: O(n_queries · n_objects · log n_objects) time, O(n_objects · r) memory, and no array of size n×n.

    Parameters
    ----------
    ranker : Ranker or TableRanker
        A fitted ranker.
    graph : RelationGraph
        Nodes and the true relation between them.
    n_queries : int
        Number of conditioning nodes to draw, without replacement; all if there are no more.
    random_state : int, RandomState instance or None
        Seed of the draw.

    Returns
    -------
    SampledLoss
    """
    if not isinstance(graph, RelationGraph):
        raise ValueError(f"graph must be a RelationGraph, got {type(graph).__name__}")
    if hasattr(ranker, "encode") and hasattr(ranker, "ranker_"):  # a TableRanker
        graph, ranker = ranker.encode(graph), ranker.ranker_
    if not isinstance(ranker, Ranker):
        raise ValueError(
            f"ranker must be a ConditionalRanker, a TableRanker or a baseline, got {type(ranker).__name__}; for a "
            "pipeline p, pass p[-1] and p[:-1].transform(graph)"
        )
    scorer = fitted_of(ranker).model
    refuse_raw(graph)
    queries, objects, truth = graph.conditioned(ranker.rank_by)
    n = len(queries)
    size = min(check_count("n_queries", n_queries), n)
    if size < n:
        chosen = np.sort(check_random_state(random_state).choice(n, size, replace=False))
        queries, truth = queries.take(chosen), truth.take(chosen, slice(None))
    wrong, comparable = np.zeros(size), np.zeros(size)
    for block, scores in scorer.blocks(queries, objects):
        wrong[block], comparable[block] = pair_counts(truth.to_dense(block), scores)
    total = comparable.sum()
    if total == 0:
        raise ValueError(NOTHING_TO_RANK)
    loss = float(wrong.sum() / total)
    # The loss is a ratio of two sums over the sample. To first order, each node adds wrong - loss * comparable to it.
    spread = float(np.sum((wrong - loss * comparable) ** 2))
    unseen = 1 - size / n
    error = float(np.sqrt(unseen * spread * size / (size - 1)) / total) if size > 1 else (np.nan if unseen else 0.0)
    return SampledLoss(loss, error, size)
