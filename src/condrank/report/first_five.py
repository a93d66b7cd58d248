"""How sure the order of the first five objects of a ranking is, and why: what the explorer knows without a service."""

from __future__ import annotations

from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np

from condrank.explorer.embedded import Reason
from condrank.graph import RelationGraph
from condrank.plots.predictions import ranks_incoming
from condrank.rankers.base import fitted_of
from condrank.rankers.explained import explanation
from condrank.rankers.uncertain import probability_above
from condrank.report.rankings import Rankings

#: Places of a ranking that are compared with each other.
FIRST = 5
#: Seconds for all answers together, and nodes at most; each costs a solve, which takes long on large sparse graphs.
SECONDS, MOST = 2.0, 200
#: Characters of all reasons together, so that they leave room for rankings.
MOST_CHARACTERS = 400_000
#: Edges from which on a single answer may take longer than that.
MOST_EDGES = 6000


def first_five(ranker: Any, graph: RelationGraph, rankings: Rankings) -> dict[int, list[Reason]]:
    """Which of two of the first five objects has the higher score, with a sentence why, by row of the rankings.

    First the first two of all conditioning nodes, those with most edges first, then the other pairs of places, as many
    as `SECONDS` and `MOST_CHARACTERS` allow; none for rankers that have no posterior, and for incomplete graphs with
    more than `MOST_EDGES` edges.
    """
    able = hasattr(ranker, "probability_above") and hasattr(ranker, "explain")
    if not able or (not graph.is_complete and graph.n_edges > MOST_EDGES):
        return {}
    queries, objects = (graph.objects, graph.nodes) if ranks_incoming(ranker) else (graph.nodes, graph.objects)
    places = combinations(range(min(FIRST, rankings.indices.shape[1])), 2)
    rows = np.argsort(-rankings.observed, kind="stable")[:MOST].tolist()
    found: dict[int, list[Reason]] = {}
    size, end = 0, perf_counter() + SECONDS
    for first, second in sorted(places, key=max):
        for row in rows:
            position = rankings.queries[row : row + 1]
            both = [rankings.indices[row, place : place + 1] for place in (first, second)]
            nodes = [queries.take(position), *(objects.take(one) for one in both)]
            names = [rankings.query_ids[position[0]], *(rankings.object_ids[one[0]] for one in both)]
            try:
                above = float(probability_above(fitted_of(ranker), *nodes)[0])
                why = str(explanation(ranker, nodes, names))
            except ValueError:  # a model that was saved without its labels, or one that has no such sums
                return found
            found.setdefault(row, []).append((first, second, above, why))
            size += len(why)
            if size > MOST_CHARACTERS or perf_counter() > end:
                return found
    return found
