"""What is known of a relation: for which pairs of nodes a value was observed, and which.

Three forms, chosen by `RelationGraph` from what it is given:

- `Complete`: every ordered pair exactly once, as a dense array or a sparse one whose unstored entries are zeros;
- `Factored`: every ordered pair, as A S Bᵀ (classes, taxonomies, low rank), never built;
- `Edges`: some pairs, perhaps repeatedly, perhaps weighted.

The complete forms answer ``reduce(Z, Z')`` = ZᵀYZ' and ``row_sums()`` = Y1: the closed forms need nothing else.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from condrank.observations.complete import Complete
from condrank.observations.edges import Edges
from condrank.observations.factored import Factored

__all__ = ["Complete", "Edges", "Factored", "Observations"]


class Observations(Protocol):
    """What every form of observations can do. Rows are the starting nodes of edges, columns the ending ones."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of starting and of ending nodes."""
        ...

    @property
    def n_edges(self) -> int:
        """Number of observed edges, repeated ones counted each time."""
        ...

    @property
    def is_complete(self) -> bool:
        """Every ordered pair observed exactly once, with weight one."""
        ...

    @property
    def two_way(self) -> bool:
        """Some pair is observed in both directions."""
        ...

    @property
    def dtype(self) -> np.dtype:
        """Floating type of the labels."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory held."""
        ...

    def take(self, rows: np.ndarray | slice, cols: np.ndarray | slice) -> Observations:
        """The observations among some starting and some ending nodes."""
        ...

    def transpose(self) -> Observations:
        """Every edge turned round."""
        ...

    def to_dense(self, rows: slice = slice(None)) -> np.ndarray:
        """Labels of a block of rows as an array; NaN where nothing was observed, repeated edges averaged."""
        ...

    def disagreement(self, sign: int, offset: float = 0.0, loops: bool = True) -> float:
        """Largest |(y_ij - offset) - sign (y_ji - offset)| over pairs observed in both directions, loops or not."""
        ...

    def extremes(self) -> tuple[float, float]:
        """Smallest and largest label."""
        ...

    def count_loops(self) -> int:
        """Number of nodes whose loop is observed."""
        ...

    def degrees(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of distinct pairs observed in each row and in each column."""
        ...
