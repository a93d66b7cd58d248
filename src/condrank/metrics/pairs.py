"""Measures of pairs: which of two objects comes first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrank.base import blocks
from condrank.metrics.checking import (
    Average,
    Floats,
    check_average,
    check_relevances,
    check_scores,
    macro,
    numeric,
    ratio,
    validated,
)
from condrank.metrics.inversions import Levels, comparable_pairs, count_pairs, kernels_for, mark_unobserved, row_blocks


def pair_counts(Y_true: ArrayLike, Y_score: ArrayLike) -> tuple[Floats, NDArray[np.int64]]:
    """Pairs of objects that the score orders wrongly, and comparable pairs, of every query.

    A pair is comparable if its relevances differ. It is wrong if the score orders it the other way round,
    and half wrong if the scores are equal. Exact; O(m log m) for a query of m objects. If you have blocks of rows,
    add up both sums and divide: that is the micro-averaged ``rank_loss``.

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
    relevance, scores = validated(Y_true, Y_score)
    twice_wrong, comparable = count_pairs(relevance, scores)
    return twice_wrong / 2, comparable


class TruePairs:
    """Relevances of some queries, sorted once, to count the wrongly ordered pairs of many scores.

    Parameters
    ----------
    Y_true : array-like of shape (n_queries, n_objects)
        Relevances, NaN where not observed.
    n_scores : int
        How many matrices of scores will be compared. With many of them the compiled loops are worth it, even if they
        are small.

    Attributes
    ----------
    comparable : int64 array of shape (n_queries,)
        Comparable pairs of every query.
    """

    def __init__(self, Y_true: ArrayLike, n_scores: int = 1):
        relevance = numeric(Y_true, "Y_true")
        check_relevances(relevance)
        self.comparable = np.zeros(len(relevance), dtype=np.int64)
        self.blocks = list(row_blocks(relevance.shape)) if relevance.size else []
        self.levels: dict[int, Levels] = {}
        kernels = kernels_for(relevance.size * n_scores)

        def sort(rows: slice) -> None:
            self.levels[rows.start] = levels = Levels(relevance[rows], kernels)
            self.comparable[rows] = levels.comparable

        blocks.in_threads(sort, self.blocks)

    def wrong(self, Y_score: ArrayLike) -> Floats:
        """Number of pairs of every query that a score orders wrongly; ties count ½, as in `pair_counts`."""
        scores = numeric(Y_score, "Y_score")
        check_scores(scores)
        twice_wrong = np.zeros(len(scores), dtype=np.int64)

        def count(rows: slice) -> None:
            twice_wrong[rows] = self.levels[rows.start].twice_wrong(scores[rows])

        blocks.in_threads(count, self.blocks)
        return twice_wrong / 2


def rank_loss(Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "micro") -> Any:
    """Share of the pairs with y_a < y_b that the score orders wrongly; ties in score count ½.

    Lower is better. O(m log m) for a query of m objects. Not defined for a query whose observed relevances are all
    equal.

    Parameters
    ----------
    Y_true : array-like of shape (n_queries, n_objects) or (n_objects,)
        Relevances, NaN where not observed.
    Y_score : array-like of the same shape
        Finite scores.
    average : {"micro", "macro"} or None
        "micro": wrong pairs of all queries divided by comparable pairs of all queries; "macro": the mean over queries;
        None: an array of shape (n_queries,).

    Examples
    --------
    >>> Y_true = [[1, 2, 3], [0, 1, float("nan")]]
    >>> Y_score = [[1, 3, 2], [5, 5, 0]]
    >>> rank_loss(Y_true, Y_score)
    0.375
    >>> rank_loss(Y_true, Y_score, average=None).round(3).tolist()
    [0.333, 0.5]
    """
    check_average(average, micro=True)
    return _loss(*pair_counts(Y_true, Y_score), average, "rank_loss")


def concordance_index(Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "micro") -> Any:
    """Share of the comparable pairs that the score orders correctly; ties in score count ½. 1 - ``rank_loss``.

    Parameters, averages and cost are the same as for ``rank_loss``.

    Examples
    --------
    >>> concordance_index([1, 2, 3, 4], [1, 2, 4, 4])
    0.9166666666666666
    """
    check_average(average, micro=True)
    return 1 - _loss(*pair_counts(Y_true, Y_score), average, "concordance_index")


def auc(Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "micro", *, relevant: float = 0.0) -> Any:
    """Area under the ROC curve: ``concordance_index`` of binary relevances.

    Objects with y > ``relevant`` are positive, all other observed ones negative. O(m log m) per query.
    Not defined for a query without a positive or without a negative object. "micro" pools pairs of objects of
    the *same* query; scikit-learn's "micro" compares objects of different queries as well.

    Examples
    --------
    >>> auc([[0, 0, 1, 1], [-1, 1, -1, -1]], [[0.1, 0.4, 0.35, 0.8], [1, 2, 3, 0]], average="macro")
    0.7083333333333334
    """
    check_average(average, micro=True)
    relevance, scores = validated(Y_true, Y_score)
    twice_wrong, comparable = count_pairs(relevance, scores, threshold=relevant)
    return 1 - _loss(twice_wrong / 2, comparable, average, "auc")


def kendall_tau(Y_true: ArrayLike, Y_score: ArrayLike, average: Average = "macro") -> Any:
    """Kendall's τ-b of relevance and score: (concordant - discordant) / √(pairs not tied in y · not tied in h).

    O(m log m) per query; "macro" or None. Not defined for a query with constant relevances or constant scores.

    Examples
    --------
    >>> kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])
    0.6666666666666666
    """
    check_average(average, micro=False)
    relevance, scores = validated(Y_true, Y_score)
    twice_wrong, comparable = count_pairs(relevance, scores)
    untied = np.zeros_like(comparable)
    for rows in row_blocks(relevance.shape):
        untied[rows] = comparable_pairs(mark_unobserved(scores[rows], np.isnan(relevance[rows]), np.inf))
    pairs = np.sqrt(comparable.astype(np.float64) * untied)
    return macro(ratio(comparable - twice_wrong, pairs), average, "kendall_tau")


def _loss(wrong: Floats, comparable: NDArray[np.int64], average: Average, name: str) -> Any:
    if average == "micro" and comparable.any():
        return float(wrong.sum() / comparable.sum())
    return macro(ratio(wrong, comparable), average, name)
