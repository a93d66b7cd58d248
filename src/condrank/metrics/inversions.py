"""Pairs that a score orders wrongly, counted in O(m log m) for every row of a matrix of m columns.

Every row goes through three stages, and each stage has a numba and a NumPy twin:

1. its relevances become levels, 0 for unobserved entries and 1, 2, … for the distinct observed values;
2. the levels in the order of the scores become a permutation; ties are sorted and counted in this stage;
3. the inversions of the permutation are counted.

Stage 3 splits a permutation stably into its small and its large half, which is merge sort run backwards: a
pass has neither a comparison of two objects nor a branch. The NumPy twins work on all rows at once. If there are few
levels, they use cumulative sums instead of stages 2 and 3. Counts are doubled, so that half a pair (tied in score) is
an integer and every result is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condrank.base import blocks
from condrank.base.measured import (
    CACHED_ENTRIES,
    COUNTED_LEVELS_MOST,
    INSERTION_SORT_MOST_TIES,
    METRICS_NUMBA_LEAST_ENTRIES,
    PAIRWISE_COUNT_MOST_WIDTH,
)
from condrank.metrics.inversion_loops import Kernels, numba_kernels

Counts = NDArray[np.int64]


def row_blocks(shape: tuple[int, int]) -> Iterator[slice]:
    """Slices of consecutive rows with about ``CACHED_ENTRIES`` entries each."""
    return blocks.row_blocks(*shape, budget=CACHED_ENTRIES)


def kernels_for(n_entries: int, backend: str = "auto") -> Kernels | None:
    """The compiled loops, if they are worth it for this many entries in all; None for the NumPy twins."""
    compiled = backend == "numba" or (backend == "auto" and n_entries >= METRICS_NUMBA_LEAST_ENTRIES)
    return numba_kernels() if compiled else None


class Levels:
    """A block of relevances after stage 1, ready to be compared with any number of scores.

    Parameters
    ----------
    relevance : array of shape (n_queries, n_objects)
        Finite, or NaN where unobserved; at least one entry.
    kernels : Kernels or None
        Compiled loops, or the NumPy twins.
    threshold : float or None
        As in `count_pairs`.

    Attributes
    ----------
    comparable : int64 array of shape (n_queries,)
        Pairs of objects whose relevances differ.
    """

    def __init__(self, relevance: NDArray[Any], kernels: Kernels | None, threshold: float | None = None):
        self.kernels = kernels
        y, unobserved = relevance, np.isnan(relevance)
        if threshold is not None:
            y = above(y, threshold).astype(np.float32)
        y = np.ascontiguousarray(mark_unobserved(y, unobserved, np.inf))
        few = few_levels(y)
        self.levels, self.comparable = few[:2] if few is not None else _levels(y, kernels)
        self.n_few = None if few is None else few[2]

    def twice_wrong(self, scores: NDArray[Any]) -> Counts:
        """Twice the number of pairs of every row that finite scores order wrongly."""
        h = np.ascontiguousarray(scores)
        order = np.argsort(h, axis=1)
        if self.kernels is not None:
            permutation, tied, inversions = np.empty(h.shape, np.int32), *np.zeros((2, len(h)), np.int64)
            self.kernels[1](h, order, self.levels, INSERTION_SORT_MOST_TIES, permutation, tied)
            self.kernels[2](permutation, PAIRWISE_COUNT_MOST_WIDTH, inversions)
            return 2 * inversions + tied
        met = np.take_along_axis(self.levels, order, axis=1)
        fresh = changes(np.take_along_axis(h, order, axis=1))
        if self.n_few is not None:
            return _count_few(met, fresh, self.n_few)
        permutation, tied = _permutation(met, fresh)
        return 2 * _inversions(permutation) + tied


def above(relevance: Any, relevant: float) -> Any:
    """Which relevances are above a level, compared in their own type: 0.1 is not above 0.1 in single precision."""
    return relevance > (float(relevant) if relevance.dtype.kind == "f" else relevant)


def mark_unobserved(values: NDArray[Any], unobserved: NDArray[np.bool_], mark: float) -> NDArray[Any]:
    """Replace unobserved entries by an infinity, which sorts last or first; NaN would sort more slowly."""
    return np.where(unobserved, mark, values) if unobserved.any() else values


def comparable_pairs(values: NDArray[Any]) -> Counts:
    """Number of pairs of every row that are not tied, without entries of +inf. O(m log m) per row."""
    ordered = np.sort(values, axis=1)
    return _untied_pairs(ordered, _observed_count(values))


def tie_runs(fresh: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Start and end of the run of ties around every position; the end is not part of the run.

    ``fresh[q, i]`` says that position i of the sorted row q differs from the position before.
    """
    m = fresh.shape[1]
    position = np.arange(m)
    start = np.maximum.accumulate(np.where(fresh, position, 0), axis=1)
    last = np.ones_like(fresh)
    last[:, :-1] = fresh[:, 1:]
    end = np.minimum.accumulate(np.where(last, position + 1, m)[:, ::-1], axis=1)[:, ::-1]
    return start, end


def changes(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a value differs from the one before it in its row; true at the first position."""
    fresh = np.ones(ordered.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=fresh[:, 1:])
    return fresh


def few_levels(y: NDArray[Any]) -> tuple[NDArray[np.int32], Counts, int] | None:
    """Levels, comparable pairs and number of levels, if they are few and a sample shows them all; else None."""
    flat = y.reshape(-1)
    values = np.unique(flat[:: max(1, flat.size // 4096)])
    observed = values[values < np.inf] if y.dtype.kind == "f" else values
    if not 0 < observed.size <= COUNTED_LEVELS_MOST:
        return None
    levels = np.zeros(y.shape, dtype=np.int32)
    sizes = np.empty((observed.size, len(y)), dtype=np.int64)
    for level, value in enumerate(observed):
        equal = y == value
        sizes[level] = np.count_nonzero(equal, axis=1)
        levels += equal * np.int32(level + 1)
    total = sizes.sum(axis=0)
    if not np.array_equal(total, _observed_count(y)):
        return None
    return levels, (total**2 - (sizes**2).sum(axis=0)) // 2, observed.size


def _observed_count(y: NDArray[Any]) -> Counts:
    if y.dtype.kind != "f":
        return np.full(len(y), y.shape[1], dtype=np.int64)
    return np.count_nonzero(y < np.inf, axis=1).astype(np.int64)


def _untied_pairs(ordered: NDArray[Any], observed: Counts) -> Counts:
    counted = np.arange(ordered.shape[1]) < observed[:, None]
    return observed * (observed - 1) // 2 - _tied_pairs(changes(ordered), counted)


def _tied_pairs(fresh: NDArray[np.bool_], counted: NDArray[np.bool_]) -> Counts:
    """Number of tied pairs of sorted rows: a counted position is tied with all earlier ones of its run."""
    position = np.arange(fresh.shape[1])
    before = position - np.maximum.accumulate(np.where(fresh, position, 0), axis=1)
    return np.asarray(np.sum(before, axis=1, where=counted, dtype=np.int64))


# The NumPy twins


def _levels(y: NDArray[Any], kernels: Kernels | None) -> tuple[NDArray[np.int32], Counts]:
    order = np.argsort(y, axis=1)
    if kernels is not None:
        levels, comparable = np.zeros(y.shape, dtype=np.int32), np.zeros(len(y), dtype=np.int64)
        kernels[0](y, order, levels, comparable)
        return levels, comparable
    ordered, observed = np.take_along_axis(y, order, axis=1), _observed_count(y)
    level = np.cumsum(changes(ordered), axis=1, dtype=np.int32)
    level[np.arange(y.shape[1]) >= observed[:, None]] = 0
    levels = np.empty_like(level)
    np.put_along_axis(levels, order, level, axis=1)
    return levels, _untied_pairs(ordered, observed)


def _count_few(met: NDArray[np.int32], fresh: NDArray[np.bool_], n_levels: int) -> Counts:
    """Levels in score order: for every level, count the lower ones that come after it; ties count half."""
    rows, m = met.shape
    twice_wrong = np.zeros(rows, dtype=np.int64)
    runs = None if fresh.all() else tie_runs(fresh)
    lower = np.zeros((rows, m + 1), dtype=np.int32)  # lower[:, i]: objects of lower level among the first i
    for level in range(2, n_levels + 1):
        np.cumsum((met > 0) & (met < level), axis=1, out=lower[:, 1:], dtype=np.int32)
        if runs is None:
            ahead = 2 * lower[:, 1:]
        else:
            ahead = np.take_along_axis(lower, runs[0], axis=1) + np.take_along_axis(lower, runs[1], axis=1)
        twice_wrong += np.sum(2 * lower[:, -1:] - ahead, axis=1, where=met == level, dtype=np.int64)
    return twice_wrong


def _permutation(met: NDArray[np.int32], fresh: NDArray[np.bool_]) -> tuple[NDArray[Any], Counts]:
    """From levels in score order: the permutation whose inversions are the wrong pairs, and the tied pairs."""
    m = met.shape[1]
    shift, mask = np.int64(32), np.int64(0xFFFFFFFF)
    tied = np.zeros(len(met), dtype=np.int64)
    if not (fresh.all() and met.all()):
        # Sort by (score, level), so that ties are no inversions; unobserved objects come first in both orders.
        keys = (np.cumsum(fresh, axis=1, dtype=np.int64) << shift) + met
        keys[met == 0] = 0
        keys.sort(axis=1)
        counted = keys > 0
        tied = _tied_pairs(changes(keys >> shift), counted) - _tied_pairs(changes(keys), counted)
        met = (keys & mask).astype(np.int32)
    keys = (met.astype(np.int64) << shift) + np.arange(m)
    keys.sort(axis=1)
    return (keys & mask).astype(np.uint16 if m <= 1 << 15 else np.uint32), tied


def _inversions(permutations: NDArray[Any]) -> Counts:
    """Number of inversions of every row, a permutation of 0 … m-1. O(m log m) per row, all rows at once.

    The small and the large half of the values are split stably. The positions of the small values give the
    inversions between the halves; the inversions inside each half are counted in the same way.
    """
    rows, m = permutations.shape
    depth = max(0, int(np.ceil(np.log2(m / PAIRWISE_COUNT_MOST_WIDTH))))
    width = -(-m // (1 << depth)) << depth
    padding = np.broadcast_to(np.arange(m, width, dtype=permutations.dtype), (rows, width - m))
    x = np.concatenate([permutations, padding], axis=1).reshape(rows, 1, width)
    count = np.zeros(rows, dtype=np.int64)
    for _ in range(depth):
        n_blocks, half = x.shape[1], x.shape[2] // 2
        small = x < half
        places = np.sum(small.view(np.uint8), axis=1, dtype=np.int64) @ np.arange(2 * half)
        count += places - n_blocks * (half * (half - 1) // 2)
        split = np.empty((rows, n_blocks, 2, half), dtype=x.dtype)
        split[:, :, 0] = x[small].reshape(rows, n_blocks, half)
        split[:, :, 1] = x[~small].reshape(rows, n_blocks, half)
        split[:, :, 1] -= x.dtype.type(half)
        x = split.reshape(rows, 2 * n_blocks, half)
    columns = np.ascontiguousarray(x.reshape(-1, x.shape[2]).T)
    greater = np.zeros(columns.shape, dtype=np.uint8)
    for distance in range(1, len(columns)):
        greater[distance:] += columns[distance:] < columns[:-distance]
    return count + greater.sum(axis=0, dtype=np.int64).reshape(rows, -1).sum(axis=1)
