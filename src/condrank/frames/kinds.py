"""Kinds of columns: numeric, date, categorical or text; found from the values unless the caller gives them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np

from condrank.frames.columns import Columns, all_strings, as_objects, missing
from condrank.frames.quick_columns import CODES, text_numbers

KINDS = ("numeric", "date", "categorical", "text")
# What people write for an unknown number.
MARKERS = {"", "na", "n/a", "nan", "null", "none", "nil", "-", "?", "."}
ZONE = re.compile(r"(?<=:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)$")
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?")
CODE = re.compile(r"[+-]?0\d")  # 007 is a name, not a number
TRUTH = {"true": 1.0, "false": 0.0}
# If at least this share of a column are numbers, or dates, the other values are taken as mistakes, not as words.
MOSTLY = 0.9
LONG_TEXT, MANY_WORDS, MANY_VALUES = 30, 4, 20
ADVICE = ", or give the kind of the column with categorical= or text=, or leave it out with drop="


def infer_kind(columns: Columns, name: str) -> str:
    """Kind of a column, found from its values in O(rows).

    Numbers and booleans are numeric, and so are strings that can all be read as numbers, except codes with leading
    zeros. ISO dates are dates. Other strings are text if they are long (more than 30 characters or 4 words on average)
    or mostly different (more than 20 different ones, more than half as many as rows), and categories otherwise.
    """
    values = columns.values[name]
    if values.dtype.kind in "biuf":
        return "numeric"
    if values.dtype.kind == "M":
        return "date"
    strange = next((row for row, one in enumerate(values) if not isinstance(one, str)), None)
    if strange is not None:
        raise ValueError(
            f"{columns.where(strange)}: column {name!r} must have numbers, strings or dates of one type, got "
            f"{values[strange]!r} of type {type(values[strange]).__name__}; correct it{ADVICE}"
        )
    given = values.tolist()
    if _all_but_mistakes(columns, name, [DATE.fullmatch(one) is not None for one in given], "dates"):
        return "date"
    numbers = _all_but_mistakes(columns, name, [as_number(one) is not None for one in given], "numbers")
    if numbers and not any(CODE.match(one) for one in given):
        return "numeric"
    n_different = len(set(given))
    long = np.mean([len(one) for one in given]) > LONG_TEXT or np.mean([len(one.split()) for one in given]) > MANY_WORDS
    return "text" if long or (n_different > MANY_VALUES and 2 * n_different > len(given)) else "categorical"


def with_numbers(columns: Columns, names: list[str]) -> Columns:
    """The columns, with those of some names as numbers if all their texts are finite numbers and none is a code.

    Their kind is then numeric, as `infer_kind` would find cell by cell.
    """
    found = {}
    for name in names:
        given = columns.values[name]
        if given.dtype.kind == "O" and all_strings(cells := given.tolist()):
            numbers = text_numbers(cells)
            if numbers is not None and not CODES.search("\n".join(cells)):
                found[name] = numbers
    return Columns(columns.values | found, columns.origin, columns.first) if found else columns


def find_gaps(columns: Columns, name: str) -> np.ndarray:
    """Mask of the missing values of a column; NA and the like count as missing among numbers or dates."""
    values = columns.values[name]
    gone = missing(values)
    if values.dtype.kind != "O":
        return gone
    marked = gone | [isinstance(one, str) and one.strip().lower() in MARKERS for one in values]
    rest = values[~marked].tolist()
    numbers = all(as_number(one) is not None for one in rest)
    dates = all(isinstance(one, str) and DATE.fullmatch(one) for one in rest)
    return marked if (numbers or dates) and 2 * len(rest) >= len(values) else gone


def _all_but_mistakes(columns: Columns, name: str, fits: list[bool], what: str) -> bool:
    """Whether all values are numbers, or dates; raises if only a few are not, with the first of them."""
    if all(fits):
        return True
    given = columns.values[name]
    others = [row for row, fit in enumerate(fits) if not fit]
    n_fits = len(fits) - len(others)
    markers = all(given[row].strip().lower() in MARKERS for row in others)
    if n_fits >= MOSTLY * len(fits) or (markers and 2 * n_fits >= len(fits)):
        found = "no value" if markers else f"{given[others[0]]!r} among {what}"
        hint = "fill it in" if markers else "correct it"
        raise ValueError(f"{columns.where(others[0])}: column {name!r} has {found}; {hint}{ADVICE}")
    return False


def convert(columns: Columns, name: str, kind: str) -> np.ndarray:
    """A column as float64 (numeric), datetime64 (date) or strings; raises for a value that cannot be, with its row."""
    values = columns.values[name]
    columns.refuse_missing(name, "; fill it in")
    if kind == "numeric":
        return as_numbers(columns, name)
    if kind == "date":
        return _as_dates(columns, name, values)
    if values.dtype.kind == "f":
        # 3 and 3.0 are one category: a column of whole numbers may have been read as floating-point numbers.
        return as_objects([str(int(one)) if one.is_integer() else str(one) for one in values.tolist()])
    if values.dtype.kind == "M":
        return as_objects([str(one) for one in values])
    return as_objects([str(one) for one in values.tolist()])


def as_numbers(columns: Columns, name: str) -> np.ndarray:
    """A column as finite float64."""
    columns.refuse_missing(name)
    values = columns.values[name]
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
    elif values.dtype.kind == "O":
        numbers = text_numbers(given) if all_strings(given := values.tolist()) else None
        if numbers is not None:
            return numbers
        read = [as_number(one) for one in values.tolist()]
        strange = next((row for row, one in enumerate(read) if one is None), None)
        if strange is not None:
            raise ValueError(f"{columns.where(strange)}: column {name!r} must be a number, got {values[strange]!r}")
        numbers = np.array(read, dtype=np.float64)
    else:
        raise ValueError(f"{columns.where(0)}: column {name!r} must be a number, got {values[0]!r}")
    infinite = ~np.isfinite(numbers)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise ValueError(f"{columns.where(row)}: column {name!r} must be a finite number, got {values[row]!r}")
    return numbers


def as_days(dates: np.ndarray) -> np.ndarray:
    """Dates as days since 1970, with their fractions."""
    return dates.astype("M8[us]").astype(np.int64) / 86_400e6


def _as_dates(columns: Columns, name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "M":
        return values.astype("M8[us]")
    if values.dtype.kind in "iuf":  # days, as an array of features has them
        return (as_numbers(columns, name) * 86_400e6).astype(np.int64).view("M8[us]")
    for row, one in enumerate(values.tolist()):
        if not isinstance(one, str) or not DATE.fullmatch(one):
            raise ValueError(f"{columns.where(row)}: column {name!r} must be a date such as 2024-12-31, got {one!r}")
    try:
        return np.array([_in_utc(one) for one in values.tolist()], dtype="M8[us]")
    except ValueError as error:
        raise ValueError(f"{columns.origin}: column {name!r} has a date that does not exist: {error}") from None


def _in_utc(date: str) -> str:
    """A time with a zone as the same moment in UTC; a time without a zone stays as it is."""
    if not ZONE.search(date):
        return date
    return datetime.fromisoformat(date).astimezone(UTC).replace(tzinfo=None).isoformat()


def as_number(one: Any) -> float | None:
    """The number that a string or an object stands for, 1 or 0 for true or false; None if it is not a number."""
    if isinstance(one, str) and one[:1] in "tTfF":
        return TRUTH.get(one.strip().lower())
    if isinstance(one, str) and "_" in one:  # 1_8 is 18 only in Python
        return None
    try:
        number = float(one)
    except (ValueError, TypeError, OverflowError):
        return None
    return None if number != number else number
