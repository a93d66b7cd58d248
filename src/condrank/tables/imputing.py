"""Missing values of a table, filled in as in the training rows: what scikit-learn's ``SimpleImputer`` learns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from condrank.frames.packing import pack, unpack
from condrank.frames.table import Table

STRATEGIES = ("median", "mean", "most_frequent", "constant")
NUMBERS = ("numeric", "date")


def learn_fill(table: Table, strategy: str) -> dict[str, float | str]:
    """What stands for a missing value in each column, learned from the rows of a table. O(rows · log rows).

    Numbers and dates (as days) get the median, mean or most frequent value, or 0 (constant). A category is the most
    frequent one, or a category of its own, "missing_value" (constant). A missing text is empty.
    """
    fill: dict[str, float | str] = {}
    for name, kind in table.kinds.items():
        if kind == "text":
            continue
        if table.gaps(name).all():
            raise ValueError(f"column {name!r} has no value at all in these {len(table)} rows; leave it out with drop=")
        if kind in NUMBERS:
            fill[name] = float(_learned(SimpleImputer(strategy=strategy), table.numbers(name)))
        else:
            named: Any = {"strategy": "constant" if strategy == "constant" else "most_frequent", "missing_values": ""}
            fill[name] = str(_learned(SimpleImputer(**named), table.columns[name]))
    return fill


def _learned(imputer: Any, values: np.ndarray) -> Any:
    return imputer.fit(values[:, None]).statistics_[0]


def filled_numbers(table: Table, name: str, fill: dict[str, float | str]) -> np.ndarray:
    """A column of numbers or dates (as days), with missing values filled in."""
    numbers = table.numbers(name)
    return np.where(np.isnan(numbers), fill[name], numbers) if name in fill else numbers


def filled_words(table: Table, name: str, fill: dict[str, float | str]) -> np.ndarray:
    """A column of categories or texts, with missing values filled in; a missing text stays empty."""
    words = table.columns[name]
    if name not in fill:
        return words
    words = words.copy()
    words[table.gaps(name)] = fill[name]
    return words


def fill_to(fill: dict[str, float | str]) -> dict[str, np.ndarray]:
    """What was learned as plain arrays: numbers, and packed strings, both in the order of the columns."""
    words, ends = pack([one for one in fill.values() if isinstance(one, str)])
    numbers = np.array([one for one in fill.values() if not isinstance(one, str)], dtype=np.float64)
    return {"fill.numbers": numbers, "fill.bytes": words, "fill.ends": ends}


def fill_from(kinds: dict[str, str], arrays: dict[str, np.ndarray]) -> dict[str, float | str]:
    """What `fill_to` wrote; raises ValueError if it does not fit the columns."""
    numbers, words = arrays["fill.numbers"], unpack(arrays["fill.bytes"], arrays["fill.ends"])
    n_numbers = sum(kind in NUMBERS for kind in kinds.values())
    n_words = sum(kind == "categorical" for kind in kinds.values())
    is_plain = numbers.dtype == np.float64 and numbers.ndim == 1 and np.isfinite(numbers).all()
    if not is_plain or len(numbers) != n_numbers or len(words) != n_words:
        raise ValueError(f"values to fill in must be {n_numbers} finite numbers and {n_words} categories")
    given = iter(numbers.tolist()), iter(words.tolist())
    return {name: next(given[kind not in NUMBERS]) for name, kind in kinds.items() if kind != "text"}
