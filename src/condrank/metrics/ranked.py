"""Rows sorted by falling score, with the runs of objects that are tied in score.

Measures of one ranking use these runs for their expected value over all orders of tied objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condrank.metrics.given import Given
from condrank.metrics.inversions import changes, mark_unobserved, tie_runs


class Ranked(NamedTuple):
    """A block of rows, best object first, unobserved ones last; [start, end) is the run of ties of a position."""

    relevance: NDArray[Any]
    observed: NDArray[np.bool_]
    start: NDArray[np.intp]
    end: NDArray[np.intp]

    def hits(self, hit: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number of relevant objects before the run of ties of every position, and inside the run."""
        cumulated = np.zeros((len(hit), hit.shape[1] + 1), dtype=np.int64)
        np.cumsum(hit, axis=1, out=cumulated[:, 1:])
        before = np.take_along_axis(cumulated, self.start, axis=1)
        return before, np.take_along_axis(cumulated, self.end, axis=1) - before

    def expected_sum(self, gains: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ gain · weight of its position; tied objects get the mean weight of their positions."""
        cumulated = np.concatenate([[0.0], np.cumsum(weights)])
        shared = (cumulated[self.end] - cumulated[self.start]) / (self.end - self.start)
        return row_sums(gains * shared)


def row_sums(terms: NDArray[Any]) -> NDArray[np.float64]:
    """Sums of rows, from the first place to the last: zeros at the end, where padding is, do not change a digit."""
    return np.cumsum(terms, axis=1)[:, -1]


def ranked_blocks(given: Given) -> Iterator[tuple[Any, Ranked]]:
    """Blocks of queries sorted by falling score. O(m log m) per row; yields nothing if there are no objects."""
    for queries, y, scores in given.blocks():
        h = mark_unobserved(scores, np.isnan(y), -np.inf)
        order = np.argsort(h, axis=1)[:, ::-1]
        ordered = np.take_along_axis(h, order, axis=1)
        fresh = changes(ordered)
        if not (fresh | (ordered == -np.inf)).all():
            # Tied objects by relevance, so that sums over them do not depend on the order of columns.
            order = np.lexsort((y, h), axis=1)[:, ::-1]
        y = np.take_along_axis(y, order, axis=1)
        yield queries, Ranked(y, ~np.isnan(y), *tie_runs(fresh))
