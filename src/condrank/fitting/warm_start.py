"""Warm starts: what a fit can reuse of the previous one."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.fitting.fitted import FittedRanker
from condrank.fitting.plan import Plan
from condrank.fitting.reading import stops_early
from condrank.nodes.store import same_values
from condrank.problem.problem import Problem
from condrank.solvers import SOLVERS


def warm(last: FittedRanker | None, problem: Problem, plan: Plan) -> tuple[Any, Any]:
    """Coordinates and weights of the last fit, each None if it does not apply to this problem."""
    if last is None or last.system is None or last.trained_on is None:
        return None, None
    if not SOLVERS[plan.solver].iterates or last.solver != plan.solver:
        return None, None
    graph, settings, before = problem.graph, problem.settings, last.settings
    for old, new in zip(last.trained_on, (graph.nodes, graph.objects), strict=True):
        if not np.array_equal(old.positions, new.positions) or not same_values(old.base, new.base):
            if stops_early(plan.solver):
                return None, None  # other nodes may have been held out
            raise ValueError("warm_start=True needs the nodes of the last fit: the same X, with other edges")

    def same(*names: str) -> bool:
        return all(getattr(settings, name) == getattr(before, name) for name in names)

    if not same("kernel", "object_kernel", "clip", "rank_by", "approximation"):
        return None, None
    weights = last.model.start() if same("relation", "pairwise_kernel", "compared") else None
    return (last.system.rows, last.system.cols), weights
