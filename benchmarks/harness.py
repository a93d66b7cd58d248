"""What every suite uses: rows of a table, interleaved timing, peak memory, time limits, the register of suites."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning


@dataclass(frozen=True)
class Row:
    """One line of a table: what was measured, the floor measured beside it, and the bar for their ratio.

    ``measured`` and ``floor`` are in ``unit`` ("s", "MiB", "iterations", "error", "slope", "share", "×"); without a
    floor the ratio is the measured value itself. ``series`` and ``x`` place the row on a curve.
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
        """Measured over floor; None where there is nothing to compare."""
        if self.measured is None or (self.floor is None and self.bar is None):
            return None
        return self.measured if self.floor is None else self.measured / self.floor

    @property
    def holds(self) -> bool | None:
        """Whether the ratio stays within the bar; None without a bar or a ratio."""
        return None if self.bar is None or self.ratio is None else self.ratio <= self.bar


@dataclass(frozen=True)
class Suite:
    """A function that gives rows, its title, the sentences that explain it, and how it is drawn."""

    name: str
    title: str
    about: str
    run: Callable[[bool], list[Row]]
    plot: str
    axes: tuple[str, str]


SUITES: dict[str, Suite] = {}


def suite(title: str, *, plot: str = "bars", axes: tuple[str, str] = ("", "")) -> Callable[..., Any]:
    """Register a function(quick) -> rows under its own name; its docstring is printed above the table."""

    def register(run: Callable[[bool], list[Row]]) -> Callable[[bool], list[Row]]:
        name = run.__name__
        SUITES[name] = Suite(name, title, " ".join((run.__doc__ or "").split()), run, plot, axes)
        return run

    return register


@dataclass(frozen=True)
class Job:
    """A callable and what has to be made for it, outside of the measured time, before each run."""

    run: Callable[[Any], Any]
    prepare: Callable[[], Any]


def measure(jobs: dict[str, Callable[[], Any] | Job], repeats: int = 3) -> dict[str, float]:
    """Seconds of each job, the least of some runs; the jobs take turns, so that a slow spell of the machine hits all.

    Every job runs at least twice, however few repeats are asked for: the first run warms caches and compiled loops.
    """
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(max(2, repeats)):
        for name, job in jobs.items():
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
    """Most MiB allocated at one time beyond what was held before, the result included.

    Counted by tracemalloc, to which NumPy reports its arrays, and SciPy's LAPACK wrappers the workspace that they
    take as NumPy arrays. BLAS's own buffers (a few MiB, whatever the size) are not seen.
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
    """A watch for iterations that stops them when their time is up, and keeps when each of them ended."""

    def __init__(self, limit: float):
        self.end, self.passed = time.perf_counter() + limit, False
        self.times: list[float] = []

    def __call__(self, number: int, iterate: Any) -> bool:
        """True asks to stop."""
        self.times.append(time.perf_counter())
        self.passed = self.times[-1] > self.end
        return self.passed

    @property
    def per_iteration(self) -> float:
        """Mean seconds of an iteration, the first left out."""
        return (self.times[-1] - self.times[0]) / (len(self.times) - 1)


@contextmanager
def cut_short() -> Iterator[None]:
    """Iterations are stopped on purpose here: no warning of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
