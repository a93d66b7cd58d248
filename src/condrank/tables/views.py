"""Nodes of one domain from a table, from a kernel matrix, or from several views of both kinds, aligned by id."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.arrays import check_features
from condrank.frames.columns import Columns, read_table
from condrank.frames.ids import Ids, as_id_array, read_ids
from condrank.frames.kernels import read_kernel
from condrank.frames.kinds import as_numbers
from condrank.frames.labels import index_ids, is_frame, is_square, order_of
from condrank.frames.table import Table
from condrank.nodes.store import Nodes
from condrank.nodes.views import Views

ID_NAMES = ("id", "node", "name")
NO_IDS = (
    "the kernel has no ids, so its nodes are 0 to {}; pass a table with their ids, in the same order, as nodes=, or an "
    "npz file with arrays named kernel and ids"
)
OWN_VIEW, KERNEL_VIEW = "nodes", "kernel"  # names of the table of nodes, and of a kernel without a name, among views


@dataclass(frozen=True)
class Given:
    """What one domain is given as, and the names of the arguments in errors.

    Attributes
    ----------
    table, views, kernel : object
        The table of nodes, views by name, and a kernel matrix or several by name; None for what is not given.
    id : str or None
        Column of the ids.
    arguments : tuple of str
        Names of the arguments: table, id, views, kernel.
    """

    table: Any
    views: Any
    kernel: Any
    id: str | None
    arguments: tuple[str, str, str, str]

    @property
    def has_views(self) -> bool:
        """Whether the nodes have named views."""
        return self.views is not None or isinstance(self.kernel, Mapping)

    @property
    def is_given(self) -> bool:
        """Whether there is anything."""
        return self.table is not None or self.views is not None or self.kernel is not None


@dataclass(frozen=True)
class _Part:
    """One view: its data, ids if it has them, and whether it is a kernel matrix; in errors its origin."""

    data: Any
    ids: np.ndarray | None
    is_kernel: bool
    origin: str

    def ordered(self, wanted: np.ndarray, of: str) -> Any:
        """The data in the order of the wanted ids."""
        n = self.data.shape[0]
        if self.ids is None:
            if n != len(wanted):
                raise ValueError(f"{self.origin} has no ids and must have {len(wanted)} rows, as {of} has, got {n}")
            return self.data
        order = order_of(self.ids, wanted, self.origin, of)
        if np.array_equal(order, np.arange(n)):
            return self.data
        return self.data[np.ix_(order, order)] if self.is_kernel else self.data[order]


class SideReader:
    """Reads the nodes of each domain; the kinds of columns hold for all tables.

    Parameters
    ----------
    kinds : dict
        Kinds of columns that the caller gives; None for columns to leave out.
    allow_missing : bool
        Whether tables may have missing values, which an encoder fills in.
    """

    def __init__(self, kinds: dict[str, str | None], allow_missing: bool = False):
        self.kinds, self._names, self._first = kinds, set[str](), ""
        self.allow_missing = allow_missing

    def check_kinds(self) -> None:
        """Raise if a column with a given kind is in no table that was read."""
        for name, kind in self.kinds.items():
            if self._first and name not in self._names:
                raise ValueError(f"{kind or 'drop'} has {name!r}, which is not a column of {self._first}")

    def read(self, given: Given) -> tuple[Nodes, str]:
        """Nodes with ids, and advice for the error if an id is not found."""
        what, id_argument = given.arguments[:2]
        if given.has_views:
            return self._views(given), ""
        if given.kernel is not None:
            return _kernel_nodes(given)
        columns = self._note(columns_of(given.table, what))
        return self._table_nodes(columns, given.id, id_argument), ""

    def _note(self, columns: Columns) -> Columns:
        self._first = self._first or columns.origin
        self._names |= set(columns.names)
        return columns

    def _views(self, given: Given) -> Nodes:
        parts = self._parts(given)
        alone = _only_ids(parts)
        ordering = next((part for part in [*alone, *parts.values()] if part.ids is not None), None)
        first = next(iter(parts.values()))
        if ordering is None:
            ids, of = np.arange(first.data.shape[0]), first.origin
        else:
            assert ordering.ids is not None
            ids, of = ordering.ids, ordering.origin
        data = {view: part.ordered(ids, of) for view, part in parts.items()}
        return Nodes(Views(data, frozenset(view for view, part in parts.items() if part.is_kernel)), None, ids)

    def _parts(self, given: Given) -> dict[str, _Part]:
        table, _, views_argument, kernel_argument = given.arguments
        named: list[tuple[str, Any, bool]] = []
        if given.table is not None:
            named.append((OWN_VIEW if table == "nodes" else table, given.table, False))
        for argument, views, is_kernel in (
            (views_argument, given.views, False),
            (kernel_argument, given.kernel, True),
        ):
            if views is None:
                continue
            if not isinstance(views, Mapping):
                if not is_kernel:
                    raise ValueError(f"{argument} must be a dict of tables by name, got {type(views).__name__}")
                views = {KERNEL_VIEW: views}
            for view, source in views.items():
                if not isinstance(view, str) or not view or "." in view:
                    raise ValueError(f"names in {argument} must be text without dots, got {view!r}")
                named.append((view, source, is_kernel))
        parts: dict[str, _Part] = {}
        for view, source, is_kernel in named:
            if view in parts:
                raise ValueError(
                    f"two views have the name {view!r}: {views_argument} and {kernel_argument} must differ"
                )
            parts[view] = self._part(view, source, is_kernel, given)
        if not any(part.data.shape[1] for part in parts.values()):
            raise ValueError(f"{views_argument} must have at least one view with features or a kernel")
        return parts

    def _part(self, view: str, source: Any, is_kernel: bool, given: Given) -> _Part:
        what = f"view {view!r}" if source is not given.table else given.arguments[0]
        if is_kernel or _is_matrix(source):
            K, ids = read_kernel(source)
            return _Part(K, ids, True, os.fspath(source) if isinstance(source, str | os.PathLike) else what)
        if isinstance(source, np.ndarray) or sparse.issparse(source):
            return _Part(check_features(source, what), None, False, what)
        columns = columns_of(source, what)
        name = given.id if given.id is not None and given.id in columns else guess_id(columns, given.arguments[1])
        ids = read_ids(columns, name)
        others = [one for one in columns.names if one != name]
        if source is given.table and not [one for one in others if self.kinds.get(one, "") is not None]:
            self._note(columns)
            return _Part(np.empty((len(ids), 0)), ids, False, columns.origin)
        if len(others) == len(ids) > 1:
            places = Ids(ids).places(as_id_array(others))
            if sorted(places.tolist()) == list(range(len(ids))):
                K = np.column_stack([as_numbers(columns, others[place]) for place in np.argsort(places)])
                return _Part(K, ids, True, columns.origin)
        nodes = self._table_nodes(self._note(columns), name, given.arguments[1])
        return _Part(nodes.base, nodes.ids, False, columns.origin)

    def _table_nodes(self, columns: Columns, name: str | None, argument: str) -> Nodes:
        hint, given = "", self.kinds
        if name is None:
            name = guess_id(columns, argument)
            hint = f"; it was read as the ids, name another column with {argument}="
        columns.column(name, argument)
        if given.get(name):
            raise ValueError(f"{argument}={name!r} has the ids, it cannot be a {given[name]} column as well")
        ids = read_ids(columns, name, hint)
        here = {column: kind for column, kind in given.items() if column in columns and column != name}
        kinds = {kind: [one for one in here if here[one] == kind] for kind in ("numeric", "categorical", "text", None)}
        table = Table.read(
            columns,
            numeric=kinds["numeric"],
            categorical=kinds["categorical"],
            text=kinds["text"],
            drop=kinds[None],
            id_name=name,
            allow_missing=self.allow_missing,
        )
        return Nodes(table, None, ids)


def columns_of(source: Any, what: str) -> Columns:
    """Columns of a table; an index that names the rows is a column of ids, unless a column has a usual name of ids."""
    columns = read_table(source, what, corner="id") if what.startswith("view") else read_table(source, what)
    labels = None if isinstance(source, str | os.PathLike) else index_ids(source)
    if labels is None or any(name.lower() in ID_NAMES for name in columns.names):
        return columns
    index: Any = getattr(source, "index")  # noqa: B009
    name = str(index.name or "id")
    return columns if name in columns else Columns({name: labels} | columns.values, columns.origin, columns.first)


def guess_id(columns: Columns, argument: str) -> str:
    """A column with a usual name, or else the first column if it is not of floating-point numbers."""
    named = {name.lower(): name for name in columns.names}
    for usual in ID_NAMES:
        if usual in named:
            return named[usual]
    first = columns.names[0]
    if columns.values[first].dtype.kind == "f":
        raise ValueError(f"{columns.origin} must have a column of ids, named with {argument}=, it has {columns.names}")
    return first


def _only_ids(parts: dict[str, _Part]) -> list[_Part]:
    """The table of nodes if it has ids alone: it is no view."""
    found = [view for view, part in parts.items() if part.data.shape[1] == 0]
    return [parts.pop(view) for view in found]


def _is_matrix(source: Any) -> bool:
    """Whether a view is a kernel matrix by its form: a NumPy file, or a frame with the same labels on both sides."""
    if isinstance(source, str | os.PathLike):
        return Path(os.fspath(source)).suffix.lower() in (".npy", ".npz")
    return is_frame(source) and is_square(source)


def _kernel_nodes(given: Given) -> tuple[Nodes, str]:
    """Nodes of a kernel, and advice for the error if an id is not found."""
    K, ids = read_kernel(given.kernel)
    if given.table is None and ids is None:
        return Nodes(K, None, np.arange(len(K)), is_kernel=True), NO_IDS.format(len(K) - 1)
    if given.table is None:
        return Nodes(K, None, ids, is_kernel=True), ""
    what, argument = given.arguments[:2]
    columns = columns_of(given.table, what)
    name = guess_id(columns, argument) if given.id is None else given.id
    columns.column(name, argument)
    own = read_ids(columns, name)
    if len(own) != len(K):
        raise ValueError(f"the kernel must be of the {len(own)} {what} of {columns.origin}, got {len(K)}")
    if ids is not None:
        order = Ids(ids).find(own, columns.where, "row of the kernel")
        K = K[np.ix_(order, order)]
    return Nodes(K, None, own, is_kernel=True), ""
