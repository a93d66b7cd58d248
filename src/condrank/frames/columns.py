"""Columns as they are read from a file or a frame, with row numbers as people count them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np

# A part of errors: what fills missing values in.
IMPUTED = ", or have missing values filled with impute='median'"


@dataclass(frozen=True, eq=False)
class Columns:
    """Named columns of equal length, not yet sorted into kinds.

    Attributes
    ----------
    values : dict of ndarray
        Numbers, dates (datetime64), or objects with None for a missing value. All values of a text file are strings.
    origin : str
        Name of the file, or what the frame holds, such as "nodes".
    first : int
        Number of the first row: 2 in a file with a header, 1 in a file without, 0 (positions) in a frame.
    rows : ndarray or None
        If these are only some rows of a table, their positions in it.
    """

    values: dict[str, np.ndarray]
    origin: str
    first: int = 0
    rows: np.ndarray | None = None

    def __len__(self) -> int:
        return len(next(iter(self.values.values()), ()))

    def __contains__(self, name: object) -> bool:
        return name in self.values

    @property
    def names(self) -> list[str]:
        """Names of the columns, in their order."""
        return list(self.values)

    def where(self, row: int) -> str:
        """The origin and a row's number in the file, or its position in the frame."""
        return f"{self.origin}, {self.counted(row)}"

    def counted(self, row: int) -> str:
        """A row's number or position alone."""
        place = row if self.rows is None else int(self.rows[row])
        return f"{'row' if self.first else 'position'} {self.first + place}"

    def present(self, name: str, gone: np.ndarray) -> Columns:
        """One column without its missing values; errors still name the rows of the whole table."""
        return Columns({name: self.values[name][~gone]}, self.origin, self.first, np.flatnonzero(~gone))

    def column(self, name: str, argument: str) -> np.ndarray:
        """The column that an argument names; raises if there is no such column."""
        if name not in self.values:
            raise ValueError(f"{argument}={name!r} is not a column of {self.origin}, which has {self.names}")
        return self.values[name]

    def refuse_missing(self, name: str, hint: str = "") -> None:
        """Raise if a column has a missing value, with the first such row."""
        gone = missing(self.values[name])
        if gone.any():
            row = int(np.argmax(gone))
            more = f" ({int(gone.sum())} in all)" if gone.sum() > 1 else ""
            raise ValueError(f"{self.where(row)}: column {name!r} has no value{more}{hint}")

    def refuse_gaps(self, gaps: Mapping[str, np.ndarray], can_drop: bool) -> None:
        """Raise if two or more columns have missing values, with all of these columns; ``gaps`` has a mask for each."""
        counts = {name: int(gone.sum()) for name, gone in gaps.items() if gone.any()}
        if len(counts) > 1:
            listed = ", ".join(
                f"{name!r} {count} (first in {self.counted(int(np.argmax(gaps[name])))})"
                for name, count in counts.items()
            )
            hint = f", or leave the columns out with drop={list(counts)}{IMPUTED}" if can_drop else ""
            raise ValueError(f"{self.origin}: {len(counts)} columns have missing values, {listed}; fill them in{hint}")


def read_table(source: Any, what: str = "the table", corner: str = "") -> Columns:
    """Columns of a file, a data frame, a dict or a list of dicts.

    Parameters
    ----------
    source : path-like, frame, mapping or sequence of mappings
        A CSV (comma, semicolon or tab, found from the header), TSV, JSON lines or Parquet file, by its ending; "-" is
        CSV or JSON lines on standard input. Or a data frame of any library that narwhals reads (pandas, polars,
        pyarrow, Modin, DuckDB, …), a dict of columns, or a list of dicts, one for each row.
    what : str
        Name of a frame in errors, such as "nodes"; a file has its own name.
    corner : str
        Name for the first column of a CSV file if the header has none, as in a file that pandas wrote with its index;
        by default such a file is an error.

    Returns
    -------
    Columns
        Values of CSV files stay strings.
    """
    from condrank.frames import dataframes, formats

    if isinstance(source, Columns):
        return source
    if isinstance(source, str | PathLike):
        return formats.read_file(source, corner)
    if isinstance(source, Mapping):
        return checked({name: _listed(values, name, what) for name, values in source.items()}, what)
    if isinstance(source, Sequence) and len(source) and all(isinstance(row, Mapping) for row in source):
        return formats.of_records(source, what, 0)
    values = dataframes.read_frame(source, what)
    if values is None:
        raise ValueError(
            f"{what} must be a file, a data frame (pandas, polars, pyarrow or another), a dict of columns or a list of "
            f"dicts, got {type(source).__name__}"
        )
    return checked(values, what)


def checked(values: dict[Any, np.ndarray], origin: str, first: int = 0) -> Columns:
    """Columns after checks: different names, the same length, at least one column and one row."""
    names = [str(name) for name in values]
    for number, name in enumerate(names, start=1):
        if not name.strip():
            raise ValueError(f"{origin}: column {number} has no name; name it, or write the table without its index")
    refuse_twice(names, origin)
    lengths = {name: len(column) for name, column in zip(names, values.values(), strict=True)}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{origin}: columns must have the same length, got {lengths}")
    if not names or not next(iter(lengths.values())):
        raise ValueError(f"{origin} is empty: it must have at least one column and one row")
    return Columns(dict(zip(names, map(canonical, values.values(), names), strict=True)), origin, first)


def refuse_twice(names: Sequence[Any], origin: str) -> None:
    """Raise if two columns have the same name."""
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{origin}: two columns are named {name!r}")
        seen.add(name)


def canonical(values: np.ndarray, name: str) -> np.ndarray:
    """Numbers and dates as NumPy arrays, anything else as objects with None for missing values; durations as days."""
    if values.ndim != 1:
        raise ValueError(f"column {name!r} must be one-dimensional, got shape {values.shape}")
    if values.dtype.kind in "biufM":
        return values
    if values.dtype.kind == "m":
        return np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "D"))
    if values.dtype.kind not in "OU":
        raise ValueError(f"column {name!r} has type {values.dtype}; numbers, strings and dates can be read")
    given = values.tolist()
    if all_strings(given):
        return values if values.dtype.kind == "O" else as_objects(given)
    return _typed([None if _is_missing(one) else one for one in given])


def missing(values: np.ndarray) -> np.ndarray:
    """Which values are missing: NaN, not-a-time, None, or an empty string."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "M":
        return np.isnat(values)
    if values.dtype.kind == "O":
        if all_strings(given := values.tolist()):
            return np.array([not one for one in given], dtype=bool)
        return np.fromiter((one is None or (isinstance(one, str) and not one) for one in values), bool, len(values))
    return np.zeros(len(values), dtype=bool)


def as_objects(values: Sequence[Any]) -> np.ndarray:
    """A one-dimensional array of objects, also of tuples and lists, which NumPy would unpack."""
    out = np.empty(len(values), dtype=object)
    if all_strings(values):
        out[:] = values
        return out
    for row, one in enumerate(values):
        out[row] = one
    return out


def all_strings(values: Sequence[Any]) -> bool:
    """Whether all values are strings."""
    return set(map(type, values)) == {str}


def _typed(given: list[Any]) -> np.ndarray:
    present = [one for one in given if one is not None]
    kinds = set(map(type, present))
    whole = not any(one is None for one in given)
    if all(issubclass(kind, str) for kind in kinds):
        return as_objects([one if one is None else str(one) for one in given])
    if kinds == {np.datetime64}:
        return np.array(given, dtype="M8")
    if all(issubclass(kind, bool | np.bool_) for kind in kinds) and whole:
        return np.array(given, dtype=bool)
    if all(issubclass(kind, Integral) and kind is not bool for kind in kinds) and whole:
        low, high = min(present), max(present)
        return np.array(given, dtype=np.int64) if -(2**63) <= low <= high < 2**63 else as_objects(given)
    if all(issubclass(kind, Real | Decimal) and kind is not bool for kind in kinds):
        try:
            return np.array([np.nan if one is None else float(one) for one in given])
        except OverflowError:
            return as_objects(given)
    if len(kinds) == 1 and issubclass(next(iter(kinds)), datetime.date):
        return np.array([_without_zone(one) for one in given], dtype="M8[us]")
    return as_objects(given)


def _without_zone(one: Any) -> Any:
    """A time with a zone as the same moment in UTC without a zone, so that all times can be compared."""
    if getattr(one, "tzinfo", None) is None:
        return one
    return one.astimezone(datetime.UTC).replace(tzinfo=None)


def _is_missing(one: Any) -> bool:
    unknown = type(one).__name__ in ("NAType", "NaTType")
    return one is None or unknown or (isinstance(one, float | np.datetime64) and one != one)


def _listed(values: Any, name: Any, what: str) -> np.ndarray:
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ValueError(f"{what}: column {name!r} must be a list or an array, got {type(values).__name__}")
    return as_objects(values)
