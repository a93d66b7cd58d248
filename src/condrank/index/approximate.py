"""A search graph of objects (HNSW, by usearch) that finds most of the best ones without scoring all.

Inner products are no metric, and scores may depend on other directions than those in which the vectors of objects
differ most. Two changes leave every ranking as it is: x → x - μ shifts all scores of a conditioning node by the same
amount, and x → Tx, q → T⁻ᵀq changes no score. μ is the mean of the objects. T balances objects and conditioning nodes:
in the coordinates of the graph both vary along the same axes by the same amount, most along the first axes. Axes that
no score depends on are dropped.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import row_blocks
from condrank.base.checks import check_count
from condrank.base.measured import (
    BALANCE_LEAST_AXIS_SHARE,
    BALANCE_SAMPLE_OBJECTS,
    FOUND_VECTORS_ENTRIES,
    SEARCH_GRAPH_ADDED_OBJECTS,
    SEARCH_GRAPH_LEAST_OBJECTS_PER_FETCHED,
)
from condrank.index.exact import finished, search
from condrank.index.restrictions import Restriction
from condrank.index.vectors import InnerProducts
from condrank.persistence.arrays import Arrays, Held


@dataclass(frozen=True)
class GraphSettings:
    """How a graph is built and searched. More of each finds more objects and costs time (connections also memory).

    Attributes
    ----------
    connectivity : int
        Connections of an object.
    expansion : int
        Objects considered at a time while building and searching.
    """

    connectivity: int = 16
    expansion: int = 128

    def checked(self) -> GraphSettings:
        """These settings after checks; a ValueError names the first that is wrong."""
        return GraphSettings(
            check_count("connectivity", self.connectivity, at_least=2), check_count("expansion", self.expansion)
        )


class Graph:
    """A search graph of objects by position, with the maps into its coordinates.

    Parameters
    ----------
    settings : GraphSettings
        How it is built and searched.
    mean : ndarray of shape (p,)
        Mean μ of the objects.
    to_object, to_query : ndarray of shape (p, s)
        Tᵀ and T⁻¹, for rows of vectors.
    stored : ndarray of uint8, optional
        A graph of n objects as given by `to_bytes`; by default the graph is empty.
    """

    def __init__(
        self,
        settings: GraphSettings,
        mean: np.ndarray,
        to_object: np.ndarray,
        to_query: np.ndarray,
        stored: np.ndarray | None = None,
        n: int = 0,
    ):
        self.settings, self.mean, self.to_object, self.to_query = settings, mean, to_object, to_query
        # usearch does not document searches from several threads at a time, and newer versions release the GIL.
        self._turn = threading.Lock()
        self._graph = _usearch()(
            ndim=to_object.shape[1],
            metric="ip",
            dtype="f32",
            connectivity=settings.connectivity,
            expansion_add=settings.expansion,
            expansion_search=settings.expansion,
        )
        if stored is not None:
            self._graph.load(stored.tobytes())
            if len(self._graph) != n or self._graph.ndim != to_object.shape[1]:
                raise ValueError(f"its graph has {len(self._graph)} objects, got {n} vectors")

    @classmethod
    def fit(cls, products: InnerProducts | None, X: Any, settings: GraphSettings) -> Graph:
        """An empty graph, balanced by the training nodes and a sample of the objects X (m, p). O(p³)."""
        _usearch()
        if products is None or sparse.issparse(X):
            raise ValueError(
                "kind='approximate' needs dense features; reduce sparse features first, for example by TruncatedSVD"
            )
        chosen = np.linspace(0, len(X) - 1, min(len(X), BALANCE_SAMPLE_OBJECTS)).astype(np.intp)
        return cls(settings, *balance(X[chosen].astype(np.float64), products.typical_queries()))

    def add(self, first: int, X: np.ndarray) -> None:
        """Add objects X (m, p) at positions from ``first`` on, in blocks; a search waits for one block at most.

        The first objects are added by one thread. Threads that add to a nearly empty graph do not see each other's
        objects, and may leave some of them where no search finds them.
        """
        for block in row_blocks(len(X), 1, budget=SEARCH_GRAPH_ADDED_OBJECTS):
            Y = np.ascontiguousarray((X[block] - self.mean) @ self.to_object, dtype=np.float32)
            with self._turn:
                threads = 1 if len(self._graph) < SEARCH_GRAPH_ADDED_OBJECTS else 0  # 0: as many as there are cores
                self._graph.add(np.arange(first + block.start, first + block.stop, dtype=np.uint64), Y, threads=threads)

    def search(self, Q: np.ndarray, count: int) -> np.ndarray:
        """Positions (n, count) of objects with large inner products with Q (n, p); -1 if fewer are found."""
        Q = np.ascontiguousarray(Q @ self.to_query, dtype=np.float32)
        with self._turn:
            found = self._graph.search(Q, count)
        keys = np.atleast_2d(found.keys)
        counts = np.atleast_1d(getattr(found, "counts", keys.shape[1]))
        places = np.full((len(Q), count), -1, dtype=np.intp)
        there = np.arange(keys.shape[1]) < counts[:, None]
        places[:, : keys.shape[1]][there] = keys[there].astype(np.intp)
        return places

    def state(self) -> tuple[Any, ...]:
        """Arguments that make an equal graph. No objects may be added meanwhile."""
        return self.settings, self.mean, self.to_object, self.to_query, self.to_bytes(), len(self._graph)

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Settings, maps and the graph, which has to be the last array of a file because it can have any length."""
        arrays.put("mean", self.mean)
        arrays.put("to_object", self.to_object)
        arrays.put("to_query", self.to_query)
        arrays.put("graph", self.to_bytes())
        return asdict(self.settings)

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, n: int, p: int) -> Graph:
        """A stored graph of n objects with vectors of length p."""
        stored = held.intact("graph")  # with a damaged graph, a search could read anywhere in memory
        to_object = held.floats("to_object", p, None)
        maps = held.floats("mean", p), to_object, held.floats("to_query", *to_object.shape)
        return cls(GraphSettings(**given).checked(), *maps, stored=stored, n=n)

    def to_bytes(self) -> np.ndarray:
        """The graph as bytes."""
        with self._turn:
            return np.frombuffer(self._graph.save(), dtype=np.uint8)


def search_graph(graph: Graph, scores: Any, k: int, restriction: Restriction) -> tuple[np.ndarray, np.ndarray]:
    """As `condrank.index.exact.search`, but among the objects that the graph finds.

    The graph is asked for more than k objects, because excluded ones are dropped. If too few remain for a conditioning
    node, its search is exact.
    """
    n = scores.X.shape[0]
    count = -(-(k + restriction.most_excluded()) * n // max(1, n - len(restriction.gone)))
    if count * SEARCH_GRAPH_LEAST_OBJECTS_PER_FETCHED > n or k == 0:
        return search(scores, k, restriction)
    places = graph.search(scores.Q, count)
    places[places >= n] = -1  # added after the snapshot
    allowed = restriction.allows(places)
    values = scores_at(scores.Q, scores.X, np.where(allowed, places, 0))
    places, values = finished(np.where(allowed, places, -1), np.where(allowed, values, -np.inf), scores.shift, None)
    places, values = places[:, :k], values[:, :k]
    short = np.flatnonzero(places[:, -1] < 0)
    if len(short):
        places[short], values[short] = search(scores.take(short), k, restriction.take(short))
    return places, values


def scores_at(Q: np.ndarray, X: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Inner products (n, k) of each row of Q (n, p) with the rows of X (m, p) at its places."""
    values = np.empty(places.shape, dtype=np.result_type(Q, X))
    for rows in row_blocks(len(Q), places.shape[1] * Q.shape[1], budget=FOUND_VECTORS_ENTRIES):
        values[rows] = np.einsum("np,nkp->nk", Q[rows], X[places[rows]])
    return values


def balance(objects: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """μ (p,), Tᵀ and T⁻¹ (p, s), from a sample of objects and from vectors with the second moments of the queries.

    For the covariance C of the objects and second moments D of the queries, T C Tᵀ = T⁻ᵀ D T⁻¹ = diag(l), with l
    descending: l² are the eigenvalues of C^½ D C^½.
    """
    mean = objects.mean(axis=0)
    extent, axes = np.linalg.eigh((objects - mean).T @ (objects - mean) / len(objects))
    kept = extent > max(extent[-1], np.finfo(float).tiny) * 1e-12
    if not kept.any() or not queries.any():
        one = np.eye(objects.shape[1])
        return mean, one, one  # all objects equal, or all scores zero: nothing to balance
    root = np.sqrt(extent[kept])
    half, inverse = axes[:, kept] * root, axes[:, kept] / root
    seen = queries @ half
    squares, turn = np.linalg.eigh(seen.T @ seen)
    lengths = np.sqrt(np.maximum(squares, 0.0))
    kept = lengths > BALANCE_LEAST_AXIS_SHARE * lengths[-1]
    scale, turn = np.sqrt(lengths[kept]), turn[:, kept]
    return mean, inverse @ turn * scale, half @ turn / scale


def _usearch() -> Any:
    try:
        from usearch.index import Index
    except ImportError:
        raise ImportError("kind='approximate' needs usearch: pip install 'condrank[index]'") from None
    return Index
