"""Sums over the observed edges of each conditioning node, and values of nodes copied to their edges."""

from __future__ import annotations

import numpy as np


class Rows:
    """The edges of each node, in compressed sparse rows. Nodes without an edge are left out.

    Parameters
    ----------
    indptr : ndarray of int
        Where the edges of each node start, as in `condrank.observations.Edges`.
    """

    def __init__(self, indptr: np.ndarray):
        counts = np.diff(indptr)
        self.filled = np.flatnonzero(counts)
        self._starts, self._counts = indptr[self.filled], counts[self.filled]

    def sums(self, entries: np.ndarray) -> np.ndarray:
        """Sum of the entries of each node that has an edge. O(n_pairs)."""
        return np.add.reduceat(entries, self._starts) if len(entries) else entries

    def spread(self, values: np.ndarray) -> np.ndarray:
        """For every edge the value of its node. O(n_pairs)."""
        return np.repeat(values, self._counts)
