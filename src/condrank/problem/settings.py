"""Checked parameters of a fit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from condrank.nodes import Approximation, NodeKernel
from condrank.objective.losses import Loss
from condrank.objective.relations import Relation
from condrank.persistence.plain import plain


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

    def to_state(self) -> dict[str, Any]:
        """Plain values."""
        values = _fields(self) | {
            "relation": self.relation.name,
            "loss": self.loss.name,
            "kernel": _fields(self.kernel),
        }
        if self.approximation is not None:
            # The drawn landmarks or frequencies are in the arrays. A seed drawn for random_state=None is useless later.
            compared = [field.name for field in fields(self.approximation) if field.compare]
            values["approximation"] = {name: getattr(self.approximation, name) for name in compared}
        return plain("settings", values)


def _fields(instance: Any) -> dict[str, Any]:
    return {field.name: getattr(instance, field.name) for field in fields(instance)}
