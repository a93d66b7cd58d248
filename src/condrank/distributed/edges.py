"""Edge lists in Dask: the edges are checked where they are, then collected by starting node.

A *part* of the list is one block of the user's collection. A *partition* is what a worker keeps for the iterations: all
edges that start in a run of consecutive nodes. So all edges of a conditioning node, and their mean, are in one place.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from operator import getitem
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed

from condrank.base.dask import is_dask
from condrank.base.measured import COUNTED_RUNS
from condrank.distributed.agreement import Agreement
from condrank.distributed.cluster import compute, persist, preferably_at, shared, total, worker_threads
from condrank.distributed.cost import count_partitions
from condrank.distributed.partition import Columns, EdgePartition, Facts, compared, counted, split
from condrank.nodes.checking import check_edges
from condrank.nodes.store import Nodes


class DistributedEdges:
    """Observed edges of distributed nodes.

    Parameters
    ----------
    parts : list of (Delayed, Delayed, Delayed, Delayed or None)
        Sources, targets, values and weights of each part of the edge list.
    ends : (Nodes, Nodes)
        Nodes where edges start and end: their number and their ids, without data.
    dtype : dtype
        Floating type for labels that are not floating.
    is_reversed : bool
        Whether rows are the targets.
    """

    is_complete = False

    def __init__(
        self, parts: list[tuple[Any, ...]], ends: tuple[Nodes, Nodes], dtype: np.dtype, is_reversed: bool = False
    ):
        self.parts, self.ends, self.dtype, self.is_reversed = parts, ends, dtype, is_reversed
        n, m = len(ends[0]), len(ends[1])
        self.shape = (m, n) if is_reversed else (n, m)
        given = shared(ends)
        self._checked = [delayed(_checked)(part, given, number, is_reversed) for number, part in enumerate(parts)]

    @classmethod
    def of(
        cls, nodes: Nodes, others: Nodes, sources: Any, targets: Any, values: Any, weights: Any = None
    ) -> DistributedEdges:
        """From columns of an edge list: Dask arrays or series, or NumPy arrays, which are cut in the same way.

        One pass checks them.
        """
        columns = _aligned({"sources": sources, "targets": targets, "values": values, "weights": weights})
        lists = [None if column is None else column.to_delayed().ravel().tolist() for column in columns]
        parts = [tuple(None if one is None else one[i] for one in lists) for i in range(columns[0].numblocks[0])]
        same = others is nodes
        first = Nodes(np.empty((len(nodes), 0), nodes.dtype), None, nodes.ids)
        ends = first, first if same else Nodes(np.empty((len(others), 0), others.dtype), None, others.ids)
        edges = cls(parts, ends, columns[2].dtype if columns[2].dtype.kind == "f" else nodes.dtype)
        _ = edges.counted  # raises now for wrong nodes and labels, not in the middle of a fit
        return edges

    @cached_property
    def counted(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """For each part, its number of edges, and how many start and how many end in each of some runs of nodes."""
        return compute([delayed(counted)(columns, self.shape, COUNTED_RUNS) for columns in self._checked])

    @property
    def n_edges(self) -> int:
        """Number of observed edges; repeated edges are counted each time."""
        return sum(part[0] for part in self.counted)

    @cached_property
    def bounds(self) -> np.ndarray:
        """First node of each partition, then the number of nodes. Partitions have about the same number of edges."""
        n, starting = self.shape[0], np.sum([part[1] for part in self.counted], axis=0)
        edges = np.concatenate([[0], np.cumsum(starting)])
        shares = np.linspace(0, edges[-1], count_partitions(int(edges[-1]), len(worker_threads())) + 1)
        runs = np.unique(np.searchsorted(edges, shares[1:-1]))
        first = -(-runs * n // len(starting))
        return np.unique(np.concatenate([[0], first, [n]]))

    def pieces(self) -> list[list[Delayed]]:
        """For each run of nodes, tasks that give its edges in every part of the list that has some."""
        bounds = shared(self.bounds)
        pieces: list[list[Delayed]] = [[] for _ in self.bounds[1:]]
        for columns, (_, starting, _) in zip(self._checked, self.counted, strict=True):
            by_run = delayed(split)(columns, bounds)
            first = -(-np.flatnonzero(starting) * self.shape[0] // len(starting))
            for k in np.unique(np.searchsorted(self.bounds[1:], first, side="right")).tolist():
                pieces[k].append(delayed(getitem)(by_run, k))
        if not any(pieces):  # a graph without edges has one empty partition
            pieces[0].append(delayed(getitem)(delayed(split)(self._checked[0], bounds), 0))
        return pieces

    @cached_property
    def _gathered(self) -> tuple[list[tuple[int, int]], list[Delayed]]:
        runs, tasks, places = [], [], worker_threads()
        for run, some in zip(pairwise(self.bounds.tolist()), self.pieces(), strict=True):
            if some:
                with preferably_at(places[len(tasks) % len(places)]):  # workers take turns
                    tasks.append(delayed(EdgePartition.merged)(some))
                runs.append(run)
        return runs, persist(tasks)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """First node and last node + 1 of each partition."""
        return self._gathered[0]

    @property
    def partitions(self) -> list[Delayed]:
        """`EdgePartition` of each run of nodes, kept by the workers. Each edge is sent once."""
        return self._gathered[1]

    @cached_property
    def facts(self) -> Facts:
        """`Facts` of all edges."""
        return total([delayed(Facts.of)(partition) for partition in self.partitions], Facts.joined)

    @property
    def n_pairs(self) -> int:
        """Number of distinct pairs observed."""
        return self.facts.n_pairs

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the workers hold for the edges."""
        return self.n_pairs * (8 + 2 * self.dtype.itemsize)

    @cached_property
    def agreement(self) -> Agreement:
        """How the two directions of pairs agree, on the cluster: edges between two runs of nodes, there and back."""
        within = EdgePartition.ending_within
        found = [[delayed(within)(partition, *run) for run in self.runs] for partition in self.partitions]
        n = self.shape[1]
        tasks = [delayed(compared)(found[i][j], found[j][i], n) for i in range(len(found)) for j in range(i + 1)]
        return total(tasks, Agreement.joined)

    @property
    def two_way(self) -> bool:
        """Whether some pair of different nodes is observed in both directions."""
        return self.agreement.two_way

    def disagreement(self, sign: int, offset: float = 0.0, loops: bool = True) -> float:
        """Largest |(y_ij - offset) - sign (y_ji - offset)| over pairs observed in both directions."""
        return self.agreement.disagreement(sign, offset, loops)

    def extremes(self) -> tuple[float, float]:
        """Smallest and largest label."""
        labels = self.facts.labels
        return (labels.low, labels.high) if self.n_pairs else (0.0, 0.0)

    def count_loops(self) -> int:
        """Number of nodes whose loop is observed."""
        return self.facts.n_loops

    def degrees(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of distinct pairs observed in each row and in each column, on the client."""
        found = []
        for n, (nodes, counts) in zip(self.shape, (self.facts.rows, self.facts.cols), strict=True):
            degree = np.zeros(n, dtype=np.int64)
            degree[nodes] = counts
            found.append(degree)
        return found[0], found[1]

    @cached_property
    def _other_way(self) -> DistributedEdges:
        other = DistributedEdges(self.parts, self.ends, self.dtype, not self.is_reversed)
        other.counted = [(n_edges, ending, starting) for n_edges, starting, ending in self.counted]
        other._other_way = self
        return other

    def transpose(self) -> DistributedEdges:
        """Every edge reversed. The result has its own partitions and is made once."""
        return self._other_way

    def take(self, rows: Any, cols: Any) -> DistributedEdges:
        """Raises: edges are chosen in Dask, by a query on the edge list."""
        raise ValueError("a distributed edge list has no subgraphs: choose nodes and edges in Dask and make a graph")

    def to_dense(self, rows: slice = slice(None)) -> np.ndarray:
        """Raises: the labels stay with the workers."""
        raise ValueError("a distributed edge list is not copied to the client: evaluate on a graph of some nodes")


def _aligned(columns: dict[str, Any]) -> list[Any]:
    """Columns of an edge list as Dask arrays whose parts have the same lengths; None stays None."""
    arrays: dict[str, Any] = {}
    for name, column in columns.items():
        if column is None:
            continue
        if hasattr(column, "to_dask_array"):
            named = name in ("sources", "targets") and not isinstance(column.dtype, np.dtype)
            array = (column.astype(object) if named else column).to_dask_array()
        else:
            array = column
        arrays[name] = array if isinstance(array, da.Array) else np.asarray(array)
        if arrays[name].ndim != 1:
            raise ValueError(f"{name} must be one-dimensional, got {arrays[name].ndim} dimension(s)")
    split_up = [array for array in arrays.values() if isinstance(array, da.Array)]
    known = all(not np.isnan(length) for array in split_up for length in array.chunks[0])
    if not known and (len(split_up) < len(arrays) or len({array.numblocks for array in split_up}) > 1):
        arrays = {name: a.compute_chunk_sizes() if is_dask(a) else a for name, a in arrays.items()}
        known = True
    if known:
        n_edges = arrays["sources"].shape[0]
        for name, array in arrays.items():
            if array.shape != (n_edges,):
                raise ValueError(f"{name} must have one entry for each of the {n_edges} sources, got {array.shape}")
        chunks = next(array.chunks for array in arrays.values() if isinstance(array, da.Array)) if split_up else "auto"
        arrays = {
            name: array.rechunk(chunks) if isinstance(array, da.Array) else da.from_array(array, chunks)
            for name, array in arrays.items()
        }
    return [arrays.get(name) for name in columns]


def _checked(part: tuple[Any, ...], ends: tuple[Nodes, Nodes], number: int, is_reversed: bool) -> Columns:
    """Checked columns of a part, with both ends as positions of nodes. An error names the part."""
    try:
        source, target, value, weight = check_edges(*ends, *part)
    except ValueError as error:
        raise ValueError(f"part {number} of the edges: {error}") from None
    return (target, source, value, weight) if is_reversed else (source, target, value, weight)
