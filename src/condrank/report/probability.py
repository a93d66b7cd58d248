"""What a score says about who wins: the probability of a win, if scores have such a scale."""

from __future__ import annotations

from typing import Any

from condrank.graph import RelationGraph
from condrank.rankers.base import fitted_of


def scale_of(ranker: Any, graph: RelationGraph) -> str | None:
    """What the scores of a ranker of contests are, as in `condrank.metrics.games`; None if only their order counts.

    Log-odds of a win under the logistic loss. Under the regression loss: a probability of a win, or an outcome from
    -1 to 1, if the labels are.
    """
    if getattr(ranker, "relation", None) != "reciprocal" or graph.is_two_domain:
        return None
    loss = getattr(ranker, "loss", None)
    if loss == "logistic":
        return "log-odds"
    if loss != "regression":
        return None
    if getattr(fitted_of(ranker).model, "offset", 0.0):
        return "probability"
    low, high = graph.relation.extremes()
    return "outcome" if -1 <= low <= high <= 1 else None
