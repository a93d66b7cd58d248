"""Approximate search: inverted lists of objects find most of the best ones, and these are scored exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import row_blocks
from condrank.base.checks import check_count, check_number
from condrank.base.measured import (
    BALANCE_SAMPLE_OBJECTS,
    CENTROID_SAMPLE_PER_LIST,
    FOUND_TOGETHER_QUERIES,
    FOUND_VECTORS_ENTRIES,
    LIST_ADDED_OBJECTS,
    LIST_LEAST_OBJECTS_PER_FETCHED,
    LISTS_PER_ROOT,
    RECALL_FETCHED,
    RECALL_SAMPLE_QUERIES,
    RECALL_TOP,
    SCORE_SAMPLE,
)
from condrank.index.coordinates import (
    Coordinates,
    ScoreCoordinates,
    Scored,
    Scores,
    VectorCoordinates,
    balance,
    gathered,
    small_floats,
)
from condrank.index.exact import finished, search
from condrank.index.lists import InvertedLists, faiss
from condrank.index.vectors import VectorScores
from condrank.models.inner_products import InnerProducts
from condrank.nodes import Nodes
from condrank.persistence.arrays import Arrays, Held
from condrank.rankers.restrictions import Restriction


class ApproximateSearch:
    """Finds most of the best objects in some of the inverted lists, and scores what it finds as the exact search does.

    Parameters
    ----------
    coordinates : VectorCoordinates or ScoreCoordinates
        Maps into the coordinates of the lists.
    lists : InvertedLists
        The objects in these coordinates.
    recall : float
        Share of the best objects that the search was made to find.
    probes : int
        Lists that are scanned for a conditioning node.
    fetched : int
        Objects that are fetched from the lists and scored for each object of an answer.
    """

    def __init__(self, coordinates: Coordinates, lists: InvertedLists, recall: float, probes: int, fetched: int):
        self.coordinates, self.lists, self.recall = coordinates, lists, recall
        self.probes, self.fetched = probes, fetched

    @classmethod
    def fit(
        cls,
        scored: Scored,
        products: InnerProducts | None,
        nodes: Nodes | None,
        alike: Nodes | None,
        objects: Any,
        n: int,
        recall: float,
    ) -> ApproximateSearch:
        """Make lists of n objects, about 2√n, and find out on a sample how many to scan for a wanted recall.

        Parameters
        ----------
        scored : callable
            Scores of conditioning nodes for objects.
        products : InnerProducts or None
            The inner products that the scores are, or None.
        nodes : Nodes or None
            Training nodes as conditioning nodes; None if the model does not keep them, but only with products.
        alike : Nodes or None
            The objects as nodes, if they are new and can be conditioning nodes too.
        objects : ndarray, sparse array or tuple of Nodes
            The objects as an index holds them.
        n : int
            Their number.
        recall : float
            Wanted share of the best objects.
        """
        faiss()
        rng = np.random.default_rng(0)
        shuffled = np.zeros(0, dtype=np.intp) if nodes is None else rng.permutation(len(nodes))
        asked = None if nodes is None else nodes.take(np.sort(shuffled[:RECALL_SAMPLE_QUERIES]))
        if products is not None and not sparse.issparse(objects):
            chosen = np.linspace(0, n - 1, min(n, BALANCE_SAMPLE_OBJECTS)).astype(np.intp)
            coordinates: Coordinates = VectorCoordinates(
                *balance(objects[chosen].astype(np.float64), products.typical_queries())
            )
        elif nodes is None:
            raise ValueError("kind='approximate' needs the conditioning nodes of training, which were not kept")
        else:
            seen = np.sort(rng.permutation(n)[:SCORE_SAMPLE])
            coordinates = ScoreCoordinates.fit(scored, nodes, np.sort(shuffled[:SCORE_SAMPLE]), objects, seen)
            # Nodes that made the coordinates would be found too easily.
            if len(shuffled) >= SCORE_SAMPLE + RECALL_SAMPLE_QUERIES:
                asked = nodes.take(np.sort(shuffled[SCORE_SAMPLE : SCORE_SAMPLE + RECALL_SAMPLE_QUERIES]))
            elif alike is not None:
                asked = alike.take(np.sort(rng.permutation(len(alike))[:RECALL_SAMPLE_QUERIES]))
        n_lists = max(1, min(n, round(LISTS_PER_ROOT * np.sqrt(n))))
        sample = np.sort(rng.permutation(n)[: CENTROID_SAMPLE_PER_LIST * n_lists])
        lists = InvertedLists(InvertedLists.fit(coordinates.of_objects(objects, sample), n_lists))
        made = cls(coordinates, lists, recall, n_lists, RECALL_FETCHED[-1])
        made.add(objects, n)
        if asked is not None:
            made.choose(scored(asked, objects), n)
        else:
            assert products is not None
            typical = products.typical_queries()
            Q = (rng.standard_normal((RECALL_SAMPLE_QUERIES, len(typical))) @ typical).astype(objects.dtype)
            made.choose(VectorScores(Q, np.zeros(len(Q), dtype=Q.dtype), objects), n)
        return made

    def choose(self, asked: Scores, n: int) -> None:
        """Choose how many objects to fetch and lists to scan, by the exact best objects of a sample of nodes.

        The recall of the sample must be one standard error above the wanted one. No search is tried: an object of the
        exact answer is found if its list is scanned and few objects have larger products in search coordinates.
        """
        k = min(RECALL_TOP, n)
        best = search(asked, k, Restriction.of(np.zeros(0, dtype=np.intp), None, None))[0]
        W = self.coordinates.of_queries(asked)
        largest = min(n, k * RECALL_FETCHED[-1])
        ahead = ahead_of(best, self.lists.search(W, largest, len(self.lists.centroids)))
        shares = [float((ahead < k * fetched).mean()) for fetched in RECALL_FETCHED]
        # Fetching more is cheap. Only a quarter of what may be missed is left to it; the rest is for lists.
        enough = [one for one, share in zip(RECALL_FETCHED, shares, strict=True) if share >= 1 - (1 - self.recall) / 4]
        self.fetched = enough[0] if enough else RECALL_FETCHED[-1]
        scanned = np.take_along_axis(self.lists.order(W), self.lists.list_of[best], axis=1)
        scanned[ahead >= k * self.fetched] = len(self.lists.centroids)
        shares_of = found_shares(scanned, len(self.lists.centroids))
        means, errors = shares_of.mean(axis=0), shares_of.std(axis=0) / np.sqrt(max(1, len(shares_of)))
        if means[-1] < self.recall and n > k * self.fetched * LIST_LEAST_OBJECTS_PER_FETCHED:
            raise ValueError(
                f"recall={self.recall:g} cannot be reached: in search coordinates at most {means[-1]:.2f} of the best "
                "objects are found, because the scores of this ranker have too many directions; use kind='exact', or a "
                "smaller recall"
            )
        # A sample cannot tell that nothing is ever missed: then all lists are scanned.
        good = np.flatnonzero(means - errors >= self.recall) if self.recall < 1 else []
        self.probes = int(good[0]) + 1 if len(good) else len(self.lists.centroids)

    def add(self, objects: Any, n: int, list_of: np.ndarray | None = None) -> None:
        """Add n objects in blocks, all or none; a search waits for one block at most."""
        before = len(self.lists)
        try:
            for block in row_blocks(n, 1, budget=LIST_ADDED_OBJECTS):
                self.lists.add(self.coordinates.of_objects(objects, block), None if list_of is None else list_of[block])
        except BaseException:  # also if the user interrupts: later objects must get the positions that the index gives
            self.lists.cut(before)
            raise

    def search(self, scores: Scores, k: int, n: int, restriction: Restriction) -> tuple[np.ndarray, np.ndarray]:
        """As `condrank.index.exact.search` for the first n positions, but among the objects that the lists give.

        More than k objects are fetched, because excluded ones are dropped. If too few remain for a conditioning node,
        its search is exact.
        """
        count = self.fetched * -(-(k + restriction.most_excluded()) * n // max(1, n - len(restriction.gone)))
        if count * LIST_LEAST_OBJECTS_PER_FETCHED > n or k == 0:
            return search(scores, k, restriction)
        places = self.lists.search(self.coordinates.of_queries(scores), count, self.probes)
        places[places >= n] = -1  # added after the snapshot
        allowed = restriction.allows(places)
        values = scores_at(scores, np.where(allowed, places, 0))
        places, values = finished(np.where(allowed, places, -1), np.where(allowed, values, -np.inf), scores.shift, None)
        places, values = places[:, :k], values[:, :k]
        short = np.flatnonzero(places[:, -1] < 0)
        if len(short):
            places[short], values[short] = search(scores.take(short), k, restriction.take(short))
        return places, values

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Centroids, the list of each object, and the maps. Lists are made again from these and the objects."""
        arrays.put("centroids", self.lists.centroids)
        arrays.put("list_of", self.lists.list_of)
        given = {"recall": self.recall, "probes": self.probes, "fetched": self.fetched}
        return given | self.coordinates.to_state(arrays)

    @classmethod
    def from_state(
        cls, given: dict[str, Any], held: Held, scored: Scored, nodes: Nodes | None, objects: Any, n: int
    ) -> ApproximateSearch:
        """A stored search of n objects. All that is stored is checked before lists are made from it."""
        faiss()
        dense = isinstance(objects, np.ndarray)
        if given["coordinates"] == VectorCoordinates.name and dense:
            coordinates: Coordinates = VectorCoordinates.from_state(held, objects.shape[1])
        elif given["coordinates"] == ScoreCoordinates.name and not dense and nodes is not None:
            coordinates = ScoreCoordinates.from_state(held, scored, nodes, n)
        else:
            raise ValueError(f"coordinates {given['coordinates']!r} do not fit its ranker")
        centroids = small_floats(held, "centroids", None, coordinates.to_object.shape[1])
        list_of = held.places("list_of", n, len(centroids)).astype(np.int64)
        recall = check_recall(given["recall"])
        probes, fetched = check_count("probes", given["probes"]), check_count("fetched", given["fetched"])
        if probes > len(centroids) or fetched > RECALL_FETCHED[-1]:
            raise ValueError(f"probes {probes} and fetched {fetched} do not fit {len(centroids)} lists")
        made = cls(coordinates, InvertedLists(centroids), recall, probes, fetched)
        made.add(objects, n, list_of)
        return made


def check_recall(recall: Any) -> float:
    """The wanted recall as a float; raise if it is not greater than 0 and at most 1."""
    value = check_number("recall", recall, above=0)
    if value > 1:
        raise ValueError(f"recall must be at most 1, got {recall!r}")
    return value


def ahead_of(best: np.ndarray, found: np.ndarray) -> np.ndarray:
    """How many entries of its row of ``found`` come before each entry of ``best`` (n, k); all if it is not there."""
    ahead = np.full(best.shape, found.shape[1], dtype=np.intp)
    for column in range(best.shape[1]):
        there = found == best[:, column : column + 1]
        ahead[:, column] = np.where(there.any(axis=1), there.argmax(axis=1), found.shape[1])
    return ahead


def found_shares(scanned: np.ndarray, n_lists: int) -> np.ndarray:
    """Share (n, n_lists) of the entries of each row of ``scanned`` that the first 1, 2, … lists hold."""
    n, k = scanned.shape
    counts = np.zeros((n, n_lists + 1))
    np.add.at(counts, (np.arange(n)[:, None], scanned), 1 / max(1, k))
    return np.cumsum(counts[:, :n_lists], axis=1) + 1e-12  # shares add up to 1 only but for rounding


def scores_at(scores: Scores, places: np.ndarray) -> np.ndarray:
    """Scores (n, k) of each conditioning node for the objects at its places (n, k), without its shift."""
    if isinstance(scores, VectorScores) and not sparse.issparse(scores.X):
        Q, X = scores.Q, scores.X
        values = np.empty(places.shape, dtype=np.result_type(Q, X))
        for rows in row_blocks(len(Q), places.shape[1] * Q.shape[1], budget=FOUND_VECTORS_ENTRIES):
            values[rows] = np.einsum("np,nkp->nk", Q[rows], X[places[rows]])
        return values
    parts = []
    for rows in row_blocks(len(places), 1, budget=FOUND_TOGETHER_QUERIES):
        columns, inverse = np.unique(places[rows], return_inverse=True)
        each = gathered(scores.take(rows), columns)
        parts.append(np.take_along_axis(each, inverse.reshape(places[rows].shape), axis=1))
    return np.concatenate(parts) if parts else np.empty(places.shape)
