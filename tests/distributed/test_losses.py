"""Fits on a cluster that loses all its workers, has none, or loses its scheduler."""

from __future__ import annotations

import os
import signal
from threading import Thread, Timer
from time import monotonic

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

import dask
from dask.delayed import delayed

from condrank import ConditionalRanker, RelationGraph
from condrank.distributed.cluster import alive, compute, preferably_at, worker_threads
from distributed import Client, LocalCluster
from reference_distributed import columns_in_dask, in_dask, table

GONE = "tcp://127.0.0.1:1"  # no worker has this address
OPTIONS = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50, "host": "127.0.0.1"}


@pytest.fixture(autouse=True)
def default_scheduler():
    """A client that loses its scheduler does not take back that Dask should use it."""
    with dask.config.set(scheduler=None):
        yield


@pytest.fixture(scope="module")
def client():
    with LocalCluster(n_workers=2, **OPTIONS) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def empty_cluster():
    with LocalCluster(n_workers=0, processes=False, protocol="tcp://", **OPTIONS) as cluster, Client(cluster) as client:
        yield cluster, client


class KillAll:
    """Kills all worker processes after one of the iterations of a fit; their nannies start new ones."""

    def __init__(self, client, iteration=3):
        self.client, self.iteration, self.n_iter, self.killed = client, iteration, 0, set()

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, X=None):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name == "iteration":
            self.n_iter += 1
            if self.n_iter == self.iteration:
                self.killed = set(self.client.run(os.getpid).values())
                for process in self.killed:
                    os.kill(process, signal.SIGKILL)
        return False


def within(seconds, client, work):
    """What ``work()`` returns with a client in use; fails if it takes longer, instead of waiting for ever."""

    def run():
        with client.as_current():
            found.append(work())

    found = []
    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, f"no result within {seconds} s"
    return found[0]


def check_fit_that_loses_all(client, seed, iteration):
    X, columns = table(seed)
    killer = KillAll(client, iteration)
    client.wait_for_workers(2, timeout=60)

    def fit():
        graph = RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))
        return ConditionalRanker(alpha=0.01, tol=1e-11).set_callbacks(killer).fit(graph)

    ranker = within(120, client, fit)
    assert len(killer.killed) == 2
    assert not killer.killed & set(client.run(os.getpid).values())
    assert ranker.n_iter_ > iteration
    expected = ConditionalRanker(alpha=0.01, tol=1e-11).fit(RelationGraph.from_edges(X, *columns)).predict(X[:5])
    found = within(60, client, lambda: ranker.predict(X[:5]))
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_a_fit_survives_the_loss_of_all_workers(client):
    check_fit_that_loses_all(client, seed=3, iteration=3)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(10))
def test_a_fit_survives_every_loss_of_all_workers(client, number):
    check_fit_that_loses_all(client, seed=number, iteration=1 + number % 5)


@pytest.mark.slow
def test_a_graph_is_fitted_again_after_all_workers_were_replaced(client):
    X, columns = table(seed=4)
    client.wait_for_workers(2, timeout=60)
    graph = within(60, client, lambda: RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns)))
    first = within(60, client, lambda: ConditionalRanker(tol=1e-11).fit(graph).coef_)
    for process in client.run(os.getpid).values():
        os.kill(process, signal.SIGKILL)
    again = within(120, client, lambda: ConditionalRanker(tol=1e-11).fit(graph).coef_)
    np.testing.assert_allclose(again, first, atol=1e-9)


def test_a_task_that_prefers_a_lost_worker_runs_on_the_next_one(empty_cluster):
    cluster, client = empty_cluster
    with preferably_at(GONE):
        task = delayed(sum)([1, 2])
    timer = Timer(1, cluster.scale, [1])
    timer.start()
    assert within(60, client, lambda: compute([task])) == [3]
    timer.join()


def test_only_workers_that_are_alive_are_preferred(empty_cluster):
    cluster, client = empty_cluster
    cluster.scale(1)
    threads = within(60, client, worker_threads)
    assert threads == [*client.nthreads()]
    assert alive([threads[0], GONE, threads[0]]) == [threads[0], "", threads[0]]


@pytest.mark.parametrize("work", [worker_threads, lambda: compute([delayed(sum)([1, 2])])])
def test_a_cluster_without_workers_is_an_error_after_the_timeout(empty_cluster, work):
    start = monotonic()
    with dask.config.set({"condrank.workers-timeout": "1s"}), pytest.raises(TimeoutError, match="no worker for 1 s"):
        work()
    assert 1 <= monotonic() - start < 15


def test_a_fit_without_workers_is_an_error_after_the_timeout(empty_cluster):
    X, columns = table()
    with dask.config.set({"condrank.workers-timeout": "1s"}), pytest.raises(TimeoutError, match="start workers"):
        RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))


def test_a_lost_scheduler_is_an_error(empty_cluster):
    cluster, _ = empty_cluster
    timer = Timer(0.5, cluster.close)
    timer.start()
    with dask.config.set({"condrank.workers-timeout": "20s"}), pytest.raises(ConnectionError, match="fit again"):
        compute([delayed(sum)([1, 2])])
    timer.join()


def test_errors_of_tasks_stay_what_they_are(client):
    with client.as_current(), pytest.raises(ZeroDivisionError):
        compute([delayed(divmod)(1, 0)])
