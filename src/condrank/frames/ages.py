"""Weights of edges by their age: an edge counts half as much as one that is a half-life younger."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.checks import check_number
from condrank.frames.columns import Columns
from condrank.frames.kinds import as_days, as_number, as_numbers, convert

DATES = ("date", "datetime", "timestamp", "time", "day")  # usual names, if the caller names none
# Numbers are days, seconds or milliseconds since 1970, by their size: all are dates between the years 1970 and 4700.
UNITS = ((1e6, 1.0), (1e11, 86_400.0), (1e14, 86_400e3))


def check_half_life(date: str | None, half_life: Any) -> float | None:
    """The half-life in days, or None; a ValueError if it is no positive number, or if there is a date without it."""
    if half_life is None:
        if date is not None:
            raise ValueError(f"date={date!r} needs half_life: after how many days an edge counts half")
        return None
    return check_number("half_life", half_life, above=0.0)


def date_column(columns: Columns, date: str | None, taken: tuple[str | None, ...]) -> str:
    """The column of the dates: the one that the caller names, or one with a usual name."""
    if date is not None:
        columns.column(date, "date")
        return date
    named = {name.lower(): name for name in columns.names if name not in taken}
    found = next((named[one] for one in DATES if one in named), None)
    if found is None:
        raise ValueError(f"half_life needs a column of dates, named with date=; {columns.origin} has {columns.names}")
    return found


def days_of(columns: Columns, name: str) -> np.ndarray:
    """Dates of a column as days since 1970; an error names the row."""
    columns.refuse_missing(name)
    values = columns.values[name]
    if values.dtype.kind == "O" and not all(as_number(one) is not None for one in set(values.tolist())):
        values = convert(columns, name, "date")
    if values.dtype.kind == "M":
        return as_days(values)
    numbers = as_numbers(columns, name)
    largest = float(np.abs(numbers).max(initial=0.0))
    unit = next((unit for most, unit in UNITS if largest < most), None)
    if unit is None:
        raise ValueError(
            f"column {name!r} of {columns.origin} must be dates, or days, seconds or milliseconds since 1970, got "
            f"{largest:g}"
        )
    return numbers / unit


def weights_of_age(days: np.ndarray, half_life: float) -> np.ndarray:
    """2^(-age/half-life), where the age is counted from the newest edge."""
    return np.exp2((days - days.max(initial=-np.inf)) / half_life) if len(days) else np.ones(0)
