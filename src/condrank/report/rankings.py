"""Rankings of a sample of conditioning nodes, with the truth and the loss beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from condrank.frames.table import Table
from condrank.graph import RelationGraph
from condrank.metrics import pair_counts
from condrank.nodes import Nodes
from condrank.nodes.views import Views
from condrank.plots.axes import draw_nodes
from condrank.plots.predictions import predict_blocks, query_names, ranks_incoming
from condrank.rankers.base import fitted_of
from condrank.rankers.ranking import top_indices
from condrank.tables.known import KnownNodes
from condrank.tables.known_views import KnownViews
from condrank.tables.ranker import TableRanker


@dataclass(frozen=True)
class Rankings:
    """The top objects of some conditioning nodes, best first, and the loss over all objects.

    Attributes
    ----------
    queries : ndarray of int, shape (n,)
        Positions of the conditioning nodes in the graph.
    n_queries : int
        How many the graph has.
    indices, scores, truth : ndarray of shape (n, top)
        Positions of the objects, their scores, and the observed relation, NaN if there is none.
    losses : ndarray of shape (n,)
        Rank loss; NaN if there is nothing to rank.
    observed : ndarray of int, shape (n,)
        Objects whose relation to the conditioning node is known.
    pooled_loss : float
        Wrong pairs divided by comparable pairs, for all these nodes together; NaN without a comparable pair.
    query_ids, object_ids : ndarray
        Ids of all conditioning nodes and all objects of the graph.
    incoming : bool
        Whether the conditioning nodes are those where edges end.
    """

    queries: np.ndarray
    n_queries: int
    indices: np.ndarray
    scores: np.ndarray
    truth: np.ndarray
    losses: np.ndarray
    observed: np.ndarray
    pooled_loss: float
    query_ids: np.ndarray
    object_ids: np.ndarray
    incoming: bool = False

    def __len__(self) -> int:
        return len(self.queries)

    def extremes(self, n: int, fewest: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the n conditioning nodes with the highest loss and of the n with the lowest; no row is in both.

        Only those with at least ``fewest`` observed objects count: with a few, a loss is luck.
        """
        known = np.flatnonzero(~np.isnan(self.losses) & (self.observed >= fewest))
        order = known[np.argsort(-self.losses[known], kind="stable")]
        worst = order[: min(n, (len(order) + 1) // 2)]
        return worst, order[len(worst) :][::-1][:n]


def modelled_graph(ranker: TableRanker, graph: RelationGraph) -> RelationGraph:
    """The graph with only the columns that the model was trained on, as the same kinds."""
    sides = [
        _modelled(nodes, known) for nodes, known in zip((graph.nodes, graph.objects), ranker.domains_, strict=True)
    ]
    return graph.part(sides[0], sides[1] if graph.is_two_domain else sides[0], graph.relation)


def _modelled(nodes: Nodes, known: KnownNodes) -> Nodes:
    """Nodes with the columns of training only, of each view if there are several."""
    if isinstance(nodes.base, Views) and isinstance(known, KnownViews):
        parts = {
            view: _of_kinds(nodes.base.parts[view], one)
            for view, one in known.views.items()
            if view in nodes.base.parts
        }
        return Nodes(Views(parts, nodes.base.kernels), nodes.index, nodes.base_ids)
    part = _of_kinds(nodes.rows, known) if isinstance(nodes.base, Table) else nodes.base
    return nodes if part is nodes.base else Nodes(part, None, nodes.ids)


def _of_kinds(part: Any, known: KnownNodes) -> Any:
    kinds = getattr(known.encoder, "kinds_", None)
    return Table.of_kinds(part, kinds) if isinstance(part, Table) and kinds is not None else part


def shown_table(nodes: Nodes) -> Table | None:
    """The columns of nodes for display, those of a view as view.column; None if there are none."""
    if isinstance(nodes.base, Table):
        return nodes.rows
    if not isinstance(nodes.base, Views):
        return None
    columns, kinds = {}, {}
    for view, part in nodes.base.parts.items():
        if isinstance(part, Table):
            table = nodes.view(view).rows
            columns |= {f"{view}.{name}": values for name, values in table.columns.items()}
            kinds |= {f"{view}.{name}": kind for name, kind in table.kinds.items()}
    return Table(columns, kinds) if kinds else None


def encoded_graph(ranker: TableRanker, graph: RelationGraph) -> RelationGraph:
    """The graph as the fitted ranker inside the `TableRanker` takes it.

    A loaded ranker has the kernel values of its training nodes only: the nodes of the graph are found there by id.
    """
    encoded = ranker.encode(graph)
    model = fitted_of(ranker.ranker_).model
    matrices = [
        bool(getattr(getattr(model, side, None), "kernel", None) and getattr(model, side).kernel.matrices)
        for side in ("rows", "cols")
    ]
    if not any(matrices) or hasattr(ranker, "graph_"):
        return encoded
    incoming = ranks_incoming(ranker.ranker_)
    first, second = (encoded.objects, encoded.nodes) if incoming else (encoded.nodes, encoded.objects)
    queries = _known(ranker.queries_, first, "nodes") if matrices[0] else first
    objects = queries
    if graph.is_two_domain:
        objects = _known(ranker.objects_, second, "objects") if matrices[1] else second
    sides = (objects, queries) if incoming else (queries, objects)
    return encoded.part(*sides, encoded.relation)


def _known(known: Any, nodes: Nodes, what: str) -> Nodes:
    if nodes.ids is None:
        raise ValueError(f"graph must have ids: the {what} of a kernel are found in the model by id")
    return known.nodes.take(known.find(nodes.ids, what))


def rank_sample(ranker: Any, graph: RelationGraph, top: int, max_queries: int) -> Rankings:
    """Rank the objects of an encoded graph for at most ``max_queries`` conditioning nodes, drawn at random.

    A node is left out of its own ranking, but not of its loss. Time O(n_objects log n_objects) for each conditioning
    node, beside the scores, which are computed and dropped in blocks.
    """
    return rank_rows(ranker, graph, draw_nodes(len(query_names(ranker, graph)), max_queries), top)


def rank_rows(ranker: Any, graph: RelationGraph, queries: np.ndarray, top: int) -> Rankings:
    """As `rank_sample`, for the conditioning nodes at these positions."""
    incoming = ranks_incoming(ranker)
    n_queries, n_objects = graph.shape[::-1] if incoming else graph.shape
    everything = np.arange(n_objects)
    part = graph.cut(everything, queries) if incoming else graph.cut(queries, everything)
    own = not graph.is_two_domain
    parts, start, wrong, comparable = [], 0, 0.0, 0
    for truth, scores in predict_blocks(ranker, part):
        rows = np.arange(len(truth))
        lost, pairs = pair_counts(truth, scores)
        wrong, comparable = wrong + float(lost.sum()), comparable + int(pairs.sum())
        losses = np.divide(lost, pairs, out=np.full(len(rows), np.nan), where=pairs > 0)
        if own:
            scores = np.array(scores)
            scores[rows, queries[start + rows]] = -np.inf
        best = top_indices(scores, min(top, n_objects - own))
        found = (np.take_along_axis(values, best, axis=1) for values in (scores, truth))
        parts.append((best, *found, losses, (~np.isnan(truth)).sum(axis=1)))
        start += len(rows)
    indices, scores, truth, losses, observed = (np.concatenate(column) for column in zip(*parts, strict=True))
    ids = query_names(ranker, graph)
    others: Nodes = graph.nodes if incoming else graph.objects
    return Rankings(
        queries=queries,
        n_queries=n_queries,
        indices=indices,
        scores=scores,
        truth=truth,
        losses=losses,
        observed=observed,
        pooled_loss=wrong / comparable if comparable else float("nan"),
        query_ids=ids,
        object_ids=np.arange(n_objects) if others.ids is None else others.ids,
        incoming=incoming,
    )


def observed_pairs(truth: Any, scores: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns, labels and scores of the observed pairs, of what `judged` gives: sparse arrays or matrices."""
    if sparse.issparse(truth):
        rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
        return rows, truth.indices, np.asarray(truth.data, dtype=float), np.asarray(scores.data, dtype=float)
    rows, columns = np.nonzero(~np.isnan(truth))
    return rows, columns, np.asarray(truth[rows, columns], float), np.asarray(scores[rows, columns], float)
