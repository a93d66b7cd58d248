"""Keeps the best objects of each conditioning node so far, while blocks of scores come and go."""

from __future__ import annotations

import numpy as np

from condrank.base.blocks import in_threads, row_blocks
from condrank.base.checks import check_scores
from condrank.base.measured import SELECTION_PARTS, SELECTION_THREADS_LEAST_SCORES
from condrank.rankers.ranking import top_indices


class Best:
    """The k best objects of n conditioning nodes, best first, ties by position; -1 and -∞ if there are fewer.

    A block with no score above the k-th best so far costs only one pass. In a long list most blocks are like that: of m
    objects in blocks, only about k ln(m/k) per row need more work.

    Parameters
    ----------
    n, k : int
        Number of conditioning nodes, and of objects for each.
    dtype : dtype
        Type of the scores.
    """

    def __init__(self, n: int, k: int, dtype: np.dtype):
        self.scores = np.full((n, k), -np.inf, dtype=dtype)
        self.places = np.full((n, k), -1, dtype=np.intp)

    def update(self, rows: slice, start: int, scores: np.ndarray) -> None:
        """Use the scores of some rows for the objects from ``start`` on; blocks of a row come in ascending order."""
        if scores.size < SELECTION_THREADS_LEAST_SCORES:
            self._merge(rows, start, scores)
            return
        parts = list(row_blocks(len(scores), 1, budget=max(1, -(-len(scores) // SELECTION_PARTS))))
        first = rows.start
        wheres = [slice(first + part.start, first + part.stop) for part in parts]
        in_threads(lambda where, part: self._merge(where, start, scores[part]), wheres, parts)

    def _merge(self, rows: slice, start: int, scores: np.ndarray) -> None:
        last = self.scores[rows, -1]
        highest = scores.max(axis=1)
        check_scores(highest, below=True)  # NaN would hide the other objects of a block
        chosen = np.flatnonzero(highest > last)
        if len(chosen) == 0:
            return
        if len(chosen) < len(scores):
            scores, last = scores[chosen], last[chosen]
        k, where = self.scores.shape[1], rows.start + chosen
        # Blocks come in the order of positions, so an object with the score of the last place ranks behind it.
        better = np.flatnonzero(scores > last[:, None])  # one-dimensional, because NumPy then skips False quickly
        if len(better) > 4 * k * len(chosen):
            self._merge_rows(where, start, scores)
            return
        labels, columns = np.divmod(better, scores.shape[1])
        labels = np.concatenate([np.repeat(np.arange(len(chosen)), k), labels])
        values = np.concatenate([self.scores[where].ravel(), np.take(scores, better)])
        places = np.concatenate([self.places[where].ravel(), columns + start])
        order = np.lexsort((-values, labels))  # stable: of equal scores the earlier position comes first
        ahead = np.searchsorted(labels[order], np.arange(len(chosen)))[:, None] + np.arange(k)
        self.scores[where], self.places[where] = values[order][ahead], places[order][ahead]

    def _merge_rows(self, where: np.ndarray, start: int, scores: np.ndarray) -> None:
        """Merge a block with many better scores, such as the first: find the best of the block first."""
        k = self.scores.shape[1]
        best = top_indices(scores, k)
        values = np.concatenate([self.scores[where], np.take_along_axis(scores, best, axis=1)], axis=1)
        places = np.concatenate([self.places[where], best + start], axis=1)
        order = np.argsort(-values, axis=1, kind="stable")[:, :k]
        self.scores[where] = np.take_along_axis(values, order, axis=1)
        self.places[where] = np.take_along_axis(places, order, axis=1)
