"""Measures of how well scores rank objects conditioned on a node.

Rows are conditioning nodes (queries), columns are objects; one-dimensional input is one query. ``Y_true`` is the
relation, with NaN where it is not observed. Such entries are ignored. ``Y_score`` has the same shape and is finite;
higher scores rank first.

Ties in score are never broken by position. Every measure is its expected value over all orders of the tied
objects, computed exactly (for the measures of pairs: a pair tied in score counts ½).

``average`` says how queries are combined:

- ``"micro"`` pools the comparable pairs of all queries (measures of pairs only);
- ``"macro"`` is the mean over the queries for which the measure is defined;
- ``None`` gives one value per query, NaN where the measure is not defined.

If the measure is defined for no query, an average is NaN, with an ``UndefinedMetricWarning``.

``relevant`` is compared in the type of ``Y_true``. If every observed relevance is above it, as ratings from 1 to 5
are above 0, reciprocal rank and precisions are 1 for all scores, and their average comes with a ``UserWarning``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from condrank.metrics.pairs import auc, concordance_index, kendall_tau, pair_counts, rank_loss
from condrank.metrics.places import average_precision, mean_reciprocal_rank, ndcg, precision_at_k

__all__ = [
    "MEASURES",
    "auc",
    "average_precision",
    "concordance_index",
    "kendall_tau",
    "mean_reciprocal_rank",
    "ndcg",
    "pair_counts",
    "precision_at_k",
    "rank_loss",
]

MEASURES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "rank_loss": rank_loss,
        "concordance_index": concordance_index,
        "auc": auc,
        "kendall_tau": kendall_tau,
        "ndcg": ndcg,
        "mean_reciprocal_rank": mean_reciprocal_rank,
        "average_precision": average_precision,
        "precision_at_k": precision_at_k,
    }
)
"""Measures by name, each called as ``measure(Y_true, Y_score)``. Higher is better for all but ``rank_loss``."""
