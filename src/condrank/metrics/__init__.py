"""Measures of how well scores rank objects conditioned on a node.

Every measure is called as ``measure(Y_true, Y_score)``, where ``Y_true`` is the relation and ``Y_score`` are finite
scores; higher scores rank first. Both have one of these forms, with the same value to the last digit:

- matrices: rows are conditioning nodes (queries), columns are objects; ``Y_true`` is NaN where it is not observed. Such
  entries are ignored. One-dimensional input is one query;
- scipy sparse arrays that store the same entries: the observed ones, stored zeros too;
- lists of edges: values (n_edges,), and ``groups=`` with the query of each edge, a number or a string. An edge may
  occur several times.

The cost of the last two grows with the observed edges only, never with all pairs. `make_scorer` gives a measure as a
scorer for scikit-learn's ``GridSearchCV`` and ``cross_val_score`` over graphs.

Measures of pairs (rank loss to Kendall's τ) and of one ranking (NDCG to hit rate) depend on the order of the scores
only. Measures of values (mean squared error, r_m²) need scores on the scale of the relation; measures of games (log
loss, Brier score, accuracy) need outcomes of games. ``pooled_concordance_index`` compares edges of different queries
too; all other measures of order compare objects of the same query.

Ties in score are never broken by position. Every measure is its expected value over all orders of the tied
objects, computed exactly (for the measures of pairs: a pair tied in score counts ½).

``average`` says how queries are combined:

- ``"micro"`` pools the comparable pairs of all queries (measures of pairs), or all edges (of values and games);
- ``"macro"`` is the mean over the queries for which the measure is defined;
- ``None`` gives one value per query, NaN where the measure is not defined.

If the measure is defined for no query, an average is NaN, with an ``UndefinedMetricWarning``.

``relevant`` is compared in the type of ``Y_true``. If every observed relevance is above it, as ratings from 1 to 5
are above 0, reciprocal rank and precisions are 1 for all scores, and their average comes with a ``UserWarning``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from condrank.metrics.games import accuracy, brier_score, log_loss
from condrank.metrics.intervals import coverage
from condrank.metrics.pairs import (
    auc,
    concordance_index,
    kendall_tau,
    pair_counts,
    pooled_concordance_index,
    rank_loss,
)
from condrank.metrics.places import (
    average_precision,
    hit_rate_at_k,
    mean_reciprocal_rank,
    ndcg,
    precision_at_k,
    recall_at_k,
)
from condrank.metrics.values import mean_squared_error, rm_squared

if TYPE_CHECKING:
    from condrank.model_selection.scoring import make_scorer

__all__ = [
    "LOWER_IS_BETTER",
    "MEASURES",
    "accuracy",
    "auc",
    "average_precision",
    "brier_score",
    "concordance_index",
    "coverage",
    "hit_rate_at_k",
    "kendall_tau",
    "log_loss",
    "make_scorer",
    "mean_reciprocal_rank",
    "mean_squared_error",
    "ndcg",
    "pair_counts",
    "pooled_concordance_index",
    "precision_at_k",
    "rank_loss",
    "recall_at_k",
    "rm_squared",
]

MEASURES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        measure.__name__: measure
        for measure in (
            rank_loss,
            concordance_index,
            pooled_concordance_index,
            auc,
            kendall_tau,
            ndcg,
            mean_reciprocal_rank,
            average_precision,
            precision_at_k,
            recall_at_k,
            hit_rate_at_k,
            mean_squared_error,
            rm_squared,
            log_loss,
            brier_score,
            accuracy,
        )
    }
)
"""Measures by name, each called as ``measure(Y_true, Y_score)``. Higher is better for all but `LOWER_IS_BETTER`."""

LOWER_IS_BETTER = frozenset({"rank_loss", "mean_squared_error", "log_loss", "brier_score"})
"""Names of the measures that are losses."""

# Measures of the order of each query's objects, which are not defined if no query has anything to rank.
OF_ORDER = frozenset(
    measure.__name__
    for measure in (
        rank_loss,
        concordance_index,
        auc,
        kendall_tau,
        ndcg,
        mean_reciprocal_rank,
        average_precision,
        precision_at_k,
        recall_at_k,
        hit_rate_at_k,
    )
)


def __getattr__(name: str) -> Any:
    if name == "make_scorer":  # it scores with rankers, so it lives with their selection
        return import_module("condrank.model_selection.scoring").make_scorer
    raise AttributeError(f"module 'condrank.metrics' has no attribute {name!r}")
