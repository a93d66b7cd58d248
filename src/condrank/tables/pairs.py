"""What a fitted ranker says of single pairs: score, probability, standard deviation and interval."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from condrank.nodes import Nodes
from condrank.rankers.aligned import finite_pairs
from condrank.rankers.base import fitted_of
from condrank.rankers.intervals import WHAT_IS_NEW, Intervals, check_intervals, interval, known_nodes, settings_of

COVERAGE = 0.9


def judge_pairs(
    ranker: Any, first: Nodes, second: Nodes, *, coverage: float | None = None, std: bool = False, warns: bool = True
) -> dict[str, np.ndarray]:
    """Columns for aligned pairs, ``second[i]`` for ``first[i]``: score, probability, std, lower and upper.

    Parameters
    ----------
    ranker : ConditionalRanker
        A fitted ranker of encoded nodes.
    first, second : Nodes
        Conditioning nodes and objects.
    coverage : float, optional
        Coverage of the intervals. By default 0.9 if the ranker has the residuals that these pairs need; otherwise
        there are no columns lower and upper. If it is given, a ranker without residuals raises.
    std : bool
        Whether to compute standard deviations.
    warns : bool
        Whether to warn of infinite intervals.

    Returns
    -------
    dict of ndarray
        ``probability``, that the conditioning node beats the object, is there for the logistic loss only.
    """
    fitted = fitted_of(ranker)
    scores = finite_pairs(fitted.model, first, second)
    columns = {"score": scores}
    is_logistic = getattr(ranker, "loss", None) == "logistic"
    if is_logistic:
        columns["probability"] = expit(scores)
    if std:
        columns["std"] = np.sqrt(fitted.posterior.pair_variances(first, second))
    if coverage is not None and is_logistic:
        check_intervals(ranker)  # says why there are none
    if is_logistic or not isinstance(ranker, Intervals):
        if coverage is not None:
            raise ValueError(f"intervals need a ConditionalRanker, got {type(ranker).__name__}")
        return columns
    known = known_nodes(ranker, first, second)
    missing = [one for one in np.unique(settings_of(*known)).tolist() if one not in fitted.residuals]
    if missing and coverage is not None:
        raise ValueError(
            f"the model has no left-out residuals for intervals of pairs where {WHAT_IS_NEW[missing[0]]} is new: save "
            "it by condrank fit --intervals, or call calibrate() before save()"
        )
    if not missing:
        asked = COVERAGE if coverage is None else coverage
        columns["lower"], columns["upper"] = interval(ranker, scores, *known, asked, warns)
    return columns
