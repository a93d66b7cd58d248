"""How sure the order of the first two objects of a ranking is, and why: what the explorer knows without a service."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from condrank.graph import RelationGraph
from condrank.plots.predictions import ranks_incoming
from condrank.rankers.base import fitted_of
from condrank.rankers.explained import explanation
from condrank.rankers.uncertain import probability_above
from condrank.report.rankings import Rankings

#: Seconds for all answers together, and nodes at most; each costs a solve, which takes long on large sparse graphs.
SECONDS, MOST = 1.0, 200
#: Edges from which on a single answer may take longer than that.
MOST_EDGES = 6000


def first_two(ranker: Any, graph: RelationGraph, rankings: Rankings) -> dict[int, tuple[float, str]]:
    """Probability that the first object has the higher score than the second, and a sentence why, by row of rankings.

    For the conditioning nodes with most edges first, as many as `SECONDS` allow; none for rankers that have no
    posterior, and for incomplete graphs with more than `MOST_EDGES` edges.
    """
    able = hasattr(ranker, "probability_above") and hasattr(ranker, "explain")
    if not able or rankings.indices.shape[1] < 2 or (not graph.is_complete and graph.n_edges > MOST_EDGES):
        return {}
    queries, objects = (graph.objects, graph.nodes) if ranks_incoming(ranker) else (graph.nodes, graph.objects)
    found: dict[int, tuple[float, str]] = {}
    end = perf_counter() + SECONDS
    for row in np.argsort(-rankings.observed, kind="stable")[:MOST].tolist():
        position = rankings.queries[row : row + 1]
        one, other = rankings.indices[row, :1], rankings.indices[row, 1:2]
        nodes = [queries.take(position), objects.take(one), objects.take(other)]
        names = [rankings.query_ids[position[0]], *(rankings.object_ids[at[0]] for at in (one, other))]
        try:
            above = float(probability_above(fitted_of(ranker), *nodes)[0])
            found[row] = (above, str(explanation(ranker, nodes, names)))
        except ValueError:  # a model that was saved without its labels, or one that has no such sums
            return found
        if perf_counter() > end:
            break
    return found
