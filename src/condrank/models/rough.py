"""Scores that only decide an order: in single precision, as long as a few rows in double precision agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from condrank.base.measured import ROUGH_LEAST_MULTIPLICATIONS
from condrank.models.placed import PlacedPairs

# Rows of each block that are scored in both precisions, and the largest difference, relative to the standard deviation
# of a row's scores. About this share of the pairs of a row may then change their order.
CHECKED, NEAR = 3, 1e-5


class RoughPairs:
    """Pairs that many models score, as `PlacedPairs`, in half the time.

    A block whose checked rows differ too much is scored again in double precision: rows with a large common value
    beside small differences, or numbers beyond single precision.
    """

    def __init__(self, exact: PlacedPairs):
        self.exact = exact
        with np.errstate(over="ignore"):
            Z = exact.Z.astype(np.float32)
            Z_objects = Z if exact.Z_objects is exact.Z else exact.Z_objects.astype(np.float32)
            similarity = None if exact.similarity is None else exact.similarity.astype(np.float32)
        self.rough = replace(exact, Z=Z, Z_objects=Z_objects, similarity=similarity)

    def blocks(self, W: np.ndarray, prior_weight: float) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of a model, up to a constant, one block of conditioning nodes at a time."""
        found = self.rough.blocks(W, prior_weight)
        while (pair := self._next(found, W, prior_weight)) is not None:
            yield pair

    def _next(
        self, found: Iterator[tuple[slice, np.ndarray]], W: np.ndarray, prior_weight: float
    ) -> tuple[slice, np.ndarray] | None:
        """The next block, in the precision that it needs."""
        with np.errstate(over="ignore", invalid="ignore"):
            block, scores = next(found, (slice(0), np.empty(0)))
            if not scores.size:
                return None
            rows = np.unique(np.linspace(block.start, block.stop - 1, CHECKED).round().astype(int))
            exact = self.exact.rows(rows, W, prior_weight)
            error = np.abs(scores[rows - block.start] - exact).max(axis=1)
            near = bool((error <= NEAR * exact.std(axis=1)).all()) and bool(np.isfinite(scores).all())
        return block, scores if near else self.exact.rows(block, W, prior_weight)


def roughly(placed: PlacedPairs) -> PlacedPairs | RoughPairs:
    """The pairs in single precision if their products are large and in double precision, otherwise as given."""
    (n, r), (m, s) = placed.Z.shape, placed.Z_objects.shape
    large = n * r * s + n * m * s >= ROUGH_LEAST_MULTIPLICATIONS
    return RoughPairs(placed) if large and placed.Z.dtype == np.float64 else placed
