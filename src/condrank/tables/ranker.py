"""TableRanker: encoder, ranker and ids in one object, from tables to rankings of ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from condrank.base.checks import check_count
from condrank.fitting.plan import Plan
from condrank.frames.ids import Ids
from condrank.frames.table import Table
from condrank.graph import RelationGraph
from condrank.graph.transformer import NodeTransformer
from condrank.nodes import Nodes
from condrank.rankers.base import Ranker, fitted_of, score_pairs
from condrank.rankers.conditional import ConditionalRanker, strengths_of
from condrank.rankers.ranking import Ranking, rank_objects, without_self
from condrank.tables.encoder import make_transformer
from condrank.tables.graphs import as_graph_of_tables
from condrank.tables.known import KnownNodes


class TableRanker(BaseEstimator):
    """A ranker of tables: learn from a table of nodes and one of edges, rank by id or by the columns of new nodes.

    Parameters
    ----------
    ranker : ConditionalRanker, ConditionalRankerCV or a baseline, optional
        What ranks the encoded nodes; by default ``ConditionalRanker()``, of games and other reciprocal relations
        ``ConditionalRanker("reciprocal", constant=True)``.
    encoder : TableEncoder, "passthrough" or another transformer, optional
        What makes features of the nodes' columns, fitted on the training nodes; by default ``TableEncoder()``, which
        standardises numbers. "passthrough": numbers as they are. Graphs of plain features or texts are encoded where
        an encoder is given, kernels never.
    object_encoder : optional
        For the objects of a second domain; by default another one like ``encoder``.

    Attributes
    ----------
    ranker_ : estimator
        The fitted ranker, of encoded nodes.
    encoder_, object_encoder_ : TableEncoder or None
        Fitted encoders of ``nodes`` and ``objects``; None where there was nothing to encode.
    query_ids_, object_ids_ : ndarray
        Ids of the conditioning nodes and of the objects of training.
    graph_ : RelationGraph
        What was learned from; a loaded ranker has none.

    Examples
    --------
    >>> from condrank import ConditionalRanker, TableRanker
    >>> players = {"id": ["ann", "bob", "cyd"], "age": [31, 25, 40], "hand": ["left", "right", "right"]}
    >>> games = {"winner": ["ann", "bob", "ann"], "loser": ["bob", "cyd", "cyd"]}
    >>> ranker = TableRanker(ConditionalRanker(relation="reciprocal", loss="regression")).fit(players, games)
    >>> ranker.rank(["bob"]).ids
    array([['cyd', 'ann']], dtype=object)
    >>> ranker.rank({"age": [33], "hand": ["left"]}, top=1).ids
    array([['cyd']], dtype=object)
    """

    ranker_: Any
    graph_: RelationGraph
    _transformer: NodeTransformer | None
    _queries: KnownNodes
    _objects: KnownNodes

    def __init__(self, ranker: Any = None, encoder: Any = None, object_encoder: Any = None):
        self.ranker = ranker
        self.encoder = encoder
        self.object_encoder = object_encoder

    def fit(self, nodes: Any, edges: Any = None, **options: Any) -> TableRanker:
        """Learn from tables, or from a graph.

        Parameters
        ----------
        nodes : path-like, frame or RelationGraph
            The table of nodes; or a graph, of `condrank.tables.read_graph` or any other.
        edges : path-like or frame
            The table of edges, where ``nodes`` is no graph.
        **options
            Names of columns and the rest, as for `RelationGraph.from_frame`.
        """
        self._check_kernel(options)
        graph = as_graph_of_tables("TableRanker.fit", nodes, edges, options)
        ranker: Any = clone(self._ranker(graph))
        transformer = self._make_transformer(graph)
        encoded = graph
        if transformer is not None:
            encoded = transformer.fit(graph).transform(graph)
        self.ranker_ = ranker.fit(encoded)
        self.graph_, self._transformer = graph, transformer
        self._know(graph, encoded)
        return self

    def rank(self, queries: Any, objects: Any = None, top: int = 10, *, exclude_self: bool = True) -> Ranking:
        """The ``top`` objects for each conditioning node, best first, by id.

        Parameters
        ----------
        queries : sequence of ids, or table
            Known nodes by id (a string is one id); or new ones as a frame, a `Path` to a file, a dict of columns or a
            list of dicts, with the columns of training and perhaps their ids. With ``kernel="precomputed"`` new ones
            are rows of kernel values against the training nodes.
        objects : sequence of ids, or table, optional
            Objects to rank, in the same ways; by default those of training.
        top : int
            How many; cut to the number of objects.
        exclude_self : bool
            Leave a node out of its own ranking. Every row is then cut to the number of objects but one.
        """
        top = check_count("top", top)
        check_is_fitted(self, "ranker_")
        first, query_ids = self._queries.read(queries, "queries")
        second, names = self._read_objects(objects)
        itself = np.full(len(first), -1)
        if exclude_self and query_ids is not None and self._queries is self._objects:
            itself = names.places(query_ids)
        excludes = bool((itself >= 0).any())
        ranked = rank_objects(fitted_of(self.ranker_).model, first, second, top + excludes, Nodes(names.ids[:, None]))
        indices, scores = ranked.indices, ranked.scores
        if excludes:
            indices, scores = without_self(itself, indices, scores, min(top, len(names) - 1))
        return Ranking(indices, scores, names.ids[indices], query_ids)

    def predict(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Scores of objects conditioned on nodes, (n_queries, n_objects); given as for `rank`, or as a graph."""
        check_is_fitted(self, "ranker_")
        if isinstance(queries, RelationGraph):
            return self.ranker_.predict(self.encode(queries), objects)
        first, _ = self._queries.read(queries, "queries")
        second, names = self._read_objects(objects)
        blocks = [scores for _, scores in fitted_of(self.ranker_).model.blocks(first, second)]
        return np.concatenate(blocks) if blocks else np.empty((0, len(names)))

    @available_if(lambda self: getattr(self.ranker, "loss", None) == "logistic")
    def predict_proba(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Probability that each conditioning node beats each object, (n_queries, n_objects); loss="logistic" only."""
        check_is_fitted(self, "ranker_")
        first, _ = self._queries.read(queries, "queries")
        return fitted_of(self.ranker_).model.probabilities(first, self._read_objects(objects)[0])

    def predict_edges(self, queries: Any, objects: Any) -> np.ndarray:
        """Scores of aligned pairs, of ``objects[i]`` conditioned on ``queries[i]``, (n_pairs,); given as for `rank`."""
        check_is_fitted(self, "ranker_")
        pairs = self._queries.read(queries, "queries")[0], self._objects.read(objects, "objects")[0]
        return score_pairs(self.ranker_, *pairs)

    def strengths(self, nodes: Any) -> np.ndarray:
        """Strength of nodes, given as for `rank`; of a reciprocal relation learned with ``constant=True``."""
        check_is_fitted(self, "ranker_")
        if not hasattr(self.ranker_, "strengths"):
            raise ValueError(f"strengths needs a ConditionalRanker, got {type(self.ranker_).__name__}")
        return strengths_of(self.ranker_, self._queries.read(nodes, "nodes")[0])

    def score(self, nodes: Any, edges: Any = None, **options: Any) -> float:
        """1 - rank loss, pooled over conditioning nodes, on a graph or tables as for `fit`."""
        check_is_fitted(self, "ranker_")
        return self.ranker_.score(self.encode(as_graph_of_tables("TableRanker.score", nodes, edges, options)))

    def cross_validate(self, graph: RelationGraph | None = None, setting: int = 4, **options: Any) -> Any:
        """`condrank.model_selection.cross_validate`, encoders fitted anew on the training nodes of each fold.

        Parameters
        ----------
        graph : RelationGraph, optional
            By default the one that was fitted.
        setting : {1, 2, 3, 4}
            What is new in a test graph.
        **options
            ``cv``, ``scoring``, ``n_jobs`` and ``progress``.
        """
        from condrank.model_selection import cross_validate

        if graph is None:
            if not hasattr(self, "graph_"):
                raise ValueError("graph is missing: this ranker was loaded or not fitted, and has none of its own")
            graph = self.graph_
        return cross_validate(self, graph, setting, **options)

    def plan(self, nodes: Any, edges: Any = None, **options: Any) -> Plan:
        """Which solver `fit` will take and why, with its flops and memory; the nodes are encoded for it."""
        self._check_kernel(options)
        graph = as_graph_of_tables("TableRanker.plan", nodes, edges, options)
        ranker = self._ranker(graph)
        if not hasattr(ranker, "plan"):
            raise ValueError(f"plan needs a ConditionalRanker, got {type(ranker).__name__}")
        transformer = self._make_transformer(graph)
        return ranker.plan(graph if transformer is None else transformer.fit(graph).transform(graph))

    def encode(self, graph: RelationGraph) -> RelationGraph:
        """A graph with its nodes encoded as those of training were."""
        check_is_fitted(self, "ranker_")
        return graph if self._transformer is None else self._transformer.transform(graph)

    @property
    def query_ids_(self) -> np.ndarray:
        """Ids of the conditioning nodes of training."""
        check_is_fitted(self, "ranker_")
        return self._queries.names.ids

    @property
    def object_ids_(self) -> np.ndarray:
        """Ids of the objects of training."""
        check_is_fitted(self, "ranker_")
        return self._objects.names.ids

    @property
    def encoder_(self) -> Any:
        """What encoded the nodes."""
        return None if self._transformer is None else self._transformer.transformer_

    @property
    def object_encoder_(self) -> Any:
        """What encoded the objects."""
        return None if self._transformer is None else self._transformer.object_transformer_

    def row(self, query: Any) -> dict[str, Any]:
        """Columns of one conditioning node of training, by id, to be shown; empty where they were not kept."""
        check_is_fitted(self, "ranker_")
        return self._queries.row(query)

    def object_row(self, one: Any) -> dict[str, Any]:
        """Columns of one object of training, by id, as `row`."""
        check_is_fitted(self, "ranker_")
        return self._objects.row(one)

    def save(self, path: Any, *, columns: bool = True) -> None:
        """Write ranker, encoders and ids to one file of plain arrays, as `ConditionalRanker.save` does.

        Parameters
        ----------
        path : path-like
            The file; in a folder (one that exists, or with a trailing slash) ``model.safetensors``.
        columns : bool
            Keep the columns of the training nodes, as `row` shows them. Their encoded features, which predictions
            need, are in the file in any case.
        """
        from condrank.tables.state import save

        check_is_fitted(self, "ranker_")
        save(self, path, columns)

    @classmethod
    def load(cls, path: Any, mmap: bool = False) -> TableRanker:
        """The ranker that was saved; also one of `ConditionalRanker.save`, which takes features or kernel values.

        Nothing is executed. A ValueError tells of truncated, damaged and newer files.

        Parameters
        ----------
        path, mmap
            As for `ConditionalRanker.load`.
        """
        from condrank.tables.state import load

        return load(cls, path, mmap)

    def _check_kernel(self, options: dict[str, Any]) -> None:
        kernel = "linear" if self.ranker is None else getattr(self.ranker, "kernel", "precomputed")
        if options.get("kernel") is not None and kernel != "precomputed":
            raise ValueError(
                f"a kernel= of the nodes needs a ranker with kernel='precomputed', got {kernel!r}: "
                "TableRanker(ConditionalRanker(kernel='precomputed'))"
            )

    def _ranker(self, graph: RelationGraph) -> Any:
        ranker = _default_ranker(graph) if self.ranker is None else self.ranker
        if not isinstance(ranker, Ranker):
            raise ValueError(f"ranker must be a ConditionalRanker or another ranker, got {type(ranker).__name__}")
        return ranker

    def _make_transformer(self, graph: RelationGraph) -> NodeTransformer | None:
        tables = any(isinstance(nodes.base, Table) for nodes in (graph.nodes, graph.objects))
        if not tables and (self.encoder in (None, "passthrough") or _is_kernel(self.ranker)):
            return None
        return make_transformer(graph, self.encoder, self.object_encoder)

    def _know(self, graph: RelationGraph, encoded: RelationGraph) -> None:
        """Keep the nodes that can be ranked by id: all of the graph, or those of the kernel that the model holds."""
        is_kernel = _is_kernel(self.ranker_)
        known = []
        for side, (raw, nodes) in enumerate(((graph.nodes, encoded.nodes), (graph.objects, encoded.objects))):
            if side and not graph.is_two_domain:
                known.append(known[0])
                continue
            if is_kernel:
                model = fitted_of(self.ranker_).model
                rows, cols = model.rows.nodes, model.cols.nodes
                nodes = rows if (side == 0) == (self.ranker_.rank_by == "outgoing") else cols
            table = raw.rows if isinstance(raw.base, Table) else None
            encoder = (self.encoder_, self.object_encoder_)[side]
            known.append(KnownNodes(nodes, encoder, table, None if table is None else table.id_name, is_kernel))
        self._set_known(*known)

    def _set_known(self, nodes: KnownNodes, objects: KnownNodes) -> None:
        sides = (nodes, objects) if self.ranker_.rank_by == "outgoing" else (objects, nodes)
        self._queries, self._objects = sides

    def _read_objects(self, objects: Any) -> tuple[Nodes | None, Ids]:
        """Objects to score, None for those that the model was trained on, and their ids."""
        known = self._objects
        if objects is None:
            return (None if len(fitted_of(self.ranker_).objects) == len(known.nodes) else known.nodes), known.names
        nodes, ids = known.read(objects, "objects")
        return nodes, Ids(np.arange(len(nodes)) if ids is None else ids)


def _is_kernel(ranker: Any) -> bool:
    return getattr(ranker, "kernel", None) == "precomputed"


def _default_ranker(graph: RelationGraph) -> ConditionalRanker:
    """Games are reciprocal, and their strengths a linear kernel only has with a constant."""
    if not graph.is_two_domain and graph.relation.two_way and graph.is_reciprocal and not graph.is_symmetric:
        return ConditionalRanker("reciprocal", constant=True)
    return ConditionalRanker()
