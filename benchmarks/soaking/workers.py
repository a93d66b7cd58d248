"""A fit on a Dask cluster whose workers are killed: it ends with the scores of a fit without Dask."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.soaking.trials import Found
from condrank import ConditionalRanker, RelationGraph

N, EDGES = 60, 1500
OPTIONS: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50, "host": "127.0.0.1"}


class Killer:
    """A callback of scikit-learn that kills some workers after one of the iterations; their nannies start new ones."""

    def __init__(self, client: Any, iteration: int, share: float):
        self.client, self.iteration, self.share = client, iteration, share
        self.n_iter, self.killed = 0, 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Called before a fit."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Called after a fit."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **more: Any) -> None:
        """Called before each task of a fit."""

    def on_fit_task_end(self, estimator: Any, context: Any, **more: Any) -> bool:
        """Count iterations, and kill after the one that was chosen."""
        if context.task_name == "iteration":
            self.n_iter += 1
            if self.n_iter == self.iteration:
                there = sorted(self.client.run(os.getpid).values())
                for process in there[: max(1, round(self.share * len(there)))]:
                    os.kill(process, signal.SIGKILL)
                    self.killed += 1
        return False


def lost(seed: int, folder: Path, found: Found) -> None:
    """Kill one or all of two workers in some iteration of a fit."""
    import dask.array as da

    from distributed import Client, LocalCluster

    rng = np.random.default_rng(seed)
    X, ends, values = rng.normal(size=(N, 3)), rng.integers(0, N, (2, EDGES)), rng.normal(size=EDGES)
    expected = ConditionalRanker(alpha=0.01, tol=1e-11).fit(RelationGraph.from_edges(X, *ends, values)).predict(X[:5])
    with LocalCluster(n_workers=2, **OPTIONS) as cluster, Client(cluster) as client:
        killer = Killer(client, int(rng.integers(1, 6)), float(rng.choice([0.5, 1.0])))
        columns = [da.from_array(one, chunks=300) for one in (*ends, values)]
        graph = RelationGraph.from_edges(da.from_array(X, chunks=(17, 2)), *columns)
        ranker = ConditionalRanker(alpha=0.01, tol=1e-11).set_callbacks(killer).fit(graph)
        scores = ranker.predict(X[:5])
    assert killer.killed, "no worker was killed"
    np.testing.assert_allclose(scores, expected, atol=1e-7 * np.abs(expected).max())
