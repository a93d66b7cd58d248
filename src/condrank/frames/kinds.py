"""Kinds of columns: numeric, date, categorical or text; found from the values unless the caller gives them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np

from condrank.base.warn import warn
from condrank.exceptions import CondrankWarning
from condrank.frames.columns import IMPUTED, Columns, all_strings, as_objects, missing
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
# With at least this share of numbers, the column is reported as half numeric.
HALF = 0.5
LONG_TEXT, MANY_WORDS, MANY_VALUES = 30, 4, 20
# Names of columns whose numbers name something: id, user_id, userId, index, and what pandas calls an index in a file.
NAMES_SOMETHING = re.compile(
    r"(?i:(.*[ _.-])?(id|ids|uid|uuid|guid|pk)|index|row_?id|row_?number|unnamed: \d+)|.*[a-z]I[dD]"
)
EMPTY = {"numeric": (np.nan, "f8"), "date": (np.datetime64("NaT"), "M8[us]")}  # a missing value; of others ""
COUNTED = 20  # rows from which a column that counts the rows is taken for ids
ADVICE = ", or give the kind of the column with categorical= or text=, or leave it out with drop="


def infer_kind(columns: Columns, name: str) -> str:
    """Kind of a column, found from its values in O(rows).

    Numbers and booleans are numeric, and so are strings that can all be read as numbers, except codes with leading
    zeros. ISO dates are dates. Other strings are text if they are long (more than 30 characters or 4 words on average)
    or mostly different (more than 20 different ones, more than half as many as rows), and categories otherwise.
    Whole numbers that name something (``team_id``) are categories. A column of which half are numbers is reported by
    a warning.
    """
    values = columns.values[name]
    if values.dtype.kind in "biuf":
        return "categorical" if _names_something(name) and _whole(columns, name) is not None else "numeric"
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
        return "categorical" if _names_something(name) and _whole(columns, name) is not None else "numeric"
    n_different = len(set(given))
    long = np.mean([len(one) for one in given]) > LONG_TEXT or np.mean([len(one.split()) for one in given]) > MANY_WORDS
    kind = "text" if long or (n_different > MANY_VALUES and 2 * n_different > len(given)) else "categorical"
    if not numbers:
        _report_half(columns, name, kind)
    return kind


def is_id(columns: Columns, name: str) -> bool:
    """Whether a column only names its rows, so that it is no feature. O(rows).

    So it is if all its values are different and it is called like ids (``id``, ``user_id``, ``index``), or if it
    counts the rows (1, 2, 3, …) of a table of at least 20. Ids are whole numbers or single words.
    """
    values = columns.values[name]
    numbers = _whole(columns, name)
    if numbers is None:
        given = values.tolist() if values.dtype.kind == "O" else []
        words = all_strings(given) and not any(" " in one for one in given)
        return words and _names_something(name) and len(set(given)) == len(given) > 1
    if len(numbers) >= COUNTED and (np.diff(numbers) == 1).all():
        return True
    return _names_something(name) and len(np.unique(numbers)) == len(numbers) > 1


def _names_something(name: str) -> bool:
    return NAMES_SOMETHING.fullmatch(name.strip()) is not None


def _whole(columns: Columns, name: str) -> np.ndarray | None:
    """The whole numbers of a column; None if it has anything else."""
    values = columns.values[name]
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind == "f":
        numbers: np.ndarray | None = values
    else:
        numbers = text_numbers(given) if values.dtype.kind == "O" and all_strings(given := values.tolist()) else None
    return numbers if numbers is not None and np.isfinite(numbers).all() and (numbers % 1 == 0).all() else None


def _report_half(columns: Columns, name: str, kind: str) -> None:
    """Warn of a column with numbers and other values, of which neither are rare enough to be mistakes."""
    given = columns.values[name]
    others = [row for row, one in enumerate(given.tolist()) if as_number(one) is None]
    n_numbers = len(given) - len(others)
    if n_numbers < HALF * len(given) or len(others) == 0:
        return
    first = others[0]
    what = "categories" if kind == "categorical" else "texts"
    warn(
        f"{columns.origin}: column {name!r} has {n_numbers:,} numbers and {len(others):,} other values, such as "
        f"{given[first]!r} in {columns.counted(first)}, and was taken as {what}; correct them if it is a column of "
        f"numbers, or say that this is meant with {kind}=[{name!r}]",
        CondrankWarning,
    )


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
        more = f" ({len(others)} such values in all)" if len(others) > 1 else ""
        advice = f"{ADVICE}{IMPUTED}" if markers else ADVICE
        raise ValueError(f"{columns.where(others[0])}: column {name!r} has {found}{more}; {hint}{advice}")
    return False


def convert_with_gaps(columns: Columns, name: str, kind: str) -> np.ndarray:
    """As `convert`, with missing values kept: NaN, not-a-time, or an empty string."""
    values = columns.values[name]
    gone = missing(values)
    if kind in ("numeric", "date") and values.dtype.kind == "O":
        gone = gone | [isinstance(one, str) and one.strip().lower() in MARKERS for one in values]
    if not gone.any():
        return convert(columns, name, kind)
    empty, dtype = EMPTY.get(kind, ("", "O"))
    filled = np.full(len(gone), empty, dtype)
    if not gone.all():
        filled[~gone] = convert(columns.present(name, gone), name, kind)
    return filled


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
