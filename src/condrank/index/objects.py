"""`ObjectIndex`: objects that are prepared once and ranked for any conditioning node."""

from __future__ import annotations

import copy
import threading
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from condrank.base.checks import check_choice, check_count, check_ids
from condrank.fitting.known import is_known, known_rows
from condrank.frames.ids import Ids
from condrank.graph import RelationGraph
from condrank.index.approximate import ApproximateSearch, check_recall
from condrank.index.exact import search, search_each
from condrank.index.growing import GrowingRows
from condrank.index.names import Names, look_up
from condrank.index.reading import check_scored, named, object_nodes
from condrank.index.snapshot import Snapshot
from condrank.index.vectors import ModelScores, VectorScores, known_by_place
from condrank.models.inner_products import InnerProducts
from condrank.nodes import Nodes
from condrank.nodes.checking import positions
from condrank.persistence.arrays import Arrays, Held
from condrank.rankers.base import fitted_of, read_pair, read_side
from condrank.rankers.ranking import ORDERS, Ranking, ranking_of
from condrank.rankers.restrictions import Restriction, read_choice


class ObjectIndex:
    """Objects prepared for many rankings with a fitted ranker; made by ``ranker.index``. Ranks as ``ranker.rank`` does.

    If scores are inner products, the vector of every object is stored once, and a search is one matrix product with
    the vectors Wᵀz(v) of the conditioning nodes. Otherwise the model scores the objects, one block at a time.

    The position of an object is its number in the order of adding. It does not change if others are removed, and is
    never used again. Any number of threads may call `top` at a time, also while another adds or removes objects.

    Attributes
    ----------
    kind : {"exact", "approximate"}
        How objects are found.
    ranker : Ranker
        The ranker as it was when the index was made.
    """

    def __init__(self, ranker: Any, objects: Any, ids: Any, kind: str, recall: float):
        self.ranker = copy.copy(ranker)  # fitting the ranker again must not change the index
        fitted = fitted_of(ranker)
        scorer = fitted.model
        recall = check_recall(recall)
        nodes = object_nodes(ranker, objects)
        if nodes is not None and not isinstance(objects, Nodes):
            nodes = named(nodes, ids)
        if nodes is None and not len(fitted.objects):
            raise ValueError("objects must be given: this ranker does not keep its training objects")
        names = (fitted.objects if nodes is None else nodes).ids if ids is None else ids
        n = len(fitted.objects if nodes is None else nodes)
        names = None if names is None else check_ids(names, n, "ids")
        products = InnerProducts(scorer) if InnerProducts.applies(scorer) else None
        if products is None:
            if kind == "approximate" and known_by_place(scorer):
                raise ValueError(
                    "kind='approximate' needs a model that scores new nodes, and keeps its training nodes; the scores "
                    f"of this {type(ranker).__name__} are those of its training nodes alone; use kind='exact'"
                )
            held: Any = (nodes,)
            check_scored(scorer, nodes)
        else:
            held = products.of_objects(nodes)
        self._set(products, Snapshot(held, n, np.zeros(0, dtype=np.intp), names), None)
        self._by_position = nodes is None and (names is None or ids is not None)
        if kind == "approximate":
            one_domain = getattr(scorer, "rows", None) is getattr(scorer, "cols", None)
            known, alike = self._training_nodes(), nodes if one_domain else None
            self._near = ApproximateSearch.fit(self._scores, products, known, alike, held, n, recall)

    def _set(self, products: InnerProducts | None, held: Snapshot, near: ApproximateSearch | None) -> None:
        self._products, self._held, self._near = products, held, near
        self._changing = threading.Lock()
        self._rows = GrowingRows()
        self._names = None if held.ids is None else Names(held.ids, held.gone)

    def __getstate__(self) -> dict[str, Any]:
        with self._changing:
            arrays = Arrays()
            near = None if self._near is None else (self._near.to_state(arrays), arrays.named)
            state = {"ranker": self.ranker, "products": self._products, "held": self._held, "near": near}
            return state | {"by_position": self._by_position}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.ranker, self._by_position = state["ranker"], state["by_position"]
        self._set(state["products"], state["held"], None)
        if state["near"] is not None:
            given, stored = state["near"]
            held, objects = stored if isinstance(stored, Held) else Held(dict(stored)), self._held
            self._near = ApproximateSearch.from_state(
                given, held, self._scores, self._training_nodes(), objects.objects, objects.n
            )

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """The objects and the lists of an approximate index, without the ranker."""
        with self._changing:
            given = self._held.to_state(arrays, fitted_of(self.ranker).model)
            near = None if self._near is None else self._near.to_state(arrays.under("near"))
            given |= {"by_position": True} if self._by_position else {}
            return given | ({"graph": None} if near is None else {"near": near})  # exact ones as in version 1

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, ranker: Any) -> ObjectIndex:
        """A stored index of a fitted ranker."""
        scorer = fitted_of(ranker).model
        products = InnerProducts(scorer) if InnerProducts.applies(scorer) else None
        objects = Snapshot.from_state(given, held, products, len(fitted_of(ranker).objects))
        near = (given["near"], held.under("near")) if "near" in given else None
        index = cls.__new__(cls)
        made = {"ranker": ranker, "products": products, "held": objects, "near": near}
        index.__setstate__(made | {"by_position": given.get("by_position") is True})
        return index

    def _training_nodes(self) -> Nodes | None:
        """Training nodes as conditioning nodes, if the model keeps them."""
        rows = getattr(fitted_of(self.ranker).model, "rows", None)
        return None if rows is None or not len(rows.nodes) else rows.nodes

    @property
    def kind(self) -> str:
        """How objects are found."""
        return "exact" if self._near is None else "approximate"

    @property
    def ids(self) -> Any:
        """Ids of the objects in the index, in the order of adding; None if they have no ids."""
        held = self._held
        return None if held.ids is None else np.delete(held.ids, held.gone)

    @property
    def version(self) -> tuple[int, int]:
        """Positions given and removed so far: another pair of numbers after every change."""
        held = self._held
        return held.n, len(held.gone)

    def __len__(self) -> int:
        return self._held.n - len(self._held.gone)

    def __repr__(self) -> str:
        return f"ObjectIndex({len(self):,} objects, {self.kind})"

    def top(
        self,
        queries: Any = None,
        k: int = 10,
        *,
        ids: Any = None,
        exclude: Any = None,
        candidates: Any = None,
        order: str = "best",
    ) -> Ranking:
        """The k best objects for each conditioning node, best first. Equal scores are ordered by position.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features), dict of views, sequence of ids, or RelationGraph
            Conditioning nodes, as for ``ranker.predict``.
        k : int
            Number of objects in each ranking. If every conditioning node has fewer objects, rankings are shorter.
        ids : sequence, optional
            Training nodes as conditioning nodes, instead of queries: by id, or by position if they have no ids.
        exclude, candidates : sequence, or sequence of n_queries sequences, optional
            Objects to leave out, and the only objects to rank, for all conditioning nodes or for each: by id, or by
            position if the objects have no ids. Excluding an unknown id or a removed object is no error; a position
            that no object ever had is one. Candidates are always ranked exactly. ``exclude="known"`` leaves out what
            a node has an edge with in the training graph.
        order : {"best", "worst"}
            Whether the k best objects are found, best first, or the k worst, worst first.

        Returns
        -------
        Ranking
            If a conditioning node has fewer objects than another, its last places have index -1, score -∞ and id None
            (``ids`` then has dtype object).
        """
        k = check_count("k", k)
        check_choice("order", order, ORDERS)
        held, nodes = self._held, self._queries(queries, ids)
        restriction, each = self._restriction(held, nodes, exclude, candidates)
        k = min(k, held.n - len(held.gone))
        scores = self._scores(nodes, held.objects)
        scores = scores.negated() if order == "worst" else scores
        if each is not None:
            places, values = search_each(scores, k, restriction, each)
        elif restriction.columns is None and self._near is not None:
            places, values = self._near.search(scores, k, held.n, restriction)
        else:
            places, values = search(scores, k, restriction)
        return ranking_of(places, values, held.ids, nodes.ids, order)

    def recall(self, queries: Any = None, k: int = 10, *, ids: Any = None) -> float:
        """Share of the exact k best objects that `top` finds, over all given conditioning nodes."""
        held, nodes = self._held, self._queries(queries, ids)
        k = min(check_count("k", k), held.n - len(held.gone))
        if self._near is None:
            return 1.0
        scores, restriction = self._scores(nodes, held.objects), Restriction.of(held.gone, None, None)
        exact, _ = search(scores, k, restriction)
        found, _ = self._near.search(scores, k, held.n, restriction)
        return sum(len(np.intersect1d(*pair)) for pair in zip(exact, found, strict=True)) / max(1, exact.size)

    def add(self, objects: Any, ids: Any = None) -> np.ndarray:
        """Add objects. Every `top` that begins afterwards finds them. The id of a removed object may be used again.

        Parameters
        ----------
        objects : array-like of shape (n_objects, n_features), or dict of views
            Objects, as for ``ranker.predict``.
        ids : sequence, optional
            Their ids; needed if the other objects have ids.

        Returns
        -------
        ndarray of int
            Their positions.
        """
        nodes = named(read_side(self.ranker, objects, "objects"), ids)
        with self._changing:
            held = self._held
            if (ids is None) != (self._names is None):
                need = "have no ids: leave ids out" if ids is not None else "have ids: pass ids for the new ones too"
                raise ValueError(f"the objects of the index {need}")
            new = None if self._names is None else self._names.check_new(ids, len(nodes))
            if self._products is None:
                check_scored(fitted_of(self.ranker).model, nodes)
                new_objects: Any = (nodes,)
                joined: Any = (*held.objects, nodes)
            else:
                new_objects = self._products.of_objects(nodes)
                joined = self._rows.joined(held.objects, new_objects)
            if self._near is not None:
                self._near.add(new_objects, len(nodes))
            n = held.n + len(nodes)
            if self._names is not None and new is not None:
                self._names.add(new)
            self._held = Snapshot(joined, n, held.gone, None if self._names is None else self._names.ids)
            return np.arange(held.n, n)

    def remove(self, ids: Any) -> None:
        """Remove objects by id, or by position if they have no ids. No `top` that begins afterwards finds them.

        If one of them is not in the index, none is removed. Their vectors stay in memory until a new index is made.
        """
        with self._changing:
            held = self._held
            common, each = read_choice(ids, 0, "ids", look_up(self._names, held.n, held.gone, "ids", strict=True))
            if common is None or each is not None:
                raise ValueError(f"ids must be a flat sequence of objects, got {ids!r}")
            if self._names is not None:
                self._names.remove(common)
            self._held = replace(held, gone=np.union1d(held.gone, common))

    def save(self, path: Any) -> None:
        """Write the index and its ranker to one file of plain arrays. If that fails, an older file stays as it was.

        Parameters
        ----------
        path : path-like
            The file; or a folder (an existing one, or a path with a trailing slash), for ``index.safetensors`` in it.
        """
        from condrank.index.storing import save_index

        save_index(self, path)

    @classmethod
    def load(cls, path: Any, mmap: bool = False) -> ObjectIndex:
        """Load a saved index. A truncated, damaged or newer file raises a ValueError.

        Parameters
        ----------
        path : path-like
            File or folder, as given to `save`.
        mmap : bool
            Read arrays only when they are used. Their checksums are then not compared. An approximate index reads all
            vectors once, to make its lists.
        """
        from condrank.index.storing import load_index

        return load_index(cls, path, mmap)

    def _queries(self, queries: Any, ids: Any) -> Nodes:
        if (queries is None) == (ids is None):
            raise ValueError("pass either queries, or ids of training nodes as conditioning nodes")
        if isinstance(queries, RelationGraph):
            return read_pair(self.ranker, queries, None)[0]
        if queries is not None:
            return read_side(self.ranker, queries, "queries")
        rows = getattr(fitted_of(self.ranker).model, "rows", None)
        if rows is None:
            raise ValueError(
                f"ids cannot be used: a {type(self.ranker).__name__} does not keep its conditioning nodes; pass queries"
            )
        return rows.nodes.take(positions(ids, rows.nodes, "ids", self._trained_on))

    @cached_property
    def _trained_on(self) -> Ids | None:
        """Ids of the training nodes as conditioning nodes, prepared once for look-ups."""
        ids = fitted_of(self.ranker).model.rows.nodes.ids
        return None if ids is None else Ids(ids)

    def _scores(self, nodes: Nodes, objects: Any) -> VectorScores | ModelScores:
        """Scores of conditioning nodes for objects, which are as a snapshot holds them."""
        if self._products is None:
            return ModelScores(fitted_of(self.ranker).model, nodes, objects, len(fitted_of(self.ranker).objects))
        return VectorScores(*self._products.of_queries(nodes, objects.dtype), objects)

    def _restriction(
        self, held: Snapshot, nodes: Nodes, exclude: Any, candidates: Any
    ) -> tuple[Restriction, list[np.ndarray] | None]:
        """What to leave out, and the candidates of each conditioning node if they are given for each."""
        there = self._names, held.n, held.gone
        if is_known(exclude):
            excluded = None, self._known(held, nodes)
        else:
            excluded = read_choice(exclude, len(nodes), "exclude", look_up(*there, "exclude", strict=False))
        restriction = Restriction.of(held.gone, *excluded)
        common, each = read_choice(candidates, len(nodes), "candidates", look_up(*there, "candidates", strict=True))
        return restriction if common is None else restriction.among(common), each

    def _known(self, held: Snapshot, nodes: Nodes) -> list[np.ndarray]:
        """Positions of the objects that each conditioning node has an edge with in training."""
        objects = fitted_of(self.ranker).objects
        known, rows = known_rows(fitted_of(self.ranker), nodes)
        found = np.full(held.n, -1)
        if self._by_position:
            found[: len(objects)] = np.arange(len(objects))
        elif self._names is not None and objects.ids is not None:
            places = self._names.places(objects.ids, held.n)
            found[places[places >= 0]] = np.flatnonzero(places >= 0)
        found[held.gone] = -1
        return known.places(rows, found, len(objects))
