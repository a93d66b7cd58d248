"""What a fit would cost on a cluster: measured costs of a block, times the sizes of a larger problem."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import expm1

from condrank.base.measured import PARTITION_MOST_EDGES, PARTITIONS_LEAST_PER_THREAD, PARTITIONS_MOST

# Bytes of both ends of an edge that is sent. Its value and its weight follow.
ENDS_BYTES = 16


@dataclass(frozen=True)
class Rates:
    """Seconds of one thread for a unit of each kind of work, as `condrank.distributed.measure_rates` measures them.

    Attributes
    ----------
    sums : float
        Per node and pair of features, for ΦᵀΦ.
    partition : float
        Per edge: check it, send it to its partition and merge it there.
    gather : float
        Per number of a node's features that a partition fetches.
    product : float
        Per edge and feature, in one iteration.
    task : float
        Per task, without its work: the time of the scheduler, which workers cannot share.
    """

    sums: float
    partition: float
    gather: float
    product: float
    task: float


@dataclass(frozen=True)
class Estimate:
    """Seconds of each step, and bytes, as `estimate` returns them.

    Attributes
    ----------
    sums, partition, gather : float
        Seconds before the iterations.
    iteration, n_iter : float, int
        Seconds of one iteration, and how many were assumed.
    moved : float
        Bytes sent between workers before the iterations. Gathering and partitioning send most of them.
    moved_iteration : float
        Bytes sent in an iteration.
    worker_memory, client_memory : float
        Bytes that a worker holds between iterations, and that the client holds.
    n_partitions : int
        Partitions of the edges.
    """

    sums: float
    partition: float
    gather: float
    iteration: float
    n_iter: int
    moved: float
    moved_iteration: float
    worker_memory: float
    client_memory: float
    n_partitions: int

    @property
    def seconds(self) -> float:
        """Seconds of the whole fit."""
        return self.sums + self.partition + self.gather + self.n_iter * self.iteration

    def __str__(self) -> str:
        steps = ", ".join(f"{name} {value:.3g}" for name, value in asdict(self).items())
        return f"{self.seconds:.3g} s ({steps})"


def count_partitions(n_edges: float, n_threads: int) -> int:
    """Number of partitions of the edges: the same for every thread, and at least one."""
    wanted = max(PARTITIONS_LEAST_PER_THREAD, -(-n_edges // (PARTITION_MOST_EDGES * n_threads)))
    return n_threads * int(max(1, min(wanted, PARTITIONS_MOST // n_threads)))


def fetched_nodes(n_nodes: float, n_edges: float, n_partitions: int) -> float:
    """Nodes whose features partitions hold, counted once per partition, if the ends of edges are drawn at random."""
    # The number of distinct nodes among draws with replacement. Each starting node is in one partition.
    return n_partitions * n_nodes * -expm1(-n_edges / n_partitions / n_nodes) + min(n_nodes, n_edges)


def partition_bytes(n_nodes: float, n_features: int, n_edges: float, n_partitions: int, itemsize: int) -> float:
    """Bytes of all partitions: edges (ending node, value, weight) and the features of their nodes."""
    fetched = fetched_nodes(n_nodes, n_edges, n_partitions)
    return n_edges * (8 + 2 * itemsize) + fetched * n_features * itemsize


def estimate(
    n_nodes: float,
    n_features: int,
    n_edges: float,
    n_workers: int,
    rates: Rates,
    *,
    threads: int = 1,
    n_iter: int = 30,
    itemsize: int = 4,
    bandwidth: float = 1.25e9,
    block_rows: float = 1e6,
    part_edges: float = 1e7,
) -> Estimate:
    """Seconds and bytes of a fit to an edge list, extrapolated from measured costs of blocks.

    The estimate assumes that all threads share the computing, that data then moves into all workers at the same time at
    ``bandwidth``, and that tasks pass through one scheduler. It also assumes that targets are drawn at random. A
    partition then fetches the features of nearly as many nodes as it has edges, until it has all nodes. Edge lists
    whose targets are near their sources cost less.

    Parameters
    ----------
    n_nodes, n_features, n_edges : number
        Sizes of the problem.
    n_workers, threads : int
        Number of workers, and threads of each.
    rates : Rates
        Rates of one thread.
    n_iter : int
        Iterations of conjugate gradients.
    itemsize : int
        Bytes of a feature, 4 or 8.
    bandwidth : float
        Bytes per second into a worker; 10 Gbit/s by default.
    block_rows, part_edges : number
        Nodes of a block, and edges of a part of the given, unsorted list.
    """
    p, all_threads = n_features, n_workers * threads
    n_partitions = count_partitions(n_edges, all_threads)
    blocks, parts = max(1.0, n_nodes / block_rows), max(1.0, n_edges / part_edges)
    fetched = fetched_nodes(n_nodes, n_edges, n_partitions)
    held = partition_bytes(n_nodes, p, n_edges, n_partitions, itemsize)

    def step(work: float, tasks: float, moved: float) -> float:
        return work / all_threads + tasks * rates.task + moved / n_workers / bandwidth

    moved_edges, moved_rows = n_edges * (ENDS_BYTES + 2 * itemsize), fetched * p * itemsize
    moved_sums = 8.0 * blocks * p**2
    moved_iteration = 8.0 * (n_partitions + n_workers) * p**2
    return Estimate(
        sums=step(rates.sums * n_nodes * p**2, 2 * blocks, moved_sums),
        partition=step(rates.partition * n_edges, (2 + n_partitions) * parts + 2 * n_partitions, moved_edges),
        gather=step(rates.gather * fetched * p, 2 * n_partitions * blocks, moved_rows),
        iteration=step(rates.product * n_edges * p, 1.2 * n_partitions, moved_iteration),
        n_iter=n_iter,
        moved=moved_edges + moved_rows + moved_sums,
        moved_iteration=moved_iteration,
        worker_memory=(held + n_nodes * p * itemsize) / n_workers,
        client_memory=8.0 * (4 * n_nodes + 12 * p**2),
        n_partitions=n_partitions,
    )
