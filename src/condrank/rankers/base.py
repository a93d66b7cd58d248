"""What every ranker offers once it is fitted: scores, rankings and a score of its own, made in blocks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from condrank.base.blocks import row_blocks
from condrank.base.checks import check_choice, check_count
from condrank.exceptions import RelationWarning
from condrank.graph import RelationGraph
from condrank.metrics import pair_counts
from condrank.nodes import Nodes
from condrank.nodes.checking import check_features
from condrank.objective.relations import ORDINARY, RECIPROCAL, Relation
from condrank.observations import Edges, Observations
from condrank.rankers.ranking import Ranking, rank_objects

if TYPE_CHECKING:
    from condrank.index import ObjectIndex

#: Most labels of a complete relation that are looked through for something to rank: of more, it would take its time.
FEW_LABELS = 1_000_000
NOTHING_TO_RANK = "no conditioning node has two objects with different relation values: nothing to rank"


class Scorer(Protocol):
    """Whatever scores objects conditioned on nodes; `condrank.models.model.Model` is one."""

    def blocks(self, queries: Nodes | None, objects: Nodes | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of all objects, a block of conditioning nodes at a time; None: the training nodes."""
        ...


class Ranker(BaseEstimator):
    """Base of the rankers: subclasses fit a `Scorer` and keep it, and the training objects, as ``_set_fitted`` does."""

    rank_by = "outgoing"

    def predict(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Scores of objects conditioned on nodes; a higher score is a better rank.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features), or RelationGraph
            Conditioning nodes, known or new; kernel values against the training nodes for ``kernel="precomputed"``.
            A graph stands for all pairs of its nodes.
        objects : array-like of shape (n_objects, n_features), optional
            Objects to rank, known or new; by default the training nodes.

        Returns
        -------
        ndarray of shape (n_queries, n_objects)
        """
        scorer = self._fitted()
        first, second = self._pair(queries, objects)
        n_queries, n_objects = len(first), len(self._objects if second is None else second)
        if n_queries == 0 or n_objects == 0:
            return np.empty((n_queries, n_objects))
        out = None
        for block, scores in scorer.blocks(first, second):
            if len(scores) == n_queries:
                return scores
            if out is None:
                out = np.empty((n_queries, n_objects), dtype=scores.dtype)
            out[block] = scores
        assert out is not None
        return out

    def predict_edges(self, queries: Any, objects: Any) -> np.ndarray:
        """Scores of aligned pairs: of ``objects[i]`` conditioned on ``queries[i]``, (n_pairs,)."""
        return self._of_pairs(Nodes(check_features(queries, "queries")), Nodes(check_features(objects, "objects")))

    def _of_pairs(self, first: Nodes, second: Nodes) -> np.ndarray:
        scorer = self._fitted()
        if len(first) != len(second):
            raise ValueError(f"queries and objects must be aligned, got {len(first)} and {len(second)}")
        # Small squares, of which the diagonal is kept: a pair costs no more than its coordinates do.
        parts = []
        for square in row_blocks(len(first), 1, budget=64):
            rows = [scores for _, scores in scorer.blocks(first.block(square), second.block(square))]
            parts.append(np.diagonal(np.concatenate(rows)))
        return np.concatenate(parts)

    def rank(self, queries: Any, objects: Any = None, top: int = 10) -> Ranking:
        """The ``top`` objects for each conditioning node, best first; scores are made and dropped in blocks.

        Parameters are those of `predict`; ``top`` is cut to the number of objects.
        """
        scorer = self._fitted()
        top = check_count("top", top)
        first, second = self._pair(queries, objects)
        return rank_objects(scorer, first, second, top, self._objects if second is None else second)

    def index(
        self,
        objects: Any = None,
        ids: Any = None,
        *,
        kind: str = "exact",
        connectivity: int = 16,
        expansion: int = 128,
    ) -> ObjectIndex:
        """Objects held ready to be ranked again and again: ``ranker.index(objects).top(queries, k)`` is as `rank`.

        Parameters
        ----------
        objects : array-like of shape (n_objects, n_features), or RelationGraph, optional
            Objects to rank, known or new, or those of a graph; by default the training objects. Features of a linear
            kernel are not copied and must not change while the index is in use.
        ids : sequence of length n_objects, optional
            Their names; by default those of the graph.
        kind : {"exact", "approximate"}
            Score every object; or find most of the best ones in a graph of objects (needs usearch), see
            `condrank.index.ObjectIndex.recall`.
        connectivity, expansion : int
            Of an approximate index: connections of an object, and objects kept in sight while
            building and searching: more of each finds more, and takes longer.
        """
        from condrank.index import GraphSettings, ObjectIndex

        self._fitted()
        check_choice("kind", kind, ("exact", "approximate"))
        graph = GraphSettings(connectivity, expansion).checked() if kind == "approximate" else None
        return ObjectIndex(self, objects, ids, graph)

    def score(self, X: Any, Y: Any = None) -> float:
        """1 - rank loss, pooled over conditioning nodes, on all pairs of the given nodes (setting 4 if they are new).

        Parameters
        ----------
        X : RelationGraph, or array-like or scipy sparse array of shape (n_nodes, n_features)
            A graph; or features (for ``kernel="precomputed"`` kernel values against the training nodes).
        Y : array-like or scipy sparse array of shape (n_nodes, n_nodes), optional
            Relation values when X is features; NaN where not known.
        """
        scorer = self._fitted()
        graph = as_graph(X, Y)
        return 1.0 - pooled_rank_loss(scorer, *self._sides(graph), self._conditioned(graph))

    def _set_fitted(self, scorer: Scorer, nodes: Nodes, objects: Nodes) -> None:
        """Keep the scorer, and the training objects for their number and their ids."""
        self._model, self._objects = scorer, objects
        self.n_features_in_ = nodes.base.shape[1]

    def _fitted(self) -> Any:
        check_is_fitted(self, "n_features_in_")
        return self._model

    def _sides(self, graph: RelationGraph) -> tuple[Nodes, Nodes]:
        """Conditioning nodes and objects of a graph."""
        return (graph.nodes, graph.objects) if self.rank_by == "outgoing" else (graph.objects, graph.nodes)

    def _conditioned(self, graph: RelationGraph) -> Observations:
        """The relation with a row for each conditioning node."""
        return graph.relation if self.rank_by == "outgoing" else graph.relation.transpose()

    def _pair(self, queries: Any, objects: Any) -> tuple[Nodes, Nodes | None]:
        """Conditioning nodes and objects to score."""
        if isinstance(queries, RelationGraph):
            if objects is not None:
                raise ValueError("objects must be left out when queries is a RelationGraph, which has its own")
            refuse_raw(queries)
            return self._sides(queries)
        first = Nodes(check_features(queries, "queries"))
        if objects is None:
            if not len(self._objects):
                raise ValueError(
                    "objects must be given: partial_fit keeps sums over the nodes it has seen, not the nodes"
                )
            return first, None
        return first, first if objects is queries else Nodes(check_features(objects, "objects"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags


def as_graph(X: Any, Y: Any) -> RelationGraph:
    """The graph itself, or one made of features and relation values."""
    if isinstance(X, RelationGraph):
        if Y is not None:
            raise ValueError("Y must be left out when X is a RelationGraph, which has its own relation")
        refuse_raw(X)
        return X
    if Y is None:
        raise ValueError("Y is missing: pass the relation values between the nodes, or a RelationGraph as X")
    graph = RelationGraph(X, Y)
    refuse_raw(graph)
    return graph


def refuse_raw(graph: RelationGraph) -> None:
    """A ranker needs numbers: say how texts and tables become some."""
    for nodes in (graph.nodes, graph.objects):
        if not nodes.is_raw:
            continue
        if not isinstance(nodes.base, np.ndarray):
            raise ValueError(
                "the nodes are a table, and a ranker needs features: use a TableRanker(ranker), or encode them in a "
                "pipeline, make_pipeline(NodeTransformer(TableEncoder()), ranker)"
            )
        raise ValueError(
            "the nodes are texts, and a ranker needs features: encode them in a pipeline, for example "
            "make_pipeline(NodeTransformer(TfidfVectorizer()), ranker)"
        )


def pooled_rank_loss(scorer: Scorer, queries: Nodes, objects: Nodes, truth: Observations) -> float:
    """Rank loss pooled over conditioning nodes; neither the truth nor the scores are held whole."""
    wrong, comparable = 0.0, 0
    for block, scores in scorer.blocks(queries, objects):
        lost, pairs = pair_counts(truth.to_dense(block), scores)
        wrong, comparable = wrong + float(lost.sum()), comparable + int(pairs.sum())
    if comparable == 0:
        raise ValueError(NOTHING_TO_RANK)
    return wrong / comparable


def rankable(truth: Observations) -> bool:
    """Some conditioning node has two objects with different labels."""
    for block in row_blocks(*truth.shape):
        labels = truth.to_dense(block)
        known = ~np.isnan(labels)
        if np.any(np.where(known, labels, -np.inf).max(axis=1) > np.where(known, labels, np.inf).min(axis=1)):
            return True
    return False


def warn_of_nothing_to_rank(observed: Observations, stacklevel: int = 3) -> None:
    """Say that the ranking loss sees nothing where no conditioning node has two different labels."""
    if isinstance(observed, Edges):
        starts = observed.indptr[:-1][np.diff(observed.indptr) > 0]
        ranks = np.any(np.maximum.reduceat(observed.values, starts) > np.minimum.reduceat(observed.values, starts))
    else:
        ranks = observed.shape[0] * observed.shape[1] > FEW_LABELS or rankable(observed)
    if not ranks:
        warnings.warn(
            f"{NOTHING_TO_RANK}, so that loss='ranking' learns nothing; use loss='regression', or 'logistic' for games",
            RelationWarning,
            stacklevel=stacklevel,
        )


def warn_of_no_scores(W: Any, relation: Relation, stacklevel: int = 3) -> None:
    """Say that a skew-symmetric W of a single coordinate is zero, whatever the data."""
    if relation is RECIPROCAL and W.shape == (1, 1):
        warnings.warn(
            "a reciprocal relation of a single linear feature has no scores but zero, as h(v, v') = w x x' must be "
            "-h(v', v); use constant=True, which adds strengths, or another kernel",
            RelationWarning,
            stacklevel=stacklevel,
        )


def warn_of_disagreement(graph: RelationGraph, relation: Relation, stacklevel: int = 3) -> None:
    """As in the paper, the symmetric or skew part is learned of a relation that is not quite so."""
    if relation is ORDINARY:
        return
    gap = graph.disagreement(relation.sign, graph.centre if relation is RECIPROCAL else 0.0)
    if gap > 1e-6:
        part = "symmetric" if relation.sign > 0 else "skew-symmetric"
        warnings.warn(
            f"relation={relation.name!r}, but the two directions of some pairs disagree by up to {gap:.2g} of the "
            f"largest label; the {part} part is learned",
            RelationWarning,
            stacklevel=stacklevel,
        )
