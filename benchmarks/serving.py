"""The service under load from another process over loopback, and the time to load a model."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import json
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Row, suite
from condrank import ConditionalRanker, RelationGraph, TableRanker

K, PER_SECOND, CONNECTIONS = 10, 50, 4
HALVES = (  # requests whose rest never comes
    b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-More: ",
    b"POST /rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
)
OPENING = 2.0  # seconds in which all stalled connections are opened, and after which a closed one is opened again


@suite("The service over loopback")
def serving(quick: bool) -> list[Row]:
    """`condrank serve` in one process, with requests from another: the top-10 of all objects for one conditioning node
    per request; symmetric ranking learned from 50 classes, 64 features, single precision. Requests are sent at a
    constant rate, also if earlier ones are not answered yet, and their times count from the moment they were due.
    Memory is the growth of the server's resident size over requests sent one after the other on four connections,
    after a tenth as many to warm up. Stalled connections are half-sent requests from another loopback address, opened
    within two seconds; each that the service closes is sent again two seconds later. /health is asked while four
    clients send one batch after the other. Loading is in a new process, after `from condrank import TableRanker`.
    """
    n, d, seconds, n_requests, n_load = (2000, 8, 1.0, 100, 100) if quick else (100_000, 64, 20.0, 10_000, 1000)
    n_stalled, n_small, n_batches = (50, 1000, 4) if quick else (1000, 5000, 100)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        if find_spec("fastapi") is None or find_spec("uvicorn") is None:
            rows.append(Row("one query", "", None, note="fastapi or uvicorn is not installed"))
        else:
            X = _saved(Path(folder) / "served.safetensors", n, d)
            with _server(Path(folder) / "served.safetensors") as (port, pid):
                rows += _under_load(port, pid, X, seconds, n_requests)
                rows.append(_beside_stalled(port, n, n_stalled, seconds))
            _saved(Path(folder) / "small.safetensors", n_small, 32)
            with _server(Path(folder) / "small.safetensors") as (port, _):
                rows.append(_health(port, n_small, n_batches))
        rows += _loading(Path(folder), n_load, 1 if quick else 7)
    return rows


def _under_load(port: int, pid: int, X: np.ndarray, seconds: float, n_requests: int) -> list[Row]:
    rng = np.random.default_rng(1)
    n, count = len(X), round(seconds * PER_SECOND)
    known = [_get(f"/rank/n{place}?k={K}") for place in rng.integers(n, size=count)]
    new = [_post("/rank", _asked(X[place])) for place in rng.integers(n, size=count)]
    asyncio.run(_at_rate(port, known[:PER_SECOND], PER_SECOND))
    size, rows = f"{n:,} objects × {X.shape[1]}, {PER_SECOND} requests/s", []
    for name, requests in (("a known node by id", known), ("a new node by its features", new)):
        times = np.sort(asyncio.run(_at_rate(port, requests, PER_SECOND)))
        p50, p99 = np.quantile(times, (0.5, 0.99))
        note = f"median {1000 * p50:.1f} ms, longest {1000 * times[-1]:.1f} ms, {len(times):,} requests"
        rows.append(Row(f"p99, {name}", size, float(p99), bar=0.020, note=note))
    many = [known[number % count] for number in range(n_requests)]
    asyncio.run(_at_once(port, many[: n_requests // 10]))
    before, start = _resident(pid), time.perf_counter()
    asyncio.run(_at_once(port, many))
    rate = n_requests / (time.perf_counter() - start)
    after = _resident(pid)
    grown = None if before is None or after is None else after / before - 1
    note = "" if after is None else f"{after / 2**20:,.0f} MiB; {rate:,.0f} requests/s from {CONNECTIONS} connections"
    rows.append(Row("memory gained", f"{n_requests:,} requests", grown, bar=0.05, unit="share", note=note))
    return rows


def _beside_stalled(port: int, n: int, n_stalled: int, seconds: float) -> Row:
    """Times of requests while many others stall; the service may refuse none."""
    rng = np.random.default_rng(3)
    known = [_get(f"/rank/n{place}?k={K}") for place in rng.integers(n, size=round(seconds * PER_SECOND))]

    opened, far_end = multiprocessing.Pipe(duplex=False)
    stalling = multiprocessing.get_context("spawn").Process(
        target=_stall_all, args=(port, n_stalled, seconds + 2 * OPENING, far_end), daemon=True
    )
    stalling.start()
    try:
        opened.recv()  # it begins
        times = asyncio.run(_at_rate(port, known, PER_SECOND))
        n_opened = opened.recv()
    finally:
        stalling.terminate()
        stalling.join()
    p50, p99 = np.quantile(times, (0.5, 0.99))
    note = f"median {1000 * p50:.1f} ms, longest {1000 * max(times):.1f} ms, {n_opened:,} opened, none refused"
    size = f"{n_stalled:,} stalled, {n:,} objects, {PER_SECOND} requests/s"
    return Row("p99 beside stalled connections", size, float(p99), bar=0.050, note=note)


def _stall_all(port: int, n: int, seconds: float, opened: Any) -> None:
    """Keep n half-sent requests open for some time, in a process of their own: they delay nobody who measures."""
    count = 0

    async def stall(number: int) -> None:
        nonlocal count
        await asyncio.sleep(OPENING * number / n)
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=_other_address())
                count += 1
                try:
                    writer.write(HALVES[number % len(HALVES)])
                    await reader.read()
                finally:
                    writer.close()
            await asyncio.sleep(OPENING)

    async def all_of_them() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(stall(number) for number in range(n)))

    opened.send(count)
    asyncio.run(all_of_them())
    opened.send(count)


@functools.cache
def _other_address() -> tuple[str, int] | None:
    """A second loopback address, where the system has one: the stalled client is not the one that is measured."""
    with socket.socket() as trial, contextlib.suppress(OSError):
        trial.bind(("127.0.0.2", 0))
        return "127.0.0.2", 0
    return None


def _health(port: int, n: int, n_batches: int) -> Row:
    """Times of /health while a few clients send batches of 100 queries × 1,000 places."""
    rng = np.random.default_rng(4)
    asked = [{"queries": [f"n{one}" for one in rng.integers(n, size=100)], "k": 1000} for _ in range(n_batches)]

    async def both() -> list[float]:
        await _at_once(port, [_post("/rank", asked[0]), _get("/health")])  # the first ones are slower
        batches, times = asyncio.create_task(_at_once(port, [_post("/rank", one) for one in asked])), []
        connections = _Connections(port)
        while not batches.done():
            start = time.perf_counter()
            await connections.ask(_get("/health"))
            times.append(time.perf_counter() - start)
            await asyncio.sleep(1 / PER_SECOND)
        await batches
        connections.close()
        return times

    times = asyncio.run(both())
    p50, p99 = np.quantile(times, (0.5, 0.99))
    note = f"median {1000 * p50:.1f} ms, longest {1000 * max(times):.1f} ms, {len(times):,} times asked"
    size = f"{n:,} objects, batches of 100 × 1,000 from {CONNECTIONS} connections"
    return Row("p99 of /health under batches", size, float(p99), bar=0.050, note=note)


def _loading(folder: Path, n: int, repeats: int) -> list[Row]:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, 20))
    labels = X @ rng.standard_normal((20, 20)) @ X.T
    names = [f"node {number}" for number in range(n)]
    table = {"id": names, **{f"x{column}": X[:, column] for column in range(20)}}
    pairs = rng.integers(n, size=(min(n * n, 50 * n), 2))
    pairs = np.unique(pairs, axis=0)
    edges = {
        "source": [names[one] for one in pairs[:, 0]],
        "target": [names[one] for one in pairs[:, 1]],
        "value": labels[pairs[:, 0], pairs[:, 1]],
    }
    ConditionalRanker(kernel="rbf").fit(RelationGraph(X, labels, ids=names)).save(folder / "kernel.safetensors")
    TableRanker(ConditionalRanker(max_iter=50)).fit(table, edges).save(folder / "table.safetensors")
    rows = []
    for name, file in (("RBF kernel, complete graph", "kernel"), ("a table of 20 columns", "table")):
        path = folder / f"{file}.safetensors"
        best = min(_load_seconds(path) for _ in range(repeats))
        size = f"{n:,} nodes, {path.stat().st_size / 2**20:.1f} MiB"
        rows.append(Row(f"load a model: {name}", size, best, bar=0.050))
    rows.append(_saving(folder, f"{n:,} nodes", max(3, 2 * repeats)))
    return rows


def _saving(folder: Path, size: str, repeats: int) -> Row:
    """Processor time to save a model, over that of checksums and one write of the same arrays."""
    ranker = ConditionalRanker.load(folder / "kernel.safetensors")
    arrays = [np.ascontiguousarray(array) for array in ranker.to_state()[1].values()]

    def plainly() -> None:
        with open(folder / "plain", "wb") as file:
            for array in arrays:
                hashlib.sha256(array.tobytes() if not array.nbytes else array.data.cast("B")).hexdigest()
                file.write(array.tobytes() if not array.nbytes else array.data.cast("B"))
            file.flush()
            os.fsync(file.fileno())

    best = {"save": float("inf"), "plain": float("inf")}
    for _ in range(repeats):
        for name, job in (("save", lambda: ranker.save(folder / "again")), ("plain", plainly)):
            start = time.process_time()
            job()
            best[name] = min(best[name], time.process_time() - start)
    note = "processor time; floor: checksums and one write of the same arrays"
    return Row("save a model: RBF kernel, complete graph", size, best["save"], best["plain"], 1.1, note=note)


def _saved(path: Path, n: int, d: int) -> np.ndarray:
    """Save a model of n nodes around 50 centres to a file, and return their features."""
    rng = np.random.default_rng(0)
    labels = rng.integers(50, size=n)
    X = 2 * rng.standard_normal((n, d), dtype=np.float32)
    X += rng.standard_normal((50, d), dtype=np.float32)[labels]
    graph = RelationGraph.from_classes(X, labels, ids=[f"n{place}" for place in range(n)])
    ConditionalRanker("symmetric").fit(graph).save(path)
    return X


def _load_seconds(path: Path) -> float:
    code = (
        "import sys, time; from condrank import TableRanker; start = time.perf_counter(); "
        "TableRanker.load(sys.argv[1]); print(time.perf_counter() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    return float(done.stdout)


@contextlib.contextmanager
def _server(path: Path) -> Iterator[tuple[int, int]]:
    """Run the command in a separate process; gives its port and process id."""
    command = [sys.executable, "-m", "condrank", "serve", str(path), "--port", "0"]
    environment = {**os.environ, "CONDRANK_TOKEN": ""}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            found = None
            while found is None:
                line = process.stderr.readline()
                if not line:
                    raise RuntimeError("the service did not start")
                found = re.search(r"at http://[^:]+:(\d+)/", line)
            yield int(found[1]), process.pid
        finally:
            process.send_signal(signal.SIGTERM)


def _resident(pid: int) -> int | None:
    """Resident bytes of a process; None if the system does not report them."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _asked(features: np.ndarray) -> dict[str, Any]:
    return {"queries": [{f"x{column}": float(one) for column, one in enumerate(features)}], "k": K}


def _get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def _post(path: str, body: dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


class _Connections:
    """Connections that are kept open; a new one is opened if all are in use."""

    def __init__(self, port: int):
        self.port, self.free, self.all = port, [], []

    async def ask(self, request: bytes) -> None:
        reader, writer = self.free.pop() if self.free else await self._open()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if not head.startswith(b"HTTP/1.1 200") or found is None:
            raise RuntimeError(f"the service answered {head[:60]!r}")
        await reader.readexactly(int(found[1]))
        self.free.append((reader, writer))

    async def _open(self) -> tuple[Any, Any]:
        self.all.append(await asyncio.open_connection("127.0.0.1", self.port))
        return self.all[-1]

    def close(self) -> None:
        for _, writer in self.all:
            writer.close()


async def _at_rate(port: int, requests: list[bytes], per_second: float) -> list[float]:
    """Seconds of each request; each is sent when it is due."""
    connections = _Connections(port)

    async def one(due: float, request: bytes) -> float:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        await connections.ask(request)
        return time.perf_counter() - due

    start = time.perf_counter() + 0.5  # all tasks are made by then
    took = await asyncio.gather(*(one(start + place / per_second, one_) for place, one_ in enumerate(requests)))
    connections.close()
    return took


async def _at_once(port: int, requests: list[bytes]) -> None:
    """Send requests one after the other on a few connections."""
    connections, waiting = _Connections(port), iter(requests)

    async def work() -> None:
        for request in waiting:
            await connections.ask(request)

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    connections.close()
