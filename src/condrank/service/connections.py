"""Which connections may stay when there are too many, so that no client can shut the others out."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from condrank.service.limits import Limits

MOST_UNREAD = 1 << 28  # bytes of answers that clients have not taken yet
REASONS = ("head", "body", "answer", "idle", "room", "unread", "refused")


class Connection(Protocol):
    """What `Connections` must know about a connection."""

    @property
    def unread(self) -> int:
        """Bytes of answers that the client has not taken yet."""
        ...

    def drop(self) -> None:
        """Close the connection at once."""
        ...


class Connections:
    """The open connections of a service.

    A connection *waits* if its client is to act: to send the rest of a request, to take an answer, or to ask again. A
    new connection beyond a limit closes the one that waits longest: of its own client if that has too many connections,
    otherwise of the client that has the most. It is refused only if none waits. Requests that are complete are never
    dropped. All methods are called in the event loop and cost O(1), or O(clients) if the service is full.

    Parameters
    ----------
    limits : Limits
        Most connections, of all clients and of one.

    Attributes
    ----------
    dropped : Counter
        How many connections were closed for each of ``REASONS``: the client was too slow with this part of a request
        ("head", "body", "answer", "idle"), another connection needed the "room", too many bytes of answers were
        "unread", or the connection was "refused" because none waited.
    """

    def __init__(self, limits: Limits):
        self.most, self.per_client = limits.connections, limits.per_client
        self.dropped: Counter[str] = Counter()
        self._client: dict[Connection, str] = {}
        self._count: Counter[str] = Counter()
        self._waiting: dict[str, dict[Connection, None]] = {}  # by client, the longest wait first
        self._unread: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._client)

    def enter(self, one: Connection, client: str) -> bool:
        """Whether a new connection may stay. If so, it waits."""
        crowded = None
        if self._count[client] >= self.per_client:
            crowded = client
        elif len(self) >= self.most:
            sizes = {other: self._count[other] + (other == client) for other in self._waiting}
            crowded = max(sizes, key=sizes.__getitem__, default=client)
        if crowded is not None:
            oldest = next(iter(self._waiting.get(crowded, ())), None)
            if oldest is None:
                self.dropped["refused"] += 1
                return False
            self.drop(oldest, "room")
        self._client[one] = client
        self._count[client] += 1
        self.wait(one)
        return True

    def wait(self, one: Connection) -> None:
        """Its client is to act from now on."""
        client = self._client.get(one)
        if client is not None:
            waiting = self._waiting.setdefault(client, {})
            waiting.pop(one, None)
            waiting[one] = None
            self._unread.pop(one, None)

    def work(self, one: Connection) -> None:
        """The service is to act: a request is complete."""
        client = self._client.get(one)
        if client is not None and client in self._waiting:
            self._waiting[client].pop(one, None)
            if not self._waiting[client]:
                del self._waiting[client]
        self._unread.pop(one, None)

    def send(self, one: Connection) -> None:
        """Its client is to take an answer. If too many bytes are not taken, the oldest answers are dropped."""
        self.wait(one)
        if one in self._client:
            self._unread[one] = None
            total = sum(other.unread for other in self._unread)
            for other in list(self._unread):
                if total <= MOST_UNREAD:
                    break
                total -= other.unread
                self.drop(other, "unread")

    def drop(self, one: Connection, reason: str) -> None:
        """Close a connection, and count why."""
        if one in self._client:
            self.dropped[reason] += 1
        self.leave(one)
        one.drop()

    def leave(self, one: Connection) -> None:
        """A connection ended."""
        if one in self._client:
            self.work(one)
            client = self._client.pop(one)
            self._count[client] -= 1
            if not self._count[client]:
                del self._count[client]
