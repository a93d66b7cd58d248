"""What an experiment yields: rows of tables with the paper's numbers beside ours, and pictures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Row:
    """One line of a table: a method on some data.

    Attributes
    ----------
    table : str
        Title of the table that the row belongs to.
    data, method, protocol : str
        The data, the method, and how it was judged.
    measured, error : float or None
        Our number and its standard error; None if it was not measured, and then ``note`` says why.
    paper : float or None
        The paper's number.
    seconds : float or None
        Time that the number took, including the choice of parameters.
    seed : int
        Seed of everything random.
    note : str
        Chosen parameters, or the reason why it differs from the paper.
    unit : str
        "rank loss"; "s" if the row measures time; "ratio" if it compares two numbers.
    paper_error : float or None
        Standard error of the paper's number, if it is known.
    """

    table: str
    data: str
    method: str
    measured: float | None
    error: float | None = None
    paper: float | None = None
    seconds: float | None = None
    seed: int = 0
    protocol: str = ""
    note: str = ""
    unit: str = "rank loss"
    paper_error: float | None = None

    @property
    def verdict(self) -> str:
        """Our number against the paper's: "same" within two standard errors of the difference, "better" or "worse"."""
        if self.paper is None or self.measured is None:
            return ""
        if abs(self.measured - self.paper) <= 2 * np.hypot(self.error or 0.0, self.paper_error or 0.0):
            return "same"
        return "better" if self.measured < self.paper else "worse"


@dataclass(frozen=True)
class Picture:
    """A figure, its file name without ending, what it shows in words, and its points for a CSV file, if it has any."""

    name: str
    caption: str
    figure: Figure
    points: list[tuple[str, str, float, float]] = field(default_factory=list)
    """Panel, series, x and y of every point."""


@dataclass(frozen=True)
class Run:
    """How an experiment is run.

    Attributes
    ----------
    quick : bool
        Tiny sizes, to see that it works.
    seed : int
        Seed of everything random.
    repetitions : int or None
        How often to repeat what the paper repeats; None: as often as the paper.
    data : Path or None
        Folder of the data sets.
    step : callable
        Called with the name of each step before it starts.
    """

    quick: bool = False
    seed: int = 0
    repetitions: int | None = None
    data: Path | None = None
    step: Callable[[str], None] = lambda name: None

    def repeat(self, paper: int, quick: int) -> int:
        """The repetitions of the request; by default as in the paper, or a few in a quick run."""
        return self.repetitions or (quick if self.quick else paper)


@dataclass(frozen=True)
class Experiment:
    """A generator of rows and pictures, its description, and how it differs from the paper's experiment."""

    name: str
    title: str
    about: str
    differences: tuple[str, ...]
    files: tuple[str, ...]
    """Data files that it needs, below the data folder."""
    run: Callable[[Run], Iterator[Row | Picture]]


@dataclass(frozen=True)
class Outcome:
    """An experiment that was run."""

    experiment: Experiment
    rows: list[Row]
    pictures: list[Picture]
    seconds: float
    run: Run
    finished: bool = True


EXPERIMENTS: dict[str, Experiment] = {}


def experiment(title: str, *, differences: tuple[str, ...] = (), files: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Register a generator function(run) under its own name; its docstring is printed above the tables."""

    def register(run: Callable[[Run], Iterator[Row | Picture]]) -> Callable[[Run], Iterator[Row | Picture]]:
        about = " ".join((run.__doc__ or "").split())
        EXPERIMENTS[run.__name__] = Experiment(run.__name__, title, about, differences, files, run)
        return run

    return register


def run_experiment(one: Experiment, run: Run, keep: Callable[[Outcome], None] | None = None) -> Outcome:
    """Run an experiment. ``keep`` is called with the outcome so far after each row, so that a killed run leaves it.

    Raises
    ------
    FileNotFoundError
        Before any work, naming each data file that is missing.
    """
    check_files(one, run.data)
    with clock() as seconds:
        rows: list[Row] = []
        pictures: list[Picture] = []
        for found in one.run(run):
            if isinstance(found, Picture):
                pictures.append(found)
                continue
            rows.append(found)
            if keep is not None:
                keep(Outcome(one, rows, pictures, seconds(), run, finished=False))
    return Outcome(one, rows, pictures, seconds(), run)


def check_files(one: Experiment, folder: Path | None) -> None:
    """Raise if data files of an experiment are missing."""
    missing = [file for file in one.files if folder is None or not (folder / file).is_file()]
    if missing:
        where = "no data folder is given" if folder is None else f"not in {str(folder)!r}"
        raise FileNotFoundError(
            f"{one.name} needs {', '.join(missing)}: {where}. Set the environment variable CONDRANK_DATA, or --data, "
            "to the folder that contains it"
        )


@contextmanager
def clock() -> Iterator[Callable[[], float]]:
    """Seconds since the block began, or of the whole block after its end."""
    start, end = time.perf_counter(), None
    yield lambda: (end or time.perf_counter()) - start
    end = time.perf_counter()


def mean_and_error(values: Any) -> tuple[float, float | None]:
    """Mean of repetitions and its standard error, which is None for a single one."""
    values = np.asarray(values, dtype=float)
    return float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else None
