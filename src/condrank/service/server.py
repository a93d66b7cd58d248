"""The running server: a socket, signals, and a watch on the model's file."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

try:
    import uvicorn
except ModuleNotFoundError:
    raise ImportError("condrank.service needs uvicorn: pip install 'condrank[serve]'") from None

from condrank.service.connections import Connections
from condrank.service.holder import ModelHolder
from condrank.service.limits import Limits
from condrank.service.logs import bounded_logs
from condrank.service.protocol import KEEP_ALIVE, deadlines

ACCEPTED = 4  # connections taken at a time; those that came with data are read in between
QUEUED = 1024  # connections that the system may hold until they are taken
OTHER_FILES = 64  # files that are open besides connections
SWITCH = 0.001  # seconds after which a thread that computes lets the event loop run; the default of Python is 0.005
COLLECTIONS = 5_000, 50, 100  # new objects before garbage is collected, and so on; the default is 700, 10, 10

log = logging.getLogger("condrank.service")


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
            listening.listen(QUEUED)
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


def run(
    app: Any,
    holder: ModelHolder,
    listening: socket.socket,
    *,
    watch: float,
    grace: float,
    ready: Callable[[], None] = lambda: None,
) -> None:
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
    ready : callable
        Called when signals are heard: from then on none is lost.
    """
    limits: Limits = app.state.limits
    connections: Connections = app.state.connections
    _allow_files(connections)
    config = uvicorn.Config(
        app,
        http=deadlines(limits, connections),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        backlog=ACCEPTED,
        timeout_keep_alive=round(KEEP_ALIVE),
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    server = _Server(config)
    with bounded_logs(), _rare_collections(), _quick_switches(), _signals_heard(server) as reload:
        ready()
        asyncio.run(_serve(server, holder, listening, watch, reload))


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and let the system hold more connections than asyncio takes at a time."""
        await super().startup(sockets)
        for one in sockets or []:
            one.listen(QUEUED)


def _allow_files(connections: Connections) -> None:
    """Let the process open a file for each connection; where the system does not, lower the number of connections."""
    try:
        import resource
    except ImportError:  # a system without such a limit
        return
    needed = connections.most + ACCEPTED + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < needed:
        connections.most = max(1, allowed - ACCEPTED - OTHER_FILES)
        log.warning("the system allows %d open files: at most %d connections", allowed, connections.most)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect garbage less often: it delays requests.

    A model has a few Python objects for each node, which need not be checked again and again. A body of many small
    lists takes several times as long to read if they are checked while it is read.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def _quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _signals_heard(server: uvicorn.Server) -> Iterator[Event]:
    """Hear signals that come before the event loop does: end the server, or set the event that is given on SIGHUP.

    Uvicorn sends the signal that ended it once more, for the handlers from before. It then changes nothing.
    """
    reload = Event()

    def end(*_: Any) -> None:
        server.should_exit = True

    before = {one: signal.signal(one, end) for one in (signal.SIGINT, signal.SIGTERM)}
    if hasattr(signal, "SIGHUP"):
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, lambda *_: reload.set())
    try:
        yield reload
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


async def _serve(
    server: uvicorn.Server, holder: ModelHolder, listening: socket.socket, watch: float, reload: Event
) -> None:
    loop = asyncio.get_running_loop()
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, lambda: loop.run_in_executor(None, holder.reload))
    if reload.is_set():  # asked for before the loop could hear it
        loop.run_in_executor(None, holder.reload)
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
