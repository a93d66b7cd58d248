"""Large tables of edges read by columns: with Arrow or polars, whichever is installed, or the csv module.

They read in a fraction of the time of the row-wise reader but report neither rows nor columns the way people count
them. So this reader takes only what is plain. At anything else (odd quotes, a missing value, an unknown id, a number
that cannot be read) it gives up, and the row-wise reader of `condrank.frames.edges` reads the table and names the row.
"""

from __future__ import annotations

import csv
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from condrank.frames.columns import Columns
from condrank.frames.formats import BINARY, JSON_LINES, read_bytes, suffix_of
from condrank.frames.ids import Ids
from condrank.frames.quick_columns import ArrowColumn, NotPlain, PandasColumn, PolarsColumn, QuickColumn, TextColumn

# Smaller files and frames are read row by row in the time that importing Arrow takes.
LEAST_BYTES = 1 << 20
LEAST_ROWS = 1 << 14
DELIMITERS = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
# Characters of a CSV file that are split into cells at a time.
BATCH = 1 << 21


class QuickTable:
    """A table by columns.

    Attributes
    ----------
    columns : Columns
        Names of the columns, without their values.
    """

    def __init__(self, columns: dict[str, Callable[[], QuickColumn]], length: int, origin: str, first: int):
        self._columns, self._length = columns, length
        self.columns = Columns({name: np.empty(0) for name in columns}, origin, first)

    def __len__(self) -> int:
        return self._length

    def column(self, name: str) -> QuickColumn:
        """One column."""
        return self._columns[name]()

    def places(self, name: str, ids: Ids) -> np.ndarray:
        """Positions of the nodes that a column names; each different id is looked up once."""
        values, codes = self.column(name).distinct()
        found = ids.places(values)
        if (found < 0).any():
            raise NotPlain
        return found[codes]

    def numbers(self, name: str) -> np.ndarray:
        """A column as finite numbers."""
        return self.column(name).numbers()


def read_quickly(source: Any) -> QuickTable | None:
    """A large, plain table by columns; None for everything else."""
    if isinstance(source, str | os.PathLike):
        return _read_file(source)
    return _read_frame(source, "edges", 0, LEAST_ROWS)


def _read_file(source: Any) -> QuickTable | None:
    name = os.fspath(source)
    if not isinstance(name, str):
        return None
    path, ending = Path(name), suffix_of(name)
    if not path.is_file() or ending not in (*DELIMITERS, *BINARY, *JSON_LINES):
        return None
    if ending in BINARY:
        return _read_frame(_parquet(path), name, 1, 1) if path.stat().st_size >= LEAST_BYTES else None
    try:
        data = read_bytes(name)
    except (OSError, EOFError, zlib.error):
        return None
    if len(data) < LEAST_BYTES:
        return None
    if ending in JSON_LINES:
        return _read_frame(_json_lines(data), name, 1, 1)
    return _read_csv(data, name, DELIMITERS[ending])


# Frames


def _read_frame(frame: Any, origin: str, first: int, least: int) -> QuickTable | None:
    """A frame of pandas, polars or pyarrow with different names and at least so many rows."""
    library = type(frame).__module__.partition(".")[0]
    known = library in ("pandas", "polars", "pyarrow") and hasattr(frame, "columns") and hasattr(frame, "__len__")
    if not known or len(frame) < least:
        return None
    names: Any = frame.column_names if library == "pyarrow" and hasattr(frame, "column_names") else list(frame.columns)
    if len(set(names)) < len(names) or not all(isinstance(name, str) and name.strip() for name in names):
        return None
    wrap: Any = {
        "pandas": lambda name: PandasColumn(frame[name]),
        "polars": lambda name: PolarsColumn(frame.get_column(name), False),
        "pyarrow": lambda name: ArrowColumn(frame.column(name), False),
    }[library]
    return QuickTable({name: lambda name=name: wrap(name) for name in names}, len(frame), origin, first)


def _parquet(path: Path) -> Any:
    """A Parquet file as a frame; None if it cannot be read."""
    try:
        from pyarrow import ArrowException, parquet

        try:
            return parquet.read_table(path)
        except (ArrowException, OSError):
            return None
    except ImportError:
        pass
    try:
        import polars as pl
    except ImportError:
        return None
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError):
        return None


def _json_lines(data: bytes) -> Any:
    """JSON lines as a frame; None if it cannot be read, or if some lines are no rows."""
    data = data.removeprefix(b"\xef\xbb\xbf").rstrip()
    frame = None
    try:
        import pyarrow as pa
        from pyarrow import json

        try:
            frame = json.read_json(pa.BufferReader(data))
        except pa.ArrowException:
            return None
    except ImportError:
        try:
            import polars as pl
        except ImportError:
            return None
        try:
            frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
        except (pl.exceptions.PolarsError, OSError):
            return None
    return frame if len(frame) == data.count(b"\n") + 1 else None


# CSV files


def _read_csv(data: bytes, origin: str, delimiter: str | None) -> QuickTable | None:
    data = data.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
    quoted = b'"' in data
    if b"\r" in data and (quoted or b"\r" in data.replace(b"\r\n", b"\n")):
        return None
    header = data.partition(b"\n")[0].decode("utf-8", "replace")
    delimiter = delimiter or max((",", ";", "\t"), key=header.count)
    if quoted and not _plainly_quoted(data, delimiter):
        return None
    names = [name.strip().removeprefix('"').removesuffix('"').strip() for name in header.split(delimiter)]
    if not all(names) or len(set(names)) < len(names) or '"' in "".join(names):
        return None
    for read in (_by_arrow, _by_polars, _by_module):
        found = read(data, names, delimiter, quoted)
        if found is not None:
            columns, length = found
            return QuickTable(columns, length, origin, 2) if length else None
    return None


def _plainly_quoted(data: bytes, delimiter: str) -> bool:
    """Whether every quote opens or closes a cell, so that all readers of CSV see the same cells."""
    cut = re.escape(delimiter.encode())
    opening, closing = rb"(?:\A|(?<=[\n" + cut + rb']))"', rb'"(?=[\n' + cut + rb"]|\Z)"
    if re.search(opening + rb"(?=[\n" + cut + rb"]|\Z)", data):
        return False
    return len(re.findall(opening, data)) + len(re.findall(closing, data)) == data.count(b'"')


def _by_arrow(data: bytes, names: list[str], delimiter: str, quoted: bool) -> Any:
    try:
        import pyarrow as pa
        from pyarrow import csv as arrow
    except ImportError:
        return None
    try:
        table = arrow.read_csv(
            pa.BufferReader(data),
            read_options=arrow.ReadOptions(column_names=names, skip_rows=1),
            parse_options=arrow.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
                ignore_empty_lines=False,
            ),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=False,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowException:
        return {}, 0
    return {name: lambda name=name: ArrowColumn(table.column(name), True) for name in names}, len(table)


def _by_polars(data: bytes, names: list[str], delimiter: str, quoted: bool) -> Any:
    try:
        import polars as pl
    except ImportError:
        return None
    n_rows = data.count(b"\n")
    if quoted or data.count(delimiter.encode()) != (len(names) - 1) * (n_rows + 1):
        return None  # polars fills up short lines
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            skip_rows=1,
            new_columns=names,
            separator=delimiter,
            quote_char=None,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError:
        return {}, 0
    if len(frame) != n_rows:
        return {}, 0
    return {name: lambda name=name: PolarsColumn(frame.get_column(name), True) for name in names}, n_rows


def _by_module(data: bytes, names: list[str], delimiter: str, quoted: bool) -> Any:
    """Python alone: cells become numbers of a dict a batch at a time, so that only different cells are held."""
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return {}, 0
    numbers: list[_Numbers] = [_Numbers() for _ in names]
    codes: list[list[np.ndarray]] = [[] for _ in names]
    try:
        for columns in (_quoted_batches if quoted else _split_batches)(text, len(names), delimiter):
            for cells, number, parts in zip(columns, numbers, codes, strict=True):
                parts.append(np.fromiter(map(number.__getitem__, cells), np.int64, len(cells)))
    except (csv.Error, NotPlain):
        return {}, 0
    found = {
        name: lambda number=number, parts=parts: TextColumn(list(number), np.concatenate(parts))
        for name, number, parts in zip(names, numbers, codes, strict=True)
    }
    return found, sum(map(len, codes[0]))


def _split_batches(text: str, width: int, delimiter: str) -> Iterator[Iterable[Sequence[str]]]:
    """Columns of cells, some rows at a time, of a text without quotes: splitting is faster than the csv module."""
    start = text.find("\n") + 1
    while 0 < start < len(text):
        stop = text.find("\n", start + BATCH)
        stop = len(text) if stop < 0 else stop
        lines = text[start:stop].split("\n")
        if {line.count(delimiter) for line in lines} != {width - 1}:
            raise NotPlain
        cells = delimiter.join(lines).split(delimiter)
        yield [cells[column::width] for column in range(width)]
        start = stop + 1


def _quoted_batches(text: str, width: int, delimiter: str) -> Iterator[Iterable[Sequence[str]]]:
    """Columns of cells, some rows at a time, as the csv module reads them."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    next(reader)
    while batch := list(islice(reader, BATCH >> 5)):
        if set(map(len, batch)) != {width}:
            raise NotPlain
        yield zip(*batch, strict=True)


class _Numbers(dict[str, int]):
    """Numbers of different cells, in the order in which they first come."""

    def __missing__(self, cell: str) -> int:
        self[cell] = number = len(self)
        return number
