"""Which pairs to measure next: picks one at a time, each with the covariance of what the picks before leave unknown.

The covariance of a Gaussian posterior does not depend on the labels, only on which pairs have one. So after a pick p
the covariance of all candidates is known before its label is: C - c cᵀ/(C_pp + s²), with the column c of p and the
variance s² of the noise of a label. A batch of picks is therefore as good as if each label had been waited for, as far
as variances go. O(P²) for each pick of P candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

WAYS = ("variance", "order", "top")


@dataclass
class Candidates:
    """Pairs that may be measured, and how sure their scores are.

    Attributes
    ----------
    mean : ndarray of shape (P,)
        Scores.
    covariance : ndarray of shape (P, P)
        Covariances of the scores; changed by every pick.
    noise : ndarray of shape (P,)
        Variance of the noise of a label of each pair.
    query : ndarray of int of shape (P,)
        Number of the conditioning node of each pair.
    cost : ndarray of shape (P,)
        What a label costs; gains are divided by it.
    """

    mean: np.ndarray
    covariance: np.ndarray
    noise: np.ndarray
    query: np.ndarray
    cost: np.ndarray

    def choose(self, by: str, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions of n picks, best first, and the gain of each when it was picked (before its cost)."""
        gains = {"variance": self.variances, "order": self.undecided, "top": self.likely_top}[by]
        left = np.ones(len(self.mean), dtype=bool)
        picks, found = [], []
        for _ in range(min(n, len(self.mean))):
            gain = gains()
            worth = np.where(left, gain / self.cost, -np.inf)
            pick = int(np.argmax(worth))
            picks.append(pick)
            found.append(float(gain[pick]))
            left[pick] = False
            self._measure(pick)
        return np.array(picks, dtype=int), np.array(found)

    def variances(self) -> np.ndarray:
        """Variances of the scores."""
        return np.maximum(self.covariance.diagonal(), 0.0)

    def undecided(self) -> np.ndarray:
        """How much a label tells of an undecided order of a pair and a neighbour in the ranking of its query.

        It is the smaller of the probabilities of the two orders, times what a label of the pair would take away from
        the variance of the difference of the two scores, c²/(C_pp + s²) with its covariance c with the difference. By
        the probability alone, close calls would be asked for again and again that no noisy label decides. Neighbours
        are candidates, by their scores.
        """
        order = np.lexsort((self.mean, self.query))
        a, b = order[:-1], order[1:]
        together = self.query[a] == self.query[b]
        a, b = a[together], b[together]
        C, own = self.covariance, self.variances()
        variance = C[a, a] + C[b, b] - 2 * C[a, b]
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.nan_to_num(ndtr(-np.abs(self.mean[b] - self.mean[a]) / np.sqrt(np.maximum(variance, 0.0))))
        gain = np.zeros(len(self.mean))
        for one, other in ((a, b), (b, a)):
            total = own[one] + self.noise[one]
            taken = np.divide((C[one, one] - C[one, other]) ** 2, total, out=np.zeros(len(one)), where=total > 0)
            np.maximum.at(gain, one, chance * taken)
        return gain

    def likely_top(self) -> np.ndarray:
        """How far the upper end of a pair, score + standard deviation, is above the lowest score of all candidates."""
        return self.mean + np.sqrt(self.variances()) - self.mean.min()

    def _measure(self, pick: int) -> None:
        """The covariance once the pair has a label."""
        column = self.covariance[:, pick].copy()
        total = column[pick] + self.noise[pick]
        if total > 0:
            self.covariance -= np.multiply.outer(column, column / total)
