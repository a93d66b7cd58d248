"""What a fit can take over from the one before."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.fitting.plan import Plan
from condrank.graph import RelationGraph
from condrank.nodes.store import same_values
from condrank.problem.settings import Settings

ITERATIVE = ("primal", "dual", "newton", "dual_newton", "early_stopping")


def warm(ranker: Any, graph: RelationGraph, settings: Settings, plan: Plan) -> tuple[Any, Any]:
    """Coordinates and weights of a ranker's last fit, where they mean the same in this one; otherwise None."""
    fitted = getattr(ranker, "_system", None) is not None
    if not ranker.warm_start or plan.solver not in ITERATIVE or not fitted or ranker.solver_ != plan.solver:
        return None, None
    for old, new in zip(ranker._trained_on, (graph.nodes, graph.objects), strict=True):
        if not np.array_equal(old.positions, new.positions) or not same_values(old.base, new.base):
            if plan.solver == "early_stopping":
                return None, None  # other nodes may have been held out
            raise ValueError("warm_start=True needs the nodes of the last fit: the same X, with other edges")

    def same(*names: str) -> bool:
        return all(getattr(settings, name) == getattr(ranker._settings, name) for name in names)

    if not same("kernel", "clip", "rank_by", "approximation"):
        return None, None
    model, system = ranker._fitted(), ranker._system
    weights = model.dual() if plan.solver in ("dual", "dual_newton") else model.W
    return (system.rows, system.cols), weights if same("relation", "pairwise_kernel", "compared") else None
