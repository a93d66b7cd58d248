"""The cost of a fit to a distributed graph, and checks for what only one machine can do."""

from __future__ import annotations

from condrank.base.measured import (
    DISTRIBUTED_ITERATIONS,
    EIGH_FLOPS_PER_CUBED_NODE,
    SAMPLED_SPEED_PER_DENSE_SPEED,
)
from condrank.base.memory import readable
from condrank.distributed.cost import partition_bytes
from condrank.kernels import Kernel
from condrank.nodes import Nodes
from condrank.nodes.feature_maps import count_features, has_features
from condrank.problem.problem import Problem
from condrank.solvers.system import Cost, Peak


def distributed_coordinates(problem: Problem) -> tuple[tuple[int, int], str]:
    """Numbers of features of conditioning nodes and objects, and a description of the features."""
    approximation = problem.settings.approximation
    described = "explicit features"

    def width(kernel: Kernel, nodes: Nodes) -> int:
        nonlocal described
        m = None if approximation is None else approximation.size(kernel, nodes)
        if approximation is not None and m is not None:
            described = approximation.described(kernel, m)
        return (count_features(kernel, nodes) if m is None else m) + bool(kernel.constant)

    first, second = problem.settings.kernels
    return (width(first, problem.queries), width(second, problem.objects)), described


def distributed_cost(problem: Problem) -> Cost:
    """Flops of the whole cluster, and memory of the client."""
    (n, m), two = problem.observed.shape, problem.graph.is_two_domain
    (p, q), _ = distributed_coordinates(problem)
    sides = [(n, p), (m, q)] if two else [(n, p)]
    flops = sum(2.0 * size * width**2 + EIGH_FLOPS_PER_CUBED_NODE * width**3 for size, width in sides)
    if is_edge_list(problem):
        products = 4.0 * problem.graph.n_edges * q / SAMPLED_SPEED_PER_DENSE_SPEED
        flops += DISTRIBUTED_ITERATIONS * products
    else:
        flops += 2.0 * n * m * q * is_tiled(problem) + 2.0 * n * p * q
    # A few p×p arrays for sums, the solve and CG; and arrays of length n: degrees, node weights, row sums or factors.
    memory = 8 * (12 * p * q + 4 * (n + m)) + 32 * max(p, q) ** 2
    return Cost(flops, lambda: Peak(memory))


def distributed_reason(problem: Problem) -> str:
    """Why this solver: where the sums come from, and where they are solved."""
    where = "solved on the client"
    if not is_edge_list(problem):
        known = "the graph is complete" if is_tiled(problem) else "the relation is factored: every pair is known"
        return f"{known}, {where}"
    graph, edges = problem.graph, problem.observed
    n_partitions = len(edges.bounds) - 1  # pyright: ignore[reportAttributeAccessIssue]
    (p, q), _ = distributed_coordinates(problem)
    size = graph.nodes.dtype.itemsize
    held = partition_bytes(max(graph.shape), max(p, q), graph.n_edges, n_partitions, size)
    partitions = f"{n_partitions} partitions, about {readable(held)} with the features of their nodes"
    return f"{graph.n_edges:,} edges in {partitions}: summed on the cluster, {where}"


def is_edge_list(problem: Problem) -> bool:
    """Whether the relation is an edge list in partitions, and so incomplete."""
    from condrank.distributed.edges import DistributedEdges

    return isinstance(problem.observed, DistributedEdges)


def is_tiled(problem: Problem) -> bool:
    """Whether the relation is a matrix in tiles."""
    from condrank.distributed.complete import DistributedComplete

    return isinstance(problem.observed, DistributedComplete)


def check_distributed(problem: Problem) -> None:
    """Refuse settings that need arrays over all pairs, or values at the edges between iterations."""
    settings = problem.settings
    approximation = settings.approximation
    for kernel in settings.kernels:
        if kernel.matrices or (approximation is None and not has_features(kernel)):
            raise ValueError(
                f"kernel={kernel.label!r} has no explicit features, and a distributed graph has no n×n arrays: "
                "use 'linear' or 'cosine', or n_components for an approximation"
            )
    if approximation is not None and isinstance(approximation.n_components, str):
        raise ValueError("n_components must be a number for a distributed graph, got 'auto'")
    if not settings.loss.is_quadratic:
        raise ValueError(
            "loss='logistic' does not work on a distributed graph: use 'ranking' or 'regression', or NumPy data"
        )
    if settings.compared or settings.pairwise_kernel is not None:
        what = "compared" if settings.compared else f"pairwise_kernel={settings.pairwise_kernel!r}"
        raise ValueError(f"{what} cannot be used on a distributed graph; leave it out, or use NumPy data")
    edges = is_edge_list(problem)
    allowed = ("auto", "iterative", "primal", "early_stopping") if edges else ("auto", "closed_form", "early_stopping")
    if settings.solver not in allowed:
        form = "an edge list" if edges else "a complete relation"
        raise ValueError(f"solver must be one of {list(allowed)} for {form} in Dask, got {settings.solver!r}")
