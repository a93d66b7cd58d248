"""Table: node data with columns of several kinds, the nodes of a graph before they are encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from condrank.frames.columns import IMPUTED, Columns, missing, read_table
from condrank.frames.kinds import (
    KINDS,
    as_days,
    convert,
    convert_with_gaps,
    find_gaps,
    infer_kind,
    is_id,
    with_numbers,
)


class Table:
    """Named columns of the same length, each numeric, date, categorical or text.

    A graph can have a table as its nodes instead of features. A `TableEncoder` turns it into features. Missing values
    are refused unless they are asked for; they are NaN, not-a-time or an empty string, and a `TableEncoder` with
    ``impute`` fills them in.

    Parameters
    ----------
    columns : dict of ndarray
        float64 for numeric columns, datetime64 for dates, strings for the others, as `Table.read` gives them.
    kinds : dict of str
        Kind of each column.
    id_name : str, optional
        Name of the column from which the ids of the rows came.
    ignored : tuple of str
        Columns that are no features: those that the caller left out, and further columns of ids.

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

    def __init__(
        self,
        columns: Mapping[str, np.ndarray],
        kinds: Mapping[str, str],
        id_name: str | None = None,
        ignored: tuple[str, ...] = (),
    ):
        self.columns = {name: columns[name] for name in kinds}
        self.kinds = dict(kinds)
        self.id_name, self.ignored = id_name, ignored

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
        allow_missing: bool = False,
    ) -> Table:
        """A table from a file or a frame; kinds that are not given are found from the values.

        A column that only names its rows (`condrank.frames.kinds.is_id`) is no feature, unless its kind is given.

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
        allow_missing : bool
            Keep missing values, for an encoder that fills them in; by default they are an error.
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
        ids = [name for name in names if name not in given and not gaps[name].any() and is_id(columns, name)]
        if len(ids) == len(names):  # a table of ids alone has nothing else to learn from
            ids = []
        names = [name for name in names if name not in ids]
        gaps = {name: gaps[name] for name in names}
        if not allow_missing:
            columns.refuse_gaps(gaps, can_drop=True)
        kinds = {}
        for name in names:
            known = columns
            if gaps[name].any() and not allow_missing:
                columns.refuse_missing(name, f"; fill it in, or leave the column out with drop={IMPUTED}")
            if allow_missing and gaps[name].all():
                raise ValueError(f"{columns.origin}: column {name!r} has no value at all; leave it out with drop=")
            if allow_missing and gaps[name].any():
                known = columns.present(name, gaps[name])
            kinds[name] = given.get(name) or infer_kind(known, name)
        left_out = [name for name in columns.names if name in ids or given.get(name, "") is None]
        return cls.of_kinds(columns, kinds, id_name, allow_missing=allow_missing, ignored=tuple(left_out))

    @classmethod
    def of_kinds(
        cls,
        source: Any,
        kinds: Mapping[str, str],
        id_name: str | None = None,
        what: str = "the table",
        allow_missing: bool = False,
        ignored: tuple[str, ...] = (),
    ) -> Table:
        """The columns of these names as these kinds, other columns left out: new nodes need the columns of training.

        Parameters
        ----------
        source
            As for `read`; an array must have the same number of columns, all numeric.
        kinds : dict of str
            Kind of each column.
        id_name, what, allow_missing
            As for `read`.
        ignored : tuple of str
            Columns that were left out.
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
        read = convert_with_gaps if allow_missing else convert
        if not allow_missing:
            columns.refuse_gaps({name: missing(columns.values[name]) for name in kinds}, can_drop=False)
        return cls({name: read(columns, name, kind) for name, kind in kinds.items()}, kinds, id_name, ignored)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self), len(self.kinds)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, rows: Any) -> Table:
        """Some rows: a slice, positions or a mask."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Table(columns, self.kinds, self.id_name, self.ignored)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and list(self.kinds.items()) == list(other.kinds.items())
            and all(_same(self.columns[name], other.columns[name]) for name in self.kinds)
        )

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.to_numpy() if dtype is None else self.to_numpy().astype(dtype)

    @property
    def is_numeric(self) -> bool:
        """Whether every column is numeric or a date."""
        return all(kind in ("numeric", "date") for kind in self.kinds.values())

    def gaps(self, name: str) -> np.ndarray:
        """Which values of a column are missing."""
        return missing(self.columns[name])

    @property
    def has_gaps(self) -> bool:
        """Whether some value is missing."""
        return any(self.gaps(name).any() for name in self.kinds)

    def numbers(self, name: str) -> np.ndarray:
        """A numeric column, or a date column as days since 1970; NaN for missing values."""
        if self.kinds[name] != "date":
            return self.columns[name]
        return np.where(self.gaps(name), np.nan, as_days(self.columns[name]))

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


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fM" and other.dtype.kind in "fM")


def _shown(one: Any) -> Any:
    if one != one:  # a missing number or date
        return None
    if isinstance(one, np.datetime64):
        return str(one).removesuffix("T00:00:00.000000")
    return one.item() if isinstance(one, np.generic) else one
