"""The rank loss of a scorer, pooled over conditioning nodes, and whether there is anything to rank."""

from __future__ import annotations

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.fitting.fitted import Scorer
from condrank.graph.relation_graph import Conditioned
from condrank.metrics import pair_counts
from condrank.observations import Observations

NOTHING_TO_RANK = "no conditioning node has two objects with different relation values: nothing to rank"


def pooled_rank_loss(scorer: Scorer, given: Conditioned) -> float:
    """Rank loss pooled over conditioning nodes; neither the truth nor the scores are held whole."""
    wrong, comparable = 0.0, 0
    for block, scores in scorer.blocks(given.queries, given.objects):
        lost, pairs = pair_counts(given.observed.to_dense(block), scores)
        wrong, comparable = wrong + float(lost.sum()), comparable + int(pairs.sum())
    if comparable == 0:
        raise ValueError(NOTHING_TO_RANK)
    return wrong / comparable


def rankable(truth: Observations) -> bool:
    """Some conditioning node has two objects with different labels."""
    for block in row_blocks(*truth.shape):
        labels = truth.to_dense(block)
        known = ~np.isnan(labels)
        if np.any(np.where(known, labels, -np.inf).max(axis=1) > np.where(known, labels, np.inf).min(axis=1)):
            return True
    return False
