"""Positives alone, such as clicks: all other pairs are zeros, or some of them that are drawn for each node."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from condrank.base.memory import available_memory, readable
from condrank.observations.complete import Complete
from condrank.observations.edges import Edges

PAIR_BYTES = 48  # of an edge while it is made: two ends, a label, a weight, a key and its order


class Clicks(Edges):
    """Edges of which some are positives, and the others zeros that were assumed, not given."""

    def known(self) -> tuple[np.ndarray, np.ndarray]:
        """Compressed rows (indptr, indices) of the positives."""
        given = self.values != 0
        return np.concatenate([[0], np.cumsum(given)])[self.indptr], self.indices[given]


def with_all_zeros(positives: Edges, weighted: bool) -> Complete | Clicks:
    """The relation that has every pair: the value of a positive, and 0 for each other pair.

    Without weights it is a complete relation of which only the positives are stored. Weights of the positives need all
    nm pairs as edges (zeros have weight 1): a ValueError if there is not the memory for them. If ``weighted`` is False,
    the weights only say how often a pair was given, which does not count.
    """
    n, m = positives.shape
    if not weighted or (positives.weights == 1).all():
        return Complete(sparse.csr_array(positives.matrix(positives.values)))
    needed, free = PAIR_BYTES * n * m, available_memory()
    if free is not None and needed > free:
        raise ValueError(
            f"unstored='zero' with weights needs all {n:,} × {m:,} pairs as edges, about {readable(needed)}, and "
            f"{readable(free)} are available; draw some zeros for each positive, zeros=5, or leave the weights out"
        )
    values, weights = np.zeros((n, m), positives.dtype), np.ones((n, m), positives.dtype)
    values[positives.sources, positives.indices] = positives.values
    weights[positives.sources, positives.indices] = positives.weights
    sources, targets = np.divmod(np.arange(n * m), m)
    return Clicks(sources, targets, values.ravel(), weights.ravel(), (n, m))


def with_drawn_zeros(positives: Edges, zeros: int, rng: np.random.Generator) -> Complete | Clicks:
    """The positives, and ``zeros`` times as many zeros for each starting node, drawn without replacement.

    A zero has the weight (m - p)/k if k zeros stand for the m - p pairs of a node with p positives that are not
    positives. So each sum over the edges of a node is, on average over the draws, the sum over all its m pairs. Nodes
    without positives have no zeros. O(edges log edges).
    """
    n, m = positives.shape
    degree = np.diff(positives.indptr)
    wanted = np.minimum(zeros * degree, m - degree)
    if (wanted == m - degree).all() and (positives.weights == 1).all():
        return with_all_zeros(positives, weighted=False)
    key = positives.sources.astype(np.int64) * m + positives.indices
    few = _few(np.where(2 * (wanted + degree) <= m, wanted, 0), key, m, rng)
    drawn = np.concatenate([few, _many(wanted, positives, rng)])
    sources, targets = np.divmod(np.sort(drawn), m)
    weights = ((m - degree) / np.maximum(1, wanted))[sources].astype(positives.dtype)
    return Clicks(
        np.concatenate([positives.sources, sources]),
        np.concatenate([positives.indices, targets]),
        np.concatenate([positives.values, np.zeros(len(drawn), positives.dtype)]),
        np.concatenate([positives.weights, weights]),
        (n, m),
    )


def _few(wanted: np.ndarray, taken: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """Keys of pairs that are not taken: any ending node is drawn, and drawn again if the pair is there already.

    ``taken`` is ascending. Each round keeps at least half of what it draws, on average.
    """
    found = np.zeros(0, dtype=np.int64)
    missing = wanted.copy()
    while missing.any():
        rows = np.repeat(np.arange(len(wanted)), missing)
        new = np.unique(rows * m + rng.integers(0, m, len(rows)))
        for old in (taken, found):
            place = np.minimum(np.searchsorted(old, new), max(0, len(old) - 1))
            new = new[old[place] != new] if len(old) else new
        found = np.sort(np.concatenate([found, new]))
        missing = wanted - np.bincount(found // m, minlength=len(wanted))
    return found


def _many(wanted: np.ndarray, positives: Edges, rng: np.random.Generator) -> np.ndarray:
    """Keys of pairs of nodes that want most of what is free: drawn from a list of it, O(m) for each such node."""
    m, degree, found = positives.shape[1], np.diff(positives.indptr), [np.zeros(0, dtype=np.int64)]
    for row in np.flatnonzero((2 * (wanted + degree) > m) & (wanted > 0)).tolist():
        free = np.ones(m, dtype=bool)
        free[positives.indices[positives.indptr[row] : positives.indptr[row + 1]]] = False
        found.append(row * m + rng.permutation(np.flatnonzero(free))[: wanted[row]])
    return np.concatenate(found)
