"""Node data, held once. Subsets are indices into a shared base, for features and for kernel matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.dask import is_dask
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.ids import ids_from, ids_to


class Nodes:
    """Features of nodes, or a kernel matrix between them, seen through an index.

    Parameters
    ----------
    base : ndarray, scipy sparse array or Table of shape (n_base, d)
        Features, kernel values, or data that is not encoded yet. Shared by every subset, never copied.
    index : ndarray of int or None
        Which rows of the base these nodes are; None means all rows.
    ids : ndarray or None
        Ids of the nodes of the base.
    is_kernel : bool
        Whether the base is known to be a kernel matrix, such as one that was read from a file.
    """

    def __init__(
        self, base: Any, index: np.ndarray | None = None, ids: np.ndarray | None = None, is_kernel: bool = False
    ):
        self.base, self.index, self.is_kernel = base, index, is_kernel
        self._ids = ids

    def __len__(self) -> int:
        return self.base.shape[0] if self.index is None else len(self.index)

    @property
    def ids(self) -> np.ndarray | None:
        """Ids of these nodes, or None."""
        return self._ids if self._ids is None or self.index is None else self._ids[self.index]

    @property
    def base_ids(self) -> np.ndarray | None:
        """Ids of all nodes of the base, or None."""
        return self._ids

    @property
    def positions(self) -> np.ndarray:
        """Rows of the base that these nodes are."""
        return np.arange(self.base.shape[0]) if self.index is None else self.index

    @property
    def dtype(self) -> np.dtype:
        """Floating type of the base; for texts and tables, the type that they have once they are encoded."""
        return np.dtype(np.float64) if self.is_raw else self.base.dtype

    @property
    def is_raw(self) -> bool:
        """Whether the nodes are texts or a table that are not encoded yet."""
        return self.base.dtype == object

    @property
    def rows(self) -> Any:
        """The rows of these nodes: the base itself, a view for a contiguous index, or a copy."""
        if self.index is None:
            return self.base
        return self.base[_as_slice(self.index)]

    @property
    def is_view(self) -> bool:
        """Whether `rows` needs no copy."""
        return self.index is None or isinstance(_as_slice(self.index), slice)

    def take(self, index: np.ndarray) -> Nodes:
        """A subset; only the index is new."""
        return Nodes(self.base, index if self.index is None else self.index[index], self._ids, self.is_kernel)

    def astype(self, dtype: Any) -> Nodes:
        """These nodes with their data in another floating type, as a new base."""
        return Nodes(self.rows.astype(dtype), None, self.ids, self.is_kernel)

    def block(self, rows: slice) -> Nodes:
        """A contiguous run of these nodes."""
        start, stop, _ = rows.indices(len(self))
        return self.take(np.arange(start, stop))

    def places_in(self, others: Nodes) -> np.ndarray:
        """Position of each of these nodes among others of the same base; -1 if it is not among them."""
        place = np.full(others.base.shape[0], -1)
        place[others.positions] = np.arange(len(others))
        return place[self.positions]

    def kernel_with(self, others: Nodes) -> np.ndarray:
        """Entries of a precomputed kernel between these nodes and others of the same base, as a new array."""
        if self.index is None and others.index is None:
            return np.array(self.base)
        return np.asarray(self.base[np.ix_(self.positions, others.positions)])

    def to_state(self, arrays: Arrays, among: bool = False) -> dict[str, Any]:
        """Data and ids of these nodes, without the rest of the base; `from_state` reads them.

        With ``among`` the base is a kernel matrix, and only the values among these nodes are kept.
        """
        arrays.matrix("nodes", self.kernel_with(self) if among else self.rows)
        return {"ids": ids_to(self.ids, arrays)}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held) -> Nodes:
        """Stored nodes. There may be none; then only the number of columns is known."""
        base = held.matrix("nodes", least_rows=0)
        return cls(base, None, ids_from(given["ids"], base.shape[0], held))


def same_values(one: Any, other: Any) -> bool:
    """Whether two bases are one object, or hold the same values (as after pickling). O(size) at most."""
    if one is other:
        return True
    if is_dask(one) or is_dask(other):
        return is_dask(one) and is_dask(other) and one.name == other.name  # Dask derives the name from the computation
    if one.shape != other.shape or sparse.issparse(one) != sparse.issparse(other):
        return False
    return (one != other).nnz == 0 if sparse.issparse(one) else np.array_equal(one, other)


def _as_slice(index: np.ndarray) -> np.ndarray | slice:
    """A slice if the index is a contiguous run, so that NumPy can return a view."""
    if len(index) and index[-1] - index[0] == len(index) - 1 and np.all(np.diff(index) == 1):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index
