"""Results of cross-validation: scores of folds and of conditioning nodes, times, tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.html import table_of
from condrank.frames.dataframes import make_frame

HEAD = ("setting", "measure", "mean", "± error", "folds", "fit s", "score s")


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of a ranker on held-out graphs; ``print`` shows a table.

    Attributes
    ----------
    setting : int or None
        Setting of the splits; None if it is not known.
    scores : dict of str to ndarray of shape (n_folds,)
        Value of each measure on each fold. NaN if a fold has nothing to rank, except for callables.
    queries : dict of str to ndarray of shape (n_queries,)
        Columns with a row for each conditioning node of each fold: "fold", "query" (its id, or its position in the
        node data), and each measure. NaN if a measure is not defined for the node.
    fit_times, score_times : ndarray of shape (n_folds,)
        Seconds for fitting and for scoring.
    fold_keys : ndarray of shape (n_folds,)
        Checksum of what each fold holds out; equal for two rankers that were measured on the same edges.
    """

    setting: int | None
    scores: Mapping[str, np.ndarray]
    queries: Mapping[str, np.ndarray]
    fit_times: np.ndarray
    score_times: np.ndarray
    fold_keys: np.ndarray

    def mean(self, measure: str | None = None) -> float:
        """Mean of a measure (by default the first) over the folds on which it is defined."""
        values = self._defined(measure)
        return float(values.mean()) if len(values) else float("nan")

    def standard_error(self, measure: str | None = None) -> float:
        """Standard error of the mean as if folds were independent. With common training data they are not."""
        values = self._defined(measure)
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")

    def _defined(self, measure: str | None) -> np.ndarray:
        name = next(iter(self.scores)) if measure is None else measure
        if name not in self.scores:
            raise ValueError(f"measure must be one of {list(self.scores)}, got {measure!r}")
        return self.scores[name][~np.isnan(self.scores[name])]

    def to_dict(self) -> dict[str, np.ndarray]:
        """Columns with a row for each fold, for ``pandas.DataFrame`` or ``polars.DataFrame``."""
        folds = np.arange(len(self.fit_times))
        return {"fold": folds, **self.scores, "fit_time": self.fit_times, "score_time": self.score_times}

    def to_frame(self, library: str | None = None) -> Any:
        """The columns of `to_dict` as a data frame of pandas, polars or pyarrow, by default the first installed."""
        return make_frame(self.to_dict(), library)

    def __str__(self) -> str:
        return _table(HEAD, self._lines())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        return table_of(HEAD, self._lines())

    def _lines(self) -> list[tuple[str, ...]]:
        times = f"{self.fit_times.sum():.3g}", f"{self.score_times.sum():.3g}"
        setting = "-" if self.setting is None else str(self.setting)
        return [
            (setting, name, f"{self.mean(name):.4f}", f"{self.standard_error(name):.4f}", str(len(values)), *times)
            for name, values in self.scores.items()
        ]


@dataclass(frozen=True, eq=False)
class SettingsComparison:
    """Cross-validation in several settings; ``print`` shows one table.

    Attributes
    ----------
    results : dict of int to CrossValidation
        The result of each setting.
    """

    results: Mapping[int, CrossValidation]

    def __getitem__(self, setting: int) -> CrossValidation:
        return self.results[setting]

    def to_dict(self) -> dict[str, np.ndarray]:
        """Columns with a row for each fold of each setting."""
        parts = [result.to_dict() for result in self.results.values()]
        setting = np.repeat(list(self.results), [len(part["fold"]) for part in parts])
        return {"setting": setting, **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]}}

    def to_frame(self, library: str | None = None) -> Any:
        """The columns of `to_dict` as a data frame of pandas, polars or pyarrow, by default the first installed."""
        return make_frame(self.to_dict(), library)

    def __str__(self) -> str:
        return _table(HEAD, self._lines())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        return table_of(HEAD, self._lines())

    def _lines(self) -> list[tuple[str, ...]]:
        return [line for result in self.results.values() for line in result._lines()]


def _table(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    widths = [max(len(line[column]) for line in (head, *lines)) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 1 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (head, *lines)
    )
