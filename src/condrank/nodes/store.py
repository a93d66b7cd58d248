"""Node data, held once. Subsets are indices into a shared base, for features and for kernel matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.dask import is_dask
from condrank.frames.ids import Ids
from condrank.nodes.views import Views
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.ids import ids_from, ids_to


class Nodes:
    """Features of nodes, or a kernel matrix between them, seen through an index.

    Parameters
    ----------
    base : ndarray, scipy sparse array, Views or Table of shape (n_base, d)
        Features, kernel values, several views of them, or data that is not encoded yet. Shared by every subset, never
        copied.
    index : ndarray of int or None
        Which rows of the base these nodes are; None means all rows.
    ids : ndarray or None
        Ids of the nodes of the base.
    is_kernel : bool
        Whether the base is known to be a kernel matrix, such as one that was read from a file.
    columns : dict, optional
        Names of the features by view (None without views), as a data frame has them.
    against_training : bool
        Whether rows of a kernel are values against the training nodes in their order, whatever the ids of the rows.
    """

    def __init__(
        self,
        base: Any,
        index: np.ndarray | None = None,
        ids: np.ndarray | None = None,
        is_kernel: bool = False,
        columns: dict[str | None, list[str]] | None = None,
        against_training: bool = False,
    ):
        self.base, self.index, self.is_kernel = base, index, is_kernel
        self.columns, self.against_training = columns or {}, against_training
        self._ids = ids
        self.reading: object = object()  # shared by all subsets; the base alone may be changed and given again

    def _with(self, base: Any, index: np.ndarray | None, ids: np.ndarray | None) -> Nodes:
        return Nodes(base, index, ids, self.is_kernel, self.columns, self.against_training)

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

    def view(self, name: str | None) -> Nodes:
        """The same nodes with one of their views as base. None means the only view, or nodes without views."""
        if not isinstance(self.base, Views):
            if name is None:
                return self
            raise ValueError(f"the kernel uses the view {name!r}, but the nodes have no views; pass a dict of arrays")
        parts = self.base.parts
        if name is None and len(parts) == 1:
            (name,) = parts
        if name is None:
            raise ValueError(
                f"the nodes have several views, so every kernel needs one of them: view= one of {[*parts]}"
            )
        if name not in parts:
            raise ValueError(f"the kernel uses the view {name!r}, which the nodes do not have; they have {[*parts]}")
        is_kernel, columns = self.is_kernel or name in self.base.kernels, self.columns.get(name)
        named: dict[str | None, list[str]] = {} if columns is None else {None: columns}
        return self._same_reading(Nodes(parts[name], self.index, self._ids, is_kernel, named, self.against_training))

    @property
    def view_names(self) -> list[str | None]:
        """Names of the views; None alone for nodes without views."""
        return [*self.base.parts] if isinstance(self.base, Views) else [None]

    def is_matrix(self, view: str | None, matrices: frozenset[str | None]) -> bool:
        """Whether a view is among those that a kernel takes as matrices; it needs no name if it is the only one."""
        return view in matrices or (len(self.view_names) == 1 and None in matrices)

    def take(self, index: np.ndarray) -> Nodes:
        """A subset; only the index is new."""
        return self._same_reading(self._with(self.base, index if self.index is None else self.index[index], self._ids))

    def _same_reading(self, subset: Nodes) -> Nodes:
        subset.reading = self.reading
        return subset

    def emptied(self, dtype: Any) -> Nodes:
        """No nodes, with the columns of these, in a floating type."""
        if isinstance(self.base, Views):
            return Nodes(Views({name: np.empty((0, part.shape[1]), dtype) for name, part in self.base.parts.items()}))
        return Nodes(np.empty((0, self.base.shape[1]), dtype))

    def astype(self, dtype: Any) -> Nodes:
        """These nodes with their data in another floating type, as a new base."""
        return self._with(self.rows.astype(dtype), None, self.ids)

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
        """Entries of a precomputed kernel between these nodes and others of the same base.

        A new array, or the whole base, read-only.
        """
        if self.index is None and others.index is None:
            whole = self.base.view()
            whole.flags.writeable = False
            return whole
        return np.asarray(self.base[np.ix_(self.positions, others.positions)])

    def to_state(self, arrays: Arrays, matrices: frozenset[str | None] = frozenset()) -> dict[str, Any]:
        """Data and ids of these nodes, without the rest of the base; `from_state` reads them.

        ``matrices`` names the views that are kernel matrices, of which only the values among these nodes are kept.
        """
        given: dict[str, Any] = {"ids": ids_to(self.ids, arrays)}
        if self.columns:
            given["columns"] = [[view, list(names)] for view, names in self.columns.items()]
        if not isinstance(self.base, Views):
            arrays.matrix("nodes", self.kernel_with(self) if self.is_matrix(None, matrices) else self.rows)
            return given
        for number, name in enumerate(self.base.parts):
            view = self.view(name)
            arrays.matrix(f"nodes.{number}", view.kernel_with(view) if self.is_matrix(name, matrices) else view.rows)
        return given | {"views": [*self.base.parts]}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held) -> Nodes:
        """Stored nodes. There may be none; then only the number of columns is known."""
        names = given.get("views")
        if names is None:
            base: Any = held.matrix("nodes", least_rows=0)
        else:
            parts = {name: held.matrix(f"nodes.{number}", least_rows=0) for number, name in enumerate(names)}
            if not parts or len(parts) < len(names) or len({part.shape[0] for part in parts.values()}) > 1:
                raise ValueError(f"the views of {held.name} must be different and of one length, got {names!r}")
            base = Views(parts)
        ids = ids_from(given["ids"], base.shape[0], held)
        return cls(base, None, ids, columns=_columns_from(given.get("columns"), base))


def _columns_from(given: Any, base: Any) -> dict[str | None, list[str]]:
    """Stored names of features, checked against the data."""
    columns: dict[str | None, list[str]] = {}
    for view, names in [] if given is None else given:
        held = base.parts if isinstance(base, Views) else {None: base}
        named = isinstance(names, list) and all(isinstance(one, str) for one in names)
        if view not in held or not named or len(set(names)) != held[view].shape[1]:
            raise ValueError(f"the names of the features must be those of the nodes, got {names!r:.60}")
        columns[view] = names
    return columns


def same_values(one: Any, other: Any) -> bool:
    """Whether two bases are one object, or hold the same values (as after pickling). O(size) at most."""
    if one is other:
        return True
    if is_dask(one) or is_dask(other):
        return is_dask(one) and is_dask(other) and one.name == other.name  # Dask derives the name from the computation
    if isinstance(one, Views) or isinstance(other, Views):
        return (
            isinstance(one, Views)
            and isinstance(other, Views)
            and one.parts.keys() == other.parts.keys()
            and all(same_values(part, other.parts[name]) for name, part in one.parts.items())
        )
    if one.shape != other.shape or sparse.issparse(one) != sparse.issparse(other):
        return False
    return (one != other).nnz == 0 if sparse.issparse(one) else np.array_equal(one, other)


class SameBase:
    """Whether nodes have a given base. The last answer is kept, so blocks of the same nodes are compared only once.

    It is kept for nodes that were read together, not for their array: that may have been changed since, and would be
    kept in memory. Threads may ask at the same time.
    """

    def __init__(self, base: Any):
        self.base = base
        self._last: tuple[object, bool] = (None, False)

    def __call__(self, nodes: Nodes) -> bool:
        """Whether the base is the same object, or has the same values."""
        if nodes.base is self.base:
            return True
        last = self._last  # read once: another thread may replace it
        if nodes.reading is not last[0]:
            self._last = last = nodes.reading, same_values(nodes.base, self.base)
        return last[1]


def recognise(nodes: Nodes, training: Nodes, same: SameBase | None = None, names: Ids | None = None) -> np.ndarray:
    """Positions of nodes among the training nodes; -1 for new nodes.

    Nodes of the training graph are recognised by their place in it, others by id if both have ids. Without ids, nodes
    of a base with the ``same`` values count as those of the training graph.
    """
    if nodes.base is training.base:
        return nodes.places_in(training)
    if nodes.ids is not None and training.ids is not None:
        return (names or Ids(training.ids)).places(nodes.ids)
    if same is not None and same(nodes):
        return nodes.places_in(training)
    return np.full(len(nodes), -1)


def _as_slice(index: np.ndarray) -> np.ndarray | slice:
    """A slice if the index is a contiguous run, so that NumPy can return a view."""
    if len(index) and index[-1] - index[0] == len(index) - 1 and np.all(np.diff(index) == 1):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index
