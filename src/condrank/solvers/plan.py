"""Choosing a solver is a public question: which one, why, and what it will take, before any work is done."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from condrank.graph import RelationGraph
from condrank.nodes import ExplicitFeatures, NodeKernel, Nodes
from condrank.observations import Complete, Edges
from condrank.settings import Settings
from condrank.solvers.dual_plan import RANKS, rank_costs
from condrank.solvers.edge_preconditioner import BLOCK, n_eigenvectors
from condrank.solvers.expected import Expected, edge_strengths, sampled_spectrum
from condrank.solvers.explicit import explicit_bytes
from condrank.solvers.kronecker import AT_EDGES, TIMES, loops_for
from condrank.solvers.preconditioned import DENSE_FROM

# An eigendecomposition takes about as long as this many n³ floating-point operations of a matrix product.
EIGH = 13.0
# Sampled products run at this share of the speed of dense ones (benchmarks/products.py).
SAMPLED_SPEED = 1 / 20
# Elementwise work on W in an iteration, for each entry, and the fixed part of any iteration.
PASSES, FIXED = 400.0, 1e7
# A look at a sample of the nodes has to be cheap beside the fit: at least so many nodes and operations (milliseconds).
SMALL, WORTH_A_LOOK = 200, 5e8
# Newton's method takes about this many times the inner iterations of one least squares, with weights of at most ¼; its
# products over the edges are in single precision but for one a step.
NEWTON, NEWTON_STEPS = 1.5, 6


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
    """Choose a solver for a graph and estimate its cost.

    Where primal and dual compete and the fit is not tiny, the kernel of at most 200 nodes is looked at (milliseconds);
    nothing else is computed.
    """
    sizes = _Sizes.of(graph, settings.kernel)
    expected = _expected(graph, settings, sizes)
    solver, reason = _choose(graph, settings, sizes, expected)
    costs = {name: _cost(name, graph, settings, sizes, expected) for name in _candidates(graph, settings, solver)}
    flops, memory = costs.pop(solver)
    sides = [graph.nodes, graph.objects]
    explicit = all(ExplicitFeatures.applies(settings.kernel, side) for side in sides)
    coordinates = "explicit features" if explicit else f"exact {settings.kernel.label} kernel"
    alternatives = {name: cost[0] for name, cost in costs.items()}
    return Plan(solver, reason, coordinates, max(sizes.r, sizes.r_objects), flops, int(memory), alternatives)


def _expected(graph: RelationGraph, settings: Settings, s: _Sizes) -> Expected:
    """Iterations to expect: from the sizes, or from a look at the kernel where that may change the choice."""
    alpha, size = settings.alpha, s.n * s.m
    if isinstance(graph.relation, Edges) and s.n_pairs:
        alpha /= float(np.mean(graph.relation.weights))
    if settings.loss == "logistic":
        alpha *= 4
    expected = Expected.by_sizes(s.n_pairs, size, alpha)
    open_choice = settings.solver in ("auto", "iterative") and not (graph.is_complete and settings.solver == "auto")
    exact = not ExplicitFeatures.applies(settings.kernel, graph.nodes) and not graph.nodes.is_text
    special = settings.clip or settings.pairwise_kernel is not None or bool(settings.compared)
    # With an edge or two a node nothing beats the dual, whatever the kernel.
    small = min(s.n, s.m) < SMALL or s.n_pairs <= 2 * max(s.n, s.m)
    if not open_choice or not exact or special or small:
        return expected
    if min(_cost(name, graph, settings, s, expected)[0] for name in ("primal", "dual")) < WORTH_A_LOOK:
        return expected
    sigma = sampled_spectrum(settings.kernel, graph.nodes)
    tau = sampled_spectrum(settings.kernel, graph.objects) if graph.is_two_domain else sigma
    strengths = edge_strengths(settings.relation, sigma, tau, (n_eigenvectors(s.n), n_eigenvectors(s.m)))
    ranks = (0, *(t for t in RANKS if t <= s.n_pairs // 2))
    return Expected.by_look(strengths, s.n_pairs, size, alpha, max(settings.tol, 1e-10), ranks)


def _choose(graph: RelationGraph, settings: Settings, sizes: _Sizes, expected: Expected) -> tuple[str, str]:
    asked = settings.solver
    complete = graph.is_complete
    if settings.compared and asked != "early_stopping":
        each = "a block of weights each beside the first, preconditioned by closed forms of the complete graph"
        return "newton" if settings.loss == "logistic" else "primal", f"{len(settings.compared)} compared: {each}"
    if settings.loss == "logistic":
        if asked not in ("auto", "iterative", "primal", "dual"):
            raise ValueError(f"loss='logistic' is solved by Newton's method: use solver='auto', got {asked!r}")
        if asked == "dual" and settings.clip:
            raise ValueError("clip=True needs an eigendecomposition, which the dual solver spares; use solver='primal'")
        none = "the logistic loss has no closed form"
        if asked == "dual" or (asked != "primal" and _cheapest(graph, settings, sizes, expected) == "dual"):
            return "dual_newton", f"{none}: steps over the edges"
        return "newton", none
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
    best = _cheapest(graph, settings, sizes, expected)
    why = {
        "primal": "the closed form of the complete graph preconditions it well",
        "dual": "iterating over the edges is cheaper than an eigendecomposition",
    }
    return best, f"{graph.density:.2%} of the pairs are observed: {why[best]}"


def _cheapest(graph: RelationGraph, settings: Settings, sizes: _Sizes, expected: Expected) -> str:
    """Primal or dual, or what Newton's method has for them."""
    if ExplicitFeatures.applies(settings.kernel, graph.nodes) or settings.clip:
        return "primal"
    primal, dual = ("newton", "dual_newton") if settings.loss == "logistic" else ("primal", "dual")
    costs = [_cost(name, graph, settings, sizes, expected)[0] for name in (primal, dual)]
    # A small logistic fit keeps to W: there is nothing to win.
    tiny = settings.loss == "logistic" and sizes.n < SMALL
    return "primal" if tiny or costs[0] < costs[1] else "dual"


def _candidates(graph: RelationGraph, settings: Settings, solver: str) -> list[str]:
    names = {solver}
    one_block = settings.pairwise_kernel is None and not settings.compared
    if settings.loss != "logistic" and solver != "early_stopping" and one_block:
        names |= {"closed_form"} if graph.is_complete else {"primal", "dual"}
    if settings.loss == "logistic" and one_block and not ExplicitFeatures.applies(settings.kernel, graph.nodes):
        names |= {"newton", "dual_newton"}
    return sorted(names)


def _cost(solver: str, graph: RelationGraph, settings: Settings, s: _Sizes, expected: Expected) -> tuple[float, float]:
    """Weighted flops and bytes at the peak."""
    ranking = settings.loss == "ranking" and settings.relation.sign != 0
    dense = not isinstance(graph.relation, Edges)
    reduction = 2.0 * s.n * s.m * s.r_objects * isinstance(graph.relation, Complete) + 2.0 * s.n * s.r * s.r_objects
    square = s.r * s.r_objects
    if solver == "closed_form" or (solver == "early_stopping" and dense and not settings.compared):
        steps = settings.max_iter * 10.0 * square if solver == "early_stopping" else 0.0
        flops = s.flops + reduction + steps + ranking * s.r**3 / 3
        # After the eigendecomposition: the labels times Z, their reduction, and 1/D, which becomes W.
        held = s.n * s.r_objects * isinstance(graph.relation, Complete) + (2 + ranking) * square
        return flops, max(s.memory, s.kept + s.itemsize * held)
    if solver == "explicit":
        return s.flops + float(min(square, s.n_pairs)) ** 3, s.kept + explicit_bytes(
            settings.relation, s.r, s.r_objects, s.n_pairs
        )
    if solver in ("dual", "dual_newton"):
        return _dual_cost(solver, graph, settings, s, expected)
    if s.n_pairs >= DENSE_FROM * s.n * s.m and solver != "newton":
        product, held = 4.0 * s.n * s.m * s.r_objects, 3 * s.n * s.m
    else:
        product, held = 4.0 * s.n_pairs * s.r_objects / SAMPLED_SPEED, 2 * s.n * s.r_objects
    blocks = 1 + len(settings.compared)
    product = blocks * (product + (4.0 * s.n + PASSES) * square) + FIXED
    # Coordinates, the mask or samples, and CG's iterates with the preconditioner.
    memory = 2 * s.kept + s.itemsize * (held + (8 * blocks + ranking) * square) + (24 + 8 * blocks) * s.n_pairs
    iterations = expected.primal
    if solver == "newton":
        iterations = NEWTON * expected.primal + NEWTON_STEPS
    elif solver == "early_stopping":
        iterations = settings.max_iter * (2 if settings.method == "bicgstab" else 1)
    return s.flops + iterations * product, max(s.memory, memory)


def _dual_cost(
    solver: str, graph: RelationGraph, settings: Settings, s: _Sizes, expected: Expected
) -> tuple[float, float]:
    """Flops over the edges with the best preconditioner, and bytes at the peak."""
    newton = solver == "dual_newton"
    scale, steps = (NEWTON / 2, NEWTON_STEPS) if newton else (1.0, 0)
    loops, size, both = loops_for("auto", s.n_pairs, min(s.n, s.m)), s.n * s.m, 2 if settings.relation.sign else 1
    first, second = min(TIMES[loops] * both * s.n_pairs, size), min(AT_EDGES[loops] * s.n_pairs, size)
    product = min(first * s.m + second * s.n, first * s.n + second * s.m) + FIXED / 2
    k = n_eigenvectors(max(s.n, s.m))
    costs = rank_costs((s.n, s.m), s.n_pairs, k, expected.ranks, scale * expected.dual, product, builds=max(1, steps))
    flops = 2 * (float(costs.min()) + steps * product)
    # Kernel matrices (in single precision too for Newton), their squares where the edge kernel has them, the scattered
    # coefficients; features of the edges in blocks, their Gram matrix and its factor.
    kernels = s.n**2 + (s.m**2 if graph.is_two_domain else 0)
    squared = settings.pairwise_kernel in ("poly2D", "mlpk")
    memory = s.itemsize * ((2 if squared else 1) * kernels + s.n * s.m) + 80 * s.n_pairs + 4 * kernels * newton
    # Without a look at the kernel the fit may still decide for a preconditioner: the largest one.
    most = max((t for t in RANKS if t <= s.n_pairs // 2), default=0) if settings.pairwise_kernel is None else 0
    rank = expected.ranks[int(np.argmin(costs))] if len(expected.ranks) > 1 else most
    if rank:
        memory += 2 * 8 * rank**2 + 3 * s.itemsize * max(s.n, s.m) * k + 8 * min(s.n_pairs * rank, BLOCK)
    return flops, memory


def _coordinates_cost(kernel: NodeKernel, nodes: Nodes) -> tuple[int, float, int]:
    """Number of coordinates, weighted flops and peak bytes of making them."""
    n, d = len(nodes), nodes.base.shape[1] + kernel.constant
    if ExplicitFeatures.applies(kernel, nodes):
        copies = n * d if kernel.constant or kernel.name == "cosine" or kernel.weights else 0
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
