"""Fits on worker processes, also after the loss of one."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

from condrank import ConditionalRanker, RelationGraph
from distributed import Client, LocalCluster
from reference_distributed import check_equal, columns_in_dask, in_dask, pair_of_graphs, table


@pytest.fixture(scope="module")
def client():
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=2, **options) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


class Killer:
    """Kills one of the worker processes after the third iteration of a fit."""

    def __init__(self, client):
        self.client, self.n_iter, self.killed = client, 0, None

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, X=None):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "iteration":
            self.n_iter += 1
            if self.n_iter == 3:
                self.killed = next(iter(self.client.run(os.getpid).values()))
                os.kill(self.killed, signal.SIGKILL)
        return False


@pytest.mark.parametrize(
    ("form", "relation", "loss"),
    [
        ("complete", "reciprocal", "ranking"),
        ("classes", "symmetric", "ranking"),
        ("edges", "ordinary", "ranking"),
        ("edges", "symmetric", "regression"),
    ],
)
def test_worker_processes_give_the_ranker_of_the_graph_in_memory(client, form, relation, loss):
    with client.as_current():
        check_equal(*pair_of_graphs(form), relation=relation, loss=loss)


def test_partitions_are_spread_over_the_workers(client):
    with client.as_current():
        _, graph = pair_of_graphs("edges")
        _ = graph.relation.facts
        held = client.has_what()
        counts = [sum("merged" in str(key) for key in keys) for keys in held.values()]
    assert len(counts) == 2
    assert abs(counts[0] - counts[1]) <= 1


def test_a_fit_survives_the_loss_of_a_worker(client):
    X, columns = table(seed=3)
    killer = Killer(client)
    with client.as_current():
        graph = RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))
        ranker = ConditionalRanker(alpha=0.01, tol=1e-11).set_callbacks(killer).fit(graph)
        alive = set(client.run(os.getpid).values())
    assert killer.killed not in alive
    assert ranker.n_iter_ > 3
    expected = ConditionalRanker(alpha=0.01, tol=1e-11).fit(RelationGraph.from_edges(X, *columns)).predict(X[:5])
    np.testing.assert_allclose(ranker.predict(X[:5]), expected, atol=1e-7 * np.abs(expected).max())
