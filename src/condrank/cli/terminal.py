"""What every command says and where: answers on stdout, progress and errors on stderr."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


def answers() -> Console:
    """A console on stdout, on which a pipe that cannot hold λ gets a question mark, not an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return Console(highlight=False)


def progress_bar() -> Progress:
    """A progress bar on stderr, where that is a terminal."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def fail(reason: str, code: int = 1) -> NoReturn:
    """One line on stderr that says why, and the exit code."""
    typer.echo(f"condrank: {reason}", err=True)
    raise typer.Exit(code)
