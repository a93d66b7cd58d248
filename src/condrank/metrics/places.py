"""Measures of one ranking: what is in its first places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from condrank.metrics.checking import (
    Average,
    check_average,
    check_k,
    macro,
    ratio,
    warn_if_all_relevant,
)
from condrank.metrics.given import read_given
from condrank.metrics.inversions import above
from condrank.metrics.ranked import Ranked, ranked_blocks, row_sums


def ndcg(
    Y_true: Any,
    Y_score: Any,
    average: Average = "macro",
    *,
    k: int | None = None,
    gain: Literal["linear", "exponential"] = "linear",
    groups: ArrayLike | None = None,
) -> Any:
    """Discounted cumulative gain, Σ gain(y) / log₂(1 + rank) over the first k, divided by the largest possible.

    Gain is y ("linear") or 2^y - 1 ("exponential"); relevances must not be negative. O(m log m) per query; "macro"
    or None. If ``k`` is None, all objects count. Not defined for a query without a positive relevance.

    Examples
    --------
    >>> round(ndcg([3, 2, 0, 1], [4, 1, 3, 2], k=3), 4)
    0.735
    """
    check_average(average, micro=False)
    check_k(k)
    if gain not in ("linear", "exponential"):
        raise ValueError(f"gain must be 'linear' or 'exponential', got {gain!r}")
    given = read_given(Y_true, Y_score, groups)
    lowest = float(np.fmin.reduce(given.relevance, axis=None, initial=0))
    highest = float(np.fmax.reduce(given.relevance, axis=None, initial=0))
    if lowest < 0:
        raise ValueError(f"Y_true must not be negative for ndcg, got a smallest relevance of {lowest:g}")
    if gain == "exponential" and highest > 1000:
        raise ValueError(f"Y_true must be at most 1000 for the exponential gain, got {highest:g}")
    values = np.full(given.n_queries, np.nan)
    for queries, ranked in ranked_blocks(given):
        gains = ranked.relevance.astype(np.float64)
        discount = 1 / np.log2(2.0 + np.arange(gains.shape[1]))
        discount[len(discount) if k is None else k :] = 0
        gains = np.where(ranked.observed, np.exp2(gains) - 1 if gain == "exponential" else gains, 0.0)
        ideal = row_sums(np.sort(gains, axis=1)[:, ::-1] * discount)
        values[queries] = ratio(ranked.expected_sum(gains, discount), ideal)
    return macro(values, average, "ndcg")


def mean_reciprocal_rank(
    Y_true: Any,
    Y_score: Any,
    average: Average = "macro",
    *,
    relevant: float = 0.0,
    groups: ArrayLike | None = None,
) -> Any:
    """Reciprocal of the rank of the first relevant object, y > ``relevant``; its mean over queries is the MRR.

    O(m log m) per query; "macro" or None. Not defined for a query without a relevant object.

    Examples
    --------
    >>> mean_reciprocal_rank([[0, 1, 0], [1, 0, 0]], [[3, 2, 1], [3, 2, 1]])
    0.75
    """

    def measure(ranked: Ranked, hit: np.ndarray) -> np.ndarray:
        first_here = -np.diff(_no_hit(ranked, hit), axis=1, prepend=1.0)
        return row_sums(first_here / (1.0 + np.arange(hit.shape[1])))

    return _of_hits(measure, "mean_reciprocal_rank", Y_true, Y_score, average, relevant, groups)


def average_precision(
    Y_true: Any,
    Y_score: Any,
    average: Average = "macro",
    *,
    relevant: float = 0.0,
    groups: ArrayLike | None = None,
) -> Any:
    """Mean of the precision at the ranks of the relevant objects, y > ``relevant``; "macro" gives MAP.

    O(m log m) per query; "macro" or None. Not defined for a query without a relevant object. It differs from
    scikit-learn's only for ties in score: scikit-learn uses the precision at the end of the tied objects.

    Examples
    --------
    >>> average_precision([0, 1, 0, 1], [4, 3, 2, 1])
    0.5
    """

    def measure(ranked: Ranked, hit: np.ndarray) -> np.ndarray:
        before, inside = ranked.hits(hit)
        position = np.arange(hit.shape[1])
        # For a relevant object at this position: how many tied objects ahead of it are relevant on average.
        size = ranked.end - ranked.start
        ahead = (position - ranked.start) * (inside - 1) / np.maximum(size - 1, 1)
        precision = (before + ahead + 1) / (position + 1)
        return ratio(row_sums(inside / size * precision), np.count_nonzero(hit, axis=1))

    return _of_hits(measure, "average_precision", Y_true, Y_score, average, relevant, groups)


def precision_at_k(
    Y_true: Any,
    Y_score: Any,
    average: Average = "macro",
    *,
    k: int = 10,
    relevant: float = 0.0,
    groups: ArrayLike | None = None,
) -> Any:
    """Share of relevant objects, y > ``relevant``, among the first k, or among all observed ones if fewer than k.

    O(m log m) per query; "macro" or None. Not defined for a query without a relevant object.

    Examples
    --------
    >>> precision_at_k([0, 1, 0, 1], [4, 3, 2, 2], k=3)
    0.5
    """
    check_k(k)

    def measure(ranked: Ranked, hit: np.ndarray) -> np.ndarray:
        taken = np.minimum(k, np.count_nonzero(ranked.observed, axis=1))
        return ratio(ranked.expected_sum(hit, _first(k, hit)), taken)

    return _of_hits(measure, "precision_at_k", Y_true, Y_score, average, relevant, groups)


def recall_at_k(
    Y_true: Any,
    Y_score: Any,
    average: Average = "macro",
    *,
    k: int = 10,
    relevant: float = 0.0,
    groups: ArrayLike | None = None,
) -> Any:
    """Share of the relevant objects, y > ``relevant``, that are among the first k.

    O(m log m) per query; "macro" or None. Not defined for a query without a relevant object.

    Examples
    --------
    >>> recall_at_k([0, 1, 0, 1], [4, 3, 2, 1], k=2)
    0.5
    """
    check_k(k)

    def measure(ranked: Ranked, hit: np.ndarray) -> np.ndarray:
        return ratio(ranked.expected_sum(hit, _first(k, hit)), np.count_nonzero(hit, axis=1))

    return _of_hits(measure, "recall_at_k", Y_true, Y_score, average, relevant, groups, is_one=False)


def hit_rate_at_k(
    Y_true: Any,
    Y_score: Any,
    average: Average = "macro",
    *,
    k: int = 10,
    relevant: float = 0.0,
    groups: ArrayLike | None = None,
) -> Any:
    """1 if a relevant object, y > ``relevant``, is among the first k, otherwise 0; its mean is the hit rate.

    If objects are tied in score, it is the chance of that. O(m log m) per query; "macro" or None. Not defined for a
    query without a relevant object.

    Examples
    --------
    >>> hit_rate_at_k([[0, 1, 0], [0, 0, 1]], [[3, 2, 1], [3, 2, 1]], k=2)
    0.5
    """
    check_k(k)

    def measure(ranked: Ranked, hit: np.ndarray) -> np.ndarray:
        return 1 - _no_hit(ranked, hit)[:, min(k, hit.shape[1]) - 1]

    return _of_hits(measure, "hit_rate_at_k", Y_true, Y_score, average, relevant, groups)


def _of_hits(
    measure: Callable[[Ranked, np.ndarray], np.ndarray],
    name: str,
    Y_true: Any,
    Y_score: Any,
    average: Average,
    relevant: float,
    groups: ArrayLike | None,
    is_one: bool = True,
) -> Any:
    """A measure of where the relevant objects are; NaN for queries without one.

    ``is_one``: whether it is 1 if all objects are relevant.
    """
    check_average(average, micro=False)
    given = read_given(Y_true, Y_score, groups)
    warn_if_all_relevant(given.relevance, relevant, average, name, is_one)
    values = np.full(given.n_queries, np.nan)
    for queries, ranked in ranked_blocks(given):
        hit = above(ranked.relevance, relevant)
        values[queries] = np.where(hit.any(axis=1), measure(ranked, hit), np.nan)
    return macro(values, average, name)


def _first(k: int, hit: np.ndarray) -> np.ndarray:
    """1 for the first k places, 0 for the others."""
    return (np.arange(hit.shape[1]) < k).astype(np.float64)


def _no_hit(ranked: Ranked, hit: np.ndarray) -> np.ndarray:
    """The chance that no hit is at this or an earlier place, if tied objects are drawn one by one."""
    _, inside = ranked.hits(hit)
    left = ranked.end - np.arange(hit.shape[1])
    return np.cumprod(np.maximum(left - inside, 0) / left, axis=1)
