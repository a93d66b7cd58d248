"""Measures of games: how well scores predict who wins.

Outcomes are 1 for a win of the conditioning node, ½ for a tie and 0 for a loss; or, if any of them is negative or
scores are outcomes too, 1, 0 and -1, as tables of games are read. Values between these are shares of several games.
Every observed edge counts as one; weights of edges are not used.

``scale`` says what the scores are: ``"log-odds"`` of a win, as ``predict`` gives them for the logistic loss;
``"probability"`` of a win, as ``predict_proba`` gives them; or an ``"outcome"`` expected from -1 to 1. The last two are
cut off at their ends, because a regression may go beyond them. `condrank.model_selection.cross_validate`, the scorers
of `condrank.metrics.make_scorer` and the command line choose the scale that suits the ranker.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from condrank.base.checks import check_choice
from condrank.metrics.checking import Average, Floats, check_average
from condrank.metrics.given import read_given
from condrank.metrics.values import mean_of, query_sums

Scale = Literal["log-odds", "probability", "outcome"]
SCALES = ("log-odds", "probability", "outcome")
# A probability of exactly 0 or 1 for what did not happen would cost infinitely much: probabilities are cut off here.
LEAST = float(np.finfo(np.float64).eps)


def log_loss(
    Y_true: Any,
    Y_score: Any,
    average: Average = "micro",
    *,
    scale: Scale = "log-odds",
    groups: ArrayLike | None = None,
) -> Any:
    """Mean of -y log p - (1 - y) log(1 - p) over the observed games, natural logarithm. Lower is better. O(m).

    Parameters
    ----------
    Y_true : as for ``rank_loss``
        Outcomes, from 0 to 1 or from -1 to 1.
    Y_score, groups
        As for ``rank_loss``.
    average : {"micro", "macro"} or None
        "micro": the mean over all games; "macro": the mean over queries of their means; None: one mean per query.
    scale : {"log-odds", "probability", "outcome"}
        What the scores are. Probabilities are kept 2·10⁻¹⁶ away from 0 and 1.

    Examples
    --------
    >>> round(log_loss([1, 0], [0.8, 0.4], scale="probability"), 4)
    0.367
    """
    check_average(average, micro=True)
    indptr, won, h = _games(Y_true, Y_score, groups, scale, "log_loss")
    if scale == "log-odds":
        cost = won * np.logaddexp(0, -h) + (1 - won) * np.logaddexp(0, h)
    else:
        p = np.clip(probabilities_of(h, scale), LEAST, 1 - LEAST)
        cost = -won * np.log(p) - (1 - won) * np.log1p(-p)
    return mean_of(cost, indptr, average, "log_loss")


def brier_score(
    Y_true: Any,
    Y_score: Any,
    average: Average = "micro",
    *,
    scale: Scale = "log-odds",
    groups: ArrayLike | None = None,
) -> Any:
    """Mean of (y - p)² over the observed games, y from 0 to 1. Lower is better; ¼ for p = ½ without ties. O(m).

    Parameters are those of ``log_loss``.

    Examples
    --------
    >>> round(brier_score([1, 0], [0.8, 0.4], scale="probability"), 4)
    0.1
    """
    check_average(average, micro=True)
    indptr, won, h = _games(Y_true, Y_score, groups, scale, "brier_score")
    return mean_of((won - probabilities_of(h, scale)) ** 2, indptr, average, "brier_score")


def accuracy(
    Y_true: Any,
    Y_score: Any,
    average: Average = "micro",
    *,
    scale: Scale = "log-odds",
    groups: ArrayLike | None = None,
) -> Any:
    """Share of the observed games whose winner is predicted; a prediction of a tie counts ½. Higher is better. O(m).

    Games that were tied are left out. Parameters are those of ``log_loss``. Not defined without a game that was won.

    Examples
    --------
    >>> accuracy([1, -1, 1, 0], [2.0, -1.0, 0.0, 3.0])
    0.8333333333333334
    """
    check_average(average, micro=True)
    indptr, won, h = _games(Y_true, Y_score, groups, scale, "accuracy")
    decided = won != 0.5
    indptr = np.append(0, query_sums(decided, indptr).cumsum()).astype(np.intp)
    won, lead = won[decided], h[decided] - (0.5 if scale == "probability" else 0.0)
    right = np.where(lead == 0, 0.5, (lead > 0) == (won > 0.5))
    return mean_of(right, indptr, average, "accuracy")


def _games(
    Y_true: Any, Y_score: Any, groups: ArrayLike | None, scale: str, name: str
) -> tuple[NDArray[Any], Floats, Floats]:
    """Where the observed games of each query start, their outcomes from 0 to 1, and their scores."""
    check_choice("scale", scale, SCALES)
    indptr, y, h = read_given(Y_true, Y_score, groups).observed()
    return indptr, outcomes_of(y.astype(np.float64), scale, name), h.astype(np.float64)


def outcomes_of(y: Floats, scale: str, name: str) -> Floats:
    """Outcomes of games from 0 to 1; raises if they are on no scale of games."""
    low, high = float(y.min(initial=0.0)), float(y.max(initial=0.0))
    if low < -1 or high > 1:
        raise ValueError(f"Y_true must be outcomes from 0 to 1, or from -1 to 1, for {name}, got {low:g} to {high:g}")
    return (1 + y) / 2 if low < 0 or scale == "outcome" else y


def probabilities_of(h: Floats, scale: str) -> Floats:
    """Probabilities of a win of scores on a scale."""
    if scale == "log-odds":
        return expit(h)
    return np.clip(h if scale == "probability" else (1 + h) / 2, 0, 1)
