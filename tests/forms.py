"""Small tables of nodes and edges, and the same table in every form that is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

LIBRARIES = ("pandas", "polars", "pyarrow")

NODES = {"id": ["ann", "bob", "cyd", "dan"], "age": [31, 25, 40, 52], "height": [1.7, 1.83, 1.65, 1.9]}
MIXED = NODES | {
    "country": ["BE", "FI", "BE", "SE"],
    "about": ["a long walk in the park"] * 3 + ["nothing at all to say"],
}
EDGES = {"source": ["ann", "bob", "cyd"], "target": ["bob", "cyd", "ann"], "value": [1.5, -2.0, 0.25]}
GAMES = {"winner": ["ann", "bob", "ann"], "loser": ["bob", "cyd", "dan"]}

FORMS = ("dict", "records", *LIBRARIES, "lazy", "parquet", "csv", "semicolons", "tsv", "jsonl")


def make_frame(library: str, table: Any) -> Any:
    """A dict of columns as a frame of pandas, polars or pyarrow; skips the test if the library is not installed."""
    module = pytest.importorskip(library)
    return module.table(table) if library == "pyarrow" else module.DataFrame(table)


def write_csv(path: Path, table: Any, delimiter: str = ",") -> Path:
    """A dict of columns as a CSV file."""
    lines = [delimiter.join(table), *(delimiter.join(map(str, row)) for row in zip(*table.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def in_form(form: str, table: Any, folder: Path) -> Any:
    """A dict of columns in one of the forms that are read; files are written to the folder."""
    folder.mkdir(exist_ok=True)
    if form in LIBRARIES:
        return make_frame(form, table)
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    if form == "records":
        return records
    if form == "lazy":
        return pytest.importorskip("polars").LazyFrame(table)
    if form == "parquet":
        pytest.importorskip("pyarrow")
        make_frame("pandas", table).to_parquet(folder / "table.parquet")
        return folder / "table.parquet"
    if form == "csv":
        return write_csv(folder / "table.csv", table)
    if form == "semicolons":
        return write_csv(folder / "table.csv", table, ";")
    if form == "tsv":
        return str(write_csv(folder / "table.tsv", table, "\t"))
    if form == "jsonl":
        (folder / "table.jsonl").write_text("\n".join(map(json.dumps, records)))
        return folder / "table.jsonl"
    return table


def spoiled(table: Any, column: str, row: int, value: Any) -> Any:
    """A dict of columns with another value in one cell."""
    return table | {column: [value if i == row else one for i, one in enumerate(table[column])]}
