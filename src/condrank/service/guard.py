"""Checks of every request (host, token, size of the body), and headers and counts of every answer."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Sequence
from typing import Any

from pydantic import SecretStr
from starlette.datastructures import Headers, MutableHeaders

from condrank.service.limits import Limits
from condrank.service.metrics import Metrics
from condrank.service.refusals import Refusal, refusal

OPEN = ("/", "/docs", "/health")  # need no token: without it they show nothing of the nodes but how many there are
TRUSTED = "condrank.trusted"  # in the scope of a request: whether it brought the token, or needs none
GONE = 499  # counted if a client went away, as other servers do
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """ASGI middleware: refuses requests that may not pass, and passes on the others with their whole body.

    Parameters
    ----------
    app : ASGI application
        The application that answers.
    limits : Limits
        Size of a body, and how long it may take to arrive.
    metrics : Metrics
        Where requests are counted.
    token : SecretStr, optional
        Bearer token that requests must bring.
    hosts : sequence of str, optional
        Host names that requests may use; by default any. A page of another site can make a browser take its name for
        this machine (DNS rebinding); its requests still carry that name, and are refused.
    """

    def __init__(
        self,
        app: Any,
        limits: Limits,
        metrics: Metrics,
        token: SecretStr | None = None,
        hosts: Sequence[str] | None = None,
    ):
        self.app, self.limits, self.metrics = app, limits, metrics
        self.token = token
        self.hosts = None if hosts is None else {host.lower() for host in hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def send_on(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        self.metrics.running.inc()
        try:
            try:
                self._check(scope)
                body = await self._body(scope, receive)
            except Refusal as error:
                await refusal(error.status, error.message, error.code)(scope, receive, send_on)
            else:
                if body is None:
                    status = GONE
                else:
                    await self.app(scope, _replayed(body, receive), send_on)
        finally:
            self.metrics.running.dec()
            route = getattr(scope.get("route"), "path_format", "other")
            self.metrics.observe(route, scope["method"], status, time.perf_counter() - start)

    def _check(self, scope: Any) -> None:
        headers = Headers(scope=scope)
        if self.hosts is not None:
            host = headers.get("host", "").lower()
            name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
            if name not in self.hosts:
                raise Refusal(403, "the service is not known by this host name; --allow-host adds names")
        scope[TRUSTED] = self.token is None or _brings(headers.get("authorization", ""), self.token)
        if not scope[TRUSTED] and scope["path"] not in OPEN:
            raise Refusal(401, "a token is needed: Authorization: Bearer <token>")

    async def _body(self, scope: Any, receive: Any) -> bytes | None:
        """The whole body, or None if the client went away; a body that is too long is not read to its end."""
        most = self.limits.body
        length = Headers(scope=scope).get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > most:
            raise Refusal(413, f"the body has {length[:20]} bytes, expected at most {most}")
        parts, size, more = [], 0, True
        try:
            async with asyncio.timeout(self.limits.seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    parts.append(message.get("body", b""))
                    size, more = size + len(parts[-1]), message.get("more_body", False)
                    if size > most:
                        raise Refusal(413, f"the body has more than {most} bytes")
        except TimeoutError:
            raise Refusal(408, f"the body did not arrive within {self.limits.seconds:g} s") from None
        return b"".join(parts)


def _brings(authorization: str, token: SecretStr) -> bool:
    """Whether a header has the token; takes the same time for all wrong ones."""
    kind, _, given = authorization.partition(" ")
    is_right = hmac.compare_digest(given.strip().encode(), token.get_secret_value().encode())
    return kind.lower() == "bearer" and is_right


def _replayed(body: bytes, receive: Any) -> Any:
    """A receive function for a body that was read already."""
    pending = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return pending.pop() if pending else await receive()

    return again
