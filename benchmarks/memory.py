"""Memory: the estimate of a plan compared with what a fit takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.data import complete, incomplete, nodes
from benchmarks.harness import Row, cut_short, peak_mib, suite
from condrank import ConditionalRanker, RelationGraph

BAR = 1.25


def in_float32(graph: RelationGraph) -> RelationGraph:
    """The same complete graph in single precision."""
    return RelationGraph(graph.nodes.base.astype(np.float32), graph.relation.to_dense().astype(np.float32))


def sparse_nodes(n: int, d: int) -> RelationGraph:
    """Every pair observed, between nodes with sparse features."""
    X = sparse.random_array((n, d), density=0.02, rng=np.random.default_rng(0), format="csr")
    return RelationGraph(X, np.random.default_rng(1).normal(size=(n, n)))


def outcomes(n: int, n_edges: int) -> RelationGraph:
    """A graph of games won and lost."""
    graph = incomplete(n, 20, n_edges, "reciprocal")
    edges: Any = graph.relation
    apart = edges.sources != edges.indices
    games = edges.sources[apart], edges.indices[apart], np.sign(edges.values[apart])
    return RelationGraph.from_edges(graph.nodes.base, *games)


def cases(quick: bool) -> dict[str, tuple[Callable[[], RelationGraph], dict[str, Any]]]:
    """Graphs and parameters by name. Iterations are few, because one needs as much memory as all."""
    n = 300 if quick else 2500
    E, rbf = n * n, {"kernel": "rbf"}
    primal, dual = {**rbf, "solver": "primal", "max_iter": 12}, {**rbf, "solver": "dual", "max_iter": 6}
    reciprocal, games = {"relation": "reciprocal"}, {"relation": "reciprocal", "loss": "logistic", "max_iter": 2}
    early = {**rbf, "solver": "early_stopping", "max_iter": 5, "random_state": 0}

    def classes(dtype: Any = np.float64, d: int = 20) -> RelationGraph:
        return RelationGraph.from_classes(nodes(20 * n, d).astype(dtype), np.arange(20 * n) % 50)

    return {
        "closed form, ordinary": (lambda: complete(n, 20), rbf),
        "closed form, reciprocal": (lambda: complete(n, 20, "reciprocal"), {**rbf, **reciprocal}),
        "closed form, float32": (lambda: in_float32(complete(n, 20)), rbf),
        "closed form, rank 35 of poly": (lambda: complete(n, 4), {"kernel": "poly", "degree": 3}),
        "closed form, features": (lambda: complete(2 * n, n // 2), {}),
        "closed form, cosine with a constant": (
            lambda: complete(2 * n, n // 2),
            {"kernel": "cosine", "constant": True},
        ),
        "closed form, sparse features": (lambda: sparse_nodes(2 * n, n // 2), {}),
        "closed form, factored": (lambda: classes(d=n // 2), {"relation": "symmetric"}),
        "closed form, Nyström": (classes, {**rbf, "n_components": n // 2}),
        "closed form, Nyström in float32": (lambda: classes(np.float32), {**rbf, "n_components": n // 2}),
        "closed form, Fourier": (classes, {**rbf, "n_components": n // 2, "approximation": "fourier"}),
        "primal, half observed": (lambda: incomplete(n, 20, E // 2), primal),
        "primal, reciprocal": (lambda: incomplete(n, 20, E // 2, "reciprocal"), {**primal, **reciprocal}),
        "primal, 2 % observed": (lambda: incomplete(n, 20, E // 50), primal),
        "primal, small λ": (lambda: incomplete(n, 20, E // 2), {**primal, "alpha": 1e-4}),
        "primal, Nyström": (lambda: incomplete(n, 20, E // 5), {**rbf, "n_components": n // 4, "max_iter": 12}),
        "compared": (lambda: incomplete(n // 2, 20, E // 20, "reciprocal"), {**primal, **reciprocal, "compared": [0]}),
        "dual, half observed": (lambda: incomplete(n, 5, E // 2), {**dual, "gamma": 5.0}),
        "dual, symmetric": (
            lambda: incomplete(n, 5, E // 5, "symmetric"),
            {**dual, "gamma": 5.0, "relation": "symmetric"},
        ),
        "dual, preconditioned": (lambda: incomplete(n, 5, E // 100), dual),
        "dual, poly2D": (lambda: incomplete(n, 20, E // 10), {**rbf, "pairwise_kernel": "poly2D", "max_iter": 6}),
        "Newton": (lambda: outcomes(n // 2, E // 50), {**rbf, **games, "solver": "primal"}),
        "Newton over the edges": (lambda: outcomes(n, E // 50), {**rbf, **games, "solver": "dual"}),
        "early stopping": (lambda: complete(n, 20), early),
        "early stopping, half observed": (lambda: incomplete(n, 20, E // 2), {**early, "method": "bicgstab"}),
        "explicit": (lambda: incomplete(n // 5, 40, E // 100), {"solver": "explicit"}),
    }


@suite("Memory: planned and taken", axes=("", "measured / planned or planned / measured"))
def memory(quick: bool) -> list[Row]:
    """Peak memory of a fit beyond its inputs (tracemalloc), compared with the estimate of `plan`. The measured value is
    their ratio, or its inverse if the plan says more; it should be at most 1.25. Imports and compiled loops are warmed
    up by an earlier fit, so they are not counted.
    """
    rows = []
    for name, (make, params) in cases(quick).items():
        graph, ranker = make(), ConditionalRanker(**params)
        planned = ranker.plan(graph).memory / 2**20
        with cut_short():
            if not rows or params.get("solver") in ("primal", "dual"):
                ConditionalRanker(**{**params, "max_iter": 1}).fit(graph)
            taken = peak_mib(lambda ranker=ranker, graph=graph: ranker.fit(graph))
        said = f"{planned:.1f} MiB planned, {taken:.1f} MiB taken"
        # Small fits have no bar: caches and blocks of fixed size dominate them.
        bar = BAR if taken > 20 else None
        size = " × ".join(f"{n:,}" for n in graph.shape) + f", {graph.n_edges:,} edges"
        rows.append(Row(name, size, max(planned / taken, taken / planned), bar=bar, unit="×", note=said))
    return rows
