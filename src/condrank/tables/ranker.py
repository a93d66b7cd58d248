"""TableRanker: encoder, ranker and ids in one object, from tables to rankings of ids."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from condrank.base.checks import check_count
from condrank.fitting.known import is_known, known_places
from condrank.fitting.plan import Plan
from condrank.frames.ids import Ids
from condrank.frames.table import Table
from condrank.graph import RelationGraph
from condrank.graph.transformer import NodeTransformer
from condrank.nodes import Nodes
from condrank.rankers.aligned import finite_pairs
from condrank.rankers.base import Ranker, fitted_of
from condrank.rankers.intervals import recalibrated as recalibrate
from condrank.rankers.ranking import Ranking, finite_blocks, rank_objects, without_self
from condrank.rankers.restrictions import joined, read_restriction
from condrank.rankers.uncertain import with_std
from condrank.tables.defaults import default_ranker
from condrank.tables.explained import TableExplained
from condrank.tables.graphs import as_graph_of_tables
from condrank.tables.intervals import TableIntervals
from condrank.tables.known import know
from condrank.tables.transformers import (
    check_kernels,
    check_matrices,
    fitted_transformer,
    imputes,
    make_transformer,
    takes_matrix,
)
from condrank.tables.uncertain import UncertainTables

if TYPE_CHECKING:
    from condrank.tables.index import TableIndex
    from condrank.tables.searched import Searched


class TableRanker(TableIntervals, TableExplained, UncertainTables):
    """A ranker of tables: it learns from a table of nodes and one of edges, and ranks by id or by columns of new nodes.

    Parameters
    ----------
    ranker : ConditionalRanker, ConditionalRankerCV, RankerSearch or a baseline, optional
        Ranks the encoded nodes. By default a `condrank.model_selection.RankerSearch` chooses it within ``time_limit``,
        judged on new nodes (setting 4), beside baselines; ``search_.summary_`` says what it found. Games keep the
        logistic loss and a strength for each node.
    encoder : TableEncoder, "passthrough" or another transformer, optional
        Makes features of the nodes' columns; it is fitted on the training nodes. By default ``TableEncoder()``, which
        standardises numbers. "passthrough": numbers as they are. Graphs of plain features or texts are encoded only if
        an encoder is given, kernels never.
    object_encoder : optional
        The same for the objects of a second domain; by default a copy of ``encoder``.
    impute : {"median", "mean", "most_frequent", "constant"}, optional
        How missing values of nodes are filled in, as for `TableEncoder`; by default they are an error.
    time_limit : float, optional
        Seconds for the search; None for no limit. 0 fits one sensible model without a search: relation and loss by the
        labels, kernels by the columns (`condrank.tables.default_kernel`), strengths of the nodes, λ on held-out data.
        So does a table that is too small to hold nodes out.

    Attributes
    ----------
    ranker_ : estimator
        The fitted ranker; it takes encoded nodes.
    encoder_, object_encoder_ : TableEncoder or None
        Fitted encoders of ``nodes`` and ``objects``; None if there was nothing to encode.
    queries_, objects_ : KnownNodes
        The conditioning nodes and the objects of training: encoded nodes, ids, columns and encoder.
    query_ids_, object_ids_ : ndarray
        Their ids.
    graph_ : RelationGraph
        The training graph; a loaded ranker has none.
    search_ : Searched or None
        What a search has found: ``leaderboard_``, ``summary_``, ``loss_``, ``loss_error_`` and ``learned_``, also of a
        loaded ranker; None without a search.

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

    graph_: RelationGraph
    search_: Searched | None

    def __init__(
        self,
        ranker: Any = None,
        encoder: Any = None,
        object_encoder: Any = None,
        impute: str | None = None,
        time_limit: float | None = 60.0,
    ):
        self.time_limit = time_limit
        self.ranker = ranker
        self.encoder = encoder
        self.object_encoder = object_encoder
        self.impute = impute

    def fit(self, nodes: Any, edges: Any = None, **options: Any) -> TableRanker:
        """Learn from tables, or from a graph. The nodes are encoded once.

        Parameters
        ----------
        nodes : path-like, frame or RelationGraph
            The table of nodes; or a graph, from `condrank.tables.read_graph` or any other.
        edges : path-like or frame
            The table of edges, unless ``nodes`` is a graph.
        **options
            Names of columns and other options, as for `RelationGraph.from_frame`: ``views``, ``kernel`` (a matrix),
            ``object_views`` and ``object_kernel`` among them. The expressions of kernels are those of the ranker; if
            none is given, they follow from the columns.
        """
        from condrank.tables.searched import is_search, run_search

        graph = self._read("fit", nodes, edges, options)
        ranker: Any = clone(self._ranker(graph))
        transformer = self._make_transformer(graph, ranker)
        encoded, encoders, self.search_ = graph, (None, None), None
        if is_search(ranker):
            ranker, encoded, transformer, self.search_ = run_search(ranker, graph, transformer, self._encoders)
        else:
            encoded = graph if transformer is None else transformer.fit(graph).transform(graph)
            ranker.fit(encoded)
        if transformer is not None:
            encoders = transformer.transformer_, transformer.object_transformer_
        self.ranker_, self.graph_ = ranker, graph
        self.queries_, self.objects_ = self._in_order(*know(graph, encoded, encoders, self._sides()))
        return self

    def rank(
        self,
        queries: Any,
        objects: Any = None,
        top: int = 10,
        *,
        exclude_self: bool = True,
        exclude: Any = None,
        candidates: Any = None,
        order: str = "best",
        return_std: bool = False,
    ) -> Ranking:
        """The ``top`` objects for each conditioning node, best first, by id.

        Parameters
        ----------
        queries : sequence of ids, or table
            Known nodes by id (a string is one id); or new ones as a frame, a `Path` to a file, a dict of columns or a
            list of dicts, with the columns of training and perhaps their ids. With ``kernel="precomputed"`` new nodes
            are rows of kernel values against the training nodes. New nodes with views are a dict of such tables, one
            for each view. A new node with the id of a known one is recognised, for kernels with ``Identity()``.
        objects : sequence of ids, or table, optional
            Objects to rank, given in the same ways; by default those of training.
        top : int
            Length of a ranking; at most the number of objects.
        exclude_self : bool
            Leave a node out of its own ranking. A ranking then has at most one object fewer than there are.
        exclude, candidates : sequence of ids, or sequence of n_queries sequences, optional
            Objects to leave out, and the only objects to rank, for all conditioning nodes or for each. Excluding an
            unknown id is no error. If a conditioning node has fewer objects than another, its last places have index
            -1, score -∞ and id None. ``exclude="known"`` leaves out what a node has an edge with in training.
        order : {"best", "worst"}
            Whether the best objects come first, or the worst.
        return_std : bool
            Whether the ranking has ``std`` and ``top_probability``, as `ConditionalRanker.rank` says.
        """
        top = check_count("top", top)
        check_is_fitted(self, "ranker_")
        first, query_ids = self.queries_.read(queries, "queries")
        second, names = self.read_objects(objects)
        itself = np.full(len(first), -1)
        if exclude_self and query_ids is not None and self.queries_ is self.objects_:
            itself = names.places(query_ids)
        scorer, named = fitted_of(self.ranker_).model, Nodes(names.ids[:, None], None, names.ids)
        also = [place[place >= 0] for place in itself[:, None]]
        known = is_known(exclude)
        if known:
            known_objects = fitted_of(self.ranker_).objects if second is None else second
            also, exclude = joined(also, known_places(fitted_of(self.ranker_), first, known_objects)), None
        if exclude is not None or candidates is not None or known or return_std:
            limits = read_restriction(exclude, candidates, names, len(names), len(first), also)
            found = rank_objects(scorer, first, second, top, named, order, *limits)
            found = Ranking(found.indices, found.scores, found.ids, query_ids)
            return with_std(fitted_of(self.ranker_), found, first, second, order, *limits) if return_std else found
        excludes = bool((itself >= 0).any())
        ranked = rank_objects(scorer, first, second, top + excludes, named, order)
        indices, scores = ranked.indices, ranked.scores
        if excludes:
            indices, scores = without_self(itself, indices, scores, min(top, len(names) - 1))
        return Ranking(indices, scores, names.ids[indices], query_ids)

    def index(self, objects: Any = None, *, kind: str = "exact", recall: float = 0.95) -> TableIndex:
        """Prepare objects for many rankings by id: ``ranker.index().top(queries, k)`` ranks as `rank` does.

        Objects can be added and removed, and the index is saved with the ranker.

        Parameters
        ----------
        objects : sequence of ids, or table, optional
            Objects to rank, given as for `rank`, with ids; by default those of training.
        kind, recall
            As for `ConditionalRanker.index`.
        """
        from condrank.tables.index import TableIndex

        check_is_fitted(self, "ranker_")
        nodes, names = self.read_objects(objects)
        ids = None if nodes is None and fitted_of(self.ranker_).objects.ids is not None else names.ids
        return TableIndex(copy.copy(self), self.ranker_.index(nodes, ids, kind=kind, recall=recall))

    def known_objects(self, queries: Any) -> list[np.ndarray]:
        """Ids of the objects that each conditioning node, given as for `rank`, has an edge with in training."""
        check_is_fitted(self, "ranker_")
        first, _ = self.queries_.read(queries, "queries")
        places = known_places(fitted_of(self.ranker_), first, self.objects_.nodes)
        return [self.objects_.names.ids[one] for one in places]

    def predict(self, queries: Any, objects: Any = None, return_std: bool = False) -> Any:
        """Scores of objects conditioned on nodes, (n_queries, n_objects); given as for `rank`, or as a graph.

        With ``return_std`` also their standard deviations, as `ConditionalRanker.predict` says.
        """
        check_is_fitted(self, "ranker_")
        if isinstance(queries, RelationGraph):
            return self.ranker_.predict(self.encode(queries), objects, **({"return_std": True} if return_std else {}))
        first, _ = self.queries_.read(queries, "queries")
        second, names = self.read_objects(objects)
        blocks = [scores for _, scores in finite_blocks(fitted_of(self.ranker_).model, first, second)]
        scores = np.concatenate(blocks) if blocks else np.empty((0, len(names)))
        return (scores, np.sqrt(self.posterior_.variances(first, second))) if return_std else scores

    @available_if(lambda self: getattr(getattr(self, "ranker_", self.ranker), "loss", None) == "logistic")
    def predict_proba(self, queries: Any, objects: Any = None, *, recalibrated: bool = False) -> np.ndarray:
        """Probability that each conditioning node beats each object, as `ConditionalRanker.predict_proba` says."""
        check_is_fitted(self, "ranker_")
        pair = self.queries_.read(queries, "queries")[0], self.read_objects(objects)[0]
        probabilities = self.ranker_.predict_proba(*pair)
        return recalibrate(self.ranker_, probabilities, *pair) if recalibrated else probabilities

    def predict_edges(self, queries: Any, objects: Any) -> np.ndarray:
        """Scores of aligned pairs, ``objects[i]`` conditioned on ``queries[i]``, (n_pairs,); given as for `rank`."""
        check_is_fitted(self, "ranker_")
        pairs = self.queries_.read(queries, "queries")[0], self.objects_.read(objects, "objects")[0]
        return finite_pairs(fitted_of(self.ranker_).model, *pairs)

    def score(self, nodes: Any, edges: Any = None, **options: Any) -> float:
        """1 - rank loss, pooled over conditioning nodes, on a graph or tables as for `fit`."""
        check_is_fitted(self, "ranker_")
        return self.ranker_.score(self.encode(self._read("score", nodes, edges, options)))

    def cross_validate(self, graph: RelationGraph | None = None, setting: int = 4, **options: Any) -> Any:
        """`condrank.model_selection.cross_validate`, with encoders fitted on the training nodes of each fold.

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
                raise ValueError("graph is missing: this ranker was loaded, or not fitted, and has no graph of its own")
            graph = self.graph_
        return cross_validate(self, graph, setting, **options)

    def plan(self, nodes: Any, edges: Any = None, **options: Any) -> Plan:
        """Which solver `fit` will use and why, with its flops and memory; the nodes are encoded for it.

        The plan of a `ConditionalRankerCV` also says how λ will be chosen.
        """
        graph = self._read("plan", nodes, edges, options)
        ranker = default_ranker(graph, self._encoders) if self.ranker is None else self._ranker(graph)
        if not hasattr(ranker, "plan"):
            raise ValueError(f"plan needs a ConditionalRanker, got {type(ranker).__name__}")
        transformer = self._make_transformer(graph, ranker)
        return ranker.plan(graph if transformer is None else transformer.fit(graph).transform(graph))

    def encode(self, graph: RelationGraph) -> RelationGraph:
        """A graph with its nodes encoded like the training nodes."""
        check_is_fitted(self, "ranker_")
        if self.encoder_ is None and self.object_encoder_ is None:
            return graph
        return fitted_transformer(self.encoder_, self.object_encoder_).transform(graph)

    def read_objects(self, objects: Any = None) -> tuple[Nodes | None, Ids]:
        """Encoded objects to score, given as for `rank`, and their ids.

        The nodes are None if they are the objects that the model was trained on, which it has in its own coordinates.
        """
        known = self.objects_
        if objects is None:
            return (None if len(fitted_of(self.ranker_).objects) == len(known.nodes) else known.nodes), known.names
        nodes, ids = known.read(objects, "objects")
        return nodes, Ids(np.arange(len(nodes)) if ids is None else ids)

    def _read(self, method: str, nodes: Any, edges: Any, options: dict[str, Any]) -> RelationGraph:
        """The graph of tables, with missing values only if they will be filled in."""
        if method != "score":
            check_matrices(self.ranker, options)
        encoders = [self.encoder, self.object_encoder] if method != "score" else [self.encoder_, self.object_encoder_]
        if not isinstance(nodes, RelationGraph) and (self.impute is not None or any(map(imputes, encoders))):
            options = {"allow_missing": True} | options
        return as_graph_of_tables(f"TableRanker.{method}", nodes, edges, options)

    @property
    def _encoders(self) -> tuple[Any, Any]:
        """The encoders of nodes and objects that the caller gives."""
        return self.encoder, self.encoder if self.object_encoder is None else self.object_encoder

    def _ranker(self, graph: RelationGraph) -> Any:
        if self.ranker is not None:
            ranker = self.ranker
        elif self.time_limit == 0:
            ranker = default_ranker(graph, self._encoders)
        else:
            from condrank.tables.searched import default_search

            ranker = default_search(graph, self.time_limit, self._encoders)
        if not isinstance(ranker, Ranker):
            raise ValueError(f"ranker must be a ConditionalRanker or another ranker, got {type(ranker).__name__}")
        return ranker

    def _make_transformer(self, graph: RelationGraph, ranker: Any) -> NodeTransformer | None:
        """What encodes the nodes, after a check that they have the views of the ranker's kernels."""
        split = check_kernels(ranker, graph, self._encoders)
        tables = any(isinstance(nodes.base, Table) for nodes in (graph.nodes, graph.objects))
        if not tables and takes_matrix(getattr(self.ranker, "kernel", None)) and not graph.nodes.is_raw:
            return None if not graph.objects.is_raw else make_transformer(graph, "passthrough", self.object_encoder)
        return make_transformer(graph, self.encoder, self.object_encoder, split, self.impute)

    def _sides(self) -> tuple[Any, Any]:
        """Both sides of the fitted model, in the order of a graph."""
        model = fitted_of(self.ranker_).model
        return self._in_order(getattr(model, "rows", None), getattr(model, "cols", None))
