"""Computes the rank loss of a scorer, pooled over conditioning nodes, and checks if there is anything to rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.base.measured import DENSE_FROM_SHARE_OF_PAIRS
from condrank.fitting.fitted import Scorer
from condrank.graph.relation_graph import Conditioned
from condrank.metrics import pair_counts
from condrank.metrics.edges import EdgePairs
from condrank.models.placed import at_edges
from condrank.observations import Edges, Observations

NOTHING_TO_RANK = "no conditioning node has two objects with different relation values: nothing to rank"
# Advice for folds that have nothing to rank.
SORTED_NODES = (
    "; if nodes are sorted, by class for example, a fold of consecutive nodes may hold equal labels only: shuffle the "
    "nodes, as KFold(5, shuffle=True) does, or split with SettingSplit, which shuffles and can stratify"
)


class NothingToRankError(ValueError):
    """No conditioning node has two objects with different labels, so a rank loss is not defined."""


def pooled_rank_loss(scorer: Scorer, given: Conditioned) -> float:
    """Rank loss pooled over conditioning nodes.

    On an edge list only the observed edges are scored and compared, O(n_pairs). On a complete relation labels and
    scores are made in blocks.
    """
    if isinstance(given.observed, Edges):
        pairs = EdgePairs(given.observed.indptr, given.observed.values)
        return _share(float(pairs.wrong(edge_scores(scorer, given)).sum()), int(pairs.comparable.sum()))
    wrong, comparable = 0.0, 0
    for block, scores in scorer.blocks(given.queries, given.objects):
        lost, pairs = pair_counts(given.observed.to_dense(block), scores)
        wrong, comparable = wrong + float(lost.sum()), comparable + int(pairs.sum())
    return _share(wrong, comparable)


def edge_scores(scorer: Any, given: Conditioned) -> np.ndarray:
    """Scores of the observed edges, (n_pairs,), by sampled products if that is cheaper than scoring all pairs."""
    edges: Any = given.observed
    if hasattr(scorer, "at_edges") and edges.n_pairs < DENSE_FROM_SHARE_OF_PAIRS * np.prod(edges.shape):
        return scorer.at_edges(given.queries, given.objects, edges)
    return at_edges(scorer.blocks(given.queries, given.objects), edges)


def _share(wrong: float, comparable: int) -> float:
    if comparable == 0:
        raise NothingToRankError(NOTHING_TO_RANK + SORTED_NODES)
    return wrong / comparable


def rankable(truth: Observations) -> bool:
    """Whether some conditioning node has two objects with different labels."""
    if isinstance(truth, Edges):
        starts = truth.indptr[:-1][np.diff(truth.indptr) > 0]
        return bool(np.any(np.maximum.reduceat(truth.values, starts) > np.minimum.reduceat(truth.values, starts)))
    for block in row_blocks(*truth.shape):
        labels = truth.to_dense(block)
        known = ~np.isnan(labels)
        if np.any(np.where(known, labels, -np.inf).max(axis=1) > np.where(known, labels, np.inf).min(axis=1)):
            return True
    return False
