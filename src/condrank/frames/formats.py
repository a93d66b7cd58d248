"""Files and records as columns: CSV, JSON lines and Parquet files, lists of dicts."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from condrank.frames.columns import Columns, as_objects, checked, refuse_twice
from condrank.frames.dataframes import read_frame

DELIMITERS = (",", ";", "\t")
BINARY = (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson")
SPLIT_FROM = 1 << 16  # characters; smaller files are read quickly in any way
SPACED = {one: re.compile(rf"(?:\A|[\n{one}])[^\S\n{one}]|[^\S\n{one}](?:[\n{one}]|\Z)") for one in DELIMITERS}


def read_file(path: Any, corner: str = "") -> Columns:
    """Columns of a file, by its ending; "-" is standard input. ``corner`` names a first column without a name."""
    name = os.fspath(path)
    if not isinstance(name, str):
        raise ValueError(f"a file's name must be a string, got {name!r}")
    ending = suffix_of(name)
    if ending in BINARY:
        return _read_parquet(name)
    if ending not in (".csv", ".tsv", ".tab", ".txt", *JSON_LINES) and name != "-":
        raise ValueError(
            f"{name} must be a .csv, .tsv, .jsonl or .parquet file (text also compressed, as .csv.gz), or - for "
            "standard input"
        )
    text = read_text(name)
    origin = "standard input" if name == "-" else name
    if ending in JSON_LINES or (name == "-" and text.lstrip()[:1] == "{"):
        return _read_json_lines(text, origin)
    return _read_csv(text, origin, "\t" if ending in (".tsv", ".tab") else None, corner)


def read_text(name: str) -> str:
    """The text of a file in UTF-8, or of standard input."""
    try:
        if name == "-":
            return sys.stdin.read().removeprefix("\ufeff")
        return _universal(read_bytes(name).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not text in UTF-8: byte {error.start} cannot be read") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{name} cannot be read as a gzip file: {error}") from None
    except OSError as error:
        raise ValueError(f"{name} cannot be read: {error.strerror}") from None


def read_bytes(name: str) -> bytes:
    """The bytes of a file; those of a .gz file are decompressed."""
    data = Path(name).read_bytes()
    return gzip.decompress(data) if name.lower().endswith(".gz") else data


def suffix_of(name: str) -> str:
    """The ending of a file's name that says its format, without .gz."""
    path = Path(name)
    ending = path.suffix.lower()
    return Path(path.stem).suffix.lower() if ending == ".gz" else ending


def _universal(text: str) -> str:
    """All ends of lines as a line feed, as reading a file as text gives them."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_rows(text: str, origin: str, delimiter: str | None = None) -> list[list[str]]:
    """Rows of a CSV file, all of the same length, without space around cells and without empty lines at the end.

    The default delimiter is the most frequent one in the first line.
    """
    first = text.partition("\n")[0]
    delimiter = delimiter or max(DELIMITERS, key=first.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
        rows = [[cell.strip() for cell in row] for row in reader]
    except csv.Error as error:
        hint = "; longer texts can be read from JSON lines or Parquet" if "limit" in str(error) else ""
        raise ValueError(f"{origin} is not a CSV file: {error}{hint}") from None
    while rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise ValueError(f"{origin} is empty: it must have at least one column and one row")
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise ValueError(f"{origin}, row {number}: expected {width} fields as in the first row, got {len(row)}")
    return rows


def _read_csv(text: str, origin: str, delimiter: str | None, corner: str) -> Columns:
    plain = _split_columns(text, delimiter or max(DELIMITERS, key=text.partition("\n")[0].count))
    if plain is not None:
        header, columns = plain
    else:
        header, *rows = read_rows(text, origin, delimiter)
        columns = list(zip(*rows, strict=True)) or [()] * len(header)
    header[0] = header[0] or corner
    refuse_twice([name for name in header if name], origin)
    values = {name: as_objects(column) for name, column in zip(header, columns, strict=True)}
    return checked(values, origin, first=2)


def _split_columns(text: str, delimiter: str) -> tuple[list[str], list[list[str]]] | None:
    """Header and columns of a large, plain CSV file, split without the csv module; None for any other.

    Plain is a file without quotes and without space around cells, all of whose lines have the same number of cells.
    """
    text = text.rstrip("\n")
    if len(text) < SPLIT_FROM or any(one in text for one in ('"', "\0", "\r")) or SPACED[delimiter].search(text):
        return None
    lines = text.split("\n")
    width = lines[0].count(delimiter) + 1
    if width < 2 or {line.count(delimiter) for line in lines} != {width - 1}:
        return None
    if len(max(lines, key=len)) > csv.field_size_limit():
        return None
    cells = text.replace("\n", delimiter).split(delimiter)
    return cells[:width], [cells[width + column :: width] for column in range(width)]


def _read_json_lines(text: str, origin: str) -> Columns:
    records = []
    for number, line in enumerate(text.rstrip().split("\n"), start=1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise ValueError(f"{origin}, row {number}: expected a JSON object, got {line[:60]!r}")
        records.append(record)
    return of_records(records, origin, 1)


def of_records(records: Sequence[Mapping[Any, Any]], origin: str, first: int) -> Columns:
    """Columns of dicts, one for each row; a name that a dict lacks is a missing value."""
    names = list(dict.fromkeys(name for record in records for name in record))
    for row, record in enumerate(records):
        for name, one in record.items():
            if isinstance(one, Mapping | list | tuple | np.ndarray):
                counted = "row" if first else "position"
                raise ValueError(f"{origin}, {counted} {first + row}: {name!r} must be one value, got {one!r:.60}")
    return checked({name: as_objects([record.get(name) for record in records]) for name in names}, origin, first)


def _read_parquet(name: str) -> Columns:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        return _read_parquet_by_polars(name)
    try:
        table = parquet.read_table(name)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{name} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    return checked(read_frame(table, name) or {}, name, first=1)


def _read_parquet_by_polars(name: str) -> Columns:
    try:
        import polars as pl
    except ImportError:
        raise ValueError(f"reading {name} needs pyarrow or polars: pip install 'condrank[frames]'") from None
    try:
        table = pl.read_parquet(name)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"{name} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    return checked(read_frame(table, name) or {}, name, first=1)
