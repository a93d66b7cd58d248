"""A relation that is known for every ordered pair of distributed nodes: a label matrix in tiles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed

from condrank.distributed.agreement import Agreement, Range
from condrank.distributed.cluster import compute, joined, total
from condrank.distributed.rows import DaskArray, blocks_of
from condrank.observations.complete import LabelMatrix


class DistributedComplete(LabelMatrix):
    """The n×m label matrix Y as a Dask array, each ordered pair observed exactly once.

    Parameters
    ----------
    Y : dask array of shape (n, m)
        Labels in tiles. The first sum over them checks that all are finite.
    """

    @classmethod
    def of(cls, Y: Any, dtype: np.dtype) -> DistributedComplete:
        """From the labels that a user gave. Integers and booleans become ``dtype``."""
        Y = Y.to_dask_array(lengths=True) if hasattr(Y, "to_dask_array") else da.asarray(Y)
        if Y.ndim != 2:
            raise ValueError(f"Y must be two-dimensional (nodes × objects), got {Y.ndim} dimension(s)")
        if Y.dtype.kind not in "fiub" or not isinstance(Y._meta, np.ndarray):
            raise ValueError(f"Y must be dense and numeric, got {type(Y._meta).__name__} of dtype {Y.dtype}")
        return cls(Y if Y.dtype in (np.float32, np.float64) else Y.astype(dtype))

    @property
    def nbytes(self) -> int:
        """Bytes of memory held by all workers."""
        return self.Y.nbytes

    def reduce(self, Z: DaskArray, Z_objects: DaskArray) -> np.ndarray:
        """ZᵀYZ', one task per tile, O(nmr') on the cluster. The r×r' sum and the row sums come to the client.

        Node coordinates are sent to the tiles, which stay where they are.
        """
        rows, cols = self.Y.chunks
        left, right = blocks_of(Z.rechunk((rows, -1))), blocks_of(Z_objects.rechunk((cols, -1)))
        reduced, sums = [], []
        for i, strip in enumerate(self.Y.to_delayed().tolist()):
            for j, tile in enumerate(strip):
                both: Any = delayed(_reduce_tile, nout=2)(tile, left[i], right[j], (i, j))
                reduced.append(both[0])
                sums.append(both[1])
        G, *parts = compute([joined(reduced), *sums])
        # Kept for row_sums, because another pass over Y would cost nearly as much as this one.
        strips = range(0, len(parts), len(cols))
        self._row_sums = np.concatenate([sum(parts[at : at + len(cols)]) for at in strips])
        return G

    def row_sums(self) -> np.ndarray:
        """Y1, the sum of each row's labels, in double precision: (n,) on the client."""
        if not hasattr(self, "_row_sums"):
            self._row_sums = np.asarray(self.Y.sum(axis=1, dtype=np.float64))
        return self._row_sums

    @cached_property
    def _facts(self) -> tuple[Range, Agreement | None]:
        """Extremes of the labels and, for a square Y, how its two directions agree. One pass, on first use."""
        n, m = self.shape
        if n != m:
            return Range(*compute([self.Y.min(), self.Y.max()])), None
        square = self.Y.rechunk((self.Y.chunks[0],) * 2).to_delayed().tolist()
        tasks = [
            delayed(_compare_tiles)(square[i][j], square[j][i], (i, j))
            for i in range(len(square))
            for j in range(i + 1)
        ]
        return total(tasks, _joined_facts)

    @property
    def agreement(self) -> Agreement:
        """How the two directions of all pairs agree."""
        agreement = self._facts[1]
        if agreement is None:
            raise ValueError(f"only a square relation has two directions to compare, got shape {self.shape}")
        return agreement

    def disagreement(self, sign: int, offset: float = 0.0, loops: bool = True) -> float:
        """Largest |(y_ij - offset) - sign (y_ji - offset)|, on the cluster."""
        return self.agreement.disagreement(sign, offset, loops)

    def extremes(self) -> tuple[float, float]:
        """Smallest and largest label."""
        return self._facts[0].low, self._facts[0].high

    def to_dense(self, rows: slice = slice(None)) -> np.ndarray:
        """Labels of a block of rows, on the client."""
        return np.asarray(self.Y[rows])


def _reduce_tile(
    Y: np.ndarray, Z: np.ndarray, Z_objects: np.ndarray, tile: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """ZᵀYZ' and Y1 of one tile. Raises if a label is not finite."""
    sums = Y.sum(axis=1, dtype=np.float64)
    _check_tile(Y, sums, tile)
    reduced = Z.T @ (Y.astype(Z.dtype, copy=False) @ Z_objects)
    return reduced.astype(np.float64, copy=False), sums


def _compare_tiles(one: np.ndarray, other: np.ndarray, tile: tuple[int, int]) -> tuple[Range, Agreement]:
    """Extremes and agreement of a tile and its mirror tile across the diagonal."""
    for labels, at in ((one, tile), (other, (tile[1], tile[0]))):
        _check_tile(labels, labels.sum(), at)
    loop = np.eye(*one.shape, dtype=bool) if tile[0] == tile[1] else np.zeros(one.shape, dtype=bool)
    return Range.joined([Range.of(one), Range.of(other)]), Agreement.of(one, other.T, loop)


def _check_tile(Y: np.ndarray, sums: Any, tile: tuple[int, int]) -> None:
    if np.isfinite(sums).all() or np.isfinite(Y).all():
        return
    missing = int(np.isnan(Y).sum())
    raise ValueError(
        f"Y must be finite if it is a Dask array: tile {tile} has {missing} NaN and {int(np.isinf(Y).sum())} "
        "infinite entries; give a relation with holes as an edge list, RelationGraph.from_edges"
    )


def _joined_facts(parts: Sequence[tuple[Range, Agreement]]) -> tuple[Range, Agreement]:
    return Range.joined([part[0] for part in parts]), Agreement.joined([part[1] for part in parts])
