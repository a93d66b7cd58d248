"""Measures the cost of each step of a fit on the cluster in use. `condrank.distributed.estimate` extrapolates it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from dask import base
from dask.delayed import delayed

from condrank.distributed.cluster import compute, total, worker_threads
from condrank.distributed.cost import Rates
from condrank.distributed.edges import DistributedEdges
from condrank.distributed.rows import DaskArray, DistributedFeatures
from condrank.kernels import Linear
from condrank.nodes import Nodes
from condrank.objective.losses import RANKING
from condrank.objective.relations import ORDINARY
from condrank.solvers.distributed import DistributedSystem

REPEATS, TASKS = 3, 200


def random_graph(
    n_nodes: int, n_features: int, n_edges: int, n_blocks: int = 8, seed: int = 0
) -> tuple[DaskArray, tuple[DaskArray, ...]]:
    """Random features in single precision, and sources, targets and values of random edges, kept by the workers."""
    rng: Any = da.random.default_rng(seed)
    X = rng.standard_normal((n_nodes, n_features), chunks=(-(-n_nodes // n_blocks), -1)).astype(np.float32)
    chunks = -(-n_edges // n_blocks)
    ends = [rng.integers(0, n_nodes, n_edges, chunks=chunks) for _ in range(2)]
    values = rng.standard_normal(n_edges, chunks=chunks).astype(np.float32)
    X, sources, targets, values = base.persist(X, *ends, values)
    base.compute(X.sum(), sources.sum(), targets.sum(), values.sum())  # returns once all data are made
    return X, (sources, targets, values)


def measure_rates(n_nodes: int = 50_000, n_features: int = 32, n_edges: int = 2_000_000) -> Rates:
    """Run every step of a fit with random data on the cluster in use. Returns seconds of one thread for each step.

    Each is the fastest of a few runs. A step that takes a second on a million edges is measured well, a step of
    milliseconds is not.
    """
    threads, p = len(worker_threads()), n_features
    X, columns = random_graph(n_nodes, n_features, n_edges)
    nodes, kernel = Nodes(X), Linear()
    sums, rows = _least(lambda: DistributedFeatures(kernel, nodes))
    whole, edges = _least(lambda: _partitioned(nodes, columns))
    gather, system = _least(lambda: DistributedSystem(ORDINARY, RANKING, rows, rows, edges))
    fetched = float(sum(compute([delayed(_n_fetched)(one) for one in system.partitions])))
    W = np.random.default_rng(0).standard_normal((len(rows.sigma),) * 2)
    product, _ = _least(lambda: system.apply(W, 1.0))
    task, _ = _least(lambda: total([delayed(int)(number) for number in range(TASKS)]))
    return Rates(
        sums=threads * sums / (n_nodes * p**2),
        partition=threads * whole / n_edges,
        gather=threads * max(gather - product / 2, 0.0) / (fetched * p),
        product=threads * product / (n_edges * p),
        task=task / TASKS,
    )


def _partitioned(nodes: Nodes, columns: Any) -> DistributedEdges:
    edges = DistributedEdges.of(nodes, nodes, *columns)
    _ = edges.facts
    return edges


def _n_fetched(system: Any) -> int:
    return len(system.Z) + len(system.Z_objects)


def _least(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the fastest of a few runs (the first also warms caches), and the last result."""
    least, result = float("inf"), None
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = work()
        least = min(least, time.perf_counter() - start)
    return least, result
