"""Used by every suite: rows of a table, interleaved timing, peak memory, time limits, the register of suites."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

# Seconds after which threads of OpenBLAS that have no more work sleep.
REST = 0.15


@dataclass(frozen=True)
class Row:
    """One line of a table: a measured value, the floor measured beside it, and the bar for their ratio.

    ``measured`` and ``floor`` are in ``unit`` ("s", "MiB", "iterations", "error", "slope", "share", "failed",
    "×"). Without a floor the ratio is the measured value itself. ``series`` and ``x`` give the row's place on a curve.
    """

    name: str
    size: str
    measured: float | None
    floor: float | None = None
    bar: float | None = None
    unit: str = "s"
    note: str = ""
    series: str = ""
    x: float | None = None

    @property
    def ratio(self) -> float | None:
        """Measured value divided by floor; None if there is nothing to compare."""
        if self.measured is None or (self.floor is None and self.bar is None):
            return None
        return self.measured if self.floor is None else self.measured / self.floor

    @property
    def holds(self) -> bool | None:
        """Whether the ratio is within the bar; None without a bar or a ratio."""
        return None if self.bar is None or self.ratio is None else self.ratio <= self.bar


@dataclass(frozen=True)
class Suite:
    """A function that returns rows, its title, an explanation, and how its rows are drawn."""

    name: str
    title: str
    about: str
    run: Callable[..., list[Row]]
    plot: str
    axes: tuple[str, str]


SUITES: dict[str, Suite] = {}


def suite(title: str, *, plot: str = "bars", axes: tuple[str, str] = ("", "")) -> Callable[..., Any]:
    """Register a function(quick, …) -> rows under its own name. Its docstring is the text above the table."""

    def register(run: Callable[..., list[Row]]) -> Callable[..., list[Row]]:
        name = run.__name__
        SUITES[name] = Suite(name, title, " ".join((run.__doc__ or "").split()), run, plot, axes)
        return run

    return register


@dataclass(frozen=True)
class Job:
    """A callable, and a function that prepares its argument before each run, outside the measured time."""

    run: Callable[[Any], Any]
    prepare: Callable[[], Any]


def measure(jobs: dict[str, Callable[[], Any] | Job], repeats: int = 3) -> dict[str, float]:
    """Seconds of each job, the least of several runs. The jobs take turns, so that a slow moment affects all of them.

    Every job runs at least twice, because the first run warms caches and compiled loops. Each run starts after a rest:
    threads of the BLAS of the job before would take up to half of the time of a job that uses another BLAS.
    """
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(max(2, repeats)):
        for name, job in jobs.items():
            time.sleep(REST)
            best[name] = min(best[name], seconds(job))
    return best


def seconds(job: Callable[[], Any] | Job) -> float:
    """Seconds of one run."""
    if isinstance(job, Job):
        given = job.prepare()
        start = time.perf_counter()
        job.run(given)
    else:
        start = time.perf_counter()
        job()
    return time.perf_counter() - start


def peak_mib(job: Callable[[], Any]) -> float:
    """Peak of the allocated MiB beyond what was allocated before, including the result.

    Counted by tracemalloc. NumPy reports its arrays to it, and SciPy's LAPACK wrappers take their workspace as NumPy
    arrays. BLAS's own buffers (a few MiB for any size) are not counted.
    """
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        kept = job()
        peak = tracemalloc.get_traced_memory()[1]
        del kept
    finally:
        tracemalloc.stop()
    return (peak - before) / 2**20


class Deadline:
    """A callback for iterations that stops them when their time is up, and records when each ended."""

    def __init__(self, limit: float):
        self.end, self.passed = time.perf_counter() + limit, False
        self.times: list[float] = []

    def __call__(self, number: int, iterate: Any) -> bool:
        """Record the time; True means stop."""
        self.times.append(time.perf_counter())
        self.passed = self.times[-1] > self.end
        return self.passed

    @property
    def per_iteration(self) -> float:
        """Mean seconds of an iteration, without the first."""
        return (self.times[-1] - self.times[0]) / (len(self.times) - 1)


@contextmanager
def cut_short() -> Iterator[None]:
    """Ignore ConvergenceWarning: iterations are stopped early on purpose here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
