"""Table: node data with columns of several kinds, the nodes of a graph before they are encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from condrank.frames.columns import Columns, missing, read_table
from condrank.frames.kinds import KINDS, as_days, convert, find_gaps, infer_kind, with_numbers


class Table:
    """Named columns of the same length without missing values, each numeric, date, categorical or text.

    A graph can have a table as its nodes instead of features. A `TableEncoder` turns it into features.

    Parameters
    ----------
    columns : dict of ndarray
        float64 for numeric columns, datetime64 for dates, strings for the others, as `Table.read` gives them.
    kinds : dict of str
        Kind of each column.
    id_name : str, optional
        Name of the column from which the ids of the rows came.

    Examples
    --------
    >>> from condrank.tables import Table
    >>> table = Table.read({"age": [31, 25, 40], "country": ["BE", "FI", "BE"]})
    >>> table
    Table(3 rows: age numeric, country categorical)
    >>> table[1:].row(0)
    {'age': 25.0, 'country': 'FI'}
    """

    # Same as an array of objects: data that is not encoded yet.
    dtype = np.dtype(object)
    ndim = 2

    def __init__(self, columns: Mapping[str, np.ndarray], kinds: Mapping[str, str], id_name: str | None = None):
        self.columns = {name: columns[name] for name in kinds}
        self.kinds = dict(kinds)
        self.id_name = id_name

    @classmethod
    def read(
        cls,
        source: Any,
        *,
        numeric: Iterable[str] = (),
        categorical: Iterable[str] = (),
        text: Iterable[str] = (),
        drop: Iterable[str] = (),
        id_name: str | None = None,
        what: str = "the table",
    ) -> Table:
        """A table from a file or a frame; kinds that are not given are found from the values.

        Parameters
        ----------
        source : path-like, frame, mapping, sequence of mappings, Columns or Table
            As for `condrank.tables.read_table`; a two-dimensional array of numbers gets the columns x0, x1, …
        numeric, categorical, text : sequence of str
            Columns of this kind.
        drop : sequence of str
            Columns to leave out.
        id_name : str, optional
            The column with ids, which is also left out.
        what : str
            Name of a frame in errors.
        """
        if isinstance(source, Table):
            return source
        columns = as_columns(source, what)
        given = given_kinds(numeric, categorical, text, drop)
        for name in given:
            columns.column(name, given[name] or "drop")
        names = [name for name in columns.names if name != id_name and given.get(name, "") is not None]
        columns = with_numbers(columns, [name for name in names if name not in given])
        gaps = {name: missing(columns.values[name]) if given.get(name) else find_gaps(columns, name) for name in names}
        columns.refuse_gaps(gaps, can_drop=True)
        kinds = {}
        for name in names:
            if gaps[name].any():
                columns.refuse_missing(name, "; fill it in, or leave the column out with drop=")
            kinds[name] = given.get(name) or infer_kind(columns, name)
        return cls.of_kinds(columns, kinds, id_name)

    @classmethod
    def of_kinds(
        cls, source: Any, kinds: Mapping[str, str], id_name: str | None = None, what: str = "the table"
    ) -> Table:
        """The columns of these names as these kinds, other columns left out: new nodes need the columns of training.

        Parameters
        ----------
        source
            As for `read`; an array must have the same number of columns, all numeric.
        kinds : dict of str
            Kind of each column.
        id_name, what
            As for `read`.
        """
        if isinstance(source, Table) and source.kinds == dict(kinds):
            return source
        if not kinds:
            raise ValueError(f"{what} has no column with features, only ids; it must have at least one")
        columns = as_columns(source, what, list(kinds))
        for name, kind in kinds.items():
            if kind not in KINDS:
                raise ValueError(f"the kind of column {name!r} must be one of {list(KINDS)}, got {kind!r}")
            if name not in columns:
                raise ValueError(f"{columns.origin} lacks column {name!r}, it has {columns.names}")
        columns.refuse_gaps({name: missing(columns.values[name]) for name in kinds}, can_drop=False)
        return cls({name: convert(columns, name, kind) for name, kind in kinds.items()}, kinds, id_name)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self), len(self.kinds)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, rows: Any) -> Table:
        """Some rows: a slice, positions or a mask."""
        return Table({name: column[rows] for name, column in self.columns.items()}, self.kinds, self.id_name)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and list(self.kinds.items()) == list(other.kinds.items())
            and all(np.array_equal(self.columns[name], other.columns[name]) for name in self.kinds)
        )

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.to_numpy() if dtype is None else self.to_numpy().astype(dtype)

    @property
    def is_numeric(self) -> bool:
        """Whether every column is numeric or a date."""
        return all(kind in ("numeric", "date") for kind in self.kinds.values())

    def numbers(self, name: str) -> np.ndarray:
        """A numeric column, or a date column as days since 1970."""
        return as_days(self.columns[name]) if self.kinds[name] == "date" else self.columns[name]

    def refuse_others(self) -> None:
        """Raise if some columns are neither numbers nor dates."""
        if not self.is_numeric:
            others = [name for name, kind in self.kinds.items() if kind not in ("numeric", "date")]
            raise ValueError(f"columns {others} of the table are not numbers: encode them with a TableEncoder")

    def to_numpy(self) -> np.ndarray:
        """The numbers of a table without other columns, (n_rows, n_columns), unchanged."""
        self.refuse_others()
        return np.column_stack([self.numbers(name) for name in self.kinds])

    def row(self, position: int) -> dict[str, Any]:
        """One row as plain values for display; a date as a string."""
        cells = {name: column[position] for name, column in self.columns.items()}
        return {name: _shown(one) for name, one in cells.items()}

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(f'{name} {kind}' for name, kind in self.kinds.items())})"


def as_columns(source: Any, what: str, names: list[str] | None = None) -> Columns:
    """Columns of a table in any form; the columns of an array get ``names``, by default x0, x1, …"""
    if isinstance(source, Table):
        return Columns(source.columns, what)
    if isinstance(source, np.ndarray):
        if source.ndim != 2 or source.dtype.kind not in "biuf":
            raise ValueError(f"{what} must be two-dimensional numbers, got {source.dtype} of shape {source.shape}")
        names = [f"x{column}" for column in range(source.shape[1])] if names is None else names
        if len(names) != source.shape[1]:
            raise ValueError(f"{what} must have {len(names)} columns, got {source.shape[1]}")
        return Columns({name: source[:, column] for column, name in enumerate(names)}, what)
    return read_table(source, what)


def given_kinds(
    numeric: Iterable[str], categorical: Iterable[str], text: Iterable[str], drop: Iterable[str]
) -> dict[str, str | None]:
    """Kinds that the caller gives; None for columns to leave out."""
    given: dict[str, str | None] = {}
    for argument, names, kind in (
        ("numeric", numeric, "numeric"),
        ("categorical", categorical, "categorical"),
        ("text", text, "text"),
        ("drop", drop, None),
    ):
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise ValueError(f"{argument} must be a list of names of columns, got {names!r}")
        for name in names:
            if name in given:
                raise ValueError(f"{argument} has column {name!r}, which is named twice: give it one kind, once")
            given[name] = kind
    return given


def _shown(one: Any) -> Any:
    if isinstance(one, np.datetime64):
        return str(one).removesuffix("T00:00:00.000000")
    return one.item() if isinstance(one, np.generic) else one
