"""Tasks on whatever scheduler Dask has: a `dask.distributed` cluster where there is a client, threads otherwise.

Every task is made of Dask's lineage and nothing else: no data is scattered that could not be made again, so that a
worker may die at any time. The scheduler then makes again what that worker held, and nothing of it is seen here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from dask import base
from dask.delayed import Delayed, delayed
from joblib import parallel_config

from condrank.base.measured import JOINED_RESULTS_PER_TASK


def shared(data: Any) -> Delayed:
    """Data of the client as a task of its own, so that many tasks can use it and it is sent once."""
    return delayed(data, traverse=False)


def joined(tasks: Sequence[Delayed], join: Callable[[Sequence[Any]], Any] = sum) -> Delayed:
    """One task that has the results of all joined, a few at a time, so that no worker has to hold them all."""
    while len(tasks) > 1:
        starts = range(0, len(tasks), JOINED_RESULTS_PER_TASK)
        tasks = [delayed(join)(list(tasks[at : at + JOINED_RESULTS_PER_TASK])) for at in starts]
    return tasks[0]


def total(tasks: Sequence[Delayed], join: Callable[[Sequence[Any]], Any] = sum) -> Any:
    """The results of all tasks joined on the cluster; only the last result comes to the client."""
    return compute([joined(tasks, join)])[0]


def compute(tasks: Sequence[Delayed]) -> list[Any]:
    """Results of tasks, on the client."""
    return list(base.compute(*tasks))


def persist(tasks: Sequence[Delayed]) -> list[Delayed]:
    """Run tasks and keep their results where they were made; the tasks that stand for them are given back."""
    return list(base.persist(*tasks))


def worker_threads() -> list[str]:
    """Address of the worker of each thread of the cluster in use; of this machine's threads, an empty name."""
    try:
        from distributed import get_client

        threads: Any = get_client().nthreads()
        return [address for address, count in sorted(threads.items()) for _ in range(count)]
    except (ImportError, ValueError):  # not installed, or no client
        return [""] * (os.cpu_count() or 1)


@contextmanager
def preferably_at(worker: str) -> Iterator[None]:
    """Tasks made here run at a worker as long as there is one of that address, otherwise anywhere.

    Left to itself the scheduler puts most partitions where the first of their data was, and the others wait for one
    worker in every iteration.
    """
    with base.annotate(workers=[worker], allow_other_workers=True) if worker else nullcontext():
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Loops that would start threads of their own run in the one that a worker gives to a task."""
    with parallel_config(backend="sequential"):
        yield
