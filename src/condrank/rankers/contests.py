"""What a ranker says of contests: probabilities, and strengths of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.utils.metaestimators import available_if

from condrank.base.checks import check_scores
from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.rankers.base import Ranker, fitted_of, read_pair
from condrank.rankers.intervals import recalibrated as recalibrate


class Contests(Ranker):
    """Answers of rankers of reciprocal relations."""

    relation: str
    loss: str

    @available_if(lambda self: self.loss == "logistic")
    def predict_proba(
        self, queries: Any, objects: Any = None, *, recalibrated: bool = False, averaged: bool = False
    ) -> np.ndarray:
        """Probability that each conditioning node beats each object, (n_queries, n_objects); loss="logistic" only.

        With ``rank_by="incoming"`` it is the probability that each object beats each conditioning node. The
        probabilities of the two directions of a pair sum to one exactly.

        Parameters
        ----------
        queries, objects
            As in `predict`.
        recalibrated : bool
            Multiply the log-odds by the slope that suits games best that were left out in the same setting, as
            `calibrate` finds it: less than 1 if the model is too sure. The order of the objects stays the same, unless
            some are known and others new.
        averaged : bool
            Take the mean over all scores h that the games allow, which is closer to ½ where they say little:
            sigmoid(h/√(1 + πs²/8)), a common approximation, for a score with the standard deviation s.
        """
        fitted, pair = fitted_of(self), read_pair(self, queries, objects)
        probabilities = fitted.model.probabilities(*pair)
        if averaged:
            probabilities = averaged_over(probabilities, fitted.posterior.variances(*pair))
        return recalibrate(self, probabilities, *pair) if recalibrated else probabilities

    def strengths(self, nodes: Any, return_std: bool = False) -> Any:
        """Strengths f(v) of nodes, (n_nodes,), for a reciprocal relation learned with ``constant=True``.

        f(v) - f(v') is the transitive part of a score: one order of the nodes explains it. The rest of the score is
        cyclic: no order explains it. With ``compared`` features the rest includes their part and is not only cyclic.

        With ``return_std`` also their standard deviations (n_nodes,), as in `predict`.
        """
        fitted_of(self)
        first = read_pair(self, nodes, None if isinstance(nodes, RelationGraph) else nodes)[0]
        strengths = strengths_of(self, first)
        return (strengths, strength_std(self, first)) if return_std else strengths


def averaged_over(probabilities: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Means of sigmoid(h) over scores h with these variances, from sigmoid of the mean of h."""
    return expit(logit(probabilities) / np.sqrt(1 + np.pi / 8 * variances))


def strength_std(ranker: Any, nodes: Nodes) -> np.ndarray:
    """Standard deviations of `strengths_of`."""
    return np.sqrt(fitted_of(ranker).posterior.strength_variances(nodes))


def strengths_of(ranker: Any, nodes: Nodes) -> np.ndarray:
    """`ConditionalRanker.strengths` for nodes that are already checked."""
    model = fitted_of(ranker).model
    if ranker.relation != "reciprocal" or not fitted_of(ranker).settings.kernel.constant:
        raise ValueError("strengths needs relation='reciprocal' and constant=True (a Constant() in the kernel)")
    return check_scores(model.strengths(nodes)) * (1.0 if ranker.rank_by == "outgoing" else -1.0)
