"""The running server: a socket, signals, and a watch on the model's file."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import os
import signal
import socket
from typing import Any

try:
    import uvicorn
except ModuleNotFoundError:
    raise ImportError("condrank.service needs uvicorn: pip install 'condrank[serve]'") from None

from condrank.service.holder import ModelHolder

MOST_CONNECTIONS = 1000


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; a ValueError says why there is none."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # The protocol is named because asyncio turns Nagle's algorithm off only on sockets that name TCP. It would hold
        # back the second part of an answer for 40 ms.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            if os.name == "posix":  # on other systems it would let two services share a port
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(1024)
        except OSError:
            listening.close()
            raise
        return listening
    except OSError as error:
        raise ValueError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def run(app: Any, holder: ModelHolder, listening: socket.socket, *, watch: float, grace: float) -> None:
    """Serve until SIGINT or SIGTERM; requests that began are answered first.

    Parameters
    ----------
    app : ASGI application
        Made by `condrank.service.create_app`.
    holder : ModelHolder
        Its model, loaded again on SIGHUP.
    listening : socket
        Made by `listen`.
    watch : float
        Seconds between checks of the model's file, which is loaded again if it changed; 0: never.
    grace : float
        Seconds that running requests have to finish at the end.
    """
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    # A model has a few Python objects for each node. Garbage collection would check all of them again and again, and
    # delay requests.
    gc.collect()
    gc.freeze()
    # uvicorn sends itself the signal that ended it again, for the handlers from before. There is nothing left to do.
    before = {one: signal.signal(one, lambda *_: None) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        asyncio.run(_serve(uvicorn.Server(config), holder, listening, watch))
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


async def _serve(server: uvicorn.Server, holder: ModelHolder, listening: socket.socket, watch: float) -> None:
    loop = asyncio.get_running_loop()
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, lambda: loop.run_in_executor(None, holder.reload))
    watching = asyncio.create_task(_watch(holder, watch)) if watch > 0 else None
    await server.serve(sockets=[listening])
    if watching is not None:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching


async def _watch(holder: ModelHolder, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        if holder.changed():
            await asyncio.to_thread(holder.reload)
