"""Measures of one ranking: what is in its first places."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from condrank.metrics.checking import (
    Average,
    check_average,
    check_k,
    macro,
    ratio,
    validated,
    warn_if_all_relevant,
)
from condrank.metrics.inversions import above
from condrank.metrics.ranked import ranked_blocks


def ndcg(
    Y_true: ArrayLike,
    Y_score: ArrayLike,
    average: Average = "macro",
    *,
    k: int | None = None,
    gain: Literal["linear", "exponential"] = "linear",
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
    relevance, scores = validated(Y_true, Y_score)
    lowest = float(np.fmin.reduce(relevance, axis=None, initial=0))
    highest = float(np.fmax.reduce(relevance, axis=None, initial=0))
    if lowest < 0:
        raise ValueError(f"Y_true must not be negative for ndcg, got a smallest relevance of {lowest:g}")
    if gain == "exponential" and highest > 1000:
        raise ValueError(f"Y_true must be at most 1000 for the exponential gain, got {highest:g}")
    discount = 1 / np.log2(2.0 + np.arange(relevance.shape[1]))
    if k is not None:
        discount[k:] = 0
    values = np.full(len(relevance), np.nan)
    for rows, ranked in ranked_blocks(relevance, scores):
        gains = ranked.relevance.astype(np.float64)
        gains = np.where(ranked.observed, np.exp2(gains) - 1 if gain == "exponential" else gains, 0.0)
        ideal = np.sort(gains, axis=1)[:, ::-1] @ discount
        values[rows] = ratio(ranked.expected_sum(gains, discount), ideal)
    return macro(values, average, "ndcg")


def mean_reciprocal_rank(
    Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "macro", *, relevant: float = 0.0
) -> Any:
    """Reciprocal of the rank of the first relevant object, y > ``relevant``; its mean over queries is the MRR.

    O(m log m) per query; "macro" or None. Not defined for a query without a relevant object.

    Examples
    --------
    >>> mean_reciprocal_rank([[0, 1, 0], [1, 0, 0]], [[3, 2, 1], [3, 2, 1]])
    0.75
    """
    check_average(average, micro=False)
    relevance, scores = validated(Y_true, Y_score)
    warn_if_all_relevant(relevance, relevant, average, "mean_reciprocal_rank")
    rank = 1.0 + np.arange(relevance.shape[1])
    values = np.full(len(relevance), np.nan)
    for rows, ranked in ranked_blocks(relevance, scores):
        hit = above(ranked.relevance, relevant)
        _, inside = ranked.hits(hit)
        # Draw the tied objects one by one: the chance that no hit was drawn up to each position.
        left = ranked.end - np.arange(hit.shape[1])
        no_hit = np.cumprod(np.maximum(left - inside, 0) / left, axis=1)
        first_here = -np.diff(no_hit, axis=1, prepend=1.0)
        values[rows] = np.where(hit.any(axis=1), first_here @ (1 / rank), np.nan)
    return macro(values, average, "mean_reciprocal_rank")


def average_precision(
    Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "macro", *, relevant: float = 0.0
) -> Any:
    """Mean of the precision at the ranks of the relevant objects, y > ``relevant``; "macro" gives MAP.

    O(m log m) per query; "macro" or None. Not defined for a query without a relevant object. It differs from
    scikit-learn's only for ties in score: scikit-learn uses the precision at the end of the tied objects.

    Examples
    --------
    >>> average_precision([0, 1, 0, 1], [4, 3, 2, 1])
    0.5
    """
    check_average(average, micro=False)
    relevance, scores = validated(Y_true, Y_score)
    warn_if_all_relevant(relevance, relevant, average, "average_precision")
    position = np.arange(relevance.shape[1])
    values = np.full(len(relevance), np.nan)
    for rows, ranked in ranked_blocks(relevance, scores):
        hit = above(ranked.relevance, relevant)
        before, inside = ranked.hits(hit)
        # For a relevant object at this position: how many tied objects ahead of it are relevant on average.
        size = ranked.end - ranked.start
        ahead = (position - ranked.start) * (inside - 1) / np.maximum(size - 1, 1)
        precision = (before + ahead + 1) / (position + 1)
        values[rows] = ratio(np.sum(inside / size * precision, axis=1), np.count_nonzero(hit, axis=1))
    return macro(values, average, "average_precision")


def precision_at_k(
    Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "macro", *, k: int = 10, relevant: float = 0.0
) -> Any:
    """Share of relevant objects, y > ``relevant``, among the first k, or among all observed ones if fewer than k.

    O(m log m) per query; "macro" or None. Not defined for a query without a relevant object.

    Examples
    --------
    >>> precision_at_k([0, 1, 0, 1], [4, 3, 2, 2], k=3)
    0.5
    """
    check_average(average, micro=False)
    check_k(k)
    relevance, scores = validated(Y_true, Y_score)
    warn_if_all_relevant(relevance, relevant, average, "precision_at_k")
    first = (np.arange(relevance.shape[1]) < k).astype(np.float64)
    values = np.full(len(relevance), np.nan)
    for rows, ranked in ranked_blocks(relevance, scores):
        hit = above(ranked.relevance, relevant)
        taken = np.minimum(k, np.count_nonzero(ranked.observed, axis=1))
        values[rows] = ratio(ranked.expected_sum(hit, first), np.where(hit.any(axis=1), taken, 0))
    return macro(values, average, "precision_at_k")
