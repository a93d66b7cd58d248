"""Loops of the three stages of ``condrank.metrics.inversions``, compiled by numba on first use and cached on disk.

Arguments after the inputs are filled in place. With unsigned indices numba does not check for negative ones, so the
inner loops have no branches. Measured constants are arguments: numba's cache on disk would not see that another file
has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

Kernels = tuple[Callable[..., None], Callable[..., None], Callable[..., None]]


def levels_loops(y, order, levels, comparable):
    """Stage 1: levels of the relevances y (+inf: unobserved) sorted by ``order``, and the number of pairs not tied."""
    for q in range(y.shape[0]):
        level, observed, run, tied = 0, 0, 0, 0
        previous = y[q, order[q, 0]]
        for i in range(y.shape[1]):
            place = np.uint64(order[q, i])
            value = y[q, place]
            if value == np.inf:
                break
            if i == 0 or value != previous:
                level += 1
                run = 0
            previous = value
            tied += run
            run += 1
            observed += 1
            levels[q, place] = level
        comparable[q] = observed * (observed - 1) // 2 - tied


def permutation_loops(h, order, levels, insertion, permutation, tied):
    """Stage 2: permutation of the objects by level, in the order of the scores h, and the number of tied pairs.

    Runs of at most ``insertion`` ties are sorted by insertion.
    """
    m = h.shape[1]
    met, ordered = np.empty(m, dtype=np.int32), np.empty(m, dtype=h.dtype)
    places = np.empty(m + 2, dtype=np.int32)
    for q in range(h.shape[0]):
        # Levels of the observed objects in score order; places[l]: how many of all objects are below level l.
        places[:] = 0
        n, n_levels = 0, 0
        for i in range(m):
            place = np.uint64(order[q, i])
            level = levels[q, place]
            met[n] = level
            ordered[n] = h[q, place]
            places[np.uint64(level + 1)] += 1
            n_levels = max(n_levels, level)
            n += level > 0
        for level in range(2, n_levels + 1):
            places[level] += places[level - 1]
        # Objects tied in score are sorted by level: they are no inversions, but are counted once here.
        ties, start = 0, 0
        for i in range(1, n + 1):
            if i < n and ordered[i] == ordered[i - 1]:
                continue
            if i > start + 1:
                if i - start > insertion:
                    met[start:i].sort()
                else:
                    for j in range(start + 1, i):
                        level, k = met[j], j
                        while k > start and met[k - 1] > level:
                            met[k] = met[k - 1]
                            k -= 1
                        met[k] = level
                run = 0
                for j in range(start + 1, i):
                    run = run + 1 if met[j] == met[j - 1] else 0
                    ties += j - start - run
            start = i
        tied[q] = ties
        for i in range(m - n):
            permutation[q, i] = i
        for i in range(n):
            level = np.uint64(met[i])
            permutation[q, m - n + i] = places[level]
            places[level] += 1


def inversions_loops(permutation, leaf_width, count):
    """Stage 3: number of inversions of every row; each row is a permutation.

    Parts of at most ``leaf_width`` are counted pair by pair.
    """
    m = permutation.shape[1]
    width, depth = m, 0
    while width > leaf_width:
        width = (width + 1) >> 1
        depth += 1
    size = width << depth
    x, split = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    for q in range(permutation.shape[0]):
        x[:m] = permutation[q]
        for i in range(m, size):
            x[i] = i
        inversions = 0
        for d in range(depth):
            half = size >> (d + 1)
            for base in range(0, size, 2 * half):
                block, halves = x[base : base + 2 * half], split[base : base + 2 * half]
                middle = np.int32(base + half)
                first, large = np.uint64(half), np.uint64(0)
                for k in range(np.uint64(2 * half)):
                    value = block[k]
                    # Written this way it compiles to conditional moves; branches take four times as long.
                    target = (first + large) if value >= middle else (k - large)
                    halves[target] = value
                    inversions += np.int64(large) if value < middle else 0
                    large += np.uint64(value >= middle)
            x, split = split, x
        for base in range(0, size, width):
            leaf = x[base : base + width]
            for i in range(1, width):
                value, greater = leaf[i], np.int32(0)
                for j in range(i):
                    greater += np.int32(leaf[j] > value)
                inversions += greater
        count[q] = inversions


@cache
def numba_kernels() -> Kernels | None:
    """The compiled kernels of the three stages, or None if numba is not installed."""
    try:
        from numba import njit
    except ImportError:
        return None
    compiled = njit(cache=True, nogil=True)
    return compiled(levels_loops), compiled(permutation_loops), compiled(inversions_loops)
