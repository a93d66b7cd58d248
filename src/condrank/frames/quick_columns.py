"""Columns of large tables as arrays: every different value is looked at once, and numbers are read all at once.

A column here is what Arrow, polars or pandas hold, or cells of a CSV file counted by a dict. It gives its different
values with their positions, or finite numbers. At anything else (a missing value, a number that cannot be read, mixed
types) it raises `NotPlain`, and the row-wise reader looks at every row and names the one that is wrong.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

import numpy as np

from condrank.frames.columns import as_objects, canonical

# A cell such as 007, which is a name and not a number, among cells joined by line feeds.
CODES = re.compile(r"(?:^|\n)[+-]?0\d")


class NotPlain(Exception):
    """The table has something that only the row-wise reader can judge."""


class QuickColumn(Protocol):
    """A column of a large table."""

    def distinct(self, empty: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Different values, strings (``empty``: also empty ones) or integers, and each row's position among them."""
        ...

    def numbers(self) -> np.ndarray:
        """Finite numbers, float64."""
        ...


class TextColumn:
    """Cells of a text file: different cells, stripped, and the position of each row's cell among them."""

    def __init__(self, cells: list[str], codes: np.ndarray):
        self._cells, self._codes = [cell.strip() for cell in cells], codes

    def distinct(self, empty: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The different cells."""
        return plain_strings(self._cells, empty), self._codes

    def numbers(self) -> np.ndarray:
        """Finite numbers."""
        numbers = text_numbers(self._cells)
        if numbers is None:
            raise NotPlain
        return numbers[self._codes]


class ArrowColumn:
    """A column of an Arrow table; ``is_text`` if it is the text of a file, whose cells are stripped."""

    def __init__(self, column: Any, is_text: bool):
        self._column, self._is_text = column, is_text

    def distinct(self, empty: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The different strings or integers."""
        from pyarrow import types

        kind = self._column.type
        if self._column.null_count or not (types.is_string(kind) or types.is_large_string(kind)):
            return distinct_integers(self._array())
        encoded = self._column.combine_chunks().dictionary_encode()
        found = encoded.dictionary.to_pylist()
        return plain_strings(
            [one.strip() for one in found] if self._is_text else found, empty
        ), encoded.indices.to_numpy()

    def numbers(self) -> np.ndarray:
        """Finite numbers; texts of a file are read."""
        if not self._is_text:
            return finite(self._array())
        from pyarrow import ArrowInvalid, compute, float64

        try:
            text: Any = compute.utf8_trim_whitespace(self._column)  # pyright: ignore[reportAttributeAccessIssue]
            return finite(text.cast(float64()).to_numpy())
        except ArrowInvalid:
            raise NotPlain from None

    def _array(self) -> np.ndarray:
        from pyarrow import types

        kind = self._column.type
        if self._column.null_count or not (types.is_integer(kind) or types.is_floating(kind)):
            raise NotPlain
        return self._column.to_numpy()


class PolarsColumn:
    """A column of a polars frame."""

    def __init__(self, column: Any, is_text: bool):
        self._column, self._is_text = column, is_text

    def distinct(self, empty: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The different strings or integers."""
        import polars as pl

        if self._column.null_count() or self._column.dtype != pl.String:
            return distinct_integers(self._array())
        frame = pl.DataFrame({"cell": self._column})
        found = frame.unique("cell").with_row_index("code")
        codes = frame.join(found, on="cell", how="left", maintain_order="left")["code"].to_numpy()
        cells = found["cell"].to_list()
        return plain_strings([one.strip() for one in cells] if self._is_text else cells, empty), codes

    def numbers(self) -> np.ndarray:
        """Finite numbers; texts of a file are read."""
        if not self._is_text:
            return finite(self._array())
        import polars as pl

        if self._column.str.contains("_", literal=True).any():
            raise NotPlain
        read = self._column.str.strip_chars().cast(pl.Float64, strict=False)
        if read.null_count():
            raise NotPlain
        return finite(read.to_numpy())

    def _array(self) -> np.ndarray:
        import polars as pl

        kind = self._column.dtype
        is_number = (kind.is_integer() and "128" not in str(kind)) or kind in (pl.Float32, pl.Float64)
        if self._column.null_count() or not is_number:
            raise NotPlain
        return self._column.to_numpy()


class PandasColumn:
    """A column of a pandas frame."""

    def __init__(self, column: Any):
        self._column = column

    def distinct(self, empty: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """The different strings or integers."""
        import pandas as pd

        if isinstance(self._column.dtype, np.dtype) and self._column.dtype.kind != "O":
            return distinct_integers(self._array())
        codes, found = pd.factorize(self._column)
        if (codes < 0).any():
            raise NotPlain
        return plain_strings(np.asarray(found, dtype=object).tolist(), empty), codes

    def numbers(self) -> np.ndarray:
        """Finite numbers."""
        return finite(self._array())

    def _array(self) -> np.ndarray:
        if not isinstance(self._column.dtype, np.dtype):
            raise NotPlain
        return self._column.to_numpy()


def plain_strings(found: list[Any], empty: bool = False) -> np.ndarray:
    """Different values, if all are strings and none is empty, unless they may be."""
    if not all(type(one) is str and (one or empty) for one in found):
        raise NotPlain
    return as_objects(found)


def distinct_integers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Different integers and the position of each."""
    if values.dtype.kind not in "iu":
        raise NotPlain
    found, codes = np.unique(values, return_inverse=True)
    return canonical(found, "ids"), codes


def finite(values: np.ndarray) -> np.ndarray:
    """Numbers as float64, if all are finite."""
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        raise NotPlain
    return values.astype(np.float64)


def text_numbers(cells: list[str]) -> np.ndarray | None:
    """Texts as finite numbers; None if one is not. 1_8 is 18 only in Python."""
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    return None if not np.isfinite(numbers).all() or any("_" in cell for cell in cells) else numbers
