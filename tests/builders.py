"""Data and helpers that tests of several modules share."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from condrank import ConditionalRanker, ObjectIndex, RelationGraph, TableRanker

# Six nodes, to be spoiled in one place or another: their features, a relation and a kernel between them.
N_NODES = 6
NODES = np.random.default_rng(0).normal(size=(N_NODES, 3))
LABELS = np.random.default_rng(1).normal(size=(N_NODES, N_NODES))
KERNEL = np.exp(-((NODES[:, None] - NODES[None]) ** 2).sum(axis=2))

# Tables of four players and their games, and a kernel of three nodes.
PLAYERS = {"id": ["ann", "bob", "cyd", "dan"], "speed": [3.0, 1.0, 2.0, 0.5], "size": [1.0, 5.0, 2.0, 4.0]}
GAMES = {"winner": ["ann", "cyd", "ann", "bob"], "loser": ["bob", "bob", "cyd", "dan"]}
SMALL_KERNEL = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 4.0]])

# Twelve nodes and a relation between them.
_TWELVE = np.random.default_rng(5)
TWELVE_NODES = _TWELVE.normal(size=(12, 3))
TWELVE_LABELS = _TWELVE.normal(size=(12, 12))

# Sixty named nodes of three classes, and five conditioning nodes to ask an index for.
_SIXTY = np.random.default_rng(0)
SIXTY_NODES = _SIXTY.normal(size=(60, 4))
SIXTY_CLASSES = np.arange(60) % 3
SIXTY_NAMES = np.array([f"n{i}" for i in range(60)])
FIVE_QUERIES = _SIXTY.normal(size=(5, 4))

# More features than nodes, and fewer, with new nodes of either.
_SHAPES = np.random.default_rng(0)
WIDE, TALL, NEW_WIDE, NEW_TALL = (_SHAPES.normal(size=shape) for shape in ((6, 9), (9, 3), (4, 9), (4, 3)))

# Values of α to search over.
ALPHAS = {"alpha": [0.01, 1.0, 100.0]}


def with_entry(M: np.ndarray, row: int, col: int, value: float) -> np.ndarray:
    """A copy of M with another value in one place."""
    M = M.copy()
    M[row, col] = value
    return M


def refused(message: str, make: Any, *args: Any, **kwargs: Any) -> None:
    """Check that make(*args, **kwargs) raises a ValueError that matches the message."""
    with pytest.raises(ValueError, match=message):
        make(*args, **kwargs)


def ranker_of_games(**params: Any) -> TableRanker:
    """A TableRanker fitted to the four players and their games."""
    return TableRanker(ConditionalRanker("reciprocal", "regression", constant=True, **params)).fit(PLAYERS, GAMES)


def ranker_of_classes(**params: Any) -> ConditionalRanker:
    """A ranker fitted to the sixty nodes and their classes."""
    graph = RelationGraph.from_classes(SIXTY_NODES, SIXTY_CLASSES, ids=SIXTY_NAMES)
    return ConditionalRanker("symmetric", **params).fit(graph)


def index_of_classes(kind: str, **options: Any) -> ObjectIndex:
    """An index of the sixty nodes; the test is skipped where an approximate one cannot be made."""
    if kind == "approximate":
        pytest.importorskip("faiss")
    return ranker_of_classes().index(kind=kind, **options)


def peak_mib(job: Callable[[], object]) -> float:
    """MiB that a job allocates at most."""
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def noisy_graph(form: str = "features", n: int = 40) -> RelationGraph:
    """A bilinear relation with noise, between nodes given in one of several forms."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    Y = X @ rng.standard_normal((4, 4)) @ X.T + rng.normal(0, 2, (n, n))
    if form == "kernel":
        return RelationGraph(rbf_kernel(X), Y)
    if form == "holes":
        Y[rng.random((n, n)) < 0.4] = np.nan
    if form == "classes":
        return RelationGraph.from_classes(X, np.argmax(X, axis=1))
    return RelationGraph(X, Y)


def ranker_for(form: str) -> ConditionalRanker:
    """A ranker for the graph of that form."""
    return ConditionalRanker(kernel="precomputed" if form == "kernel" else "linear")


def mean_scores(ranker: ConditionalRanker, graph: RelationGraph, folds: Any) -> list[Any]:
    """Mean score of each α over the folds, by plain loops."""
    means = []
    for alpha in ALPHAS["alpha"]:
        params: dict[str, Any] = {**ranker.get_params(), "alpha": alpha}
        means.append(np.mean([ConditionalRanker(**params).fit(graph[a]).score(graph[b]) for a, b in folds]))
    return means


def known_in_blocks(n: int, m: int, share: float, uneven: float, seed: int = 0) -> RelationGraph:
    """Nodes of two domains in clusters; which pairs are known depends on both clusters, and at random for 0."""
    rng = np.random.default_rng(seed)
    cluster, family = rng.integers(max(2, n // 40), size=n), rng.integers(max(2, m // 12), size=m)
    X = rng.normal(size=(cluster.max() + 1, 20))[cluster] + 0.5 * rng.normal(size=(n, 20))
    G = rng.normal(size=(family.max() + 1, 15))[family] + 0.5 * rng.normal(size=(m, 15))
    odds = rng.normal(size=(cluster.max() + 1, family.max() + 1))[cluster][:, family]
    odds = uneven * (odds + rng.normal(size=(n, 1)) + rng.normal(size=(1, m))) + 0.5 * rng.logistic(size=(n, m))
    Y = np.where(odds > np.quantile(odds, 1 - share), rng.normal(size=(n, m)), np.nan)
    return RelationGraph(X, Y, objects=G)
