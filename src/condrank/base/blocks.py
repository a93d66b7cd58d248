"""Blocks of rows: large results are made, used and freed one block at a time, in threads if that is faster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from functools import cache
from importlib import import_module
from threading import Lock, local
from typing import Any

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from condrank.base.measured import BLOCK_ENTRIES, CACHED_SQUARE_ROWS


def row_blocks(n_rows: int, row_size: int, budget: int = BLOCK_ENTRIES) -> Iterator[slice]:
    """Slices that cover ``range(n_rows)``, each with at most ``budget`` entries but at least one row."""
    step = max(1, budget // max(1, row_size))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def squares_below(n: int, side: int = CACHED_SQUARE_ROWS) -> tuple[list[slice], list[slice]]:
    """Rows and columns of squares that cover an n×n matrix on and below its diagonal, small enough for the cache."""
    blocks = list(row_blocks(n, row_size=1, budget=side))
    pairs = [(rows, cols) for number, rows in enumerate(blocks) for cols in blocks[: number + 1]]
    return [rows for rows, _ in pairs], [cols for _, cols in pairs]


def by_rows(A: np.ndarray) -> np.ndarray:
    """A in C order; no copy if it already is. A matrix in Fortran order is copied in squares that fit the cache."""
    if A.flags.c_contiguous or not A.flags.f_contiguous:
        return np.ascontiguousarray(A)
    out = np.empty(A.shape, dtype=A.dtype)
    for rows in row_blocks(A.shape[0], 1, budget=CACHED_SQUARE_ROWS):
        for cols in row_blocks(A.shape[1], 1, budget=CACHED_SQUARE_ROWS):
            out[rows, cols] = A[rows, cols]
    return out


@cache
def n_processors() -> int:
    """Number of threads to use: the processors that this process may use, but at most ``OMP_NUM_THREADS``.

    joblib sets this variable in its worker processes, which share the processors.
    """
    most = os.environ.get("OMP_NUM_THREADS", "")
    return min(cpu_count(), int(most)) if most.isdigit() and int(most) else cpu_count()


def in_threads(work: Callable[..., Any], *arguments: Iterable[Any], products: bool = False) -> None:
    """Call ``work`` once for each argument (or each tuple of arguments), in threads if there are several.

    For work that releases the GIL. ``products`` says that the work makes matrix products. Each product then gets one
    thread, because its own threads would compete with ours.
    """
    calls = list(zip(*arguments, strict=True))
    if len(calls) <= 1 or n_processors() == 1 or hasattr(_thread, "is_ours"):
        for call in calls:
            work(*call)
        return
    futures: list[Future[Any]] = []
    with one_thread_a_product() if products else nullcontext():
        try:
            for call in calls:
                try:
                    # In the context of the caller, so that its np.errstate holds.
                    futures.append(_pool(n_processors()).submit(copy_context().run, work, *call))
                except RuntimeError:  # the interpreter is shutting down and accepts no more work for threads
                    work(*call)
            for future in futures:
                future.result()
        finally:
            for future in futures:
                future.cancel()
            wait(futures)


# Threads are kept, because starting two and touching their new memory takes longer than much of their work.
_pools: dict[int, ThreadPoolExecutor] = {}
_thread = local()


def _pool(n_threads: int) -> ThreadPoolExecutor:
    return _pools.get(n_threads) or _pools.setdefault(n_threads, ThreadPoolExecutor(n_threads, "condrank", _mark))


def _mark() -> None:
    """Mark our threads: work inside them runs its own blocks directly, as it would wait for threads that are busy."""
    _thread.is_ours = True


def _forget() -> None:
    """Drop the pools in a forked process, which has none of its parent's threads."""
    global _limit
    _pools.clear()
    _limit = _Limit()


class _Limit:
    """One limit for all callers, from the first that begins to the last that ends."""

    def __init__(self) -> None:
        self.lock, self.n_callers, self.limit = Lock(), 0, None

    def begin(self) -> None:
        with self.lock:
            if not self.n_callers:
                self.limit = _libraries().limit(limits=1, user_api="blas")
            self.n_callers += 1

    def end(self) -> None:
        with self.lock:
            self.n_callers -= 1
            if not self.n_callers and self.limit is not None:
                self.limit.restore_original_limits()


_limit = _Limit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextmanager
def one_thread_a_product() -> Iterator[None]:
    """Limit BLAS to one thread, while our own threads do the work.

    Threads of BLAS that wait for the next product do not sleep for some ten milliseconds: they take time from ours.
    """
    _limit.begin()
    try:
        yield
    finally:
        _limit.end()


@cache
def _libraries() -> ThreadpoolController:
    """The linear algebra libraries of NumPy and SciPy. Looking for them takes milliseconds, so it is done once."""
    import_module("scipy.linalg")  # so that its library is found, even if nobody has used it yet
    return ThreadpoolController()
