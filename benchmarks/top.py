"""Top-k search: the best of many objects for each conditioning node, exactly and in inverted lists."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from benchmarks.harness import Row, measure, peak_mib, seconds, suite
from condrank import ConditionalRanker, RelationGraph
from condrank.index import ObjectIndex

BLOCK = 4096  # objects per block in the floor


@suite("Top-10 of many objects")
def top(quick: bool) -> list[Row]:
    """Symmetric ranking learned from 50 noisy classes, single precision. Objects and conditioning nodes are new nodes
    of the same classes. Floor of the exact index: a bare sgemm in blocks of 4,096 objects with argpartition, merged at
    the end (for one conditioning node a bare sgemv with argpartition). The floor of the approximate index is the exact
    one, one conditioning node at a time: it should take 1/20 of the time and miss at most 1 in 20 of the exact top-10.
    """
    m, n_queries, d, n_train = (3000, 20, 8, 500) if quick else (1_000_000, 1000, 128, 100_000)
    train, labels = _classes(n_train, d, 0)
    objects, queries = _classes(m, d, 1)[0], _classes(n_queries, d, 2)[0]
    ranker = ConditionalRanker("symmetric").fit(RelationGraph.from_classes(train, labels))
    index = ranker.index(objects)
    vectors = index._scores(index._queries(queries, None), index._held.objects).Q  # pyright: ignore
    size, one_size = f"{m:,} objects × {d}, {n_queries:,} queries", f"{m:,} objects × {d}, one query"
    jobs = {
        "exact": lambda: index.top(queries),
        "floor": lambda: _bare(vectors, objects),
        "product": lambda: _bare(vectors, objects, select=False),
        "one": lambda: index.top(queries[:1]),
        "one floor": lambda: _bare(vectors[:1], objects, block=m),
    }
    took = measure(jobs, 3)
    rows = [
        Row("exact", size, took["exact"], took["floor"], 1.5, note="floor: sgemm and argpartition"),
        Row("exact, against the products alone", size, took["exact"], took["product"], 2.2, note="floor: sgemm"),
        Row("exact, one query", one_size, took["one"], took["one floor"], note="floor: sgemv and argpartition"),
        Row("memory of an answer", size, peak_mib(lambda: index.top(queries)), objects.nbytes / 2**20, unit="MiB"),
    ]
    if find_spec("faiss") is None:
        return [*rows, Row("approximate", size, None, note="faiss is not installed")]
    return rows + _approximate(ranker, index, objects, queries, (size, one_size))


def _approximate(
    ranker: ConditionalRanker, exact: ObjectIndex, objects: np.ndarray, queries: np.ndarray, sizes: tuple[str, str]
) -> list[Row]:
    made: list[ObjectIndex] = []
    building = seconds(lambda: made.append(ranker.index(objects, kind="approximate")))
    index, some = made[0], queries[:100]

    def singly(one: ObjectIndex, asked: np.ndarray) -> None:
        for row in range(len(asked)):
            one.top(asked[row : row + 1])

    few = some[:10]
    took = measure(
        {
            "lists": lambda: singly(index, some),
            "exact": lambda: singly(exact, few),
            "lists, together": lambda: index.top(queries),
            "exact, together": lambda: exact.top(queries),
        },
        3,
    )
    near = index._near
    assert near is not None
    n_lists, length = near.lists.centroids.shape
    held = len(objects) * (4 * length + 16) / 2**20  # coordinates, positions and numbers of lists
    note = f"{near.probes} of {n_lists:,} lists are scanned; coordinates of {length} numbers, {held:,.0f} MiB"
    size, one_size = sizes
    return [
        Row("approximate, one query", one_size, took["lists"] / len(some), took["exact"] / len(few), 1 / 20),
        Row("approximate, one query, time alone", one_size, took["lists"] / len(some), bar=0.6e-3),
        Row("approximate, missed of the exact top-10", size, 1 - index.recall(queries), bar=0.05, unit="share"),
        Row("approximate, all queries", size, took["lists, together"], took["exact, together"], note="floor: exact"),
        Row("approximate, building", size, building, bar=30.0, note=note),
    ]


def _classes(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes around the same 50 centres, and their classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(50, size=n)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X *= 2
    X += np.random.default_rng(7).standard_normal((50, d), dtype=np.float32)[labels]
    return X, labels


def _bare(Q: np.ndarray, X: np.ndarray, k: int = 10, block: int = BLOCK, select: bool = True) -> None:
    """Scores in blocks, the k best of each block by a partition, and the k best of all by another partition."""
    places, values = [], []
    for start in range(0, len(X), block):
        scores = Q @ X[start : start + block].T
        if select:
            best = np.argpartition(scores, -min(k, scores.shape[1]), axis=1)[:, -k:]
            places.append(best + start)
            values.append(np.take_along_axis(scores, best, axis=1))
    if select:
        found = np.concatenate(values, axis=1)
        best = np.argpartition(found, -k, axis=1)[:, -k:]
        np.take_along_axis(np.concatenate(places, axis=1), best, axis=1)
