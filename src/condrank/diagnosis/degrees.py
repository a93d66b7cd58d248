"""How the observed edges are distributed over the nodes, and what the rows contain to rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Degrees:
    """Counts of observed edges per node, with loops counted separately.

    Attributes
    ----------
    outgoing, incoming : tuple of (int, float, int)
        Smallest, median and largest number of edges that start (row) or end (column) at a node, without loops.
    n_loops : int
        Observed edges from a node to itself; 0 for two domains.
    n_isolated : int
        Nodes without any edge to or from another node (two domains: rows and columns without any edge).
    """

    outgoing: tuple[int, float, int]
    incoming: tuple[int, float, int]
    n_loops: int
    n_isolated: int


def describe_degrees(Y: NDArray[np.float64], *, two_domain: bool = False) -> Degrees:
    """Count the observed edges of each node. O(n m).

    Parameters
    ----------
    Y : array of shape (n, m)
        Labels, NaN = unobserved.
    two_domain : bool
        Whether rows and columns are different nodes.

    Returns
    -------
    Degrees
    """
    observed = np.isfinite(Y)
    n_loops = 0
    if not two_domain:
        n_loops = int(np.trace(observed))
        np.fill_diagonal(observed, False)
    outgoing, incoming = observed.sum(axis=1), observed.sum(axis=0)
    if two_domain:
        n_isolated = int((outgoing == 0).sum() + (incoming == 0).sum())
    else:
        n_isolated = int(((outgoing == 0) & (incoming == 0)).sum())
    return Degrees(_spread(outgoing), _spread(incoming), n_loops, n_isolated)


def _spread(degrees: NDArray[np.int_]) -> tuple[int, float, int]:
    if degrees.size == 0:
        return 0, 0.0, 0
    return int(degrees.min()), float(np.median(degrees)), int(degrees.max())


@dataclass(frozen=True)
class Rows:
    """What a ranking loss can learn from the rows (conditioning nodes); it sees only differences within rows.

    Attributes
    ----------
    n_rows : int
        Rows with an observed edge.
    edges_per_row : float
        Mean number of observed edges of these rows, loops included. The ranking loss gives up one for each row,
        the row's mean.
    rankable_share : float or None
        Share of these rows with at least two different labels; the others say nothing about a ranking.
    row_mean_share : float or None
        Share of the variance of the labels that lies between row means; the ranking loss ignores it. None if
        the labels do not vary.
    row_mean_chance : float or None
        Expected share of independent labels, (rows - 1)/(edges - 1).
    """

    n_rows: int
    edges_per_row: float
    rankable_share: float | None
    row_mean_share: float | None
    row_mean_chance: float | None


def describe_rows(Y: NDArray[np.float64]) -> Rows:
    """Measure what a ranking loss can learn from the labels, row by row. O(n m).

    Parameters
    ----------
    Y : array of shape (n, m)
        Labels, NaN = unobserved.

    Returns
    -------
    Rows
    """
    observed = np.isfinite(Y)
    counts = observed.sum(axis=1)
    used = counts > 0
    n_rows, n_edges = int(used.sum()), int(counts.sum())
    if n_rows == 0:
        return Rows(0, 0.0, None, None, None)
    Y, observed, counts = Y[used], observed[used], counts[used]
    lowest = np.min(Y, axis=1, where=observed, initial=np.inf)
    highest = np.max(Y, axis=1, where=observed, initial=-np.inf)
    rankable_share = float(np.mean(highest > lowest))
    means = np.sum(Y, axis=1, where=observed) / counts
    mean = float(counts @ means) / n_edges
    total = float(np.sum((Y - mean) ** 2, where=observed))
    between = float(counts @ (means - mean) ** 2)
    varies = total > 1e-20 * float(np.sum(Y**2, where=observed))
    return Rows(
        n_rows,
        n_edges / n_rows,
        rankable_share,
        min(between / total, 1.0) if varies else None,
        (n_rows - 1) / (n_edges - 1) if varies else None,
    )
