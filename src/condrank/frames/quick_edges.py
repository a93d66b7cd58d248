"""Large CSV files of edges read by Arrow: columns as arrays, and every different id looked up once.

Arrow reads in a fraction of the time of the row-wise reader but reports neither rows nor columns the way people count
them. So this reader takes only what is plain. At anything else (a quote, a missing value, an unknown id, a number that
cannot be read) it gives up, and the row-wise reader of `condrank.frames.edges` reads the file and names the row.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from condrank.frames.columns import Columns, as_objects
from condrank.frames.ids import Ids

# Smaller files are read row by row in the time that importing Arrow takes.
LEAST_BYTES = 1 << 20
DELIMITERS = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}


class NotPlain(Exception):
    """The file has something that only the row-wise reader can judge."""


class QuickTable:
    """A CSV file as Arrow read it: every column as text.

    Attributes
    ----------
    columns : Columns
        Names of the columns, without their values.
    """

    def __init__(self, table: Any, origin: str):
        self._table = table
        self.columns = Columns({name: np.empty(0) for name in table.column_names}, origin, first=2)

    def __len__(self) -> int:
        return self._table.num_rows

    def places(self, name: str, ids: Ids) -> np.ndarray:
        """Positions of the nodes that a column names; each different id is looked up once."""
        column = self._table.column(name).combine_chunks().dictionary_encode()
        given = [one.strip() for one in column.dictionary.to_pylist()]
        found = ids.places(as_objects(given))
        if "" in given or (found < 0).any():
            raise NotPlain
        return found[column.indices.to_numpy()]

    def numbers(self, name: str) -> np.ndarray:
        """A column as finite numbers."""
        from pyarrow import ArrowInvalid, compute, float64

        try:
            text: Any = compute.utf8_trim_whitespace(self._table.column(name))  # pyright: ignore[reportAttributeAccessIssue]
            numbers = text.cast(float64()).to_numpy()
        except ArrowInvalid:
            raise NotPlain from None
        if not np.isfinite(numbers).all():
            raise NotPlain
        return numbers


def read_quickly(source: Any) -> QuickTable | None:
    """A large, plain CSV file as Arrow reads it; None for everything else, and where pyarrow is not installed."""
    if not isinstance(source, str | os.PathLike):
        return None
    path = Path(source)
    if path.suffix.lower() not in DELIMITERS or not path.is_file() or path.stat().st_size < LEAST_BYTES:
        return None
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError:
        return None
    data = path.read_bytes()
    if b'"' in data or b"\r" in data.replace(b"\r\n", b"\n"):
        return None
    header = data.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].decode("utf-8", "replace")
    delimiter = DELIMITERS[path.suffix.lower()] or max((",", ";", "\t"), key=header.count)
    names = [name.strip() for name in header.split(delimiter)]
    if not all(names) or len(set(names)) < len(names):
        return None
    try:
        table = csv.read_csv(
            pa.BufferReader(data.rstrip(b"\r\n")),
            read_options=csv.ReadOptions(column_names=names, skip_rows=1),
            parse_options=csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=False,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowException:
        return None
    return QuickTable(table, os.fspath(source)) if table.num_rows else None
