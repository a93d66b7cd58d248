"""What a fit to a distributed graph will do, and what it refuses."""

from __future__ import annotations

from condrank.base.memory import readable
from condrank.distributed.complete import DistributedComplete
from condrank.distributed.cost import partition_bytes
from condrank.distributed.edges import DistributedEdges
from condrank.fitting.plan import EIGH, SAMPLED_SPEED, Plan
from condrank.graph import RelationGraph
from condrank.problem.settings import Settings

ITERATIONS = 30.0  # of CG, where nothing is known of the graph


def make_distributed_plan(graph: RelationGraph, settings: Settings) -> Plan:
    """Solver, and flops of the whole cluster and memory of the client; a ValueError where only one machine would do."""
    _check(graph, settings)
    n, m = graph.shape
    (p, q), described = _coordinates(graph, settings)
    sides = [(n, p), (m, q)] if graph.is_two_domain else [(n, p)]
    flops = sum(2.0 * size * width**2 + EIGH * width**3 for size, width in sides)
    # A few p×p arrays of sums, of the solve and of CG; degrees, node weights, row sums or factors are n long.
    memory = 8 * (12 * p * q + 4 * (n + m)) + 32 * max(p, q) ** 2
    if isinstance(graph.relation, DistributedEdges):
        n_partitions = len(graph.relation.bounds) - 1
        held = partition_bytes(max(n, m), max(p, q), graph.n_edges, n_partitions, graph.nodes.dtype.itemsize)
        where = f"{n_partitions} partitions, about {readable(held)} with the features of their nodes"
        solver, reason = "primal", f"{graph.n_edges:,} edges in {where}: sums over them from the cluster"
        flops += ITERATIONS * 4.0 * graph.n_edges * q / SAMPLED_SPEED
    else:
        solver = "closed_form"
        tiled = isinstance(graph.relation, DistributedComplete)
        reason = "the graph is complete" if tiled else "the relation is factored: every pair is known"
        flops += 2.0 * n * m * q * tiled + 2.0 * n * p * q
    if settings.solver == "early_stopping":
        solver = "early_stopping"
    return Plan(solver, f"{reason}, the solve on the client", described, max(p, q), flops, memory, {})


def _coordinates(graph: RelationGraph, settings: Settings) -> tuple[list[int], str]:
    """Number of features of both sides, and what they are."""
    kernel, approximation, described = settings.kernel, settings.approximation, "explicit features"
    counts = []
    for side in (graph.nodes, graph.objects):
        m = None if approximation is None else approximation.size(kernel, side)
        counts.append((side.base.shape[1] if m is None else m) + kernel.constant)
        if approximation is not None and m is not None:
            described = approximation.described(kernel, m)
    return counts, described


def _check(graph: RelationGraph, settings: Settings) -> None:
    approximation = settings.approximation
    if settings.kernel.is_precomputed or (approximation is None and settings.kernel.name not in ("linear", "cosine")):
        raise ValueError(
            f"kernel={settings.kernel.label!r} has no explicit features, and nothing of a distributed graph is n×n: "
            "use 'linear' or 'cosine', or n_components for an approximation"
        )
    if approximation is not None and isinstance(approximation.n_components, str):
        raise ValueError("n_components must be a number where the graph is distributed, got 'auto'")
    if settings.loss == "logistic":
        raise ValueError("loss='logistic' is not distributed: use 'ranking' or 'regression', or NumPy data")
    if settings.compared or settings.pairwise_kernel is not None:
        what = "compared features" if settings.compared else f"pairwise_kernel={settings.pairwise_kernel!r}"
        raise ValueError(f"{what}: not for a distributed graph; leave them out, or use NumPy data")
    edges = isinstance(graph.relation, DistributedEdges)
    allowed = ("auto", "iterative", "primal", "early_stopping") if edges else ("auto", "closed_form", "early_stopping")
    if settings.solver not in allowed:
        form = "an edge list" if edges else "a complete relation"
        raise ValueError(f"solver must be one of {list(allowed)} for {form} in Dask, got {settings.solver!r}")
