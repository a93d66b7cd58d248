"""The service under load from another process over loopback, and the time to load a model."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Row, suite
from condrank import ConditionalRanker, RelationGraph, TableRanker

K, PER_SECOND, CONNECTIONS = 10, 50, 4


@suite("The service over loopback")
def serving(quick: bool) -> list[Row]:
    """`condrank serve` in one process, with requests from another: the top-10 of all objects for one conditioning node
    per request; symmetric ranking learned from 50 classes, 64 features, single precision. Requests are sent at a
    constant rate, also if earlier ones are not answered yet, and their times count from the moment they were due.
    Memory is the growth of the server's resident size over requests sent one after the other on four connections,
    after a tenth as many to warm up. Loading is in a new process, after `from condrank import TableRanker`.
    """
    n, d, seconds, n_requests, n_load = (2000, 8, 1.0, 100, 100) if quick else (100_000, 64, 20.0, 10_000, 1000)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        if find_spec("fastapi") is None or find_spec("uvicorn") is None:
            rows.append(Row("one query", "", None, note="fastapi or uvicorn is not installed"))
        else:
            X = _saved(Path(folder) / "served.safetensors", n, d)
            with _server(Path(folder) / "served.safetensors") as (port, pid):
                rows += _under_load(port, pid, X, seconds, n_requests)
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
    return rows


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


@contextmanager
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

    start = time.perf_counter() + 0.05
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
