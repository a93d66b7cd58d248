"""Threads that compute, with a bounded queue and a time limit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from condrank.service.limits import Limits
from condrank.service.refusals import Refusal

T = TypeVar("T")


class Work:
    """A pool of threads that refuses work instead of letting it pile up.

    Parameters
    ----------
    limits : Limits
        Threads, waiting requests and seconds.
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="condrank")
        self._room = threading.BoundedSemaphore(limits.workers + limits.waiting)

    async def run(self, job: Callable[..., T], *arguments: Any) -> T:
        """The result of a job; refused with 503 if too many requests wait, and with 504 if it takes too long.

        A thread cannot be stopped: a job that began ends by itself, and keeps its place until then.
        """
        if not self._room.acquire(blocking=False):
            raise Refusal(503, f"{self.limits.waiting} requests are waiting already; try again")
        try:
            future: Future[T] = self._pool.submit(job, *arguments)
        except RuntimeError:
            self._room.release()
            raise Refusal(503, "the service is shutting down") from None
        future.add_done_callback(lambda _: self._room.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limits.seconds)
        except TimeoutError:
            raise Refusal(504, f"took longer than {self.limits.seconds:g} s; ask for less at a time") from None

    def close(self) -> None:
        """Take no more work, and drop the jobs that wait."""
        self._pool.shutdown(wait=False, cancel_futures=True)
