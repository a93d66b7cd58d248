"""Measures over observed edges: the same counts as over matrices, at the cost of the edges alone.

The edges of every conditioning node are packed into rows without holes. Rows of similar length share a rectangle, so
that padding stays a small share of the entries. Measures ignore unobserved entries and never break ties by position:
packed rows give the same values as rows of a matrix with holes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condrank.base import blocks
from condrank.base.measured import CACHED_ENTRIES
from condrank.metrics.checking import Floats, check_relevances, check_scores
from condrank.metrics.inversions import Levels, kernels_for

# A rectangle's rows are at most this much longer than its shortest one.
STRETCH = 1.25


class Packed(NamedTuple):
    """Conditioning nodes (k,) of a rectangle, and for its (k, width) entries the number of the edge; -1: padding."""

    rows: NDArray[np.intp]
    edges: NDArray[np.intp]

    def take(self, values: NDArray[Any], padding: float) -> NDArray[Any]:
        """Values of the edges in the rectangle."""
        return np.where(self.edges >= 0, values[self.edges], values.dtype.type(padding))


def packed_rows(indptr: NDArray[Any], least: int = 1) -> Iterator[Packed]:
    """Rectangles of the edges of each conditioning node, in compressed sparse rows.

    Parameters
    ----------
    indptr : ndarray of int of shape (n + 1,)
        Where the edges of each node start.
    least : int
        Nodes with fewer edges are left out.
    """
    lengths = np.diff(indptr)
    order = np.argsort(lengths, kind="stable")
    start = int(np.searchsorted(lengths[order], least))
    while start < len(order):
        shortest = int(lengths[order[start]])
        stop = int(np.searchsorted(lengths[order], max(shortest + 4, int(STRETCH * shortest)), side="right"))
        width = int(lengths[order[stop - 1]])
        step = max(1, CACHED_ENTRIES // width)
        for first in range(start, stop, step):
            yield _rectangle(indptr, lengths, order[first : min(first + step, stop)])
        start = stop


def _rectangle(indptr: NDArray[Any], lengths: NDArray[Any], rows: NDArray[np.intp]) -> Packed:
    place = np.arange(lengths[rows].max(initial=0))
    edges = indptr[rows][:, None] + place
    return Packed(rows, np.where(place < lengths[rows][:, None], edges, -1))


class EdgePairs:
    """Relevances of observed edges, sorted once, to count the wrongly ordered pairs of many scores.

    Parameters
    ----------
    indptr : ndarray of int of shape (n_queries + 1,)
        Where the edges of each query start.
    values : ndarray of shape (n_pairs,)
        Relevances of the edges, finite.
    n_scores : int
        How many vectors of scores will be compared.

    Attributes
    ----------
    comparable : int64 array of shape (n_queries,)
        Comparable pairs of every query.

    Notes
    -----
    O(m log m) for a query of m edges, and nothing of size n_queries × n_objects.
    """

    def __init__(self, indptr: NDArray[Any], values: NDArray[Any], n_scores: int = 1):
        check_relevances(values[None])
        self.comparable = np.zeros(len(indptr) - 1, dtype=np.int64)
        self._parts = list(packed_rows(indptr, least=2))
        kernels = kernels_for(len(values) * n_scores)
        self._levels: list[Levels | None] = [None] * len(self._parts)

        def sort(number: int) -> None:
            part = self._parts[number]
            self._levels[number] = levels = Levels(part.take(values, np.nan), kernels)
            self.comparable[part.rows] = levels.comparable

        blocks.in_threads(sort, range(len(self._parts)))

    def wrong(self, scores: NDArray[Any]) -> Floats:
        """Number of pairs of every query that scores of the edges order wrongly; a pair tied in score counts ½."""
        check_scores(scores[None])
        twice_wrong = np.zeros(len(self.comparable), dtype=np.int64)

        def count(number: int) -> None:
            part, levels = self._parts[number], self._levels[number]
            assert levels is not None
            twice_wrong[part.rows] = levels.twice_wrong(part.take(scores, 0.0))

        blocks.in_threads(count, range(len(self._parts)))
        return twice_wrong / 2
