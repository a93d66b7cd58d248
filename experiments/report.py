"""Outcomes on the terminal, and as CSV, Markdown and PNG. No number in them is typed by hand."""

from __future__ import annotations

import csv
from collections import Counter
from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image
from rich.console import Console
from rich.table import Table

from condrank.base.files import atomic_open

from .results import EXPERIMENTS, Outcome, Row
from .tables import in_seconds, machine, markdown_table

COLUMNS = ("data", "method", "ours", "± s.e.", "paper", "verdict", "time", "seed", "protocol", "note")
RIGHT = ("ours", "± s.e.", "paper", "time", "seed")
STORED = (
    *("table", "data", "method", "unit", "measured", "error", "paper", "verdict"),
    *("seconds", "seed", "protocol", "note"),
)
STYLES = {"same": "green", "better": "bold green", "worse": "bold red", "": ""}
QUICK = "This is a quick run at tiny sizes. It shows that the experiment works; its numbers mean nothing."
UNFINISHED = "This run has not ended: rows and pictures are missing."
VERDICTS = (
    "Verdict: *same* means within two standard errors (of the difference) of the paper's number, *better* below and "
    "*worse* above; the note says why. Lower is always better. The time is for the whole row, including the choice of "
    "parameters."
)


def show(outcome: Outcome, console: Console) -> None:
    """Print the tables without the columns of seed and protocol; the protocols are printed below."""
    for title, rows in tables_of(outcome.rows).items():
        table = Table(title=f"{outcome.experiment.name}: {title}", title_justify="left", expand=False)
        shown = [c for c in COLUMNS if c not in ("seed", "protocol") and any(cells_of(row)[c] for row in rows)]
        for column in shown:
            table.add_column(column, justify="right" if column in RIGHT else "left", overflow="fold")
        for row in rows:
            cells = cells_of(row)
            style = STYLES[row.verdict]
            table.add_row(*(f"[{style}]{cells[c]}[/]" if style and c == "verdict" else cells[c] for c in shown))
        console.print(table)
        for protocol in dict.fromkeys(row.protocol for row in rows if row.protocol):
            console.print(f"  {protocol}", style="dim", highlight=False)
        console.print()


def write(outcome: Outcome, folder: Path) -> None:
    """Write the tables and pictures of an experiment, and the index of all experiments that are in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = outcome.experiment.name
    with atomic_open(folder / f"{name}.csv", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(STORED)
        for row in outcome.rows:
            values = [getattr(row, column) for column in STORED]
            writer.writerow(f"{v:.6g}" if isinstance(v, float) else "" if v is None else v for v in values)
    for picture in outcome.pictures:
        save_png(picture.figure, folder / f"{name}-{picture.name}.png")
        if picture.points:
            with atomic_open(folder / f"{name}-{picture.name}.csv", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(("panel", "series", "x", "y"))
                writer.writerows((panel, series, f"{x:.6g}", f"{y:.6g}") for panel, series, x, y in picture.points)
    write_page(folder / f"{name}.md", markdown(outcome))
    write_page(folder / "index.md", index(folder))


def write_page(path: Path, text: str) -> None:
    """Write a page whole or not at all."""
    with atomic_open(path) as file:
        file.write(text)


def save_png(figure: Figure, path: Path) -> None:
    """Save a picture with at most 256 colours: heat maps with all colours need a megabyte."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=120)
    with atomic_open(path, "wb") as file:
        Image.open(drawn).convert("RGB").quantize(256).save(file, format="png", optimize=True)


def markdown(outcome: Outcome) -> str:
    """The page of one experiment."""
    one, name = outcome.experiment, outcome.experiment.name
    lines = [f"# {one.title}", "", one.about, ""]
    lines += [f"**{QUICK}**", ""] if outcome.run.quick else []
    lines += [f"**{UNFINISHED}**", ""] if not outcome.finished else []
    if one.differences:
        lines += ["What differs from the paper:", "", *(f"- {difference}" for difference in one.differences), ""]
    if any(row.paper is not None for row in outcome.rows):
        lines += [VERDICTS, ""]
    for title, rows in tables_of(outcome.rows).items():
        shown = [column for column in COLUMNS if any(cells_of(row)[column] for row in rows)]
        cells = [[cells_of(row)[column] for column in shown] for row in rows]
        lines += [f"## {title}", "", *markdown_table(shown, cells, RIGHT), ""]
    for picture in outcome.pictures:
        lines += [f"![{picture.name}]({name}-{picture.name}.png)", "", picture.caption, ""]
    asked = f" --seed {outcome.run.seed}" if outcome.run.seed else ""
    asked += f" --repetitions {outcome.run.repetitions}" if outcome.run.repetitions else ""
    again = f"`condrank reproduce {name}{' --quick' if outcome.run.quick else ''}{asked}`"
    return "\n".join([*lines, f"Written by {again} in {in_seconds(outcome.seconds)} on {machine()}.", ""])


def index(folder: Path) -> str:
    """A page that links every experiment in the folder and counts its verdicts, read from the files."""
    lines = ["# The paper's experiments, and beyond", ""]
    lines += ["Each page is written by `condrank reproduce <name>`. " + VERDICTS.split(";")[0] + ".", ""]
    rows = []
    for name, one in EXPERIMENTS.items():
        path = folder / f"{name}.csv"
        if not path.exists():
            continue
        with path.open(encoding="utf-8") as file:
            stored = list(csv.DictReader(file))
        counted = Counter(row["verdict"] for row in stored)
        seconds = sum(float(row["seconds"] or 0) for row in stored)
        verdicts = [str(counted[verdict]) for verdict in ("same", "better", "worse")]
        beyond = str(counted[""])
        page = folder / f"{name}.md"
        quick = " (quick run)" if page.exists() and QUICK in page.read_text(encoding="utf-8") else ""
        rows.append([f"[{one.title}]({name}.md){quick}", *verdicts, beyond, in_seconds(seconds)])
    columns = ("experiment", "same", "better", "worse", "rows without a number in the paper", "time of the rows")
    return "\n".join([*lines, *markdown_table(columns, rows, columns[1:]), ""])


def tables_of(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows by their table, in order of appearance."""
    tables: dict[str, list[Row]] = {}
    for row in rows:
        tables.setdefault(row.table, []).append(row)
    return tables


def cells_of(row: Row) -> dict[str, str]:
    """A row as text, by column."""
    number = in_seconds if row.unit == "s" else without_zero
    values = (row.measured, row.error, row.paper)
    ours, error, paper = ("" if value is None else number(value) for value in values)
    if row.error is not None:
        error = without_zero(row.error, 2)
    took = "" if row.seconds is None else in_seconds(row.seconds)
    cells = (row.data, row.method, ours, error, paper, row.verdict, took, str(row.seed), row.protocol, row.note)
    return dict(zip(COLUMNS, cells, strict=True))


def without_zero(value: float, digits: int = 4) -> str:
    """A number as in the paper's tables: .25, not 0.25."""
    return f"{value:.{digits}g}".removeprefix("0") or "0"
