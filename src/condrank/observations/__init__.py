"""The observed part of a relation: for which pairs of nodes a value is known, and the values.

There are three forms. `RelationGraph` chooses one from its input:

- `Complete`: every ordered pair exactly once, as a dense array, or a sparse one in which an unstored entry is zero;
- `Factored`: every ordered pair, as A S Bᵀ (classes, taxonomies, low rank), which is never computed as a matrix;
- `Edges`: some pairs, which may be repeated and weighted.

The complete forms compute ``reduce(Z, Z')`` = ZᵀYZ' and ``row_sums()`` = Y1. The closed forms need nothing else.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from condrank.base.checks import check_choice
from condrank.observations.clicks import Clicks
from condrank.observations.complete import Complete
from condrank.observations.edges import Edges
from condrank.observations.factored import Factored
from condrank.persistence.arrays import Arrays, Held

__all__ = ["Complete", "Edges", "Factored", "Observations", "observations_from", "observations_to"]


class Observations(Protocol):
    """Methods of every form of observations. Rows are the nodes where edges start, columns those where they end."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of starting and of ending nodes."""
        ...

    @property
    def n_edges(self) -> int:
        """Number of observed edges; repeated edges are counted each time."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether every ordered pair is observed exactly once, with weight one."""
        ...

    @property
    def two_way(self) -> bool:
        """Whether some pair of different nodes is observed in both directions."""
        ...

    @property
    def dtype(self) -> np.dtype:
        """Floating type of the labels."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        ...

    def take(self, rows: np.ndarray | slice, cols: np.ndarray | slice) -> Observations:
        """The observations among some starting and some ending nodes."""
        ...

    def transpose(self) -> Observations:
        """Every edge reversed."""
        ...

    def to_dense(self, rows: slice = slice(None)) -> np.ndarray:
        """Labels of a block of rows as an array. NaN where nothing was observed; repeated edges are averaged."""
        ...

    def disagreement(self, sign: int, offset: float = 0.0, loops: bool = True) -> float:
        """Largest |(y_ij - offset) - sign (y_ji - offset)| over two-way pairs, with or without loops."""
        ...

    def extremes(self) -> tuple[float, float]:
        """Smallest and largest label."""
        ...

    def count_loops(self) -> int:
        """Number of nodes whose loop (edge to themselves) is observed."""
        ...

    def degrees(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of distinct pairs observed in each row and in each column."""
        ...


FORMS: dict[str, Any] = {form.__name__: form for form in (Complete, Factored, Edges, Clicks)}


def observations_to(observed: Any, arrays: Arrays) -> dict[str, Any]:
    """Observations of any form as plain values. Their arrays are added to ``arrays``."""
    return {"class": type(observed).__name__} | observed.to_state(arrays)


def observations_from(given: dict[str, Any], held: Held) -> Any:
    """The observations that `observations_to` stored."""
    check_choice(f"class of {held.name}", given["class"], tuple(FORMS))
    return FORMS[given["class"]].from_state(given, held)
