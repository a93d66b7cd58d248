"""Measures of values: how close scores are to relation values, as papers on affinities print them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrank.metrics.checking import Average, Floats, check_average, macro, ratio
from condrank.metrics.given import read_given


def mean_squared_error(
    Y_true: Any, Y_score: Any, average: Average = "micro", *, groups: ArrayLike | None = None
) -> Any:
    """Mean of (y - h)² over the observed edges. Lower is better. O(m) for m edges.

    Only for scores on the scale of the relation, as the regression loss gives them.

    Parameters
    ----------
    Y_true, Y_score, groups
        As for ``rank_loss``.
    average : {"micro", "macro"} or None
        "micro": the mean over all edges; "macro": the mean over queries of their means; None: one mean per query.

    Examples
    --------
    >>> mean_squared_error([[1, 2], [3, float("nan")]], [[1, 4], [2, 0]])
    1.6666666666666667
    """
    check_average(average, micro=True)
    indptr, y, h = read_given(Y_true, Y_score, groups).observed()
    return mean_of((y.astype(np.float64) - h.astype(np.float64)) ** 2, indptr, average, "mean_squared_error")


def rm_squared(Y_true: Any, Y_score: Any, average: Average = "micro", *, groups: ArrayLike | None = None) -> Any:
    """The modified squared correlation r_m² = r² (1 - √|r² - r₀²|) of papers on drugs and targets. Higher is better.

    r² is the squared correlation of y and h, and r₀² = 1 - Σ(y - c h)² / Σ(y - ȳ)², c = Σyh / Σh², the coefficient of
    determination of the line through the origin. (Some published programs square r² and r₀² once more under the root.)
    O(m) for m edges. Not defined if all y, or all h, are equal.

    Parameters
    ----------
    Y_true, Y_score, groups
        As for ``rank_loss``.
    average : {"micro", "macro"} or None
        "micro": of all edges together; "macro": the mean over queries; None: one value per query.

    Examples
    --------
    >>> round(rm_squared([1, 2, 3, 4], [1.1, 1.9, 3.2, 3.9]), 4)
    0.9627
    """
    check_average(average, micro=True)
    indptr, y, h = read_given(Y_true, Y_score, groups).observed()
    if average == "micro":
        indptr = np.array([0, len(y)])
    values = _rm_squared(y.astype(np.float64), h.astype(np.float64), indptr)
    return macro(values, "macro" if average == "micro" else average, "rm_squared")


def _rm_squared(y: Floats, h: Floats, indptr: NDArray[Any]) -> Floats:
    counts = np.diff(indptr)
    dy, dh = (x - np.repeat(ratio(query_sums(x, indptr), counts), counts) for x in (y, h))
    spread_y, spread_h, squares_h = (query_sums(x**2, indptr) for x in (dy, dh, h))
    r2 = ratio(query_sums(dy * dh, indptr) ** 2, spread_y * spread_h)
    slope = ratio(query_sums(y * h, indptr), squares_h)
    r02 = 1 - ratio(query_sums((y - np.repeat(slope, counts) * h) ** 2, indptr), spread_y)
    # Rounded means of equal values may differ from them.
    equal = (_extents(y, indptr) == 0) | (_extents(h, indptr) == 0)
    return np.where(equal, np.nan, r2 * (1 - np.sqrt(np.abs(r2 - r02))))


def mean_of(terms: Floats, indptr: NDArray[Any], average: Average, name: str) -> Any:
    """Mean of terms of the observed edges: over all edges, over queries of their means, or of each query."""
    sums, counts = query_sums(terms, indptr), np.diff(indptr)
    if average == "micro" and len(terms):
        return float(sums.sum() / len(terms))
    return macro(ratio(sums, counts), average, name)


def query_sums(terms: NDArray[Any], indptr: NDArray[Any]) -> Floats:
    """Sums of the terms of each query, 0 for a query without edges."""
    return _reduced(np.add, terms, indptr)


def _extents(values: Floats, indptr: NDArray[Any]) -> Floats:
    """Largest minus smallest value of each query."""
    return _reduced(np.maximum, values, indptr) - _reduced(np.minimum, values, indptr)


def _reduced(ufunc: np.ufunc, terms: NDArray[Any], indptr: NDArray[Any]) -> Floats:
    out, seen = np.zeros(len(indptr) - 1), np.diff(indptr) > 0
    if seen.any():
        out[seen] = ufunc.reduceat(terms, indptr[:-1][seen])
    return out
