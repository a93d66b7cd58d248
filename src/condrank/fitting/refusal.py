"""A fit that would not fit into memory is refused before anything is allocated, and told what would fit."""

from __future__ import annotations

from dataclasses import replace

from condrank.base import memory as available
from condrank.base.memory import readable
from condrank.fitting.plan import Plan, make_plan
from condrank.graph import RelationGraph
from condrank.nodes import Approximation
from condrank.problem.settings import Settings

# Numbers of components to advise: the largest that fits.
COMPONENTS = (2000, 1000, 500, 200, 100, 50)
GENERAL_ADVICE = (
    "fewer nodes, an approximate kernel (n_components) or explicit features (kernel='linear' with fewer features than "
    "nodes) together with a factored relation (RelationGraph.from_classes) would do, and so does float32 for half of it"
)


def check_memory(plan: Plan, graph: RelationGraph | None = None, settings: Settings | None = None) -> None:
    """Refuse a planned fit that needs more memory than there is.

    ``graph`` and ``settings`` are those of the plan; without them the advice is a general one.
    """
    free = available.available_memory()
    if free is None or plan.memory <= free:
        return
    fitting = [] if graph is None or settings is None else alternatives(plan, graph, settings, free)
    advice = "; ".join(f"{change} would take about {readable(memory)}" for change, memory in fitting)
    raise ValueError(
        f"this fit needs about {readable(plan.memory)} ({plan.coordinates}, {plan.n_coordinates} coordinates) but "
        f"{readable(free)} are available; {advice or GENERAL_ADVICE}"
    )


def alternatives(plan: Plan, graph: RelationGraph, settings: Settings, free: int) -> list[tuple[str, int]]:
    """Changes with which the fit would fit, and the bytes that it would take then."""
    found = []
    double = graph.nodes.dtype.itemsize == 8 and not graph.nodes.is_raw
    if double:
        found.append(("float32 features and labels", make_plan(graph, settings, itemsize=4).memory))
    if settings.pairwise_kernel is None and not graph.nodes.is_raw and settings.solver != "explicit":
        found += _with_components(plan, graph, settings, free, double)
    return [(change, memory) for change, memory in found if memory <= free]


def _with_components(
    plan: Plan, graph: RelationGraph, settings: Settings, free: int, double: bool
) -> list[tuple[str, int]]:
    """The largest number of components that fits, in single precision where it is not enough by itself."""
    given = settings.approximation or Approximation("auto")
    solver = "auto" if settings.solver == "dual" else settings.solver
    for m in COMPONENTS:
        if m >= plan.n_coordinates:
            continue
        fewer = replace(settings, solver=solver, approximation=replace(given, n_components=m))
        memory = make_plan(graph, fewer).memory
        if memory <= free:
            return [(f"n_components={m}", memory)]
        if double and (memory := make_plan(graph, fewer, itemsize=4).memory) <= free:
            return [(f"n_components={m} with float32 features and labels", memory)]
    return []
