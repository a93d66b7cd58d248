"""The command ``python -m benchmarks [suite ...] [--quick] [--output folder]``; ``soak`` has options of its own."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.harness import SUITES
from benchmarks.report import Outcome, show, write
from experiments.tables import machine

STORIES = (
    "complete",
    "accuracy",
    "kernels",
    "metrics",
    "judging",
    "explanations",
    "imports",
    "peers",
    "incomplete",
    "uneven",
    "grid",
    "large",
    "scale",
    "products",
    "logistic",
    "selection",
    "lambdas",
    "constants",
    "shortcuts",
    "top",
    "command_line",
    "tables",
    "defaults",
    "serving",
    "distributed",
    "approximate",
    "uncertainty",
    "memory",
    "soak",
)
OUTPUT = Path("docs/benchmarks")


def load_suites() -> None:
    """Import every story, which registers its suites in this order."""
    for story in STORIES:
        import_module(f"benchmarks.{story}")


def main(
    suites: Annotated[list[str] | None, typer.Argument(help="Suites to run; all by default.")] = None,
    quick: Annotated[bool, typer.Option(help="Tiny sizes; writes nothing unless --output is given.")] = False,
    output: Annotated[Path | None, typer.Option(help="Folder for tables and pictures [docs/benchmarks].")] = None,
    minutes: Annotated[float | None, typer.Option(min=0.0, help="soak: how long; 0: one trial of each part.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="soak: seed of the first trial.")] = None,
    part: Annotated[
        str | None, typer.Option(help="soak: only this part; writes nothing unless --output is given.")
    ] = None,
) -> None:
    """Measure condrank. Prints tables, and writes them as CSV, Markdown and PNG to a folder."""
    load_suites()
    console = Console() if sys.stdout.isatty() else Console(width=190)
    unknown = [name for name in suites or [] if name not in SUITES]
    if unknown:
        raise typer.BadParameter(f"no suite {', '.join(unknown)}; there are {', '.join(SUITES)}")
    given = {"minutes": minutes, "seed": seed, "part": part}
    given = {name: value for name, value in given.items() if value is not None}
    if given and list(suites or []) != ["soak"]:
        raise typer.BadParameter(f"{', '.join(given)}: only for the suite soak, alone")
    folder = output or (None if quick or part else OUTPUT)
    console.print(f"{machine()}\n", highlight=False)
    failed, missed, bars = [], [], 0
    for name in suites or SUITES:
        start = time.perf_counter()
        try:
            rows = SUITES[name].run(quick, **given)
            outcome = Outcome(SUITES[name], rows, time.perf_counter() - start, quick)
            show(outcome, console)
            if folder is not None:
                write(outcome, folder)
        except Exception:  # the other suites must still be measured
            console.print_exception(max_frames=4)
            failed.append(name)
            continue
        missed += [f"{name}: {row.name}" for row in outcome.rows if row.holds is False]
        bars += sum(row.holds is not None for row in outcome.rows)
    console.print(f"{bars - len(missed)} of {bars} bars hold" + "".join(f"\n  missed by {one}" for one in missed))
    if failed:
        console.print(f"[bold red]failed: {', '.join(failed)}")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
