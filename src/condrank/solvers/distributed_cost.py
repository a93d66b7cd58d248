"""What a fit to a distributed graph takes, and what only one machine can do."""

from __future__ import annotations

from condrank.base.measured import (
    DISTRIBUTED_ITERATIONS,
    EIGH_FLOPS_PER_CUBED_NODE,
    SAMPLED_SPEED_PER_DENSE_SPEED,
)
from condrank.base.memory import readable
from condrank.distributed.cost import partition_bytes
from condrank.nodes import Nodes
from condrank.problem.problem import Problem
from condrank.solvers.system import Cost, Peak


def distributed_coordinates(problem: Problem) -> tuple[tuple[int, int], str]:
    """Number of features of conditioning nodes and objects, and what they are."""
    kernel, approximation = problem.settings.kernel, problem.settings.approximation
    described = "explicit features"

    def width(nodes: Nodes) -> int:
        nonlocal described
        m = None if approximation is None else approximation.size(kernel, nodes)
        if approximation is not None and m is not None:
            described = approximation.described(kernel, m)
        return (nodes.base.shape[1] if m is None else m) + kernel.constant

    return (width(problem.queries), width(problem.objects)), described


def distributed_cost(problem: Problem) -> Cost:
    """Flops of the whole cluster and memory of the client."""
    (n, m), two = problem.observed.shape, problem.graph.is_two_domain
    (p, q), _ = distributed_coordinates(problem)
    sides = [(n, p), (m, q)] if two else [(n, p)]
    flops = sum(2.0 * size * width**2 + EIGH_FLOPS_PER_CUBED_NODE * width**3 for size, width in sides)
    if is_edge_list(problem):
        products = 4.0 * problem.graph.n_edges * q / SAMPLED_SPEED_PER_DENSE_SPEED
        flops += DISTRIBUTED_ITERATIONS * products
    else:
        flops += 2.0 * n * m * q * is_tiled(problem) + 2.0 * n * p * q
    # A few p×p arrays of sums, of the solve and of CG; degrees, node weights, row sums or factors are n long.
    memory = 8 * (12 * p * q + 4 * (n + m)) + 32 * max(p, q) ** 2
    return Cost(flops, lambda: Peak(memory))


def distributed_reason(problem: Problem) -> str:
    """Where the sums come from."""
    where = "the solve on the client"
    if not is_edge_list(problem):
        known = "the graph is complete" if is_tiled(problem) else "the relation is factored: every pair is known"
        return f"{known}, {where}"
    graph, edges = problem.graph, problem.observed
    n_partitions = len(edges.bounds) - 1  # pyright: ignore[reportAttributeAccessIssue]
    (p, q), _ = distributed_coordinates(problem)
    size = graph.nodes.dtype.itemsize
    held = partition_bytes(max(graph.shape), max(p, q), graph.n_edges, n_partitions, size)
    partitions = f"{n_partitions} partitions, about {readable(held)} with the features of their nodes"
    return f"{graph.n_edges:,} edges in {partitions}: sums over them from the cluster, {where}"


def is_edge_list(problem: Problem) -> bool:
    """The relation is an edge list in partitions, and not complete."""
    from condrank.distributed.edges import DistributedEdges

    return isinstance(problem.observed, DistributedEdges)


def is_tiled(problem: Problem) -> bool:
    """The relation is a matrix in tiles."""
    from condrank.distributed.complete import DistributedComplete

    return isinstance(problem.observed, DistributedComplete)


def check_distributed(problem: Problem) -> None:
    """Refuse what needs arrays over all pairs or values at the edges between iterations."""
    settings = problem.settings
    approximation = settings.approximation
    if settings.kernel.is_precomputed or (approximation is None and settings.kernel.name not in ("linear", "cosine")):
        raise ValueError(
            f"kernel={settings.kernel.label!r} has no explicit features, and nothing of a distributed graph is n×n: "
            "use 'linear' or 'cosine', or n_components for an approximation"
        )
    if approximation is not None and isinstance(approximation.n_components, str):
        raise ValueError("n_components must be a number where the graph is distributed, got 'auto'")
    if not settings.loss.is_quadratic:
        raise ValueError("loss='logistic' is not distributed: use 'ranking' or 'regression', or NumPy data")
    if settings.compared or settings.pairwise_kernel is not None:
        what = "compared features" if settings.compared else f"pairwise_kernel={settings.pairwise_kernel!r}"
        raise ValueError(f"{what}: not for a distributed graph; leave them out, or use NumPy data")
    edges = is_edge_list(problem)
    allowed = ("auto", "iterative", "primal", "early_stopping") if edges else ("auto", "closed_form", "early_stopping")
    if settings.solver not in allowed:
        form = "an edge list" if edges else "a complete relation"
        raise ValueError(f"solver must be one of {list(allowed)} for {form} in Dask, got {settings.solver!r}")
