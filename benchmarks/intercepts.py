"""Rows about the intercept of regression, for the suites of complete and of incomplete graphs."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import Row, measure
from condrank import ConditionalRanker, RelationGraph
from condrank.observations import Edges


def intercept_rows(name: str, graph: RelationGraph, repeats: int, **params: Any) -> list[Row]:
    """Two rows: the time of a fit with an intercept (floor: the same fit without), and how exact the intercept is.

    Adding 1 to every label has to add 1 to the intercept and to leave the scores as they were.
    """
    fits = {False: ConditionalRanker(loss="regression", **params)}
    fits[True] = ConditionalRanker(loss="regression", fit_intercept=True, **params)
    times = measure({given: lambda r=ranker: r.fit(graph) for given, ranker in fits.items()}, repeats)
    counts = [ranker.n_iter_ for ranker in fits.values()]
    note = "floor: the fit without" + ("" if counts[0] is None else f"; {counts[1]} iterations against {counts[0]}")
    size = f"n={len(graph):,}, {graph.n_edges:,} edges"
    moved = ConditionalRanker(**fits[True].get_params()).fit(raised(graph))
    wrong = abs(moved.intercept_ - fits[True].intercept_ - 1)
    return [
        Row(f"intercept, {name}", size, times[True], times[False], 1.05, note=note),
        Row(f"intercept, {name}: labels + 1", size, wrong, None, 1e-6, unit="error", note="error of the intercept"),
    ]


def raised(graph: RelationGraph) -> RelationGraph:
    """The graph with 1 added to every label."""
    relation: Any = graph.relation
    if isinstance(relation, Edges):
        return graph.part(graph.nodes, graph.objects, relation.with_values(relation.values + 1))
    return RelationGraph(graph.nodes.rows, relation.to_dense() + 1, probabilities=False)
