"""The intercept of regression: the constant c that is left when the weights W are known.

The minimiser over W and c of ½ Σ m (y - h - c)² + ½ λ‖W‖² has c = Σ m (y - h)/Σ m. So c is eliminated: the solvers
subtract the weighted mean of all observed edges from labels and values (`condrank.objective.losses`), and c follows at
the end. Iterations have just computed the mean of the values of their solution. Other solvers take the product of W
with sums over the edges, as that mean is linear in W.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


class Seen:
    """The mean value of the last solution of an iteration, which its last product has computed.

    Parameters
    ----------
    labels, weights : ndarray of shape (n_pairs,)
        Labels minus the prior, and weights, of the observed pairs.
    """

    def __init__(self, labels: np.ndarray, weights: np.ndarray):
        self.weights, self.label = weights, weighted_mean(labels, weights)
        self._last: tuple[Any, float] = (None, 0.0)

    def keep(self, W: np.ndarray, mean: float) -> None:
        """Keep the mean of the values of a solution W, an array that is not changed any more."""
        self._last = W, mean

    def intercept(self, W: np.ndarray, values: Callable[[np.ndarray], np.ndarray]) -> float:
        """c for weights W; ``values`` computes the values at the observed pairs if W is not the last solution."""
        mean = self._last[1] if self._last[0] is W else weighted_mean(values(W), self.weights)
        return self.label - mean


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    """Σ m y/Σ m in double precision."""
    weights = weights.astype(np.float64, copy=False)
    return float(weights @ values.astype(np.float64, copy=False)) / float(weights.sum())


@dataclass(frozen=True)
class Means:
    """Weighted means over the observed edges: ȳ of the labels, and ⟨B, W⟩/Σm of the values of a model.

    Attributes
    ----------
    label : float
        ȳ, of labels minus the prior.
    sums : ndarray
        B = Π[ZᵀMZ'] (r, r') with ⟨B, W⟩ = Σ m h.
    total : float
        Σm.
    """

    label: float
    sums: np.ndarray
    total: float

    @classmethod
    def of(cls, labels: np.ndarray, weights: np.ndarray, sums: np.ndarray) -> Means:
        """Means over edges with these labels and weights. O(n_pairs)."""
        return cls(weighted_mean(labels, weights), sums, float(weights.sum(dtype=np.float64)))

    def value(self, W: np.ndarray) -> float:
        """The mean of the values of the model with weights W, in the precision of the sums."""
        return float(np.vdot(self.sums, W)) / self.total

    def intercept(self, W: Any) -> float:
        """c = ȳ minus the mean of the values, in double precision; 0 if W is not known yet."""
        if W is None:
            return 0.0
        return self.label - float(np.vdot(self.sums.astype(np.float64, copy=False), W)) / self.total
