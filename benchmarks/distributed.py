"""Dask: two workers against one, the cost of each step of a fit, and an estimate for 10⁸ nodes and 10¹⁰ edges."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from benchmarks.harness import Row, cut_short, seconds, suite
from condrank import ConditionalRanker, RelationGraph
from condrank.distributed import Rates, estimate

# Environment of the workers: one thread each, for any BLAS.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# Kinds of work: the number of units that a row shows, and their name.
UNITS = {
    "sums": (1e6, "10⁶ nodes × pairs of features"),
    "partition": (1e6, "10⁶ edges"),
    "gather": (1e6, "10⁶ numbers fetched"),
    "product": (1e6, "10⁶ edges × features"),
    "task": (1e3, "10³ tasks"),
}


@suite("Distributed by Dask: two workers of one thread each against one")
def distributed(quick: bool) -> list[Row]:
    """Ordinary ranking on an edge list of random pairs, with features in single precision and ten iterations of CG, on
    a LocalCluster of processes with one thread each, without work stealing. Floor: the same with one worker, so the bar
    of 1.6 × is a ratio of 0.625. The iterations are timed on edges that are already in partitions. The whole fit also
    counts, checks and partitions the edges, and fetches features. Below are seconds of one thread for a unit of each
    kind of work, measured on the cluster of two, and fits that `condrank.distributed.estimate` extrapolates from them,
    at 10 Gbit/s into each worker.
    """
    try:
        import dask

        from distributed import Client, LocalCluster
    except ImportError:
        return [Row("two workers against one", "", None, note="distributed is not installed")]
    n, d, n_edges, steps, repeats = (500, 4, 5_000, 2, 1) if quick else (200_000, 32, 10_000_000, 10, 2)
    size = f"n={n:,}, {n_edges:,} edges, d={d}"
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    # Tiny sizes use threads instead of processes, because threads start at once.
    options |= {"processes": False} if quick else {"env": ONE_THREAD}
    times: dict[tuple[int, str], float] = {}
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        LocalCluster(n_workers=1, **options) as one,
        LocalCluster(n_workers=2, **options) as two,
        Client(one, set_as_default=False) as first,
        Client(two, set_as_default=False) as second,
    ):
        data = {}
        for client in (first, second):
            with client.as_current():
                data[client] = _data(n, d, n_edges)
        for _ in range(repeats + 1):  # the first run warms the compiled loops
            for n_workers, client in ((1, first), (2, second)):
                with client.as_current():
                    for name, took in _timed(*data[client], steps).items():
                        times[n_workers, name] = min(took, times.get((n_workers, name), float("inf")))
        del data
        with second.as_current():
            rates = _rates(quick)
    rows = [
        Row("iterations", size, times[2, "iterations"], times[1, "iterations"], 1 / 1.6, note=f"{steps} iterations"),
        Row("whole fit, partitioning included", size, times[2, "whole"], times[1, "whole"]),
        Row("counting and checking the edges", size, times[2, "counting"], times[1, "counting"]),
    ]
    for name, (many, unit) in UNITS.items():
        rows.append(Row(f"cost of {name}", unit, many * getattr(rates, name), note="one thread"))
    return rows + _extrapolated(rates)


def _data(n: int, d: int, n_edges: int) -> tuple[Any, Any]:
    from condrank.solvers.distributed_rates import random_graph

    return random_graph(n, d, n_edges)


def _rates(quick: bool) -> Rates:
    from condrank.distributed import measure_rates

    return measure_rates(500, 4, 5_000) if quick else measure_rates(100_000, 32, 4_000_000)


def _timed(X: Any, columns: Any, steps: int) -> dict[str, float]:
    """Seconds to make the graph, to fit a ranker, and for as many iterations again on the prepared partitions."""
    made: list[Any] = []
    ranker = ConditionalRanker(tol=0.0, max_iter=steps)
    counting = seconds(lambda: made.append(RelationGraph.from_edges(X, *columns)))
    with cut_short():
        whole = counting + seconds(lambda: ranker.fit(made[0]))
        again: Callable[[], Any] = lambda: next(ranker.path([1.0]))  # noqa: E731
        return {"counting": counting, "whole": whole, "iterations": seconds(again)}


def _extrapolated(rates: Rates) -> list[Row]:
    rows = []
    for n_nodes, n_edges, n_workers in ((1e6, 1e8, 10), (1e7, 1e9, 30), (1e8, 1e10, 100)):
        for d in (32, 128):
            found = estimate(n_nodes, d, n_edges, n_workers, rates, threads=8)
            note = (
                f"sums {found.sums:.0f} s, partitions {found.partition:.0f} s, fetching {found.gather:.0f} s, "
                f"{found.n_iter} iterations of {found.iteration:.2g} s; {found.worker_memory / 2**30:.0f} GiB "
                f"a worker, {found.client_memory / 2**30:.1f} GiB the client; {found.moved / 2**40:.2g} TiB moved "
                f"before, {found.moved_iteration / 2**20:.0f} MiB an iteration; {found.n_partitions:,} partitions"
            )
            size = f"{n_nodes:.0e} nodes, {n_edges:.0e} edges, d={d}, {n_workers} workers of 8 threads"
            rows.append(Row("estimated fit", size, found.seconds, note=note))
    return rows
