"""What a worker does with edges: merge those that start in a run of nodes, and describe them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dask.sizeof import sizeof

from condrank.base.measured import MARKED_MOST_NODES_PER_EDGE
from condrank.distributed.agreement import Agreement, Range
from condrank.observations.edges import Edges

# Starting nodes, ending nodes, labels and weights (None means 1) of some edges.
Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


@dataclass(frozen=True)
class EdgePartition:
    """Edges that start in a run of consecutive nodes. Both ends are positions among the nodes that occur.

    Attributes
    ----------
    edges : Edges of shape (k, l)
        The edges; repeated edges are merged.
    rows, cols : ndarray of int of shapes (k,) and (l,), ascending
        The nodes of the k rows and of the l columns.
    """

    edges: Edges
    rows: np.ndarray
    cols: np.ndarray

    @classmethod
    def merged(cls, pieces: Sequence[Columns]) -> EdgePartition:
        """Merge pieces from all parts of the edge list."""
        sources = np.concatenate([piece[0] for piece in pieces])
        targets = np.concatenate([piece[1] for piece in pieces])
        values = np.concatenate([piece[2] for piece in pieces])
        given = [piece[3] for piece in pieces if piece[3] is not None]  # all pieces have weights or none has
        weights = np.concatenate(given) if given else None
        rows, sources = _numbered(sources)
        cols, targets = _numbered(targets)
        return cls(Edges(sources, targets, values, weights, (len(rows), len(cols))), rows, cols)

    def ending_within(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starting nodes, ending nodes and labels of the edges that end in a run of nodes."""
        targets = self.cols[self.edges.indices]
        chosen = (start <= targets) & (targets < stop)
        return self.rows[self.edges.sources[chosen]], targets[chosen], self.edges.values[chosen]


@dataclass(frozen=True)
class Facts:
    """Facts about a set of merged edges.

    Attributes
    ----------
    n_pairs, n_loops : int
        Number of distinct pairs, and of pairs of a node with itself.
    weight : float
        Sum of the weights.
    labels : Range
        Range of the labels.
    rows, cols : (ndarray of int, ndarray of int)
        Nodes that have edges, ascending, and the number of distinct pairs of each.
    """

    n_pairs: int
    n_loops: int
    weight: float
    labels: Range
    rows: tuple[np.ndarray, np.ndarray]
    cols: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, partition: EdgePartition) -> Facts:
        """Facts about one partition."""
        edges = partition.edges
        loops = int(np.count_nonzero(partition.rows[edges.sources] == partition.cols[edges.indices]))
        outgoing, incoming = edges.degrees()
        weight = float(edges.weights.sum(dtype=np.float64))
        both = (partition.rows, outgoing), (partition.cols, incoming)
        return cls(edges.n_pairs, loops, weight, Range.of(edges.values), *both)

    @staticmethod
    def joined(parts: Sequence[Facts]) -> Facts:
        """Facts about all partitions together."""
        return Facts(
            sum(part.n_pairs for part in parts),
            sum(part.n_loops for part in parts),
            sum(part.weight for part in parts),
            Range.joined([part.labels for part in parts]),
            _counts([part.rows for part in parts]),
            _counts([part.cols for part in parts]),
        )


# Dask takes unknown objects to be a few bytes, so it would send partitions from one worker to another.


@sizeof.register(EdgePartition)
def partition_size(partition: EdgePartition) -> int:
    """Bytes of a partition's edges."""
    return partition.edges.nbytes + partition.rows.nbytes + partition.cols.nbytes


def counted(columns: Columns, shape: tuple[int, int], n_bins: int) -> tuple[int, np.ndarray, np.ndarray]:
    """Number of edges, and how many start and how many end in each of some runs of nodes."""
    seen = slice(None) if columns[3] is None else columns[3] > 0
    bins = [bin_of(end[seen], n, n_bins) for end, n in zip(columns[:2], shape, strict=True)]
    counts = [np.bincount(one, minlength=min(n, n_bins)) for one, n in zip(bins, shape, strict=True)]
    return len(bins[0]), counts[0], counts[1]


def bin_of(nodes: np.ndarray, n: int, n_bins: int) -> np.ndarray:
    """The run of each node, if n nodes are cut into runs. Run k starts at the first i with i·n_bins // n = k."""
    return nodes * min(n, n_bins) // n


def split(columns: Columns, bounds: np.ndarray) -> list[Columns]:
    """The edges of a part, split by the run of nodes in which they start. Runs start at ``bounds``."""
    run = np.searchsorted(bounds[1:], columns[0], side="right")
    if len(bounds) < 2**16:
        run = run.astype(np.uint16)  # this type is sorted in linear time
    order = np.argsort(run, kind="stable")
    places = np.searchsorted(run[order], np.arange(len(bounds)))
    pieces = []
    for k in range(len(bounds) - 1):
        chosen = order[places[k] : places[k + 1]]
        source, target, value, weight = (None if column is None else column[chosen] for column in columns)
        pieces.append((source, target, value, weight))
    return pieces


def compared(
    one: tuple[np.ndarray, np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray, np.ndarray], n: int
) -> Agreement:
    """How the labels of edges from one run of nodes to another agree with those of the reversed edges."""
    key, reverse = one[0] * n + one[1], other[1] * n + other[0]
    _, here, there = np.intersect1d(key, reverse, assume_unique=True, return_indices=True)
    return Agreement.of(one[2][here], other[2][there], one[0][here] == one[1][here])


def wanted(nodes: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Positions, within a block of rows, of those of the ascending nodes that are in it."""
    return nodes[slice(*np.searchsorted(nodes, (start, stop)))] - start


def _numbered(nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nodes that occur, ascending, and the position of each node among them. By marks if faster than sorting."""
    first, last = (int(nodes.min()), int(nodes.max())) if len(nodes) else (0, 0)
    if last - first > MARKED_MOST_NODES_PER_EDGE * len(nodes):
        return np.unique(nodes, return_inverse=True)
    nodes = nodes - first
    seen = np.zeros(last - first + 1, dtype=bool)
    seen[nodes] = True
    number = np.cumsum(seen) - 1
    return first + np.flatnonzero(seen), number[nodes]


def _counts(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    nodes, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    counts = np.bincount(place, weights=np.concatenate([part[1] for part in parts]), minlength=len(nodes))
    return nodes, counts.astype(np.int64)
