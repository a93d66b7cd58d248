"""Choosing a solver is a public question: which one, why, and what it will take, before any work is done."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from condrank.graph import RelationGraph
from condrank.nodes import ExplicitFeatures, NodeKernel, Nodes
from condrank.observations import Complete, Edges
from condrank.settings import Settings
from condrank.solvers.explicit import explicit_bytes
from condrank.solvers.preconditioned import DENSE_FROM

# An eigendecomposition takes about as long as this many n³ floating-point operations of a matrix product.
EIGH = 13.0
# Sampled products run at this share of the speed of dense ones (benchmarks/products.py).
SAMPLED_SPEED = 1 / 20
# The dual solver's low-rank preconditioner pays up to about this many edges; it quarters the iterations.
PRECONDITIONED_EDGES = 200_000


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
        Estimated floating-point operations, each kind weighted by its speed relative to a matrix product.
    memory : int
        Estimated bytes at the peak, beyond the inputs.
    alternatives : dict of str to float
        Estimated flops of the solvers that were not chosen.
    """

    solver: str
    reason: str
    coordinates: str
    n_coordinates: int
    flops: float
    memory: int
    alternatives: dict[str, float]

    def __str__(self) -> str:
        others = "".join(f"; {name} would take {flops:.1e}" for name, flops in self.alternatives.items())
        return (
            f"{self.solver}: {self.reason}; {self.coordinates}, at most {self.n_coordinates} coordinates; "
            f"about {self.flops:.1e} flops and {readable(self.memory)}{others}"
        )


@dataclass(frozen=True)
class _Sizes:
    """Sizes of a problem: pairs, coordinates of both sides, and the cost of making those."""

    n: int
    m: int
    r: int
    r_objects: int
    n_pairs: int
    itemsize: int
    flops: float
    memory: int
    kept: int

    @classmethod
    def of(cls, graph: RelationGraph, kernel: NodeKernel) -> _Sizes:
        sides = [graph.nodes, graph.objects] if graph.is_two_domain else [graph.nodes]
        costs = [_coordinates_cost(kernel, side) for side in sides]
        itemsize = graph.nodes.dtype.itemsize
        n_pairs = graph.relation.n_pairs if isinstance(graph.relation, Edges) else graph.n_edges
        kept = itemsize * sum(len(side) * cost[0] for side, cost in zip(sides, costs, strict=True))
        flops, memory = sum(cost[1] for cost in costs), sum(cost[2] for cost in costs)
        return cls(*graph.shape, costs[0][0], costs[-1][0], n_pairs, itemsize, flops, memory, kept)


def make_plan(graph: RelationGraph, settings: Settings) -> Plan:
    """Choose a solver for a graph and estimate its cost, without touching the nodes."""
    sizes = _Sizes.of(graph, settings.kernel)
    solver, reason = _choose(graph, settings, sizes)
    costs = {name: _cost(name, graph, settings, sizes) for name in _candidates(graph, settings, solver)}
    flops, memory = costs.pop(solver)
    sides = [graph.nodes, graph.objects]
    explicit = all(ExplicitFeatures.applies(settings.kernel, side) for side in sides)
    coordinates = "explicit features" if explicit else f"exact {settings.kernel.label} kernel"
    alternatives = {name: cost[0] for name, cost in costs.items()}
    return Plan(solver, reason, coordinates, max(sizes.r, sizes.r_objects), flops, int(memory), alternatives)


def _choose(graph: RelationGraph, settings: Settings, sizes: _Sizes) -> tuple[str, str]:
    asked = settings.solver
    complete = graph.is_complete
    if settings.loss == "logistic":
        if asked not in ("auto", "iterative", "primal"):
            raise ValueError(f"loss='logistic' is solved by Newton's method: use solver='auto', got {asked!r}")
        return "newton", "the logistic loss has no closed form"
    if settings.pairwise_kernel is not None:
        if asked not in ("auto", "iterative", "dual"):
            raise ValueError(f"pairwise_kernel is solved in the dual: use solver='auto' or 'dual', got {asked!r}")
        if settings.clip:
            raise ValueError("clip=True needs an eigendecomposition, which the dual solver of pairwise_kernel spares")
        return "dual", f"the {settings.pairwise_kernel} edge kernel is solved over the edges"
    if asked == "dual" and settings.clip:
        raise ValueError("clip=True needs an eigendecomposition, which the dual solver spares; use solver='primal'")
    if asked == "closed_form" and not complete:
        raise ValueError(
            f"solver='closed_form' needs a complete graph, but {graph.density:.2%} of the pairs are observed "
            "(or some of them repeatedly or with other weights); use solver='auto'"
        )
    if asked not in ("auto", "iterative"):
        return asked, "as asked for"
    if complete and asked == "auto":
        dense = isinstance(graph.relation, Complete)
        return "closed_form", "the graph is complete" if dense else "the relation is factored: every pair is known"
    flops = {name: _cost(name, graph, settings, sizes)[0] for name in ("primal", "dual")}
    best = min(flops, key=lambda name: flops[name])
    if ExplicitFeatures.applies(settings.kernel, graph.nodes) or settings.clip:
        best = "primal"
    why = {
        "primal": "the closed form of the complete graph preconditions it well",
        "dual": "iterating over the edges is cheaper than an eigendecomposition",
    }
    return best, f"{graph.density:.2%} of the pairs are observed: {why[best]}"


def _candidates(graph: RelationGraph, settings: Settings, solver: str) -> list[str]:
    names = {solver}
    if settings.loss != "logistic" and solver != "early_stopping" and settings.pairwise_kernel is None:
        names |= {"closed_form"} if graph.is_complete else {"primal", "dual"}
    return sorted(names)


def _cost(solver: str, graph: RelationGraph, settings: Settings, s: _Sizes) -> tuple[float, float]:
    """Weighted flops and bytes at the peak."""
    ranking = settings.loss == "ranking" and settings.relation.sign != 0
    dense = not isinstance(graph.relation, Edges)
    reduction = 2.0 * s.n * s.m * s.r_objects * isinstance(graph.relation, Complete) + 2.0 * s.n * s.r * s.r_objects
    square = s.r * s.r_objects
    if solver == "closed_form" or (solver == "early_stopping" and dense):
        steps = settings.max_iter * 10.0 * square if solver == "early_stopping" else 0.0
        flops = s.flops + reduction + steps + ranking * s.r**3 / 3
        # After the eigendecomposition: the labels times Z, their reduction, and 1/D, which becomes W.
        held = s.n * s.r_objects * isinstance(graph.relation, Complete) + (2 + ranking) * square
        return flops, max(s.memory, s.kept + s.itemsize * held)
    if solver == "explicit":
        return s.flops + float(min(square, s.n_pairs)) ** 3, s.kept + explicit_bytes(
            settings.relation, s.r, s.r_objects, s.n_pairs
        )
    if solver == "dual":
        product = min(2.0 * s.n_pairs * (s.n + s.m) / SAMPLED_SPEED, 2.0 * s.n * s.m * (s.n + s.m))
        kernels = s.n**2 + (s.m**2 if graph.is_two_domain else 0)
        return _dual_iterations(s, settings.alpha) * product, s.itemsize * (kernels + s.n * s.m) + 80 * s.n_pairs
    if s.n_pairs >= DENSE_FROM * s.n * s.m:
        product, held = 4.0 * s.n * s.m * s.r_objects, 3 * s.n * s.m
    else:
        product, held = 4.0 * s.n_pairs * s.r_objects / SAMPLED_SPEED, 2 * s.n * s.r_objects
    product += 4.0 * s.n * square
    # Coordinates, the mask or samples, and CG's iterates with the preconditioner.
    memory = 2 * s.kept + s.itemsize * (held + (8 + ranking) * square) + 32 * s.n_pairs
    newton = 6 if solver == "newton" else 1
    return s.flops + newton * _primal_iterations(s, settings.alpha) * product, max(s.memory, memory)


def _primal_iterations(s: _Sizes, alpha: float) -> float:
    """Iterations to expect, ∝ 1/√(density λ), as measured with RBF kernels (docs/benchmarks/iterations.md)."""
    share = s.n_pairs / (s.n * s.m)
    return min(max(6 / (share * max(alpha, 1e-12)) ** 0.5, 8.0), 1000.0)


def _dual_iterations(s: _Sizes, alpha: float) -> float:
    """Iterations to expect, ∝ √(edges/λ), as measured with RBF kernels (docs/benchmarks/incomplete.md)."""
    plain = 0.4 * (s.n_pairs / max(alpha, 1e-12)) ** 0.5
    return min(max(plain / 4 if s.n_pairs <= PRECONDITIONED_EDGES else plain, 10.0), 4000.0)


def _coordinates_cost(kernel: NodeKernel, nodes: Nodes) -> tuple[int, float, int]:
    """Number of coordinates, weighted flops and peak bytes of making them."""
    n, d = len(nodes), nodes.base.shape[1] + kernel.constant
    if ExplicitFeatures.applies(kernel, nodes):
        copies = n * d if kernel.constant or kernel.name == "cosine" else 0
        return d, 2.0 * n * d**2 + EIGH * d**3, nodes.dtype.itemsize * copies + 8 * 4 * d**2
    return n, 2.0 * n**2 * d + EIGH * n**3, nodes.dtype.itemsize * 3 * n**2


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
        found.append(int(text) - int(used.read_text()) + _reclaimable())
    return min(found) if found else None


def _reclaimable() -> int:
    """Bytes of the control group's page cache, which count as used but give way."""
    stat = Path("/sys/fs/cgroup/memory.stat")
    lines = stat.read_text().splitlines() if stat.exists() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith(("inactive_file ", "slab_reclaimable ")))


def readable(n_bytes: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} TiB"
