"""HTTP over a connection whose client must not stall: `deadlines` makes the protocol class that uvicorn uses.

uvicorn has a time limit only for connections between two requests. Here every part of a request has one: the head (the
first line and the headers), the body, and taking the answer. The time of a part counts from its beginning, so sending a
byte now and then does not prolong it.

The parser is always h11, which uvicorn brings along: it bounds the size of a head, httptools does not.
"""

from __future__ import annotations

import asyncio
from enum import Enum
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from condrank.service.clients import client_of
from condrank.service.connections import Connections
from condrank.service.guard import HEADERS
from condrank.service.limits import Limits
from condrank.service.refusals import refusal

KEEP_ALIVE = 30.0  # seconds that a connection may stay open without a request
LEAST_TAKEN = 1 << 16  # bytes of an answer that a client must take in each time limit
GRACE = 1.0  # seconds; the guard answers a late body itself, this is for the case that the client does not go then


class Part(Enum):
    """What a connection is at."""

    HEAD = "head"
    BODY = "body"
    WORK = "work"
    ANSWER = "answer"
    IDLE = "idle"


def deadlines(limits: Limits, connections: Connections) -> type[H11Protocol]:
    """The protocol class of one server.

    Parameters
    ----------
    limits : Limits
        Seconds of the parts of a request.
    connections : Connections
        Where its connections are counted.
    """
    parts = {
        Part.HEAD: limits.head,
        Part.BODY: limits.seconds + GRACE,
        Part.ANSWER: limits.head,
        Part.IDLE: KEEP_ALIVE + GRACE,
    }
    return type("Deadlines", (_Deadlines,), {"room": connections, "seconds": parts})


class _Deadlines(H11Protocol):
    room: Connections
    seconds: dict[Part, float]
    part = Part.WORK  # until the connection is made
    timer: asyncio.TimerHandle | None = None
    last_unread = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if self.room.enter(self, client_of(self.client)):
            self._look()
        else:
            self._refuse(503, "too many connections; try again")

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._set_timer(None)
        self.room.leave(self)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, in the form of all other refusals."""
        if self.cycle is None or self.cycle.response_complete:
            self._refuse(400, "the request is not HTTP that can be read")
        else:  # an answer is on its way
            self.transport.close()

    @property
    def unread(self) -> int:
        return self.transport.get_write_buffer_size()

    def drop(self) -> None:
        self._set_timer(None)
        if self.unread:
            self.transport.abort()  # close would wait until the client takes the rest
        else:
            self.transport.close()

    def _look(self) -> None:
        """Note what the connection is at. If that changed, its time begins."""
        part = self._now()
        if part is self.part or (self.transport.is_closing() and not self.unread):
            return
        self.part = part
        if part is Part.WORK:
            self.room.work(self)
        elif part is Part.ANSWER:
            self.last_unread = self.unread
            self.room.send(self)
        else:
            self.room.wait(self)
        self._set_timer(self.seconds.get(part))

    def _now(self) -> Part:
        if self.conn.their_state is h11.SEND_BODY:
            return Part.BODY
        if self.unread:
            return Part.ANSWER
        if self.conn.their_state is h11.IDLE:
            return Part.HEAD if self.cycle is None or self.conn.trailing_data[0] else Part.IDLE
        return Part.WORK

    def _set_timer(self, seconds: float | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None if seconds is None else self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        """The time of a part is over."""
        before = self.part
        self._look()
        if self.part is not before:  # the client took the whole answer, which nothing reports
            return
        if self.part is Part.ANSWER and self.unread <= self.last_unread - LEAST_TAKEN:
            self.last_unread = self.unread
            self._set_timer(self.seconds[Part.ANSWER])
            return
        if self.part is Part.HEAD and self.conn.trailing_data[0]:
            message = f"the head of the request did not arrive within {self.seconds[Part.HEAD]:g} s"
            self.transport.write(_as_bytes(408, message, "head_too_slow"))
        self.room.drop(self, self.part.value)

    def _refuse(self, status: int, message: str) -> None:
        self.transport.write(_as_bytes(status, message))
        self.transport.close()


def _as_bytes(status: int, message: str, code: str | None = None) -> bytes:
    """A refusal as it is sent, for requests that do not reach the application."""
    answer = refusal(status, message, code, HEADERS)
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(), b"connection: close"]
    lines += [name + b": " + value for name, value in answer.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(answer.body)])
