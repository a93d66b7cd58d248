"""Measures of how well scores rank objects conditioned on a node.

Rows are conditioning nodes (queries), columns are objects; one-dimensional input is one query. ``Y_true`` holds
the relation, NaN where it is not observed: such entries are left out, as if the object were not there.
``Y_score`` has the same shape and is finite; higher scores rank first.

Ties in score are never broken by position: every measure is its expected value over all orders of the tied
objects, computed exactly (for the measures of pairs: a pair tied in score counts ½).

``average`` says how queries are put together:

- ``"micro"`` pools the comparable pairs of all queries (measures of pairs only);
- ``"macro"`` is the mean over the queries for which the measure is defined;
- ``None`` gives one value per query, NaN where it is not defined.

Without any query for which it is defined, an average is NaN, with an ``UndefinedMetricWarning``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from condrank._inversions import comparable_pairs, count_pairs, mark_unobserved, row_blocks
from condrank._ranked import ranked_blocks

__all__ = [
    "MEASURES",
    "auc",
    "average_precision",
    "concordance_index",
    "kendall_tau",
    "mean_reciprocal_rank",
    "ndcg",
    "pair_counts",
    "precision_at_k",
    "rank_loss",
]

Average = Literal["micro", "macro"] | None
Floats = NDArray[np.float64]


def pair_counts(Y_true: ArrayLike, Y_score: ArrayLike) -> tuple[Floats, NDArray[np.int64]]:
    """Pairs of objects that the score orders wrongly, and comparable pairs, of every query.

    A pair is comparable when its relevances differ; it is wrong when the score orders it the other way round,
    and half wrong when the scores are equal. Exact; O(m log m) a query of m objects. Callers who hold blocks of
    rows add up both sums and divide: that is the micro-averaged ``rank_loss``.

    Parameters
    ----------
    Y_true : array-like of shape (n_queries, n_objects) or (n_objects,)
        Relevances, NaN where not observed.
    Y_score : array-like of the same shape
        Finite scores.

    Returns
    -------
    wrong : float64 array of shape (n_queries,)
    comparable : int64 array of shape (n_queries,)

    Examples
    --------
    >>> wrong, comparable = pair_counts([[1, 2, 3], [0, 1, float("nan")]], [[1, 3, 2], [5, 5, 0]])
    >>> wrong.tolist(), comparable.tolist()
    ([1.0, 0.5], [3, 1])
    """
    relevance, scores = _validated(Y_true, Y_score)
    twice_wrong, comparable = count_pairs(relevance, scores)
    return twice_wrong / 2, comparable


def rank_loss(Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "micro") -> Any:
    """Share of the pairs with y_a < y_b that the score orders wrongly, ties in score counted ½.

    Lower is better. O(m log m) a query of m objects. Not defined for a query whose observed relevances are all equal.

    Parameters
    ----------
    Y_true : array-like of shape (n_queries, n_objects) or (n_objects,)
        Relevances, NaN where not observed.
    Y_score : array-like of the same shape
        Finite scores.
    average : {"micro", "macro"} or None
        Wrong over comparable pairs of all queries; the mean over queries; an array of shape (n_queries,).

    Examples
    --------
    >>> Y_true = [[1, 2, 3], [0, 1, float("nan")]]
    >>> Y_score = [[1, 3, 2], [5, 5, 0]]
    >>> rank_loss(Y_true, Y_score)
    0.375
    >>> rank_loss(Y_true, Y_score, average=None).round(3).tolist()
    [0.333, 0.5]
    """
    _check_average(average, micro=True)
    return _loss(*pair_counts(Y_true, Y_score), average, "rank_loss")


def concordance_index(Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "micro") -> Any:
    """Share of the comparable pairs that the score orders rightly, ties in score counted ½: 1 - ``rank_loss``.

    Parameters, averages and cost are those of ``rank_loss``.

    Examples
    --------
    >>> concordance_index([1, 2, 3, 4], [1, 2, 4, 4])
    0.9166666666666666
    """
    _check_average(average, micro=True)
    return 1 - _loss(*pair_counts(Y_true, Y_score), average, "concordance_index")


def auc(Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "micro", *, relevant: float = 0.0) -> Any:
    """Area under the ROC curve: ``concordance_index`` of binary relevances.

    Objects with y > ``relevant`` are positive, all other observed ones negative. O(m log m) a query.
    Not defined for a query without a positive or without a negative object. "micro" pools pairs of objects of
    the *same* query; scikit-learn's "micro" compares objects of different queries as well.

    Examples
    --------
    >>> auc([[0, 0, 1, 1], [-1, 1, -1, -1]], [[0.1, 0.4, 0.35, 0.8], [1, 2, 3, 0]], average="macro")
    0.7083333333333334
    """
    _check_average(average, micro=True)
    relevance, scores = _validated(Y_true, Y_score)
    twice_wrong, comparable = count_pairs(relevance, scores, threshold=relevant)
    return 1 - _loss(twice_wrong / 2, comparable, average, "auc")


def kendall_tau(Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "macro") -> Any:
    """Kendall's τ-b of relevance and score: (concordant - discordant) / √(pairs not tied in y · not tied in h).

    O(m log m) a query; "macro" or None. Not defined for a query with constant relevances or constant scores.

    Examples
    --------
    >>> kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])
    0.6666666666666666
    """
    _check_average(average, micro=False)
    relevance, scores = _validated(Y_true, Y_score)
    twice_wrong, comparable = count_pairs(relevance, scores)
    told_apart = np.zeros_like(comparable)
    for rows in row_blocks(relevance.shape):
        told_apart[rows] = comparable_pairs(mark_unobserved(scores[rows], np.isnan(relevance[rows]), np.inf))
    pairs = np.sqrt(comparable.astype(np.float64) * told_apart)
    return _macro(_ratio(comparable - twice_wrong, pairs), average, "kendall_tau")


def ndcg(
    Y_true: ArrayLike,
    Y_score: ArrayLike,
    average: Average = "macro",
    *,
    k: int | None = None,
    gain: Literal["linear", "exponential"] = "linear",
) -> Any:
    """Discounted cumulative gain, Σ gain(y) / log₂(1 + rank) over the first k, over the largest possible.

    Gain is y ("linear") or 2^y - 1 ("exponential"); relevances must not be negative. O(m log m) a query; "macro"
    or None. Without ``k`` all objects count. Not defined for a query without a positive relevance.

    Examples
    --------
    >>> round(ndcg([3, 2, 0, 1], [4, 1, 3, 2], k=3), 4)
    0.735
    """
    _check_average(average, micro=False)
    _check_k(k)
    if gain not in ("linear", "exponential"):
        raise ValueError(f"gain must be 'linear' or 'exponential', got {gain!r}")
    relevance, scores = _validated(Y_true, Y_score)
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
        gains = np.exp2(ranked.relevance) - 1 if gain == "exponential" else ranked.relevance
        gains = np.where(ranked.observed, gains, 0.0)
        ideal = np.sort(gains, axis=1)[:, ::-1] @ discount
        values[rows] = _ratio(ranked.expected_sum(gains, discount), ideal)
    return _macro(values, average, "ndcg")


def mean_reciprocal_rank(
    Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "macro", *, relevant: float = 0.0
) -> Any:
    """Reciprocal of the rank of the first relevant object, y > ``relevant``; its mean over queries is the MRR.

    O(m log m) a query; "macro" or None. Not defined for a query without a relevant object.

    Examples
    --------
    >>> mean_reciprocal_rank([[0, 1, 0], [1, 0, 0]], [[3, 2, 1], [3, 2, 1]])
    0.75
    """
    _check_average(average, micro=False)
    relevance, scores = _validated(Y_true, Y_score)
    rank = 1.0 + np.arange(relevance.shape[1])
    values = np.full(len(relevance), np.nan)
    for rows, ranked in ranked_blocks(relevance, scores):
        hit = ranked.relevance > relevant
        _, inside = ranked.hits(hit)
        # Drawing the tied objects one by one, the next is no hit with this chance as long as none was drawn.
        left = ranked.end - np.arange(hit.shape[1])
        no_hit = np.cumprod(np.maximum(left - inside, 0) / left, axis=1)
        first_here = -np.diff(no_hit, axis=1, prepend=1.0)
        values[rows] = np.where(hit.any(axis=1), first_here @ (1 / rank), np.nan)
    return _macro(values, average, "mean_reciprocal_rank")


def average_precision(
    Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "macro", *, relevant: float = 0.0
) -> Any:
    """Mean of the precision at the ranks of the relevant objects, y > ``relevant``; "macro" gives MAP.

    O(m log m) a query; "macro" or None. Not defined for a query without a relevant object. Differs from
    scikit-learn's only at ties in score, where that takes the precision at the end of the tied objects.

    Examples
    --------
    >>> average_precision([0, 1, 0, 1], [4, 3, 2, 1])
    0.5
    """
    _check_average(average, micro=False)
    relevance, scores = _validated(Y_true, Y_score)
    position = np.arange(relevance.shape[1])
    values = np.full(len(relevance), np.nan)
    for rows, ranked in ranked_blocks(relevance, scores):
        hit = ranked.relevance > relevant
        before, inside = ranked.hits(hit)
        # A relevant object at this position: so many of the tied objects ahead of it are relevant on average.
        size = ranked.end - ranked.start
        ahead = (position - ranked.start) * (inside - 1) / np.maximum(size - 1, 1)
        precision = (before + ahead + 1) / (position + 1)
        values[rows] = _ratio(np.sum(inside / size * precision, axis=1), np.count_nonzero(hit, axis=1))
    return _macro(values, average, "average_precision")


def precision_at_k(
    Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "macro", *, k: int = 10, relevant: float = 0.0
) -> Any:
    """Share of relevant objects, y > ``relevant``, among the first k, or among all observed ones if fewer than k.

    O(m log m) a query; "macro" or None. Not defined for a query without a relevant object.

    Examples
    --------
    >>> precision_at_k([0, 1, 0, 1], [4, 3, 2, 2], k=3)
    0.5
    """
    _check_average(average, micro=False)
    _check_k(k)
    relevance, scores = _validated(Y_true, Y_score)
    first = (np.arange(relevance.shape[1]) < k).astype(np.float64)
    values = np.full(len(relevance), np.nan)
    for rows, ranked in ranked_blocks(relevance, scores):
        hit = ranked.relevance > relevant
        taken = np.minimum(k, np.count_nonzero(ranked.observed, axis=1))
        values[rows] = _ratio(ranked.expected_sum(hit, first), np.where(hit.any(axis=1), taken, 0))
    return _macro(values, average, "precision_at_k")


MEASURES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "rank_loss": rank_loss,
        "concordance_index": concordance_index,
        "auc": auc,
        "kendall_tau": kendall_tau,
        "ndcg": ndcg,
        "mean_reciprocal_rank": mean_reciprocal_rank,
        "average_precision": average_precision,
        "precision_at_k": precision_at_k,
    }
)
"""Measures by name, each called as ``measure(Y_true, Y_score)``. Higher is better for all but ``rank_loss``."""


def _ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> Floats:
    return np.divide(numerator, denominator, out=np.full(len(numerator), np.nan), where=denominator > 0)


def _loss(wrong: Floats, comparable: NDArray[np.int64], average: Average, name: str) -> Any:
    if average == "micro" and comparable.any():
        return float(wrong.sum() / comparable.sum())
    return _macro(_ratio(wrong, comparable), average, name, stacklevel=4)


def _macro(values: Floats, average: Average, name: str, stacklevel: int = 3) -> Any:
    if average is None:
        return values
    defined = values[~np.isnan(values)]
    if defined.size:
        return float(defined.mean())
    message = f"{name} is not defined for any of the {len(values)} queries; the average is set to NaN"
    warnings.warn(message, UndefinedMetricWarning, stacklevel=stacklevel)
    return float("nan")


def _check_average(average: object, *, micro: bool) -> None:
    known = ("micro", "macro", None) if micro else ("macro", None)
    if average not in known:
        reason = "; a measure of one ranking cannot be pooled over pairs" if average == "micro" else ""
        raise ValueError(f"average must be one of {known}, got {average!r}{reason}")


def _check_k(k: object) -> None:
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise ValueError(f"k must be an integer of at least 1, got {k!r}")


def _validated(Y_true: ArrayLike, Y_score: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    relevance, scores = _numeric(Y_true, "Y_true"), _numeric(Y_score, "Y_score")
    if relevance.ndim not in (1, 2):
        expected = "(n_queries, n_objects) or (n_objects,)"
        raise ValueError(f"Y_true must have shape {expected}, got {relevance.shape}")
    if scores.shape != relevance.shape:
        raise ValueError(f"Y_score must have the shape of Y_true, {relevance.shape}, got {scores.shape}")
    relevance, scores = np.atleast_2d(relevance), np.atleast_2d(scores)
    for rows in row_blocks(relevance.shape):
        if not np.isfinite(scores[rows]).all():
            raise ValueError("Y_score must be finite, got NaN or infinity")
        if np.isinf(relevance[rows]).any():
            raise ValueError("Y_true must be finite, or NaN where not observed, got infinity")
    return relevance, scores


def _numeric(values: ArrayLike, name: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        got = f"{type(values).__name__} of dtype {array.dtype}"
        raise ValueError(f"{name} must be a dense array of real numbers, got {got}")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)
    return array.astype(np.uint8) if array.dtype.kind == "b" else array
