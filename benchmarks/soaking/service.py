"""The service under load while its model is replaced and other clients stall: loopback only, some seconds."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serving import HALVES, _get, _other_address, _post, _server
from benchmarks.soaking.trials import Found
from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.tables.state import load_with_fingerprint

NODES, STALLED, SECONDS, PER_SECOND, RELOADS = 500, 60, 4.0, 40, 8
SERVED = "served.safetensors"
OTHER = "a request"
HEALTH = "/health"


def loaded(seed: int, folder: Path, found: Found) -> None:
    """Ask at a constant rate; every answer must be that of the model whose fingerprint it has."""
    rng, file = np.random.default_rng(seed), folder / SERVED
    X, names = rng.normal(size=(NODES, 6)), [f"n{number}" for number in range(NODES)]
    wanted = {}
    for turn in range(2):
        labels = X @ rng.normal(size=(6, 6)) @ X.T
        ConditionalRanker(kernel="linear", alpha=1.0 + turn).fit(RelationGraph(X, labels, ids=names)).save(file)
        (folder / f"model{turn}").write_bytes(file.read_bytes())
        ranker, mark = load_with_fingerprint(TableRanker, file)
        wanted[mark] = ranker.predict(names)
    with _server(file) as (port, pid):
        asyncio.run(_soak(port, pid, folder, wanted, rng, found))


async def _soak(
    port: int, pid: int, folder: Path, wanted: dict[str, np.ndarray], rng: np.random.Generator, found: Found
) -> None:
    stalled = [asyncio.create_task(_stall(port, number)) for number in range(STALLED)]
    replacing = asyncio.create_task(_replace(folder, pid))
    await asyncio.sleep(0.3)
    start, seen = time.perf_counter() + 0.2, set()

    async def one(number: int) -> None:
        due = start + number / PER_SECOND
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        health = number % 4 == 0
        places = rng.integers(NODES, size=3)
        asked = _get("/health") if health else _post("/rank", {"queries": [f"n{one}" for one in places], "k": 5})
        answer = await _ask(port, asked)
        found.times.setdefault(HEALTH if health else OTHER, []).append(time.perf_counter() - due)
        if health:
            assert answer["model"]["file_fingerprint"] in wanted, "a fingerprint of neither model"
        else:
            seen.add(answer["model"])
            _check(answer, places, wanted[answer["model"]])

    try:
        await asyncio.gather(*(one(number) for number in range(round(SECONDS * PER_SECOND))))
    finally:
        for task in (*stalled, replacing):
            task.cancel()
        await asyncio.gather(*stalled, replacing, return_exceptions=True)
    assert len(seen) == 2, "the model was never replaced"


def _check(answer: dict[str, Any], places: np.ndarray, scores: np.ndarray) -> None:
    for place, ranking in zip(places, answer["rankings"], strict=True):
        row = scores[place].copy()
        row[place] = -np.inf  # a node is left out of its own ranking
        given = [one["score"] for one in ranking["ranking"]]
        np.testing.assert_allclose(given, np.sort(row)[::-1][: len(given)], rtol=1e-9, atol=1e-9)


async def _replace(folder: Path, pid: int) -> None:
    """Replace the file by turns, and tell the service by a signal where the system has it, or let it find out."""
    for turn in range(RELOADS):
        (folder / "new").write_bytes((folder / f"model{turn % 2}").read_bytes())
        os.replace(folder / "new", folder / SERVED)
        if hasattr(signal, "SIGHUP"):
            os.kill(pid, signal.SIGHUP)
        await asyncio.sleep(SECONDS / RELOADS)


async def _stall(port: int, number: int) -> None:
    """Send half of a request and wait; once more if the service ends it."""
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=_other_address())
            try:
                writer.write(HALVES[number % len(HALVES)])
                await reader.read()
            finally:
                writer.close()
        await asyncio.sleep(1.0)


async def _ask(port: int, request: bytes) -> dict[str, Any]:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        assert head.startswith(b"HTTP/1.1 200"), f"the service answered {head[:60]!r}"
        assert length is not None
        return json.loads(await reader.readexactly(int(length[1])))
    finally:
        writer.close()
