"""Left-out residuals: how far labels are from scores of models that did not see them, and intervals from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.checks import check_number
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.plain import plain

#: A distribution is kept as at most this many values, each the largest of an equally heavy part.
KEPT = 4096
SETTINGS = (1, 2, 3, 4)


@dataclass(frozen=True, eq=False)
class Residuals:
    """The distribution of ``|y - h|`` over left-out pairs of one setting, each unit of exchange with equal weight.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Absolute residuals, ascending.
    shares : ndarray of shape (k,)
        Share of the weight at or below each value; the last is 1.
    n_units : float
        Number K of units. A new pair is one more unit, whose residual is not known: it counts as infinite, with
        weight 1/(K + 1).
    made_by : str
        What was left out.
    """

    values: np.ndarray
    shares: np.ndarray
    n_units: float
    made_by: str

    @classmethod
    def of(cls, residuals: np.ndarray, weights: np.ndarray, n_units: float, made_by: str) -> Residuals:
        """The distribution of some residuals with weights. O(m log m), rounded up to at most `KEPT` values."""
        order = np.argsort(residuals, kind="stable")
        values, shares = residuals[order].astype(np.float64), np.cumsum(weights[order], dtype=np.float64)
        shares /= shares[-1]
        last = np.append(values[1:] > values[:-1], True)
        values, shares = values[last], shares[last]
        if len(values) > KEPT:
            ends = np.unique(np.searchsorted(shares, np.arange(1, KEPT + 1) / KEPT - 1e-12))
            ends = np.union1d(ends, [len(values) - 1])
            values, shares = values[ends], shares[ends]
        shares[-1] = 1.0
        return cls(values, shares, float(n_units), made_by)

    def half_width(self, coverage: float) -> float:
        """The smallest kept residual with at least ``coverage`` of all weight at or below it; ∞ if there is none."""
        level = coverage * (self.n_units + 1) / self.n_units
        place = int(np.searchsorted(self.shares, level - 1e-12))
        return float(self.values[place]) if place < len(self.values) else np.inf

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Plain values; the arrays are added to ``arrays``."""
        arrays.put("values", self.values)
        arrays.put("shares", self.shares)
        return plain("residuals", {"n_units": self.n_units, "made_by": self.made_by})

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held) -> Residuals:
        """Stored residuals, checked."""
        shares = held.positive("shares", None)
        values = held.floats("values", len(shares))
        n_units = check_number("n_units of residuals", given["n_units"], above=0.0)
        ascending = (np.diff(values) >= 0).all() and (np.diff(shares) >= 0).all()
        if not ascending or values[0] < 0 or shares[-1] != 1 or not isinstance(given["made_by"], str):
            raise ValueError("residuals must be at least 0 and ascend with their shares, which end at 1")
        return cls(values, shares, n_units, given["made_by"])


def unit_weights(units: np.ndarray) -> tuple[np.ndarray, int]:
    """Weights of pairs such that every unit has the same weight in total; and the number of units."""
    _, unit, counts = np.unique(units, return_inverse=True, return_counts=True)
    return 1.0 / (len(counts) * counts[unit]), len(counts)


def residuals_of(
    setting: int, queries: np.ndarray, objects: np.ndarray, residuals: np.ndarray, one_domain: bool, made_by: str
) -> Residuals:
    """The residuals of pairs of one setting, with the weights and the number of units of that setting.

    Parameters
    ----------
    setting : {1, 2, 3, 4}
        What is new in a pair: only the edge, the conditioning node, the object, or both.
    queries, objects : ndarray of int of shape (m,)
        Numbers of the conditioning node and of the object of each pair.
    residuals : ndarray of shape (m,)
        ``|y - h|``.
    one_domain : bool
        Whether both numbers are of the same nodes.
    made_by : str
        What was left out.
    """
    if setting == 1:
        low, high = (np.minimum(queries, objects), np.maximum(queries, objects)) if one_domain else (queries, objects)
        n_pairs = len(np.unique(np.column_stack([low, high]), axis=0))
        return Residuals.of(residuals, np.ones(len(residuals)), n_pairs, made_by)
    if setting in (2, 3):
        weights, n_units = unit_weights(queries if setting == 2 else objects)
        return Residuals.of(residuals, weights, n_units, made_by)
    (first, n_queries), (second, n_objects) = unit_weights(queries), unit_weights(objects)
    if one_domain:
        n_units = len(np.union1d(queries, objects)) / 2  # disjoint pairs of nodes
    else:
        n_units = n_queries * n_objects / (n_queries + n_objects + 1)  # pairs of a grid with one more row and column
    return Residuals.of(residuals, (first + second) / 2, n_units, made_by)


def to_state(residuals: dict[int, Residuals], arrays: Arrays) -> dict[str, Any]:
    """The residuals of several settings as plain values and arrays."""
    return {str(setting): one.to_state(arrays.under(str(setting))) for setting, one in residuals.items()}


def from_state(given: Any, held: Held) -> dict[int, Residuals]:
    """The stored residuals of some settings."""
    if not isinstance(given, dict) or not set(given) <= {str(setting) for setting in SETTINGS}:
        raise ValueError(f"residuals must be by setting, {list(SETTINGS)}, got {given!r:.60}")
    return {int(name): Residuals.from_state(one, held.under(name)) for name, one in given.items()}


def slopes_from(given: Any) -> dict[int, float]:
    """The stored slopes of some settings."""
    if not isinstance(given, dict) or not set(given) <= {str(setting) for setting in SETTINGS}:
        raise ValueError(f"slopes must be by setting, {list(SETTINGS)}, got {given!r:.60}")
    return {int(name): check_number("slopes", slope, at_least=0.0) for name, slope in given.items()}
