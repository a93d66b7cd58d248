"""Changes random bytes of stored approximate indexes, writes new checksums, loads and asks: ``SEED COUNT FOLDER``.

A process of its own, because a crash would end it. It prints how many files were refused and how many answered.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import condrank.index.approximate
from condrank import ConditionalRanker, ObjectIndex
from condrank.persistence import read_file, write_file

NUMBERS = (-1, 0, 1, 2, 31, 2**31, 2**63, 1e308, -0.5, float("nan"), float("inf"), None, "3", [], True)


def stored_indexes(folder: Path) -> list[Path]:
    """Files of an index of vectors and of one whose coordinates are scores."""
    rng = np.random.default_rng(0)
    nodes, objects = rng.normal(size=(40, 4)), rng.normal(size=(500, 4))
    labels = np.where(rng.random((40, 40)) < 0.5, nodes @ nodes.T, np.nan)
    files = []
    for options in ({}, {"kernel": "rbf", "solver": "dual"}):
        index = ConditionalRanker(**options).fit(nodes, labels).index(objects, kind="approximate")
        index.remove([3, 7])
        files.append(folder / f"{len(files)}.safetensors")
        index.save(files[-1])
    return files


def changed(manifest: dict[str, Any], arrays: dict[str, np.ndarray], rng: np.random.Generator) -> None:
    """Change some bytes of one array, or one number of the manifest's part of the index."""
    names = sorted(arrays)
    near = [name for name in names if ".near." in name]
    if rng.random() < 0.2:
        part = manifest["index"] if rng.random() < 0.5 else manifest["index"]["near"]
        part[rng.choice(sorted(part))] = NUMBERS[rng.integers(len(NUMBERS))]
        return
    name = rng.choice(near if rng.random() < 0.7 else names)
    whole = np.array(arrays[name])
    flat = whole.reshape(-1).view(np.uint8)
    for place in rng.integers(0, flat.size, size=rng.integers(1, 9)):
        flat[place] = rng.integers(256)
    arrays[name] = whole


def answers(file: Path, mmap: bool, queries: np.ndarray) -> bool:
    """Whether the index loads and answers; False if it is refused. Any other error is raised."""
    try:
        index = ObjectIndex.load(file, mmap=mmap)
        index.top(queries, 5)
        index.top(queries, 20, exclude=[1, 2])
        index.add(queries)
        index.top(queries, 3)
    except ValueError:
        return False
    return True


def main(seed: int, count: int, folder: Path) -> None:
    """Change, load and ask ``count`` times."""
    warnings.simplefilter("ignore")
    condrank.index.approximate.LIST_LEAST_OBJECTS_PER_FETCHED = 1  # lists are scanned, though there are few objects
    rng, files = np.random.default_rng(seed), stored_indexes(folder)
    queries, found = rng.normal(size=(6, 4)), []
    for number in range(count):
        manifest, arrays = read_file(files[number % len(files)])
        manifest = {name: value for name, value in manifest.items() if name not in ("format", "version", "sha256")}
        changed(manifest, arrays, rng)
        write_file(folder / "changed", manifest, arrays)
        found.append(answers(folder / "changed", bool(number // 2 % 2), queries))
    print(found.count(False), found.count(True))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
