"""True relation of a graph and scores of a ranker, for as many nodes as a picture can show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.graph import RelationGraph
from condrank.model_selection.folds import innermost, rank_by_of
from condrank.nodes import Nodes
from condrank.plots.axes import draw_nodes


@dataclass(frozen=True)
class Predictions:
    """Relation and scores with a row for each conditioning node that is shown, and the positions of these nodes.

    Attributes
    ----------
    truth, scores : ndarray of shape (n_queries, n_objects)
        Relation, NaN where it is not observed, and scores.
    queries, objects : ndarray of int
        Positions in the graph of the nodes that are shown.
    total : tuple of two int
        How many conditioning nodes and objects the graph has.
    """

    truth: np.ndarray
    scores: np.ndarray
    queries: np.ndarray
    objects: np.ndarray
    total: tuple[int, int]


def fitted_ranker(ranker: Any) -> Any:
    """The fitted ranker inside a pipeline, a search or a `TableRanker`."""
    return innermost(ranker, ("best_estimator_", "ranker_"))


def ranks_incoming(ranker: Any) -> bool:
    """Whether a ranker, also inside a pipeline or a search, ranks by the edges that end at a node."""
    return rank_by_of(ranker) == "incoming"


def predict_sample(ranker: Any, graph: RelationGraph, max_nodes: int) -> Predictions:
    """Truth and scores among at most ``max_nodes`` nodes of each domain. No larger array is made."""
    check_graph(graph)
    rows = draw_nodes(graph.shape[0], max_nodes)
    if graph.is_two_domain:
        columns = draw_nodes(graph.shape[1], max_nodes)
        part = graph[rows, columns]
    else:
        columns, part = rows, graph[rows]
    truth, scores = part.to_dense(), ranker.predict(part)
    if ranks_incoming(ranker):
        return Predictions(truth.T, scores, columns, rows, (graph.shape[1], graph.shape[0]))
    return Predictions(truth, scores, rows, columns, graph.shape)


def predict_blocks(ranker: Any, graph: RelationGraph) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Truth and scores of all conditioning nodes, a block of them at a time."""
    check_graph(graph)
    incoming = ranks_incoming(ranker)
    n_queries, n_objects = graph.shape[::-1] if incoming else graph.shape
    everything = np.arange(n_objects)
    for block in row_blocks(n_queries, n_objects):
        some = np.arange(block.start, block.stop)
        part = graph.cut(everything, some) if incoming else graph.cut(some, everything)
        truth = part.to_dense()
        yield truth.T if incoming else truth, ranker.predict(part)


def query_names(ranker: Any, graph: RelationGraph) -> np.ndarray:
    """Ids of a graph's conditioning nodes, or their positions."""
    nodes: Nodes = graph.objects if ranks_incoming(ranker) else graph.nodes
    return np.arange(len(nodes)) if nodes.ids is None else nodes.ids


def check_graph(graph: Any) -> None:
    """Raise if the argument is not a graph."""
    if not isinstance(graph, RelationGraph):
        raise ValueError(f"graph must be a RelationGraph, got {type(graph).__name__}")
