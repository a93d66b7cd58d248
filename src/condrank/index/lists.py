"""Inverted lists (by faiss): objects lie in the list of the nearest centroid, and a search scans only some lists."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from condrank.base.blocks import in_threads, n_processors, row_blocks
from condrank.base.measured import (
    CENTROID_ITERATIONS,
    LIST_ASSIGNED_OBJECTS,
    LIST_SEARCH_LEAST_QUERIES,
)
from condrank.index.growing import GrowingRows
from condrank.index.turns import Turns


class InvertedLists:
    """Objects in search coordinates, each in the list of its nearest centroid.

    faiss holds the lists. Its own threads are never used: queries are cut into parts for our threads, which keep to the
    limits of this process. Any number of threads may search while one adds.

    Parameters
    ----------
    centroids : ndarray of float32, shape (n_lists, s)
        Centroids of the lists.
    """

    def __init__(self, centroids: np.ndarray):
        self.centroids = np.ascontiguousarray(centroids, dtype=np.float32)
        self._half = np.einsum("ls,ls->l", self.centroids, self.centroids) / 2
        self._faiss = faiss()
        n_lists, length = self.centroids.shape
        self._centres = self._faiss.IndexFlatIP(length)
        self._centres.add(self.centroids)
        self._lists = self._faiss.IndexIVFFlat(self._centres, length, n_lists, self._faiss.METRIC_INNER_PRODUCT)
        self.list_of = np.zeros(0, dtype=np.int64)
        self._rows, self._turns = GrowingRows(), Turns()

    @staticmethod
    def fit(Y: np.ndarray, n_lists: int) -> np.ndarray:
        """Centroids (n_lists, s) of a sample Y (m, s), by k-means. O(m n_lists s) for each of a few iterations."""
        once: Any = 1
        clusters = KMeans(n_lists, init="random", n_init=once, max_iter=CENTROID_ITERATIONS, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different objects than lists: some stay empty
            return np.asarray(clusters.fit(Y).cluster_centers_, dtype=np.float32)

    def __len__(self) -> int:
        return len(self.list_of)

    def nearest(self, Y: np.ndarray) -> np.ndarray:
        """List of the nearest centroid (m,) of coordinates Y (m, s). O(m n_lists s)."""
        found = np.empty(len(Y), dtype=np.int64)

        def assign(rows: slice) -> None:
            found[rows] = np.argmax(Y[rows] @ self.centroids.T - self._half, axis=1)

        in_threads(assign, list(row_blocks(len(Y), len(self.centroids), budget=LIST_ASSIGNED_OBJECTS)), products=True)
        return found

    def add(self, Y: np.ndarray, list_of: np.ndarray | None = None) -> None:
        """Add objects Y (m, s) at the next positions, by default to the lists of the nearest centroids."""
        list_of = self.nearest(Y) if list_of is None else np.ascontiguousarray(list_of, dtype=np.int64)
        places = np.arange(len(self), len(self) + len(Y), dtype=np.int64)
        pointers = (self._faiss.swig_ptr(part) for part in (Y, places, list_of))
        with self._turns.alone():
            self._lists.add_core(len(Y), *pointers)
            self.list_of = self._rows.joined(self.list_of, list_of)

    def cut(self, n: int) -> None:
        """Keep only the first n objects."""
        with self._turns.alone():
            self._lists.remove_ids(self._faiss.IDSelectorRange(n, len(self)))
            self.list_of = self.list_of[:n]

    def order(self, W: np.ndarray) -> np.ndarray:
        """Place of each list (n, n_lists) in the order in which the queries W (n, s) would scan them."""
        order = np.argsort(-(W @ self.centroids.T), axis=1, kind="stable")
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.arange(order.shape[1])[None, :], axis=1)
        return place

    def search(self, W: np.ndarray, count: int, probes: int) -> np.ndarray:
        """Positions (n, count) of the largest products with W (n, s) in the first ``probes`` lists of each, or -1.

        O(n_lists s) and the objects of the scanned lists for each query.
        """
        places = np.empty((len(W), count), dtype=np.int64)
        asked = self._faiss.SearchParametersIVF(nprobe=probes)

        def scan(rows: slice) -> None:
            before = self._faiss.omp_get_max_threads()  # of this thread
            self._faiss.omp_set_num_threads(1)
            try:
                places[rows] = self._lists.search(W[rows], count, params=asked)[1]
            finally:
                self._faiss.omp_set_num_threads(before)

        # threadpoolctl limits faiss like other libraries, for the thread that asks.
        threads = min(n_processors(), self._faiss.omp_get_max_threads())
        step = max(LIST_SEARCH_LEAST_QUERIES, -(-len(W) // threads))
        with self._turns.together():
            in_threads(scan, list(row_blocks(len(W), 1, budget=step)))
        return places


def faiss() -> Any:
    """The module; an ImportError names the extra that brings it."""
    try:
        import faiss as module
    except ImportError:
        raise ImportError("kind='approximate' needs faiss: pip install 'condrank[index]'") from None
    return module
