"""Refuses a fit that needs more memory than there is, before anything is allocated, and says what would fit."""

from __future__ import annotations

from dataclasses import replace

from condrank.base import memory
from condrank.base.memory import readable
from condrank.fitting.plan import Plan, make_plan
from condrank.nodes import Approximation
from condrank.problem.problem import Problem
from condrank.solvers import SOLVERS

# Numbers of components to try; the largest that fits is advised.
COMPONENTS = (2000, 1000, 500, 200, 100, 50)
GENERAL_ADVICE = (
    "use fewer nodes; or an approximate kernel (n_components='auto') or explicit features (kernel='linear' with fewer "
    "features than nodes), together with a factored relation (RelationGraph.from_classes). float32 halves the memory"
)
# Other edge kernels are solved over the edges, without coordinates that could be approximated.
EDGE_ADVICE = "use fewer nodes or edges; float32 halves the memory"
IDENTITY_ADVICE = "Identity() gives every node a coordinate of its own: leave it out of the kernel, or use fewer nodes"


def check_memory(plan: Plan, problem: Problem) -> None:
    """Refuse a planned fit that needs more memory than there is."""
    free = memory.available_memory()
    if free is None or plan.memory <= free:
        return
    fitting = [] if problem.is_distributed else alternatives(plan, problem, free)
    general = GENERAL_ADVICE if problem.settings.pairwise_kernel is None else EDGE_ADVICE
    if _has_identity(problem):
        general = IDENTITY_ADVICE
    advice = "; ".join(f"{change} would take about {readable(needed)}" for change, needed in fitting)
    raise ValueError(
        f"this fit needs about {readable(plan.memory)} ({plan.coordinates}, {plan.n_coordinates} coordinates) but "
        f"{readable(free)} are available; {advice or general}"
    )


def alternatives(plan: Plan, problem: Problem, free: int) -> list[tuple[str, int]]:
    """Changes with which the fit would fit into memory, and the bytes that it would then take."""
    found, nodes = [], problem.graph.nodes
    double = nodes.dtype.itemsize == 8 and not nodes.is_raw
    if double:
        found.append(("float32 features and labels", make_plan(replace(problem, itemsize=4)).memory))
    if problem.settings.pairwise_kernel is None and not nodes.is_raw and not _has_identity(problem):
        found += _with_components(plan, problem, free, double)
    return [(change, needed) for change, needed in found if needed <= free]


def _has_identity(problem: Problem) -> bool:
    return any(kernel.has_identity for kernel in problem.settings.kernels)


def _with_components(plan: Plan, problem: Problem, free: int, double: bool) -> list[tuple[str, int]]:
    """The largest number of components that fits into memory, in single precision if it does not fit otherwise."""
    settings = problem.settings
    given = settings.approximation or Approximation("auto")
    # Solvers over the edges have no coordinates to approximate.
    solver = "auto" if SOLVERS[plan.solver].over_edges else settings.solver
    for m in COMPONENTS:
        if m >= plan.n_coordinates:
            continue
        fewer = replace(settings, solver=solver, approximation=replace(given, n_components=m))
        changed = replace(problem, settings=fewer)
        needed = make_plan(changed).memory
        if needed <= free:
            return [(f"n_components={m}", needed)]
        if double and (needed := make_plan(replace(changed, itemsize=4)).memory) <= free:
            return [(f"n_components={m} with float32 features and labels", needed)]
    return []
