"""Bounds of what one request may ask for."""

from __future__ import annotations

from dataclasses import dataclass

from condrank.base.checks import check_count, check_number


@dataclass(frozen=True)
class Limits:
    """Bounds of a request, and of all requests together.

    Attributes
    ----------
    body : int
        Most bytes of a request's body.
    k : int
        Most places of a ranking.
    queries : int
        Most conditioning nodes of a request; it may score ten times as many pairs.
    added : int
        Most objects that requests may add to those of the model.
    seconds : float
        Time that a request may take from its last byte to the answer, and that its body may take to arrive.
    workers : int
        Threads that compute.
    waiting : int
        Requests that may wait for a thread; further ones are refused. Clients take turns.
    head : float
        Seconds in which the head of a request (its first line and headers) must arrive, and in each of which a client
        must take 64 KiB of its answer. Kept by `condrank serve` only.
    connections, per_client : int
        Most open connections of all clients, and of one. One more closes the connection that waits longest for its
        client. Kept by `condrank serve` only.
    """

    body: int = 1 << 20
    k: int = 1000
    queries: int = 100
    seconds: float = 10.0
    workers: int = 1
    waiting: int = 64
    head: float = 10.0
    connections: int = 1000
    per_client: int = 250
    added: int = 10_000

    def __post_init__(self) -> None:
        for name in ("body", "k", "queries", "workers", "connections", "per_client", "added"):
            check_count(name, getattr(self, name))
        check_count("waiting", self.waiting, at_least=0)
        for name in ("seconds", "head"):
            check_number(name, getattr(self, name), above=0.0)

    @property
    def pairs(self) -> int:
        """Most pairs of a request."""
        return 10 * self.queries
