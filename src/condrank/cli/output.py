"""Answers as a table on a terminal, CSV in a pipe, JSON or Parquet; on stdout or in a file."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from condrank.cli.terminal import answers, fail
from condrank.cli.visible import guarded_cell, visible
from condrank.cli.writing import check_writable, write_whole

Records = list[dict[str, Any]]
PIECE = 1 << 16
SAFE = "--safe-csv"
SAFE_HELP = "Guard cells of CSV that a spreadsheet would take for a formula, with an apostrophe."


class Format(StrEnum):
    """How rows are written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


# Options that every command with rows has.
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Format; by default a table on a terminal, CSV in a pipe.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Same as --format json.")]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file; its suffix sets the format.")
]
SafeOption = Annotated[bool, typer.Option(SAFE, help=SAFE_HELP)]


def choose_format(asked: Format | None, as_json: bool, output: Path | None, safe: bool = False) -> Format:
    """The format that is asked for, or that of the file's suffix, or a table on a terminal and CSV in a pipe.

    ``safe`` is for CSV only. A file that cannot be written ends the command here, before its work.
    """
    if as_json and asked not in (None, Format.json):
        raise typer.BadParameter(f"must be json with --json, got {asked}", param_hint="--format")
    if as_json or asked is not None:
        chosen = asked or Format.json
    elif output is not None:
        endings = {f".{one}": one for one in (Format.csv, Format.json, Format.parquet)} | {".txt": Format.table}
        if output.suffix.lower() not in endings:
            raise typer.BadParameter(f"{output} must end in {', '.join(endings)}, or give --format", param_hint="-o")
        chosen = endings[output.suffix.lower()]
    else:
        chosen = Format.table if sys.stdout.isatty() and not safe else Format.csv
    if safe and chosen is not Format.csv:
        raise typer.BadParameter(f"is for CSV, got {chosen}: leave it out, or give --format csv", param_hint=SAFE)
    if chosen is Format.parquet and output is None and sys.stdout.isatty():
        raise typer.BadParameter(
            "parquet cannot be shown on a terminal: give a file, -o ranking.parquet", param_hint="--format"
        )
    check_writable(output)
    return chosen


def write_rows(
    rows: Records, names: list[str], form: Format, output: Path | None, nested: Any = None, safe: bool = False
) -> None:
    """Write rows with columns of these names; ``nested``, if given, is written instead of the rows as JSON.

    ``safe`` guards the cells of CSV against spreadsheets.
    """
    if form is Format.table and output is None:
        answers().print(_rich(rows, names))
        return
    content = _content(rows, names, form, nested, safe, output is None and sys.stdout.isatty())
    if output is not None:
        write_whole(output, content)
        return
    sys.stdout.flush()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # In pieces: some systems accept a long write completely and do not report that the reader has gone.
        for start in range(0, len(content), PIECE):
            sys.stdout.buffer.write(content[start : start + PIECE])
            sys.stdout.buffer.flush()
    else:
        typer.echo(content, nl=False)


def write_json(thing: Any) -> None:
    """Write one JSON document to stdout; NaN and infinity become null."""
    typer.echo(to_json(thing))


def to_json(thing: Any) -> str:
    """Indented JSON with escaped characters, which any pipe can carry."""
    return json.dumps(plain(thing), indent=2, allow_nan=False)


def plain(thing: Any) -> Any:
    """The same in plain Python: numbers and dates of NumPy converted, None instead of NaN and infinity."""
    import numpy as np

    if isinstance(thing, dict):
        return {str(name): plain(one) for name, one in thing.items()}
    if isinstance(thing, list | tuple | np.ndarray):
        return [plain(one) for one in thing]
    if isinstance(thing, np.datetime64):
        return str(thing)
    if isinstance(thing, np.generic):
        thing = thing.item()
    if isinstance(thing, float):
        return thing if math.isfinite(thing) else None
    return thing if thing is None or isinstance(thing, bool | int | str) else str(thing)


def shown(value: Any) -> str:
    """A cell of a table on a terminal, in one line."""
    value = plain(value)
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else visible(str(value))


def _rich(rows: Records, names: list[str]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        numbers = all(isinstance(plain(row[name]), int | float | None) for row in rows)
        table.add_column(Text(visible(name)), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(shown(row[name])) for name in names))
    return table


def _content(rows: Records, names: list[str], form: Format, nested: Any, safe: bool, terminal: bool) -> bytes:
    if form is Format.json:
        return (to_json(rows if nested is None else nested) + "\n").encode()
    if form is Format.parquet:
        return _parquet(rows, names)
    text = io.StringIO()
    if form is Format.csv:
        writer = csv.writer(text, lineterminator="\n")
        cell = _cell(safe, terminal)
        writer.writerow(map(cell, names))
        writer.writerows([cell(row[name]) for name in names] for row in rows)
    else:
        from rich.console import Console

        Console(file=text, highlight=False, width=120).print(_rich(rows, names))
    return text.getvalue().encode("utf-8", "replace")


def _cell(safe: bool, terminal: bool) -> Callable[[Any], Any]:
    """What a cell of CSV becomes: guarded if asked for, and on a terminal without control characters."""

    def cell(value: Any) -> Any:
        value = plain(value)
        value = guarded_cell(value) if safe else value
        return visible(value) if terminal and isinstance(value, str) else value

    return cell


def _parquet(rows: Records, names: list[str]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        fail("writing Parquet needs pyarrow: pip install 'condrank[frames]'")
    columns = {name: [plain(row[name]) for row in rows] for name in names}
    for name, values in columns.items():
        if len({type(one) for one in values if one is not None}) > 1:
            columns[name] = [one if one is None else str(one) for one in values]
    held = io.BytesIO()
    parquet.write_table(pa.table(columns), held)
    return held.getvalue()
