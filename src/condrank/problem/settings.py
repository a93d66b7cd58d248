"""Checked parameters of a fit."""

from __future__ import annotations

from dataclasses import dataclass

from condrank.nodes import Approximation, NodeKernel
from condrank.objective.losses import Loss
from condrank.objective.relations import Relation


@dataclass(frozen=True)
class Settings:
    """Checked parameters of a fit; `condrank.ConditionalRanker` explains them."""

    relation: Relation
    loss: Loss
    alpha: float
    kernel: NodeKernel
    prior_weight: float
    rank_by: str
    clip: bool
    solver: str
    pairwise_kernel: str | None
    tol: float
    max_iter: int
    method: str
    centre: float
    compared: tuple[int, ...] = ()
    approximation: Approximation | None = None
