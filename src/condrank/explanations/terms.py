"""Contributions that add up to a score, with what each of them belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.html import table_of

# What contributions at some places belong to, as named columns.
Describe = Callable[[np.ndarray], dict[str, np.ndarray]]
SHOWN = 10


@dataclass(frozen=True, eq=False)
class Terms:
    """Contributions to a score. Their sum and the sum of ``rest`` are the score.

    Attributes
    ----------
    by : {"labels", "nodes", "features", "parts"}
        What the contributions belong to.
    contributions : ndarray of shape (n_terms,)
        The contributions.
    rest : dict of float
        What belongs to none of them, by name: prior, intercept, centre of the scale.
    describe : callable
        Named columns of the terms at some places, without their contributions.
    """

    by: str
    contributions: np.ndarray
    rest: dict[str, float]
    describe: Describe

    def __len__(self) -> int:
        return len(self.contributions)

    @property
    def total(self) -> float:
        """The sum of all contributions and of the rest."""
        return float(self.contributions.sum(dtype=np.float64)) + sum(self.rest.values())

    def largest(self, top: int | None = None) -> np.ndarray:
        """Places of the ``top`` terms with the largest absolute contributions, largest first; by default of all."""
        size = np.abs(self.contributions)
        places = np.arange(len(size))
        if top is not None and top < len(size):
            places = np.sort(np.argpartition(size, len(size) - top)[len(size) - top :])
        return places[np.argsort(-size[places], kind="stable")]

    def columns(self, top: int | None = None) -> dict[str, np.ndarray]:
        """Columns of the ``top`` terms, largest first, with their contributions."""
        places = self.largest(top)
        return self.describe(places) | {"contribution": self.contributions[places]}

    def rows(self, top: int | None = None) -> list[dict[str, Any]]:
        """The ``top`` terms, largest first, as plain values by column."""
        columns = {name: np.asarray(values).tolist() for name, values in self.columns(top).items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self, top: int | None = None) -> Any:
        """A pandas table of the terms, largest contribution first."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise ImportError("to_frame needs pandas: pip install 'condrank[frames]'") from None
        return pd.DataFrame(self.columns(top))

    def to_html(self) -> str:
        """A table of the largest terms, with the sum of the others, the rest and the sum of all below it."""
        rows, left = self.rows(SHOWN), len(self) - SHOWN
        head = [*self.describe(np.zeros(0, dtype=np.intp)), "contribution"]
        cells = [[shown(value) for value in row.values()] for row in rows]
        others = self.contributions.sum() - sum(row["contribution"] for row in rows)
        below = [f"{left:,} more: {shown(float(others))}"] if left > 0 else []
        below += [f"{name}: {shown(value)}" for name, value in self.rest.items()]
        return table_of(head, cells, "; ".join([*below, f"sum: {shown(self.total)}"]))

    _repr_html_ = to_html


def shown(value: Any) -> str:
    """A value for people: numbers with four digits, nothing for what is missing."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
