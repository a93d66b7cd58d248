"""Coverage: what share of the labels lies within intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from condrank.metrics.checking import Average, check_average, numeric
from condrank.metrics.given import read_given
from condrank.metrics.values import mean_of


def coverage(
    Y_true: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    average: Average = "micro",
    *,
    groups: ArrayLike | None = None,
) -> Any:
    """Share of the observed labels y with lower ≤ y ≤ upper. O(m) for m edges.

    Compare it with the coverage that was asked of `condrank.ConditionalRanker.predict_interval`.

    Parameters
    ----------
    Y_true, groups
        As for ``rank_loss``, dense.
    lower, upper : array-like of the shape of Y_true
        Ends of the intervals; they may be infinite.
    average : {"micro", "macro"} or None
        "micro": the share of all edges; "macro": the mean over queries of their shares; None: one share per query.

    Examples
    --------
    >>> coverage([[1, 2], [3, float("nan")]], [[0, 0], [0, 0]], [[2, 1], [3, 1]])
    0.6666666666666666
    """
    check_average(average, micro=True)
    true, low, high = numeric(Y_true, "Y_true"), numeric(lower, "lower"), numeric(upper, "upper")
    for name, end in (("lower", low), ("upper", high)):
        if end.shape != true.shape:
            raise ValueError(f"{name} must have the shape of Y_true, {true.shape}, got {end.shape}")
        if np.isnan(end).any():
            raise ValueError(f"{name} must be numbers or infinite, got NaN")
    if (low > high).any():
        raise ValueError(f"lower must be at most upper, got {np.count_nonzero(low > high)} intervals that are not")
    inside = ((low <= true) & (true <= high)).astype(np.float64)
    indptr, _, within = read_given(true, inside, groups).observed()
    return mean_of(within, indptr, average, "coverage")
