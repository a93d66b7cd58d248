"""Writes tables: on the terminal, as CSV and as Markdown with a picture. Nothing in them is typed by hand."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.drawing import draw
from benchmarks.harness import SUITES, Row, Suite
from condrank.base.files import atomic_open
from experiments.report import write_page
from experiments.tables import in_seconds, machine, markdown_table

COLUMNS = ("name", "size", "measured", "floor", "ratio", "bar", "holds", "note")
QUICK = "A quick run at tiny sizes. It shows that the suite works; its figures mean nothing."


@dataclass(frozen=True)
class Outcome:
    """The rows of a suite, and how long it took."""

    suite: Suite
    rows: list[Row]
    seconds: float
    quick: bool


def show(outcome: Outcome, console: Console) -> None:
    """Print the table."""
    table = Table(title=f"{outcome.suite.name}: {outcome.suite.title}", title_justify="left", expand=False)
    for column in COLUMNS:
        right = column in ("measured", "floor", "ratio", "bar")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    for row in outcome.rows:
        style = {True: "green", False: "bold red", None: ""}[row.holds]
        cells = cells_of(row)
        table.add_row(*cells[:6], f"[{style}]{cells[6]}[/]" if style else cells[6], cells[7])
    console.print(table)
    console.print(f"{outcome.suite.name} took {outcome.seconds:.1f} s\n")


def write(outcome: Outcome, folder: Path) -> None:
    """Write <suite>.csv, <suite>.md and <suite>.png, and an index of all suites in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = outcome.suite.name
    with atomic_open(folder / f"{name}.csv", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("name", "size", "unit", *COLUMNS[2:], "series", "x"))
        for row in outcome.rows:
            numbers = ["" if value is None else f"{value:.6g}" for value in (row.measured, row.floor, row.ratio)]
            bar = "" if row.bar is None else f"{row.bar:g}"
            x = "" if row.x is None else f"{row.x:g}"
            writer.writerow((row.name, row.size, row.unit, *numbers, bar, yes_or_no(row), row.note, row.series, x))
    draw(outcome.suite, outcome.rows, folder / f"{name}.png")
    write_page(folder / f"{name}.md", markdown(outcome))
    write_page(folder / "index.md", index(folder))


def markdown(outcome: Outcome) -> str:
    """The page of one suite."""
    one = outcome.suite
    lines = [f"# {one.title}", "", one.about, ""]
    lines += [f"**{QUICK}**", ""] if outcome.quick else []
    lines += [f"![{one.title}]({one.name}.png)", ""]
    lines += markdown_table(COLUMNS, map(cells_of, outcome.rows), right=COLUMNS[2:6])
    again = f"`python -m benchmarks {one.name}{' --quick' if outcome.quick else ''}`"
    return "\n".join([*lines, "", f"Written by {again} in {outcome.seconds:.0f} s on {machine()}.", ""])


def index(folder: Path) -> str:
    """A page with links to every suite that was run."""
    lines = ["# Benchmarks", "", "Each page is written by `python -m benchmarks <suite>`.", ""]
    lines += [f"- [{one.title}]({name}.md)" for name, one in SUITES.items() if (folder / f"{name}.md").exists()]
    return "\n".join([*lines, ""])


def cells_of(row: Row) -> list[str]:
    """The cells of a row, as text."""
    ratio, bar = row.ratio, row.bar
    return [
        row.name,
        row.size,
        number(row.measured, row.unit),
        number(row.floor, row.unit),
        "" if ratio is None else f"{ratio:.1e}" if row.unit == "error" else f"{ratio:.3g}",
        "" if bar is None else f"{bar:g}",
        yes_or_no(row),
        row.note,
    ]


def yes_or_no(row: Row) -> str:
    """Whether the bar holds, in a word; empty without a bar."""
    return {True: "yes", False: "no", None: ""}[row.holds]


def number(value: float | None, unit: str) -> str:
    """A measured value as text, with its unit."""
    if value is None:
        return ""
    if unit == "s":
        return in_seconds(value)
    if unit == "MiB":
        return f"{value:,.1f} MiB" if value < 1e5 else f"{value / 1024:,.0f} GiB"
    return f"{value:.1e}" if unit == "error" else f"{value:,.0f}" if unit == "iterations" else f"{value:.3g}"
