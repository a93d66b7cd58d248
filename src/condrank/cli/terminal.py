"""What every command says and where: answers on stdout, progress and errors on stderr."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from condrank.cli.visible import visible
from condrank.cli.wording import as_typed

# Exit codes of a program that a signal ended: 128 + SIGINT, 128 + SIGPIPE.
INTERRUPTED, BROKEN_PIPE = 130, 141
SECONDS_A_LINE = 10.0  # between two lines of progress in a log


def answers() -> Console:
    """A console on stdout. A pipe that cannot carry λ gets a question mark instead of an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return Console(highlight=False)


def progress_bar() -> Progress:
    """A progress bar on stderr if that is a terminal."""
    console = Console(stderr=True)
    console.quiet = (
        not console.is_terminal
    )  # rich before 14.3 writes an empty line at the end of a bar that is disabled
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=16),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


class Lines:
    """Progress in a log, where a bar would be unreadable: whole lines on stderr, none in the first ten seconds.

    A line is written when it comes ten seconds or more after the one before it; others are left out. On a terminal,
    which has a bar, nothing is written.
    """

    def __init__(self, progress: Progress):
        self.needed = progress.disable
        self.last = time.monotonic()

    def __call__(self, text: str) -> None:
        """Write a line if it is time for one."""
        if self.needed and time.monotonic() - self.last >= SECONDS_A_LINE:
            say(text)
            self.last = time.monotonic()


@contextmanager
def steps(total: int | None) -> Iterator[Callable[..., None]]:
    """A progress bar of named steps: call it with the name of each step that begins, or of news of a step and 0."""
    with progress_bar() as progress:
        bar = progress.add_task("loading", total=None if total is None else total + 1)
        lines = Lines(progress)

        def step(name: str, advance: int = 1) -> None:
            progress.update(bar, advance=advance, description=visible(name))
            lines(name)

        yield step


def show(text: str) -> None:
    """Lines on stdout, as they are: no markup, no control characters, no line breaks of our own."""
    answers().print(visible(text, keep="\n"), soft_wrap=True, markup=False)


def fail(reason: str, code: int = 1) -> NoReturn:
    """End the command with one line on stderr and an exit code."""
    say(reason)
    raise typer.Exit(code)


def say(text: str) -> None:
    """One line on stderr."""
    typer.echo(f"condrank: {visible(' '.join(text.split()))}", err=True)


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one line on stderr for bad input, a full disk and Ctrl-C, and none for a closed pipe."""
    options = inspect.signature(command).parameters.keys()

    def show_warning(message: Any, *where: Any, **more: Any) -> None:
        say(f"warning: {as_typed(str(message), options)}")

    @functools.wraps(command)
    def run(*given: Any, **named: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = show_warning
                command(*given, **named)
            sys.stdout.flush()
        except BrokenPipeError:
            _close_stdout()
            raise typer.Exit(BROKEN_PIPE) from None
        except KeyboardInterrupt:
            fail("interrupted", INTERRUPTED)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            fail(f"{where}{error.strerror or error}")
        except (ValueError, ImportError) as error:
            fail(as_typed(str(error), options))
        except MemoryError as error:
            fail(f"out of memory: {error}" if str(error) else "out of memory")

    return run


def _close_stdout() -> None:
    """Nobody reads stdout any more: drop silently what is still to be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
