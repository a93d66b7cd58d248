"""A graph of objects (HNSW, by usearch) that finds most of the best ones without looking at the others.

Inner products are no metric, and what a model asks for need not be what its objects' vectors look alike in. Two moves
leave every ranking as it is: x → x - μ shifts all scores of a conditioning node alike, and x → Tx, q → T⁻ᵀq changes
none. μ is the mean of the objects, and T balances: in the graph's coordinates objects and conditioning nodes vary
along the same axes to the same extent, most of it along the first ones; axes that no score depends on are dropped.
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
    """How a graph is built and searched: more of each costs time (and, of connections, memory) and finds more.

    Attributes
    ----------
    connectivity : int
        Connections of an object.
    expansion : int
        Objects kept in sight while building and searching.
    """

    connectivity: int = 16
    expansion: int = 128

    def checked(self) -> GraphSettings:
        """These settings; a ValueError names one that does not fit."""
        return GraphSettings(
            check_count("connectivity", self.connectivity, at_least=2), check_count("expansion", self.expansion)
        )


class Graph:
    """Objects by position, with the maps into the graph's coordinates.

    Parameters
    ----------
    settings : GraphSettings
        How it is built and searched.
    mean : ndarray of shape (p,)
        μ.
    to_object, to_query : ndarray of shape (p, s)
        Tᵀ and T⁻¹, for rows of vectors.
    stored : ndarray of uint8, optional
        A graph of n objects that `to_bytes` gave, otherwise an empty one.
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
        # usearch documents no searches from several threads at a time, and newer versions release the GIL.
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
        """An empty graph, with the balance told from the training nodes and some of the objects X (m, p). O(p³)."""
        _usearch()
        if products is None or sparse.issparse(X):
            raise ValueError(
                "kind='approximate' needs dense features; reduce sparse ones first, for example by TruncatedSVD"
            )
        chosen = np.linspace(0, len(X) - 1, min(len(X), BALANCE_SAMPLE_OBJECTS)).astype(np.intp)
        return cls(settings, *balance(X[chosen].astype(np.float64), products.typical_queries()))

    def add(self, first: int, X: np.ndarray) -> None:
        """Take in objects X (m, p) at positions from ``first`` on; searches wait for some of them at a time.

        The first ones are linked one after another: threads that add to a nearly empty graph do not see each other's
        objects and may leave some of them where no search arrives.
        """
        for block in row_blocks(len(X), 1, budget=SEARCH_GRAPH_ADDED_OBJECTS):
            Y = np.ascontiguousarray((X[block] - self.mean) @ self.to_object, dtype=np.float32)
            with self._turn:
                threads = 1 if len(self._graph) < SEARCH_GRAPH_ADDED_OBJECTS else 0  # 0: as many as there are cores
                self._graph.add(np.arange(first + block.start, first + block.stop, dtype=np.uint64), Y, threads=threads)

    def search(self, Q: np.ndarray, count: int) -> np.ndarray:
        """Positions (n, count) of objects with large inner products with Q (n, p), -1 where it finds fewer."""
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
        """What an equal graph is made from, while no objects are added."""
        return self.settings, self.mean, self.to_object, self.to_query, self.to_bytes(), len(self._graph)

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Settings, maps and the graph itself, which has to be the last array of a file: its length is arbitrary."""
        arrays.put("mean", self.mean)
        arrays.put("to_object", self.to_object)
        arrays.put("to_query", self.to_query)
        arrays.put("graph", self.to_bytes())
        return asdict(self.settings)

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, n: int, p: int) -> Graph:
        """The graph that was stored, of n objects with vectors of length p."""
        stored = held.intact("graph")  # a damaged one could lead a search anywhere in memory
        to_object = held.floats("to_object", p, None)
        maps = held.floats("mean", p), to_object, held.floats("to_query", *to_object.shape)
        return cls(GraphSettings(**given).checked(), *maps, stored=stored, n=n)

    def to_bytes(self) -> np.ndarray:
        """The graph as bytes."""
        with self._turn:
            return np.frombuffer(self._graph.save(), dtype=np.uint8)


def search_graph(graph: Graph, scores: Any, k: int, restriction: Restriction) -> tuple[np.ndarray, np.ndarray]:
    """As `condrank.index.exact.search`, but of what the graph finds.

    More than asked for is fetched by as many as are left out; where too few of them remain the answer is exact.
    """
    n = scores.X.shape[0]
    count = -(-(k + restriction.most_barred()) * n // max(1, n - len(restriction.gone)))
    if count * SEARCH_GRAPH_LEAST_OBJECTS_PER_FETCHED > n or k == 0:
        return search(scores, k, restriction)
    places = graph.search(scores.Q, count)
    places[places >= n] = -1  # added a moment ago
    allowed = restriction.allows(places)
    values = scores_at(scores.Q, scores.X, np.where(allowed, places, 0))
    places, values = finished(np.where(allowed, places, -1), np.where(allowed, values, -np.inf), scores.shift, None)
    places, values = places[:, :k], values[:, :k]
    short = np.flatnonzero(places[:, -1] < 0)
    if len(short):
        places[short], values[short] = search(scores.take(short), k, restriction.take(short))
    return places, values


def scores_at(Q: np.ndarray, X: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Inner products (n, k) of each row of Q (n, p) with those rows of X (m, p) that its places name."""
    values = np.empty(places.shape, dtype=np.result_type(Q, X))
    for rows in row_blocks(len(Q), places.shape[1] * Q.shape[1], budget=FOUND_VECTORS_ENTRIES):
        values[rows] = np.einsum("np,nkp->nk", Q[rows], X[places[rows]])
    return values


def balance(objects: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """μ (p,), Tᵀ and T⁻¹ (p, s) for a sample of objects and vectors with the second moments of queries.

    With covariance C of the objects and second moments D of the queries, T C Tᵀ = T⁻ᵀ D T⁻¹ = diag(l), l descending:
    l² are the eigenvalues of C^½ D C^½.
    """
    mean = objects.mean(axis=0)
    extent, axes = np.linalg.eigh((objects - mean).T @ (objects - mean) / len(objects))
    kept = extent > max(extent[-1], np.finfo(float).tiny) * 1e-12
    if not kept.any() or not queries.any():
        one = np.eye(objects.shape[1])
        return mean, one, one  # objects all alike, or scores all zero: nothing to tell a balance from
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
