"""Tasks on the scheduler that Dask has: a `dask.distributed` cluster if there is a client, threads otherwise.

Every task is made from Dask's lineage: no data is scattered that could not be made again, so workers may die at any
time, even all of them. The scheduler makes their results again as soon as there is a worker. A cluster without workers
raises `TimeoutError` after a time that ``condrank.workers-timeout`` in Dask's configuration sets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext, suppress
from time import monotonic, sleep
from typing import Any

from dask import base, config
from dask.delayed import Delayed, delayed
from dask.utils import parse_timedelta
from joblib import parallel_config

from condrank.base.measured import JOINED_RESULTS_PER_TASK

# How long a fit waits for a worker if the cluster has none.
WORKERS_TIMEOUT = "60s"
# Seconds between two checks of a cluster that has not finished, and seconds that the scheduler has to answer.
LOOK_EVERY, ANSWER_WITHIN = 0.5, 5.0
LOST = (
    "the scheduler no longer has the tasks of this fit: it was restarted, or the client was closed or disconnected; "
    "connect a new Client, make the graph again and fit again"
)


def shared(data: Any) -> Delayed:
    """Data of the client as a separate task. Many tasks can use it, and it is sent once."""
    return delayed(data, traverse=False)


def joined(tasks: Sequence[Delayed], join: Callable[[Sequence[Any]], Any] = sum) -> Delayed:
    """One task that joins the results of all, a few at a time, so that no worker has to hold all of them."""
    while len(tasks) > 1:
        starts = range(0, len(tasks), JOINED_RESULTS_PER_TASK)
        tasks = [delayed(join)(list(tasks[at : at + JOINED_RESULTS_PER_TASK])) for at in starts]
    return tasks[0]


def total(tasks: Sequence[Delayed], join: Callable[[Sequence[Any]], Any] = sum) -> Any:
    """The joined results of all tasks. They are joined on the cluster; only the final result comes to the client."""
    return compute([joined(tasks, join)])[0]


def compute(tasks: Sequence[Any]) -> list[Any]:
    """Results of tasks or of Dask collections, on the client.

    Raises
    ------
    TimeoutError
        The cluster has had no worker for ``condrank.workers-timeout``.
    ConnectionError
        The scheduler has lost the tasks: it was restarted, or the client was closed.
    """
    client = current_client()
    if client is None:
        return list(base.compute(*tasks))
    futures = client.compute(list(tasks))
    try:
        _wait(client, futures)
        return client.gather(futures)
    except CancelledError as error:
        raise ConnectionError(LOST) from error


def persist(tasks: Sequence[Delayed]) -> list[Delayed]:
    """Run tasks and keep their results where they were made. Returns tasks that refer to these results."""
    return list(base.persist(*tasks))


def current_client() -> Any:
    """The client of the cluster that Dask uses now; None if Dask runs tasks in its own threads or processes."""
    try:
        from distributed import Client
    except ImportError:
        return None
    owner = getattr(base.get_scheduler(), "__self__", None)
    return owner if isinstance(owner, Client) else None


def worker_threads() -> list[str]:
    """For each thread of the cluster the address of its worker; without a cluster, "" for each thread of this machine.

    Waits for the first worker of a cluster that has none yet, and raises as `compute` does.
    """
    client = current_client()
    if client is None:
        return [""] * (os.cpu_count() or 1)
    patience = _Patience()
    while not (threads := _threads(client)):
        patience.check(n_workers=0)
        sleep(LOOK_EVERY)
    return [address for address, count in sorted(threads.items()) for _ in range(count)]


def alive(places: Sequence[str]) -> list[str]:
    """The given addresses of workers, with "" for each worker that is gone. One call to the scheduler."""
    client = current_client()
    threads = {} if client is None else _threads(client)
    return [place if place in threads else "" for place in places]


@contextmanager
def preferably_at(worker: str) -> Iterator[None]:
    """Tasks made here run at a worker as long as there is one with that address, otherwise anywhere.

    Without this, the scheduler puts most partitions where the first of their data was. In every iteration all other
    workers then wait for one.
    """
    with base.annotate(workers=[worker], allow_other_workers=True) if worker else nullcontext():
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Loops that would start their own threads run in the one thread that a worker gives to a task."""
    with parallel_config(backend="sequential"):
        yield


class _Patience:
    """Raises `TimeoutError` if a cluster has no worker for ``condrank.workers-timeout``."""

    def __init__(self):
        given = config.get("condrank.workers-timeout", WORKERS_TIMEOUT)
        self.limit, self.seen = float(parse_timedelta(given)), monotonic()

    def check(self, n_workers: int) -> None:
        """Note how many workers there are now."""
        if n_workers:
            self.seen = monotonic()
        elif monotonic() - self.seen >= self.limit:
            raise TimeoutError(
                f"the Dask cluster has had no worker for {self.limit:g} s; start workers, or check that the scheduler "
                "can be reached, and fit again. To wait longer set condrank.workers-timeout in Dask's configuration"
            )


def _threads(client: Any) -> dict[str, int]:
    """Number of threads of each worker; none if the scheduler does not answer. A closed client is an error."""
    scheduler = client.scheduler
    if scheduler is None:
        raise ConnectionError(LOST)
    try:
        return dict(client.sync(scheduler.ncores, callback_timeout=ANSWER_WITHIN))
    except (OSError, RuntimeError):  # a closed connection or a timeout; the connections of a client that is closing
        return {}


def _wait(client: Any, futures: Sequence[Any]) -> None:
    """Return when all futures have a result or an error; free tasks that wait for a worker that is gone."""
    from distributed import wait

    patience = _Patience()
    while True:
        try:
            with client.as_current():
                wait(futures, timeout=LOOK_EVERY)
            return
        except TimeoutError:
            n_workers = len(_threads(client))
        patience.check(n_workers)
        if n_workers:
            with suppress(OSError):  # the scheduler has gone since: the next look waits for it
                client.run_on_scheduler(free_unrunnable)


def free_unrunnable(dask_scheduler: Any) -> None:
    """Let tasks run anywhere that may do so but wait for one worker; runs on the scheduler.

    If all workers are gone, a task is set aside as one that cannot run. Dask (2026.8) takes it up again only for a
    worker with the preferred address, although other workers are allowed: it would wait for ever.
    """
    waiting = [task for task in dask_scheduler.unrunnable if task.loose_restrictions]
    for task in waiting:
        task.worker_restrictions = None
    dask_scheduler.transitions({task.key: "processing" for task in waiting}, f"free-unrunnable-{monotonic()}")
