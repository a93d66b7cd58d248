"""The time of a search: what is left, and what the next candidate will take, judged by those before it."""

from __future__ import annotations

import time
from collections.abc import Callable

from condrank.model_selection.holdouts import FEWEST_HOLDOUTS

#: Seconds that have passed; tests replace it.
clock: Callable[[], float] = time.perf_counter
# Seconds for an operation before any of its kind was timed, on a quick core. An estimate that is too low costs one
# holdout, after which the candidate is given up; one that is too high would leave a whole kind of candidates untried.
FIRST_RATE = 1e-11
# Seconds that a candidate takes however small it is: they say nothing about larger ones.
OVERHEAD = 0.05
# Estimates are raised by this, because a candidate that takes longer than estimated cannot be stopped halfway.
CAUTION = 1.3
# The number of holdouts is such that about so many candidates take this share of the limit, by operations of a usual
# core and by what the smallest candidate takes, not by a clock: the same seed is to give the same choice.
EXPECTED_CANDIDATES, SHARE = 40, 1 / 2
USUAL_RATE, SMALLEST = 2e-11, 0.003
# Of quarters: in setting 4 each pair of nodes is then held out about once, and each node four times.
MOST_HOLDOUTS = 16
# Seconds that count as the limit if there is none.
USUAL_LIMIT = 60.0


def affordable_holdouts(flops: float, limit: float | None) -> int:
    """The number of holdouts for candidates that take so many operations on each of them."""
    each = (USUAL_LIMIT if limit is None else limit) * SHARE / EXPECTED_CANDIDATES
    return int(min(max(each / (SMALLEST + USUAL_RATE * flops), FEWEST_HOLDOUTS), MOST_HOLDOUTS))


class Budget:
    """Seconds since the start, and estimates from operation counts.

    Parameters
    ----------
    limit : float or None
        Seconds for the whole search with its last fits; None for no limit.
    """

    def __init__(self, limit: float | None):
        self.limit, self.started = limit, clock()
        self._rates: dict[str, float] = {}

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return clock() - self.started

    def learn(self, kind: str, flops: float, seconds: float) -> None:
        """Remember what operations of a kind took; of two measurements the mean counts, the last one twice."""
        if flops > 0:
            rate, before = max(seconds - OVERHEAD, 0.1 * seconds) / flops, self._rates.get(kind)
            self._rates[kind] = rate if before is None else (before + 2 * rate) / 3

    def seconds(self, kind: str, flops: float) -> float:
        """What so many operations of a kind will take. The first of a kind is expected to be quick, and is watched."""
        return CAUTION * (OVERHEAD + flops * self._rates.get(kind, FIRST_RATE))

    def affords(self, seconds: float) -> bool:
        """Whether so many more seconds are within the limit."""
        return self.limit is None or self.elapsed + seconds <= self.limit
