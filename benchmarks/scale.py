"""A million nodes: their classes give the whole relation between them, and no array of size n×n is made."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Row, measure, seconds, suite
from condrank import ConditionalRanker, RelationGraph, sampled_rank_loss
from condrank.base.blocks import row_blocks

CLASSES = 50


def members(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Single-precision features around the mean of each class, and the classes."""
    rng = np.random.default_rng(0)
    labels = rng.integers(CLASSES, size=n)
    X = rng.standard_normal((n, d), dtype=np.float32)
    means = rng.standard_normal((CLASSES, d), dtype=np.float32) / 5
    for block in row_blocks(n, d):
        X[block] += means[labels[block]]
    return X, labels


def peak_of_fit(n: int, d: int) -> None:
    """Make a graph, fit a ranker, and print the peak memory of the process in KiB: before the fit, and in all."""
    graph = RelationGraph.from_classes(*members(n, d))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ConditionalRanker("symmetric").fit(graph)
    print(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def in_process(n: int, d: int) -> tuple[float, float]:
    """Peak memory in MiB of a separate process, before the fit and in all."""
    code = f"from benchmarks.scale import peak_of_fit; peak_of_fit({n}, {d})"
    root = Path(__file__).resolve().parent.parent
    out = subprocess.run([sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True).stdout
    before, peak = (int(one) / 1024 for one in out.split())
    return before, peak


@suite("A million nodes, 10¹² labelled edges")
def million(quick: bool) -> list[Row]:
    """Linear kernel on single-precision features, 50 classes; the relation "same class" stays factored. Floor of a fit:
    the bare Gram product X.T @ X in the same process. Memory is the peak resident size of a separate process; its floor
    is the features and 1.5 GiB. Evaluation: some conditioning nodes with all objects; its floor is the bare product
    that gives their scores.
    """
    n, d, n_queries = (5000, 16, 5) if quick else (1_000_000, 128, 20)
    X, labels = members(n, d)
    graph = RelationGraph.from_classes(X, labels)
    size = f"n={n:,}, d={d}, {CLASSES} classes"
    rankers = {
        f"fit, {relation} {loss}": ConditionalRanker(relation, loss)
        for relation, loss in (("symmetric", "ranking"), ("ordinary", "ranking"), ("symmetric", "regression"))
    }
    cosine = ConditionalRanker("symmetric", kernel="cosine", constant=True)
    blocks = [slice(start, start + n // 10) for start in range(0, n, n // 10)]
    parts = [RelationGraph.from_classes(X[block], labels[block]) for block in blocks]

    def add_up() -> None:
        ranker = ConditionalRanker("symmetric")
        for part in parts:
            ranker.partial_fit(part)

    jobs: dict[str, Any] = {name: lambda r=ranker: r.fit(graph) for name, ranker in rankers.items()}
    jobs |= {"fit, cosine and constant": lambda: cosine.fit(graph), "partial_fit, ten blocks": add_up}
    times = measure({"gram": lambda: X.T @ X} | jobs, 5)
    rows = [
        Row(name, size, times[name], times["gram"], 6.0 if name == "fit, symmetric ranking" else None) for name in jobs
    ]

    ranker = rankers["fit, symmetric ranking"]
    queries = X[:n_queries]
    took = seconds(lambda: sampled_rank_loss(ranker, graph, n_queries, random_state=0))
    bare = measure({"product": lambda: (queries @ ranker.coef_) @ X.T}, 2)["product"]
    loss = sampled_rank_loss(ranker, graph, n_queries, random_state=0)
    rows.append(Row(f"evaluation of {n_queries} conditioning nodes", size, took, bare, note=f"rank loss {loss}"))

    before, peak = in_process(n, d)
    allowed = (X.nbytes + 1.5 * 2**30) / 2**20
    note = f"floor: features and 1.5 GiB; {before:,.0f} MiB before the fit"
    return [*rows, Row("memory of the process", size, peak, allowed, 1.0, unit="MiB", note=note)]


@suite("Cost against nodes, relation kept factored", plot="curves", axes=("nodes", "seconds"))
def growth(quick: bool) -> list[Row]:
    """The same fit from 10⁴ to 10⁶ nodes, and the bare Gram product. The slope is that of a straight line through log
    seconds over log nodes, by least squares. A slope of 1 means that cost is in proportion to nodes.
    """
    sizes, d = ((1000, 2000, 4000), 16) if quick else ((10_000, 30_000, 100_000, 300_000, 1_000_000), 128)
    X, labels = members(max(sizes), d)
    curves: dict[str, list[float]] = {"fit, symmetric ranking": [], "Gram product": []}
    rows = []
    for n in sizes:
        part = RelationGraph.from_classes(X[:n], labels[:n])
        ranker = ConditionalRanker("symmetric")
        jobs = {
            "Gram product": lambda n=n: X[:n].T @ X[:n],
            "fit, symmetric ranking": lambda r=ranker, g=part: r.fit(g),
        }
        times = measure(jobs, 5 if n > 50_000 else 15)
        for name, curve in curves.items():
            curve.append(times[name])
            rows.append(Row(name, f"n={n:,}, d={d}", times[name], series=name, x=n))
    for name, curve in curves.items():
        slope = float(np.polyfit(np.log(sizes), np.log(curve), 1)[0])
        rows.append(Row(f"slope: {name}", "", slope, bar=1.05 if name.startswith("fit") else None, unit="slope"))
    return rows
