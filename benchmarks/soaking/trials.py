"""Trials of the suite ``soak``: run until the time is up, counted, with the seed of each that failed."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb, format_exception_only

import numpy as np

import condrank

PACKAGE = str(Path(condrank.__file__).parent)


@dataclass
class Found:
    """What the trials of a part found.

    Attributes
    ----------
    tried, refused : int
        Trials; and those of them in which a ValueError said clearly why there is no answer.
    failures : list of (int, str)
        Seeds of trials that failed, and how.
    times : dict of lists
        Seconds that were measured, by what they are of.
    """

    tried: int = 0
    refused: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list)
    times: dict[str, list[float]] = field(default_factory=dict)

    def p99(self, name: str) -> float:
        """The 99 % quantile of some times."""
        return float(np.quantile(self.times[name], 0.99))


@dataclass(frozen=True)
class Part:
    """A kind of trials: its name, what is tried, its share of the time, and the trial.

    ``trial(seed, folder, found)`` raises if something is wrong; it may count refusals and add times to ``found``.
    ``needs`` are packages without which it cannot run.
    """

    name: str
    says: str
    share: float
    trial: Callable[[int, Path, Found], None]
    needs: tuple[str, ...] = ()


def run_part(part: Part, seed: int, seconds: float, say: Callable[[str], None]) -> Found:
    """Run trials with the seeds ``seed``, ``seed + 1``, … until the time is up, at least one."""
    found, end = Found(), time.monotonic() + seconds
    while found.tried == 0 or time.monotonic() < end:
        one = seed + found.tried
        found.tried += 1
        with tempfile.TemporaryDirectory() as folder:
            try:
                part.trial(one, Path(folder), found)
            except Exception as error:  # whatever it is, it is a finding, and the other trials must still run
                where = extract_tb(error.__traceback__)[-1]
                text = " ".join("".join(format_exception_only(error)).split())
                found.failures.append((one, f"{text:.300} ({Path(where.filename).name}:{where.lineno})"))
                say(f"{part.name}, seed {one}: {found.failures[-1][1]}")
    return found


@contextmanager
def clear_refusals(found: Found) -> Iterator[None]:
    """Accept a ValueError that condrank raises itself with a message. Errors of other packages are not clear."""
    try:
        yield
    except ValueError as error:
        raised_in = extract_tb(error.__traceback__)[-1].filename
        if not str(error) or not raised_in.startswith(PACKAGE) or isinstance(error, np.linalg.LinAlgError):
            raise
        found.refused += 1
