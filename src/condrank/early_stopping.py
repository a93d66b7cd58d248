"""Watching a fit: the loss on held-out nodes, the best iterate so far, and scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank.graph import RelationGraph


class HeldOut:
    """Loss on held-out nodes after each iteration; stops when it has not fallen for some time.

    Parameters
    ----------
    loss : callable
        Rank loss on the held-out nodes for weights W.
    patience : int
        Iterations without a new lowest loss after which to stop.

    Attributes
    ----------
    history : list of float
        Loss after each iteration.
    best : ndarray
        Weights of the lowest loss.
    """

    def __init__(self, loss: Callable[[np.ndarray], float], patience: int):
        self.loss, self.patience = loss, patience
        self.history: list[float] = []
        self.best: np.ndarray | None = None

    @property
    def best_iteration(self) -> int:
        """Number of the iteration with the lowest loss, from 1."""
        return int(np.argmin(self.history)) + 1

    def __call__(self, iteration: int, W: np.ndarray) -> bool:
        """Note the loss; True asks to stop."""
        self.history.append(self.loss(W))
        if self.best_iteration == len(self.history):
            self.best = W.copy()
        return len(self.history) - self.best_iteration >= self.patience


def hold_out(graph: RelationGraph, share: float, random_state: Any) -> tuple[RelationGraph, RelationGraph]:
    """Split a graph by nodes: a training graph and one of held-out nodes, with no edge between the two (setting 4).

    In two domains the conditioning nodes are split and the objects stay (setting 2).
    """
    from sklearn.utils import check_random_state

    n = len(graph)
    n_held = max(2, round(share * n))
    if not 0 < share < 1 or n - n_held < 2:
        raise ValueError(f"validation_fraction must leave nodes on both sides, got {share!r} of {n} nodes")
    order = check_random_state(random_state).permutation(n)
    return graph[np.sort(order[n_held:])], graph[np.sort(order[:n_held])]
