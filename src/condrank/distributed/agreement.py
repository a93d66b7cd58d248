"""How far the two directions of pairs agree, in a few numbers that can be joined over parts of a relation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

INF = float("inf")


@dataclass(frozen=True)
class Range:
    """Smallest and largest of some values. Without values, smallest > largest."""

    low: float = INF
    high: float = -INF

    @classmethod
    def of(cls, values: np.ndarray) -> Range:
        """The range of an array, which may be empty."""
        return cls(float(values.min()), float(values.max())) if values.size else cls()

    def farthest(self, centre: float) -> float:
        """Largest distance of a value from a centre; 0 without values."""
        return max(self.high - centre, centre - self.low, 0.0)

    @staticmethod
    def joined(parts: Sequence[Range]) -> Range:
        """The range of all values together."""
        return Range(min(part.low for part in parts), max(part.high for part in parts))


@dataclass(frozen=True)
class Agreement:
    """Labels y_ij and y_ji of pairs that are observed in both directions.

    Attributes
    ----------
    differences, sums : Range
        Ranges of y_ij - y_ji and of y_ij + y_ji over different nodes i and j.
    loops : Range
        Range of 2 y_ii.
    """

    differences: Range
    sums: Range
    loops: Range

    @classmethod
    def of(cls, one: np.ndarray, other: np.ndarray, loop: np.ndarray) -> Agreement:
        """From labels (n_pairs,) in one direction and in the other; ``loop`` marks pairs of a node with itself."""
        apart = ~loop
        differences, sums = one[apart] - other[apart], one[apart] + other[apart]
        return cls(Range.of(differences), Range.of(sums), Range.of(2 * one[loop]))

    def disagreement(self, sign: int, offset: float, loops: bool) -> float:
        """Largest |(y_ij - offset) - sign (y_ji - offset)|, with or without loops."""
        if sign > 0:
            return self.differences.farthest(0.0)
        found = [self.sums, self.loops] if loops else [self.sums]
        return max(part.farthest(2 * offset) for part in found)

    @property
    def two_way(self) -> bool:
        """Whether some pair of different nodes is observed in both directions."""
        return self.sums.low <= self.sums.high

    @staticmethod
    def joined(parts: Sequence[Agreement]) -> Agreement:
        """The agreement of all pairs together."""
        names = ("differences", "sums", "loops")
        return Agreement(*(Range.joined([getattr(part, name) for part in parts]) for name in names))
