"""Threads that compute, with a bounded queue, turns for clients and a time limit."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from condrank.service.limits import Limits
from condrank.service.refusals import Refusal

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Job:
    """A job that waits for its turn; the turn gives the future of its result."""

    client: str
    run: Callable[[], Any]
    turn: Future[Future[Any]] = field(default_factory=Future)


class Work:
    """A pool of threads that refuses work instead of letting it pile up.

    Clients take turns: a free thread takes the oldest job of the client that has waited longest for a turn. If all
    places are taken, the client with the most waiting jobs loses its newest one to a client with fewer. So a client
    that floods the service delays another one by the jobs that run and one that waits, and takes no place from it.

    Parameters
    ----------
    limits : Limits
        Threads, waiting requests and seconds.
    """

    def __init__(self, limits: Limits):
        self.limits = limits
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="condrank")
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[_Job]] = {}  # jobs by client; the first client has the next turn
        self._running = 0

    async def run(self, client: str, job: Callable[..., T], *arguments: Any) -> T:
        """The result of a job; refused with 503 if too many requests wait, and with 504 if it takes too long.

        A thread cannot be stopped: a job that began ends by itself, and keeps its place until then.

        Parameters
        ----------
        client : str
            Who asks.
        job : callable
            What a thread calls with the arguments.
        *arguments
            Arguments of the job.
        """
        one = _Job(client, partial(job, *arguments))
        lost = self._enter(one)
        if lost is not None and lost.turn.set_running_or_notify_cancel():
            lost.turn.set_exception(self._full())
        self._start()
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await asyncio.wrap_future(await asyncio.wrap_future(one.turn))
        except TimeoutError:
            raise Refusal(504, f"took longer than {self.limits.seconds:g} s; ask for less at a time") from None
        finally:
            self._forget(one)

    def close(self) -> None:
        """Take no more work, and drop the jobs that wait."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _full(self) -> Refusal:
        return Refusal(503, f"{self.limits.waiting} requests are waiting already; try again")

    def _enter(self, one: _Job) -> _Job | None:
        """Let a job wait. The result is the job that lost its place for it, if any."""
        with self._lock:
            lost, taken = None, self._running + sum(map(len, self._waiting.values()))
            if taken >= self.limits.workers + self.limits.waiting:
                longest = max(self._waiting.values(), key=len, default=deque[_Job]())
                if len(longest) <= len(self._waiting.get(one.client, ())) + 1:
                    raise self._full()
                lost = longest.pop()
            self._waiting.setdefault(one.client, deque()).append(one)
            return lost

    def _forget(self, one: _Job) -> None:
        """Remove a job that still waits although nobody wants its result any more."""
        with self._lock:
            jobs = self._waiting.get(one.client)
            if jobs is not None and one in jobs:
                jobs.remove(one)
                if not jobs:
                    del self._waiting[one.client]

    def _start(self) -> None:
        """Give free threads to the jobs that are next."""
        while (one := self._next()) is not None:
            if not one.turn.set_running_or_notify_cancel():
                self._ended()
                continue
            try:
                result = self._pool.submit(one.run)
            except RuntimeError:
                one.turn.set_exception(Refusal(503, "the service is shutting down"))
                self._ended()
                continue
            one.turn.set_result(result)
            result.add_done_callback(self._go_on)

    def _next(self) -> _Job | None:
        """The next job for a free thread; its client goes to the end of the turns."""
        with self._lock:
            if self._running >= self.limits.workers or not self._waiting:
                return None
            client = next(iter(self._waiting))
            jobs = self._waiting.pop(client)
            one = jobs.popleft()
            if jobs:
                self._waiting[client] = jobs
            self._running += 1
            return one

    def _ended(self) -> None:
        with self._lock:
            self._running -= 1

    def _go_on(self, _: Future[Any]) -> None:
        self._ended()
        self._start()
