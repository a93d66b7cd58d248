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
)
from condrank.metrics.given import Block, Given, read_given
from condrank.metrics.inversions import Counts, Levels, comparable_pairs, kernels_for, mark_unobserved, row_blocks


def count_pairs(given: Given, *, threshold: float | None = None, backend: str = "auto") -> tuple[Counts, Counts]:
    """Twice the number of wrongly ordered pairs, and the number of comparable pairs, of every query.

    Parameters
    ----------
    given : Given
        Relevances and scores, already checked.
    threshold : float or None
        If given, relevances are first made binary: above the threshold or not.
    backend : {"auto", "numba", "numpy"}
        "auto" uses numba if it is installed and there is much to count. All backends give equal counts.

    Returns
    -------
    twice_wrong, comparable : int64 arrays of shape (n_queries,)
    """
    twice_wrong, comparable = np.zeros((2, given.n_queries), dtype=np.int64)
    kernels = kernels_for(given.relevance.size, backend)

    def count(block: Block) -> None:
        levels = Levels(block.relevance, kernels, threshold)
        twice_wrong[block.queries], comparable[block.queries] = levels.twice_wrong(block.scores), levels.comparable

    blocks.in_threads(count, given.blocks(least=2))  # sorting and the compiled loops release the GIL
    return twice_wrong, comparable


def pair_counts(Y_true: Any, Y_score: Any, *, groups: ArrayLike | None = None) -> tuple[Floats, NDArray[np.int64]]:
    """Pairs of objects that the score orders wrongly, and comparable pairs, of every query.

    A pair is comparable if its relevances differ. It is wrong if the score orders it the other way round,
    and half wrong if the scores are equal. Exact; O(m log m) for a query of m objects. If you have blocks of rows,
    add up both sums and divide: that is the micro-averaged ``rank_loss``.

    Parameters
    ----------
    Y_true, Y_score, groups
        As for ``rank_loss``.

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
    twice_wrong, comparable = count_pairs(read_given(Y_true, Y_score, groups))
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


def rank_loss(Y_true: Any, Y_score: Any, average: Average = "micro", *, groups: ArrayLike | None = None) -> Any:
    """Share of the pairs with y_a < y_b that the score orders wrongly; ties in score count ½.

    Lower is better. O(m log m) for a query of m objects. Not defined for a query whose observed relevances are all
    equal.

    Parameters
    ----------
    Y_true : array-like of shape (n_queries, n_objects) or (n_objects,), sparse array, or (n_edges,) with groups
        Relevances, NaN where not observed; a sparse array stores the observed ones.
    Y_score : the same form
        Finite scores; a sparse array stores the same entries as ``Y_true``.
    average : {"micro", "macro"} or None
        "micro": wrong pairs of all queries divided by comparable pairs of all queries; "macro": the mean over queries;
        None: an array of shape (n_queries,).
    groups : array-like of shape (n_edges,), optional
        The query of each edge, if ``Y_true`` and ``Y_score`` are values of edges; queries are then in sorted order.

    Examples
    --------
    >>> Y_true = [[1, 2, 3], [0, 1, float("nan")]]
    >>> Y_score = [[1, 3, 2], [5, 5, 0]]
    >>> rank_loss(Y_true, Y_score)
    0.375
    >>> rank_loss(Y_true, Y_score, average=None).round(3).tolist()
    [0.333, 0.5]

    The same from a list of edges:

    >>> rank_loss([1, 2, 3, 0, 1], [1, 3, 2, 5, 5], groups=["ann", "ann", "ann", "bob", "bob"])
    0.375
    """
    check_average(average, micro=True)
    return _loss(*pair_counts(Y_true, Y_score, groups=groups), average, "rank_loss")


def concordance_index(Y_true: Any, Y_score: Any, average: Average = "micro", *, groups: ArrayLike | None = None) -> Any:
    """Share of the comparable pairs that the score orders correctly; ties in score count ½. 1 - ``rank_loss``.

    Parameters, averages and cost are the same as for ``rank_loss``.

    Examples
    --------
    >>> concordance_index([1, 2, 3, 4], [1, 2, 4, 4])
    0.9166666666666666
    """
    check_average(average, micro=True)
    return 1 - _loss(*pair_counts(Y_true, Y_score, groups=groups), average, "concordance_index")


def pooled_concordance_index(Y_true: Any, Y_score: Any, *, groups: ArrayLike | None = None) -> float:
    """Concordance over all pairs of edges, also of different queries, as papers on drugs and targets print it.

    Of all pairs of edges with y_a < y_b, the share with h_a < h_b; ties in score count ½. ``concordance_index``
    compares only objects of the same query, which is what a ranking conditioned on a node is about: scores that are
    right up to a constant for each query have a ``concordance_index`` of 1, and may have a pooled one near ½.
    O(m log m) for m observed edges in all. Not defined if all relevances are equal.

    Parameters
    ----------
    Y_true, Y_score, groups
        As for ``rank_loss``; ``groups`` makes no difference.

    Examples
    --------
    >>> Y_true, Y_score = [[1, 2], [3, 4]], [[10, 20], [1, 2]]
    >>> concordance_index(Y_true, Y_score), round(pooled_concordance_index(Y_true, Y_score), 4)
    (1.0, 0.3333)
    """
    _, relevance, scores = read_given(Y_true, Y_score, groups).observed()
    pooled = Given(relevance[None], scores[None])
    twice_wrong, comparable = count_pairs(pooled)
    return 1 - _loss(twice_wrong / 2, comparable, "micro", "pooled_concordance_index")


def auc(
    Y_true: Any,
    Y_score: Any,
    average: Average = "micro",
    *,
    relevant: float = 0.0,
    groups: ArrayLike | None = None,
) -> Any:
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
    twice_wrong, comparable = count_pairs(read_given(Y_true, Y_score, groups), threshold=relevant)
    return 1 - _loss(twice_wrong / 2, comparable, average, "auc")


def kendall_tau(Y_true: Any, Y_score: Any, average: Average = "macro", *, groups: ArrayLike | None = None) -> Any:
    """Kendall's τ-b of relevance and score: (concordant - discordant) / √(pairs not tied in y · not tied in h).

    O(m log m) per query; "macro" or None. Not defined for a query with constant relevances or constant scores.

    Examples
    --------
    >>> kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])
    0.6666666666666666
    """
    check_average(average, micro=False)
    given = read_given(Y_true, Y_score, groups)
    twice_wrong, comparable = count_pairs(given)
    untied = np.zeros_like(comparable)
    for queries, relevance, scores in given.blocks(least=2):
        untied[queries] = comparable_pairs(mark_unobserved(scores, np.isnan(relevance), np.inf))
    pairs = np.sqrt(comparable.astype(np.float64) * untied)
    return macro(ratio(comparable - twice_wrong, pairs), average, "kendall_tau")


def _loss(wrong: Floats, comparable: NDArray[np.int64], average: Average, name: str) -> Any:
    if average == "micro" and comparable.any():
        return float(wrong.sum() / comparable.sum())
    return macro(ratio(wrong, comparable), average, name)
