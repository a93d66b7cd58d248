"""A relation that is known for every ordered pair of nodes: a dense array, or a sparse one (unstored means zero)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from scipy import sparse

from condrank.base.blocks import in_threads, row_blocks, squares_below
from condrank.base.dense import beside_lapack, dense
from condrank.base.measured import CACHED_ENTRIES, NUMPY_EIGH_MOST_NODES
from condrank.persistence.arrays import Arrays, Held

# Up to this many columns of a product with the labels, their sum is computed as one more column.
SUMMED_MOST_COLUMNS = 300


class EveryPair(ABC):
    """Methods that all relations share that are known for every ordered pair."""

    is_complete = True

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of starting and of ending nodes."""

    @property
    def two_way(self) -> bool:
        """Whether some pair of different nodes is observed in both directions: true for two or more nodes."""
        return min(self.shape) > 1

    @property
    def n_edges(self) -> int:
        """Number of edges, n·m."""
        return self.shape[0] * self.shape[1]

    def reduced(self, rows: Any, cols: Any) -> np.ndarray:
        """ΦᵀYΦ' for the bases Φ and Φ' of two coordinates."""
        return self.reduce(rows.basis, cols.basis)

    def reduced_and_total(self, rows: Any, cols: Any) -> tuple[np.ndarray, float]:
        """`reduced` and the sum of all labels."""
        return self.reduced(rows, cols), self.total()

    def reduced_sums(self, rows: Any) -> np.ndarray:
        """ΦᵀY1 for the basis Φ of coordinates."""
        basis, sums = rows.basis, self.row_sums().astype(rows.basis.dtype)
        large = isinstance(basis, np.ndarray) and len(basis) > NUMPY_EIGH_MOST_NODES
        return beside_lapack(basis.T, sums) if large else basis.T @ sums

    @abstractmethod
    def reduce(self, Z: Any, Z_objects: Any) -> np.ndarray:
        """ZᵀYZ'."""

    @abstractmethod
    def row_sums(self) -> np.ndarray:
        """Y1, the sum of each row's labels, in double precision."""

    def total(self) -> float:
        """1ᵀY1, the sum of all labels, in double precision."""
        return float(self.row_sums().sum())

    def squares(self) -> tuple[float, float] | None:
        """Σ y² of all labels, and of the sums of the rows, in double precision; None if not known."""
        return None

    def count_loops(self) -> int:
        """Every node's loop is observed."""
        return min(self.shape)

    def degrees(self) -> tuple[np.ndarray, np.ndarray]:
        """Every pair is observed: m in each row, n in each column."""
        n, m = self.shape
        return np.full(n, m), np.full(m, n)


class LabelMatrix(EveryPair):
    """A relation that is held as a matrix Y (n, m)."""

    def __init__(self, Y: Any):
        self.Y = Y

    @property
    def shape(self) -> tuple[int, int]:
        """Number of starting and of ending nodes."""
        return self.Y.shape

    @property
    def dtype(self) -> np.dtype:
        """Floating type of the labels."""
        return self.Y.dtype

    def take(self, rows: np.ndarray | slice, cols: np.ndarray | slice) -> Self:
        """The relation among some starting and some ending nodes. The labels are copied."""
        return type(self)(self.Y[rows][:, cols])

    def transpose(self) -> Self:
        """Every edge reversed; a view."""
        return type(self)(self.Y.T)


class Complete(LabelMatrix):
    """The n×m label matrix Y, each ordered pair observed exactly once.

    Parameters
    ----------
    Y : ndarray or scipy sparse array of shape (n, m)
        Finite floating labels; not copied.
    """

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """The label matrix, dense or sparse."""
        arrays.matrix("labels", self.Y)
        return {}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held) -> Complete:
        """Stored labels."""
        return cls(held.matrix("labels"))

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        return self.Y.data.nbytes + self.Y.indices.nbytes if sparse.issparse(self.Y) else self.Y.nbytes

    def reduce(self, Z: Any, Z_objects: Any) -> np.ndarray:
        """ZᵀYZ' for node coordinates Z (n, r) and Z' (m, r'): two matrix products, O(nmr' + nrr').

        Sparse labels cost O(r') for each stored label. Sparse labels and sparse coordinates are multiplied one block of
        rows at a time. So neither YZ' nor SciPy's copy of Y, for a product with a sparse array, is held whole.
        """
        Y: Any = self.Y if self.Y.dtype == Z.dtype else self.Y.astype(Z.dtype)
        plain = all(isinstance(one, np.ndarray) or sparse.issparse(one) for one in (Z, Z_objects))
        if plain and any(sparse.issparse(one) for one in (Y, Z, Z_objects)):
            Y, Z = (sparse.csr_array(one) if sparse.issparse(one) else one for one in (Y, Z))
            total = np.zeros((Z.shape[1], Z_objects.shape[1]))
            for block in row_blocks(Z.shape[0], max(Z_objects.shape)):
                total += dense(Z[block].T @ dense(Y[block] @ Z_objects))
            return total.astype(Z.dtype, copy=False)
        if plain and Z.shape[1] > NUMPY_EIGH_MOST_NODES:
            return beside_lapack(beside_lapack(Y, Z_objects).T, Z).T  # in C order
        return np.asarray(Z.T @ dense(Y @ Z_objects))

    def reduced_and_total(self, rows: Any, cols: Any) -> tuple[np.ndarray, float]:
        """`reduced` and the sum of all labels.

        A pass over Y for the sum alone would take longer than one more column in the product, if there are few columns.
        """
        Z, Z_objects = rows.basis, cols.basis
        arrays = all(isinstance(one, np.ndarray) for one in (self.Y, Z, Z_objects))
        if not arrays or Z_objects.shape[1] > SUMMED_MOST_COLUMNS:
            return super().reduced_and_total(rows, cols)
        Y = self.Y.astype(Z.dtype, copy=False)
        with_sums = Y @ np.column_stack([Z_objects, np.ones(len(Z_objects), dtype=Z.dtype)])
        return Z.T @ with_sums[:, :-1], float(with_sums[:, -1].sum(dtype=np.float64))

    def row_sums(self) -> np.ndarray:
        """Y1, the sum of each row's labels, in double precision."""
        return np.asarray(self.Y.sum(axis=1, dtype=np.float64)).ravel()

    def squares(self) -> tuple[float, float]:
        """Σ y² of all labels, and of the sums of the rows, in double precision: one or two passes over the labels."""
        sums = self.row_sums()
        if sparse.issparse(self.Y):
            values = self.Y.data.astype(np.float64, copy=False)
            return float(values @ values), float(sums @ sums)
        Y, total = self.Y if self.Y.flags.c_contiguous else self.Y.T, 0.0
        for block in row_blocks(*Y.shape, budget=CACHED_ENTRIES):
            part = Y[block].astype(np.float64, copy=False)
            # Not by BLAS: NumPy's threads would wait for those of SciPy's, which have just multiplied.
            total += float(np.einsum("ij,ij->", part, part))
        return total, float(sums @ sums)

    def to_dense(self, rows: slice = slice(None)) -> np.ndarray:
        """Labels of a block of rows."""
        return dense(self.Y[rows])

    def disagreement(self, sign: int, offset: float = 0.0, loops: bool = True) -> float:
        """Largest |(y_ij - offset) - sign (y_ji - offset)|. O(n²), in squares that fit the cache."""
        if sparse.issparse(self.Y):
            # A pair of unstored zeros disagrees by |offset - sign·offset|, which also shifts all other pairs.
            shift = offset - sign * offset
            difference = sparse.coo_array(self.Y - sign * self.Y.T)
            counted = np.ones(difference.nnz, dtype=bool) if loops else difference.row != difference.col
            n_pairs = self.n_edges if loops else self.n_edges - min(self.shape)
            unstored = abs(shift) if np.count_nonzero(counted) < n_pairs else 0.0
            return max(float(np.abs(difference.data[counted] - shift).max(initial=0.0)), unstored)
        shift = offset - sign * offset
        worst = [0.0]

        def compare(rows: slice, cols: slice) -> None:
            difference = self.Y[rows, cols] - sign * self.Y[cols, rows].T
            if shift:
                difference -= shift
            if not loops and rows == cols:
                np.fill_diagonal(difference, 0)
            worst.extend((float(difference.max(initial=0.0)), -float(difference.min(initial=0.0))))

        in_threads(compare, *squares_below(len(self.Y)))
        return max(worst)

    def extremes(self) -> tuple[float, float]:
        """Smallest and largest label."""
        if self.n_edges == 0:
            return 0.0, 0.0
        return float(self.Y.min()), float(self.Y.max())
