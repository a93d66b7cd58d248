"""Files that are damaged, that change while they are read, and whose writers are killed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.soaking.trials import Found, clear_refusals
from condrank import ConditionalRanker, ObjectIndex, RelationGraph, TableRanker
from condrank.persistence.header import header_digest

SLOW = 20.0  # seconds that no load of a small file may take, whatever is in it
NEW = np.random.default_rng(5).normal(size=(3, 3))


def two_rankers(rng: np.random.Generator) -> list[ConditionalRanker]:
    """Two rankers whose files have nearly the same sizes and other contents."""
    X, Y, gamma = rng.normal(size=(40, 3)), rng.normal(size=(40, 40)), float(rng.uniform(0.2, 0.8))
    return [ConditionalRanker(kernel="rbf", gamma=gamma).fit(X, sign * Y) for sign in (1, -1)]


# Damaged files


def damaged(seed: int, folder: Path, found: Found) -> None:
    """Damage the file of a model, a model of tables or an index: it is refused, or works with finite scores."""
    rng = np.random.default_rng(seed)
    load, use = _saved(rng, folder / "file")
    content = (folder / "file").read_bytes()
    for _ in range(20):
        damage = _DAMAGES[rng.integers(len(_DAMAGES))]
        (folder / "file").write_bytes(damage(content, rng))
        mmap = bool(rng.random() < 0.3)
        start = time.monotonic()
        with clear_refusals(found), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with _naming("file"):
                loaded = load(folder / "file", mmap)
            if not mmap:  # mapped arrays are not checked
                scores = use(loaded)
                assert np.isfinite(scores).all(), f"scores that are not finite after {damage.__name__}"
        took = time.monotonic() - start
        assert took < SLOW, f"{damage.__name__} took {took:.0f} s"


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Raise an AssertionError instead of a ValueError that does not name the file."""
    try:
        yield
    except ValueError as error:
        if name not in str(error):
            raise AssertionError(f"the message does not name the file: {error}") from error
        raise


def _saved(rng: np.random.Generator, path: Path) -> tuple[Callable[..., Any], Callable[[Any], np.ndarray]]:
    """Save something; returns how to load and how to use it."""
    kind = rng.integers(4)
    if kind == 0:
        two_rankers(rng)[0].save(path)
        return ConditionalRanker.load, lambda ranker: ranker.predict(NEW, NEW)
    if kind == 1:
        X, ids = rng.normal(size=(20, 3)), [f"n{number}" for number in range(20)]
        graph = RelationGraph(X, rng.normal(size=(20, 20)), ids=ids)
        ConditionalRanker(solver="dual", kernel="rbf").fit(graph).save(path)
        return ConditionalRanker.load, lambda ranker: ranker.predict(NEW, NEW)
    nodes = {"id": [f"p{number}" for number in range(12)], "x": rng.normal(size=12), "word": ["a", "b", "c"] * 4}
    games = {"winner": [f"p{number}" for number in range(11)], "loser": [f"p{number}" for number in range(1, 12)]}
    if kind == 2:
        TableRanker().fit(nodes, games).save(path)
        return TableRanker.load, lambda ranker: ranker.predict({"x": [0.5, 1.0], "word": ["a", "c"]})
    two_rankers(rng)[0].index(rng.normal(size=(30, 3)), [f"o{number}" for number in range(30)]).save(path)
    return ObjectIndex.load, lambda index: index.top(NEW, 5).scores


def truncated(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(len(content))]


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def flipped_header(content: bytes, rng: np.random.Generator) -> bytes:
    changed, length = bytearray(content), struct.unpack("<Q", content[:8])[0]
    for _ in range(rng.integers(1, 4)):
        changed[rng.integers(8 + length)] = rng.integers(256)
    return bytes(changed)


def lengthened(content: bytes, rng: np.random.Generator) -> bytes:
    return content + rng.bytes(int(rng.integers(1, 100)))


def noise(content: bytes, rng: np.random.Generator) -> bytes:
    return rng.bytes(int(rng.integers(0, 200)))


def forged_array(content: bytes, rng: np.random.Generator) -> bytes:
    """Other entries of an array, with a checksum that fits."""
    header, manifest, data = _parsed(content)
    name = str(rng.choice(sorted(manifest["sha256"])))
    first, end = header[name]["data_offsets"]
    if end > first:
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(first, end)) // 8 * 8
            odd = struct.pack("<d", float(rng.choice([np.nan, np.inf, -1.0, 1e308, 0.0, 5e-324])))
            data[place : min(place + 8, end)] = odd[: min(8, end - place)]
        manifest["sha256"][name] = hashlib.sha256(data[first:end]).hexdigest()
    return _written(header, manifest, data)


def forged_manifest(content: bytes, rng: np.random.Generator) -> bytes:
    """Another value somewhere in the manifest, with a checksum that fits."""
    header, manifest, data = _parsed(content)
    odd = [None, -1, 0, 1e308, 10**30, "x", "", [], {}, [[]], True, "nan", float("nan"), ["a", 1]]
    place: Any = manifest
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return _written(header, manifest, data)
        key = keys[rng.integers(len(keys))]
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.8:
            place = place[key]
            continue
        if rng.random() < 0.2:
            del place[key]
        else:
            place[key] = odd[rng.integers(len(odd))]
        return _written(header, manifest, data)


_DAMAGES = (truncated, flipped, flipped_header, lengthened, noise, forged_array, forged_manifest, forged_manifest)


def _parsed(content: bytes) -> tuple[dict[str, Any], dict[str, Any], bytearray]:
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    return header, json.loads(header.pop("__metadata__")["manifest"]), bytearray(content[8 + length :])


def _written(header: dict[str, Any], manifest: dict[str, Any], data: bytes) -> bytes:
    text = json.dumps(manifest)
    metadata = {"manifest": text, "sha256": header_digest(text, header)}
    encoded = json.dumps(header | {"__metadata__": metadata}).encode()
    encoded += b" " * (-len(encoded) % 8)
    return struct.pack("<Q", len(encoded)) + encoded + bytes(data)


# Files that change


def changing(seed: int, folder: Path, found: Found) -> None:
    """Replace or overwrite a file again and again while it is loaded: one of both models is loaded, or none."""
    rng, file, end = np.random.default_rng(seed), folder / "file", threading.Event()
    contents, expected, replaces = [], [], bool(rng.random() < 0.5)
    for ranker in two_rankers(rng):
        ranker.save(file)
        contents.append(file.read_bytes())
        expected.append(ConditionalRanker.load(file).predict(NEW, NEW))
    pauses = rng.uniform(0, 0.01, size=50)

    def change() -> None:
        turn = 0
        while not end.is_set():
            turn += 1
            if replaces:
                (folder / "new").write_bytes(contents[turn % 2])
                os.replace(folder / "new", file)
            else:
                with open(file, "r+b") as stream:
                    half = len(contents[turn % 2]) // 2
                    stream.write(contents[turn % 2][:half])
                    stream.flush()
                    time.sleep(pauses[turn % 50])
                    stream.write(contents[turn % 2][half:])
                    stream.truncate()
            time.sleep(pauses[turn % 50])

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(40):
            before = found.refused
            with clear_refusals(found):
                loaded = ConditionalRanker.load(file, mmap=replaces and bool(rng.random() < 0.3)).predict(NEW, NEW)
                assert any(np.array_equal(loaded, one) for one in expected), "a mixture of two files was loaded"
            assert not replaces or found.refused == before, "a whole file was refused"
    finally:
        end.set()
        thread.join()


# Writers that are killed

WRITER = """
import sys, time
import numpy as np
from condrank import ConditionalRanker
rankers = [ConditionalRanker.load(one) for one in sys.argv[2:4]]
print("ready", flush=True)
while True:
    for ranker in rankers:
        ranker.save(sys.argv[1])
"""


def killed(seed: int, folder: Path, found: Found) -> None:
    """Kill two processes that save models to one file: the file is whole, and the next save leaves nothing else."""
    rng, file = np.random.default_rng(seed), folder / "model" / "file"
    (folder / "model").mkdir()
    expected = []
    for name, ranker in zip(("first", "second"), two_rankers(rng), strict=True):
        ranker.save(folder / name)
        expected.append(ConditionalRanker.load(folder / name).predict(NEW, NEW))
    ranker.save(file)
    command = [sys.executable, "-c", WRITER, str(file), str(folder / "first"), str(folder / "second")]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for one in writers:
            assert one.stdout is not None
            assert one.stdout.readline() == b"ready\n"
        for one in writers:
            time.sleep(float(rng.uniform(0.0, 0.1)))
            one.send_signal(signal.SIGKILL)
            one.wait()
            loaded = ConditionalRanker.load(file).predict(NEW, NEW)
            assert any(np.array_equal(loaded, one) for one in expected), "the file is of neither model"
    finally:
        for one in writers:
            one.kill()
            one.communicate()
    ranker.save(file)
    left = sorted(os.listdir(folder / "model"))
    assert left == ["file"], f"left behind: {left}"
    assert np.array_equal(ConditionalRanker.load(file).predict(NEW, NEW), expected[1])
