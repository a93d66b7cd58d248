"""The held-out nodes of early stopping: how they are chosen, and the loss on them after each iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from condrank.fitting.fitted import Scorer
from condrank.fitting.judging import NOTHING_TO_RANK, pooled_rank_loss, rankable
from condrank.graph import RelationGraph
from condrank.graph.relation_graph import Conditioned


class HeldOut:
    """Rank loss on held-out nodes after each iteration. Stops when it has not fallen for a while.

    Parameters
    ----------
    given : Conditioned
        Held-out conditioning nodes and objects, and their relation.
    patience : int
        Number of iterations without a new lowest loss after which to stop.

    Attributes
    ----------
    history : list of float
        Loss after each iteration.
    best : ndarray
        Weights with the lowest loss.
    """

    def __init__(self, given: Conditioned, patience: int):
        if not rankable(given.observed):
            raise ValueError(f"{NOTHING_TO_RANK} in the validation graph; hold out more nodes")
        self.given, self.patience = given, patience
        self.history: list[float] = []
        self.best: np.ndarray | None = None

    @property
    def best_iteration(self) -> int:
        """Number of the iteration with the lowest loss, from 1."""
        return int(np.argmin(self.history)) + 1

    def stop_after(self, scorer: Scorer, W: np.ndarray) -> bool:
        """Record the loss of a model and, if it is the lowest so far, its weights. True means stop."""
        self.history.append(pooled_rank_loss(scorer, self.given))
        if self.best_iteration == len(self.history):
            self.best = W.copy()
        return len(self.history) - self.best_iteration >= self.patience


def hold_out(
    graph: RelationGraph, share: float, random_state: Any, rank_by: str = "outgoing"
) -> tuple[RelationGraph, RelationGraph]:
    """Split a graph by nodes into a training graph and a held-out graph, without the edges between them (setting 4).

    In two domains only the conditioning nodes are split (setting 2).
    """
    by_columns = graph.is_two_domain and rank_by == "incoming"
    n = graph.shape[int(by_columns)]
    n_held = max(2, round(share * n))
    if not 0 < share < 1 or n - n_held < 2:
        raise ValueError(f"validation_fraction must leave nodes on both sides, got {share!r} of {n} nodes")
    order = check_random_state(random_state).permutation(n)
    rest, held = np.sort(order[n_held:]), np.sort(order[:n_held])
    train, test = (graph[:, rest], graph[:, held]) if by_columns else (graph[rest], graph[held])
    if train.n_edges == 0:
        raise ValueError(f"no edge is left to learn from when {n_held} of {n} nodes are held out")
    return train, test
