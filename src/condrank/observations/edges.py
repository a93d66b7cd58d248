"""A relation that is known for some pairs only: edge lists, matrices with holes, repeated and weighted edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.checks import check_count
from condrank.persistence.arrays import Arrays, Held


class Edges:
    """Observed edges, sorted by starting node. Each distinct pair occurs once.

    Repeated edges of a pair are merged into one, with their weighted mean and the sum of their weights. This changes a
    squared loss only by a constant. An edge of weight zero counts as not observed.

    Parameters
    ----------
    sources, targets : ndarray of int, shape (n_edges,)
        Nodes where the edges start and end.
    values : ndarray of shape (n_edges,)
        Labels, finite.
    weights : ndarray of shape (n_edges,) or None
        Weights ≥ 0; None means 1.
    shape : (int, int)
        Number of starting and of ending nodes.
    repeats : ndarray of int, shape (n_edges,), or None
        How many edges were already merged into each entry; None means one.

    Attributes
    ----------
    indptr, indices : ndarray
        Compressed sparse rows: the ending nodes of row i are ``indices[indptr[i]:indptr[i + 1]]``, ascending.
    values, weights : ndarray of shape (n_pairs,)
        Label and weight of each distinct pair.
    """

    def __init__(
        self,
        sources: np.ndarray,
        targets: np.ndarray,
        values: np.ndarray,
        weights: np.ndarray | None,
        shape: tuple[int, int],
        repeats: np.ndarray | None = None,
    ):
        if weights is None:
            weights = np.ones(len(values), dtype=values.dtype)
        elif not weights.all():
            seen = weights > 0
            sources, targets, values, weights = sources[seen], targets[seen], values[seen], weights[seen]
            repeats = None if repeats is None else repeats[seen]
        self.shape = shape
        key = sources.astype(np.int64) * shape[1] + targets
        if np.any(key[1:] <= key[:-1]):
            key, pair = np.unique(key, return_inverse=True)
            total = np.bincount(pair, weights=weights, minlength=len(key))
            mean = np.bincount(pair, weights=weights * values.astype(np.float64), minlength=len(key)) / total
            values, weights = mean.astype(values.dtype), total.astype(values.dtype)
            repeats = np.bincount(pair, weights=repeats, minlength=len(key)).astype(np.int64)
        self.values, self.weights, self.repeats = values, weights, repeats
        self.indices = key % shape[1]
        self.indptr = np.searchsorted(key, np.arange(shape[0] + 1, dtype=np.int64) * shape[1])

    @classmethod
    def from_holes(cls, Y: np.ndarray) -> Edges:
        """The entries of a matrix that are not NaN."""
        sources, targets = np.nonzero(~np.isnan(Y))
        return cls(sources, targets, Y[sources, targets], None, Y.shape)

    @classmethod
    def from_stored(cls, Y: Any) -> Edges:
        """The stored entries of a sparse matrix, stored zeros included."""
        stored = Y.tocoo()
        return cls(stored.row, stored.col, stored.data, None, Y.shape)

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Distinct pairs with their labels and weights. The number of repeats is not stored."""
        arrays.put("sources", self.sources.astype(np.int64))
        arrays.put("targets", self.indices.astype(np.int64))
        arrays.put("labels", self.values)
        arrays.put("label_weights", self.weights)
        return {"shape": [int(n) for n in self.shape]}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held) -> Edges:
        """Stored edges. Raises unless there is at least one, each pair occurs once and all nodes exist."""
        n, m = (check_count("number of nodes", length) for length in given["shape"])
        labels = held.floats("labels", None)
        n_pairs = len(labels)
        sources, targets = held.places("sources", n_pairs, n), held.places("targets", n_pairs, m)
        edges = cls(sources, targets, labels, held.positive("label_weights", n_pairs), (n, m))
        if edges.n_pairs != n_pairs:
            raise ValueError(f"sources and targets must be {n_pairs} different pairs, got {edges.n_pairs}")
        return edges

    @property
    def n_edges(self) -> int:
        """Number of observed edges; repeated edges are counted each time."""
        return self.n_pairs if self.repeats is None else int(self.repeats.sum())

    @property
    def n_pairs(self) -> int:
        """Number of distinct pairs observed."""
        return len(self.values)

    @property
    def is_complete(self) -> bool:
        """Whether every ordered pair is observed exactly once, with weight one."""
        n_all = self.shape[0] * self.shape[1]
        return self.n_edges == n_all == self.n_pairs and bool((self.weights == 1).all())

    @property
    def dtype(self) -> np.dtype:
        """Floating type of the labels."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        return self.values.nbytes + self.weights.nbytes + self.indices.nbytes + self.indptr.nbytes

    @property
    def sources(self) -> np.ndarray:
        """Starting node of each distinct pair."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def matrix(self, entries: np.ndarray) -> sparse.csr_array:
        """An n×m sparse array with one of ``entries`` for each distinct pair. It shares the index arrays."""
        return sparse.csr_array((entries, self.indices, self.indptr), shape=self.shape)

    def with_values(self, values: np.ndarray) -> Edges:
        """The same pairs with other labels."""
        return type(self)(self.sources, self.indices, values, self.weights, self.shape, self.repeats)

    def astype(self, dtype: np.dtype) -> Edges:
        """The same edges with labels and weights of another floating type."""
        if self.values.dtype == self.weights.dtype == dtype:
            return self
        values, weights = self.values.astype(dtype), self.weights.astype(dtype)
        return type(self)(self.sources, self.indices, values, weights, self.shape, self.repeats)

    def take(self, rows: np.ndarray | slice, cols: np.ndarray | slice) -> Edges:
        """The edges among some starting and some ending nodes; repeated edges stay merged."""
        # SciPy selects edge numbers, held as the data of a sparse array. They start at 1, as it may drop stored zeros.
        number: Any = self.matrix(np.arange(1, self.n_pairs + 1))[rows]
        number = number[:, cols]
        coo = number.tocoo()
        edge = np.asarray(coo.data) - 1
        repeats = None if self.repeats is None else self.repeats[edge]
        return type(self)(coo.row, coo.col, self.values[edge], self.weights[edge], number.shape, repeats)

    def where(self, chosen: np.ndarray) -> Edges:
        """The distinct pairs that a mask selects. The others count as not observed."""
        repeats = None if self.repeats is None else self.repeats[chosen]
        sources, targets = self.sources[chosen], self.indices[chosen]
        return type(self)(sources, targets, self.values[chosen], self.weights[chosen], self.shape, repeats)

    def transpose(self) -> Edges:
        """Every edge reversed."""
        order = np.lexsort((self.sources, self.indices))
        sources, targets = self.indices[order], self.sources[order]
        repeats = None if self.repeats is None else self.repeats[order]
        shape = self.shape[1], self.shape[0]
        return type(self)(sources, targets, self.values[order], self.weights[order], shape, repeats)

    def to_dense(self, rows: slice = slice(None)) -> np.ndarray:
        """Labels of a block of rows; NaN where nothing was observed."""
        start, stop, _ = rows.indices(self.shape[0])
        block = np.full((max(0, stop - start), self.shape[1]), np.nan, dtype=self.dtype)
        edges = slice(self.indptr[start], self.indptr[max(start, stop)])
        block[self.sources[edges] - start, self.indices[edges]] = self.values[edges]
        return block

    def disagreement(self, sign: int, offset: float = 0.0, loops: bool = True) -> float:
        """Largest |(y_ij - offset) - sign (y_ji - offset)| over two-way pairs. O(n_pairs log n_pairs)."""
        m = self.shape[1]
        key = self.sources * m + self.indices
        reverse = self.indices * m + self.sources
        place = np.searchsorted(key, reverse)
        both = place < len(key)
        both[both] = key[place[both]] == reverse[both]
        if not loops:
            both &= key != reverse
        difference = (self.values[both] - offset) - sign * (self.values[place[both]] - offset)
        return float(np.abs(difference).max(initial=0.0))

    @property
    def two_way(self) -> bool:
        """Whether some pair of different nodes is observed in both directions."""
        key = self.sources * self.shape[1] + self.indices
        reverse = self.indices * self.shape[1] + self.sources
        return bool(np.isin(reverse[self.sources != self.indices], key, assume_unique=True).any())

    @property
    def only_two_way(self) -> bool:
        """Whether every pair of different nodes is observed in both directions, and there is one."""
        key = self.sources * self.shape[1] + self.indices
        reverse = self.indices * self.shape[1] + self.sources
        between = self.sources != self.indices
        return bool(between.any() and np.isin(reverse[between], key, assume_unique=True).all())

    def extremes(self) -> tuple[float, float]:
        """Smallest and largest label."""
        if self.n_pairs == 0:
            return 0.0, 0.0
        return float(self.values.min()), float(self.values.max())

    def count_loops(self) -> int:
        """Number of nodes whose loop is observed."""
        return int(np.count_nonzero(self.sources == self.indices))

    def known(self) -> tuple[np.ndarray, np.ndarray]:
        """Compressed rows (indptr, indices) of the pairs that were given, without any that were assumed."""
        return self.indptr, self.indices

    def degrees(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of distinct pairs observed in each row and in each column."""
        return np.diff(self.indptr), np.bincount(self.indices, minlength=self.shape[1])


def all_edges(relation: Any, centre: float = 0.0) -> Edges:
    """All observations as edges, with ``centre`` subtracted from the labels. O(nm) memory for a complete relation."""
    if not isinstance(relation, Edges):
        relation = Edges.from_holes(relation.to_dense())
    if centre == 0.0:
        return relation
    return relation.with_values(relation.values - centre)
