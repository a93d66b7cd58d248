"""Approximate kernels: their cost compared with the bare products, and how close they come to the exact model."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from benchmarks.harness import Row, measure, peak_mib, suite
from condrank import ConditionalRanker, RelationGraph
from condrank.base.blocks import row_blocks
from condrank.kernels import read_kernel
from condrank.nodes.nystroem import NystroemFeatures

WAYS: dict[str, dict[str, Any]] = {
    "Nyström, uniform": {"landmarks": "uniform"},
    "Nyström, k-means": {"landmarks": "kmeans"},
    "Nyström, pivoted": {"landmarks": "pivoted"},
    "Fourier": {"approximation": "fourier"},
}


def classes(n: int, d: int, n_classes: int, dtype: type = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Normal clouds around class centres, some of which overlap. Some classes have few nodes, others many."""
    rng = np.random.default_rng(0)
    labels = rng.choice(n_classes, n, p=rng.dirichlet(np.full(n_classes, 2.0)))
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += rng.standard_normal((n_classes, d), dtype=np.float32)[labels]
    return X.astype(dtype, copy=False), labels


@suite("Many nodes with an approximate kernel")
def approximate(quick: bool) -> list[Row]:
    """Symmetric ranking of classes with an RBF kernel, float32. Floor: kernel values of the nodes against the landmarks
    and the Gram matrix of these values, in blocks of 2,000 nodes. Memory is counted beyond the features; its floor is
    the memory of the features.
    """
    n, d, m, n_classes = (2000, 8, 50, 4) if quick else (100_000, 64, 1000, 10)
    X, labels = classes(n, d, n_classes)
    graph, gamma = RelationGraph.from_classes(X, labels), 0.5 / d
    landmarks = NystroemFeatures.fit(read_kernel("rbf", gamma), graph.nodes, m, "uniform", 0)

    def bare() -> np.ndarray:
        gram = np.zeros((m, m))
        for block in row_blocks(n, 1, budget=2000):
            values = landmarks.values(graph.nodes.block(block))
            gram += values.T @ values
        return gram

    rankers = {
        name: ConditionalRanker("symmetric", kernel="rbf", gamma=gamma, n_components=m, random_state=0, **params)
        for name, params in WAYS.items()
    }
    fits = {name: lambda ranker=ranker: ranker.fit(graph) for name, ranker in rankers.items()}
    times = measure({"bare": bare, **fits}, 2)
    size, first = f"n={n:,}, d={d}, {m:,} components", next(iter(WAYS))
    rows = [
        Row(f"fit, {name}", size, times[name], times["bare"], 3.0 if name == first and not quick else None)
        for name in rankers
    ]
    peak = peak_mib(fits[first])
    planned = rankers[first].plan(graph).memory / 2**20
    note = f"planned {planned:.0f} MiB"
    return [*rows, Row(f"memory, {first}", size, peak, X.nbytes / 2**20, unit="MiB", note=note)]


@suite("Approximate kernels: rank loss", plot="curves", axes=("components", "rank loss on new nodes"))
def approximation_loss(quick: bool) -> list[Row]:
    """Reciprocal ranking of a smooth relation on four features, RBF kernel; new nodes are ranked for new nodes (setting
    4). Means of three seeds. The line "exact" is the model without an approximation.
    """
    return [Row(name, size, loss, unit="share", series=name, x=m) for name, size, m, loss, _ in _curves(quick)]


@suite("Approximate kernels: distance to the exact scores", plot="curves", axes=("components", "relative distance"))
def approximation_error(quick: bool) -> list[Row]:
    """The same models: root mean square distance of their scores from those of the exact model, relative to the exact
    scores. The mean of each conditioning node is subtracted first, because the ranking loss does not determine it.
    """
    found = _curves(quick)
    return [Row(name, size, far, unit="share", series=name, x=m) for name, size, m, _, far in found if name != "exact"]


@cache
def _curves(quick: bool) -> list[tuple[str, str, int, float, float]]:
    """Name, size, number of components, rank loss and distance from the exact scores."""
    n, n_new, counts = (80, 40, (5, 10)) if quick else (2000, 500, (25, 50, 100, 200, 400, 800))
    X, Y = smooth(n + n_new)
    train, test = RelationGraph(X[:n], Y[:n, :n]), RelationGraph(X[n:], Y[n:, n:])

    def ranker(**params: Any) -> ConditionalRanker:
        return ConditionalRanker("reciprocal", kernel="rbf", gamma=0.25, alpha=0.1, **params).fit(train)

    def scores(fitted: ConditionalRanker) -> np.ndarray:
        found = fitted.predict(test)
        return found - found.mean(axis=1, keepdims=True)

    exact = ranker()
    expected, loss = scores(exact), 1 - exact.score(test)
    rows = [("exact", f"n={n:,}", m, loss, 0.0) for m in counts]
    for name, params in WAYS.items():
        for m in counts:
            fits = [ranker(n_components=m, random_state=seed, **params) for seed in range(3)]
            far = [np.linalg.norm(scores(fitted) - expected) / np.linalg.norm(expected) for fitted in fits]
            size = f"n={n:,}, {m} components"
            rows.append(
                (name, size, m, float(np.mean([1 - fitted.score(test) for fitted in fits])), float(np.mean(far)))
            )
    return rows


def smooth(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Four normal features, and a reciprocal relation that is bilinear in sixty random cosines of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    Z = np.cos(X @ rng.standard_normal((4, 60)) + rng.uniform(0, 2 * np.pi, 60))
    A = rng.standard_normal((60, 60))
    return X, Z @ (A - A.T) @ Z.T
