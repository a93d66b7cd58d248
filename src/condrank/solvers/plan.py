"""Choosing a solver is a public question: which one, why, and what it will take, before any work is done."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from condrank.graph import RelationGraph
from condrank.nodes import ExplicitFeatures, NodeKernel, Nodes
from condrank.observations import Complete
from condrank.relations import Relation

SOLVERS = ("auto", "closed_form")


@dataclass(frozen=True)
class Plan:
    """What a fit will do.

    Attributes
    ----------
    solver : str
        Name of the solver that will run.
    reason : str
        Why that one.
    coordinates : str
        How the nodes get their coordinates.
    n_coordinates : int
        Upper bound of r, the number of coordinates.
    flops : float
        Estimated floating-point operations.
    memory : int
        Estimated bytes at the peak, beyond the inputs.
    """

    solver: str
    reason: str
    coordinates: str
    n_coordinates: int
    flops: float
    memory: int

    def __str__(self) -> str:
        return (
            f"{self.solver}: {self.reason}; {self.coordinates}, at most {self.n_coordinates} coordinates; "
            f"about {self.flops:.1e} flops and {readable(self.memory)}"
        )


def make_plan(graph: RelationGraph, kernel: NodeKernel, relation: Relation, loss: str, solver: str) -> Plan:
    """Choose a solver for a graph and estimate its cost. O(1)."""
    if not graph.is_complete:
        raise ValueError(
            f"solver {solver!r} needs a complete graph, but only {graph.density:.1%} of the pairs are observed exactly "
            "once; impute the missing ones, or take a subgraph that is complete"
        )
    sides = [graph.nodes] if not graph.is_two_domain else [graph.nodes, graph.objects]
    costs = [_coordinates_cost(kernel, side) for side in sides]
    flops, memory = sum(cost[1] for cost in costs), sum(cost[2] for cost in costs)
    ranks = [cost[0] for cost in costs]
    r, r_objects = ranks[0], ranks[-1]
    n, m = graph.shape
    itemsize = graph.nodes.dtype.itemsize
    dense = isinstance(graph.relation, Complete)
    flops += 2.0 * n * m * r_objects * dense + 2.0 * n * r * r_objects
    if relation.sign and loss == "ranking":
        flops += r**3 / 3
    # After the eigendecomposition: the labels times Z, their reduction R, and 1/D, which becomes W.
    reduction = itemsize * (n * r_objects * dense + 2 * r * r_objects)
    kept = itemsize * sum(len(side) * rank for side, rank in zip(sides, ranks, strict=True))
    reason = "the graph is complete" if dense else "the relation is factored, so every pair is known"
    explicit = all(ExplicitFeatures.applies(kernel, side) for side in sides)
    coordinates = "explicit features" if explicit else f"exact {kernel.label} kernel"
    return Plan("closed_form", reason, coordinates, max(ranks), flops, int(max(memory, kept + reduction)))


def _coordinates_cost(kernel: NodeKernel, nodes: Nodes) -> tuple[int, float, int]:
    """Number of coordinates, flops and peak bytes of making them."""
    n, d = len(nodes), nodes.base.shape[1] + kernel.constant
    if ExplicitFeatures.applies(kernel, nodes):
        copies = n * d if kernel.constant or kernel.name == "cosine" else 0
        return d, 2.0 * n * d**2 + 9.0 * d**3, nodes.dtype.itemsize * copies + 8 * 4 * d**2
    return n, 2.0 * n**2 * d + 9.0 * n**3, nodes.dtype.itemsize * 3 * n**2


def check_memory(plan: Plan) -> None:
    """Refuse a fit that would not fit into memory, before anything is allocated."""
    available = available_memory()
    if available is not None and plan.memory > available:
        raise ValueError(
            f"this fit needs about {readable(plan.memory)} ({plan.coordinates}, {plan.n_coordinates} coordinates) but "
            f"{readable(available)} are available; fewer nodes, explicit features (kernel='linear' with fewer features "
            "than nodes) together with a factored relation (RelationGraph.from_classes) would do, and so does float32 "
            "for half of it"
        )


def available_memory() -> int | None:
    """Bytes that can still be allocated: of the machine or of its control group; None where that is not known."""
    found = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(int(line.split()[1]) * 1024)
    elif hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        found.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if limit.exists() and used.exists() and (text := limit.read_text().strip()) != "max":
        found.append(int(text) - int(used.read_text()))
    return min(found) if found else None


def readable(n_bytes: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} TiB"
