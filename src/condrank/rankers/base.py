"""The base class of rankers: scores and rankings of a fitted ranker, computed in blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.validation import check_is_fitted

from condrank.base.checks import check_choice, check_count
from condrank.base.warn import warn
from condrank.fitting.fitted import Fitted
from condrank.fitting.judging import NothingToRankError, pooled_rank_loss
from condrank.fitting.known import is_known, known_places
from condrank.frames.ids import Ids
from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.nodes.checking import positions
from condrank.nodes.reading import read_nodes
from condrank.rankers.aligned import finite_pairs
from condrank.rankers.checks import as_graph, refuse_raw
from condrank.rankers.ranking import Ranking, finite_blocks, rank_objects
from condrank.rankers.restrictions import Restriction, read_restriction

if TYPE_CHECKING:
    from condrank.index import ObjectIndex


class Ranker(BaseEstimator):
    """Base class of the rankers. Subclasses fit a scorer and keep it in their fitted state.

    Attributes
    ----------
    fitted_ : Fitted
        The fitted state, frozen.
    n_features_in_ : int
        Number of features of a node.
    """

    rank_by = "outgoing"
    fitted_: Any

    def predict(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Scores of objects for conditioning nodes. A higher score is a better rank.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features), dict, sequence of ids, or RelationGraph
            Conditioning nodes, known or new, by their features; for ``kernel="precomputed"`` by kernel values against
            the training nodes; a dict of both for nodes with views. Known nodes can be given by their ids (positions if
            they have none). A graph means all pairs of its nodes.
        objects : array-like of shape (n_objects, n_features), dict, or sequence of ids, optional
            Objects to score, known or new; by default the training nodes.

        Returns
        -------
        ndarray of shape (n_queries, n_objects)
        """
        fitted = fitted_of(self)
        first, second = read_pair(self, queries, objects)
        n_queries, n_objects = len(first), len(fitted.objects if second is None else second)
        if n_queries == 0 or n_objects == 0:
            return np.empty((n_queries, n_objects))
        out = None
        for block, scores in finite_blocks(fitted.model, first, second):
            if len(scores) == n_queries:
                return scores
            if out is None:
                out = np.empty((n_queries, n_objects), dtype=scores.dtype)
            out[block] = scores
        assert out is not None
        return out

    def predict_edges(self, queries: Any, objects: Any) -> np.ndarray:
        """Scores of aligned pairs, shape (n_pairs,): ``objects[i]`` is scored for ``queries[i]``."""
        first, second = (read_side(self, *given) for given in ((queries, "queries"), (objects, "objects")))
        return finite_pairs(fitted_of(self).model, first, second)

    def rank(
        self,
        queries: Any,
        objects: Any = None,
        top: int = 10,
        *,
        exclude: Any = None,
        candidates: Any = None,
        order: str = "best",
    ) -> Ranking:
        """The ``top`` objects for each conditioning node, best first. Scores are computed in blocks and not kept.

        Parameters
        ----------
        queries, objects
            As in `predict`.
        top : int
            Length of a ranking. If there are fewer objects, all are ranked.
        exclude, candidates : sequence, or sequence of n_queries sequences, optional
            Objects to leave out, and the only objects to rank, for all conditioning nodes or for each: by id, or by
            position if the objects have no ids. Excluding an unknown id is no error. If a conditioning node has fewer
            objects than another, its last places have index -1, score -∞ and id None. ``exclude="known"`` leaves out
            what a node has an edge with in the training graph; for a new node nothing is known.
        order : {"best", "worst"}
            Whether the best objects come first, or the worst.
        """
        fitted = fitted_of(self)
        top = check_count("top", top)
        first, second = read_pair(self, queries, objects)
        names = fitted.objects if second is None else second
        limits = self._restricted(exclude, candidates, first, names)
        return rank_objects(fitted.model, first, second, top, names, order, *limits)

    def _restricted(
        self, exclude: Any, candidates: Any, first: Nodes, names: Nodes
    ) -> tuple[Restriction | None, list[np.ndarray] | None]:
        """What `rank` leaves out, and the only objects to rank for each conditioning node."""
        known = None
        if is_known(exclude):
            known, exclude = known_places(fitted_of(self), first, names), None
        if exclude is None and candidates is None and known is None:
            return None, None
        ids = None if names.ids is None else Ids(names.ids)
        return read_restriction(exclude, candidates, ids, len(names), len(first), known)

    def index(
        self,
        objects: Any = None,
        ids: Any = None,
        *,
        kind: str = "exact",
        recall: float = 0.95,
    ) -> ObjectIndex:
        """Prepare objects for many rankings: ``ranker.index(objects).top(queries, k)`` ranks as `rank` does.

        Parameters
        ----------
        objects : array-like of shape (n_objects, n_features), or RelationGraph, optional
            Objects to rank, known or new, or a graph with them; by default the training objects. Features of a linear
            kernel are not copied and must not change while the index is in use.
        ids : sequence of length n_objects, optional
            Ids of the objects; by default those of the graph.
        kind : {"exact", "approximate"}
            "exact" scores every object. "approximate" finds most of the best ones in inverted lists of objects (needs
            faiss); `condrank.index.ObjectIndex.recall` measures how many.
        recall : float
            For an approximate index: the share of the exact ten best objects to find, greater than 0 and at most 1. The
            number of lists to scan is chosen for it by the exact answers to a sample of training nodes; 1 scans all.
        """
        from condrank.index import ObjectIndex

        fitted_of(self)
        check_choice("kind", kind, ("exact", "approximate"))
        return ObjectIndex(self, objects, ids, kind, recall)

    def score(self, X: Any, Y: Any = None) -> float:
        """1 - rank loss on all pairs of the given nodes, pooled over conditioning nodes (setting 4 if they are new).

        The rank loss is the share of the pairs of objects with different relation values that are ordered wrongly; a
        tie in the scores counts one half. NaN, with a warning, if no node has two objects with different values.

        Parameters
        ----------
        X : RelationGraph, or array-like or scipy sparse array of shape (n_nodes, n_features)
            A graph; or features (for ``kernel="precomputed"`` kernel values against the training nodes).
        Y : array-like or scipy sparse array of shape (n_nodes, n_nodes), optional
            Relation values if X is features; NaN, or not stored if sparse, means unknown.
        """
        fitted = fitted_of(self)
        graph = as_graph(X, Y)
        try:
            return 1.0 - pooled_rank_loss(fitted.model, graph.conditioned(self.rank_by))
        except NothingToRankError as error:
            # scikit-learn would turn an error into NaN and a page of traceback, for every fold and candidate.
            warn(
                f"the score is NaN: {error}; if all scores of a search by scikit-learn are NaN, its best_params_ are "
                "only the first that it tried",
                UndefinedMetricWarning,
            )
            return float("nan")

    def _keep(self, fitted: Fitted) -> None:
        """Set the fitted state. Nothing else writes it."""
        self.fitted_ = fitted

    @property
    def n_features_in_(self) -> int:
        """Number of features of a node."""
        return self._state("n_features")

    def _state(self, name: str) -> Any:
        """One part of the fitted state; AttributeError before a fit, as for any fitted attribute."""
        fitted = vars(self).get("fitted_")
        found = None if fitted is None else getattr(fitted, name, None)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags


def fitted_of(ranker: Ranker) -> Any:
    """The fitted state of a ranker; raises NotFittedError before a fit."""
    check_is_fitted(ranker, "fitted_")
    return ranker.fitted_


def read_pair(ranker: Ranker, queries: Any, objects: Any) -> tuple[Nodes, Nodes | None]:
    """Conditioning nodes and objects to score."""
    if isinstance(queries, RelationGraph):
        if objects is not None:
            raise ValueError("objects must be left out when queries is a RelationGraph, which has its own objects")
        refuse_raw(queries)
        return queries.conditioned(ranker.rank_by)[:2]
    first = read_side(ranker, queries, "queries")
    if objects is None:
        if not len(fitted_of(ranker).objects):
            raise ValueError("objects must be given: partial_fit keeps sums over the training nodes, not the nodes")
        return first, None
    return first, first if objects is queries and _one_domain(ranker) else read_side(ranker, objects, "objects")


def read_side(ranker: Ranker, given: Any, name: str) -> Nodes:
    """Conditioning nodes ("queries") or objects: features, views, or known nodes by their ids or positions."""
    model = fitted_of(ranker).model
    side = getattr(model, "rows" if name != "objects" else "cols", None)
    known: Nodes = fitted_of(ranker).objects if side is None else side.nodes
    if isinstance(given, Nodes):
        return given
    if isinstance(given, Mapping) or sparse.issparse(given) or np.ndim(given) != 1:
        kernel = getattr(side, "kernel", None)
        return read_nodes(given, name, known, frozenset() if kernel is None else kernel.matrices)
    if name == "objects" and known.ids is None:
        known = fitted_of(ranker).objects
    kind = getattr(given, "dtype", np.dtype(object)).kind if known.ids is not None else np.asarray(given).dtype.kind
    flat = kind == "f" and known.ids is not None and known.ids.dtype.kind not in "fO"  # features of one node
    if flat or not len(known) or (known.ids is None and kind not in "iu"):
        return read_nodes(np.asarray(given), name)  # raises
    return known.take(positions(given, known, name))


def _one_domain(ranker: Ranker) -> bool:
    model = fitted_of(ranker).model
    return model.rows is model.cols
