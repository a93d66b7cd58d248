"""Judging a ranker on a sparse graph: the cost should grow with the edges, not with all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Row, measure, peak_mib, suite
from condrank import ConditionalRanker, RelationGraph, metrics
from condrank.metrics import make_scorer

N_NODES, N_FEATURES = 20_000, 8
MEASURED = ("ndcg", "pooled_concordance_index", "mean_squared_error")


@suite("Judging observed edges", plot="curves", axes=("edges", "seconds"))
def judging(quick: bool) -> list[Row]:
    """A fitted ranker on a graph of 20,000 nodes with 8 features: ``score``, three measures as scorers, and
    ``predict_edges`` of as many pairs, by a linear and by an RBF kernel (300 training nodes). Floor: sorting the labels
    of all edges by row (np.lexsort). The slope is that of a straight line through log seconds over log edges; 1 means
    that cost is in proportion to edges. Memory: the peak of ``score`` over the bytes of the edges.
    """
    n, counts = (500, (2_500, 5_000)) if quick else (N_NODES, (250_000, 500_000, 1_000_000, 2_000_000))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_FEATURES))
    few = RelationGraph(X[:300], X[:300] @ X[:300].T)
    rbf = ConditionalRanker(kernel="rbf").fit(few)
    rows: list[Row] = []
    curves: dict[str, list[float]] = {}
    for n_edges in counts:
        sources, targets = rng.integers(0, n, (2, n_edges))
        graph = RelationGraph.from_edges(X, sources, targets, rng.random(n_edges))
        times = measure(_jobs(graph, ConditionalRanker().fit(graph), rbf, X[sources], X[targets]), 3)
        for name, seconds in times.items():
            curves.setdefault(name, []).append(seconds)
            bar = 3.0 if name == "score" else None
            floor = None if name == "sort" else times["sort"]
            rows.append(Row(name, f"{n_edges:,}", seconds, floor, bar, series=name, x=n_edges))
    for name, curve in curves.items():
        slope = float(np.polyfit(np.log(counts), np.log(curve), 1)[0])
        rows.append(Row(f"slope: {name}", "", slope, bar=1.1 if name == "score" else None, unit="slope"))
    ranker = ConditionalRanker().fit(graph)
    peak, held = peak_mib(lambda: ranker.score(graph)), graph.relation.nbytes / 2**20
    rows.append(Row("peak of score", f"{counts[-1]:,}", peak, held, unit="MiB", note="floor: the edges themselves"))
    rows.append(_difference(graph, ranker))
    return rows


def _jobs(graph: RelationGraph, ranker: Any, rbf: Any, queries: np.ndarray, objects: np.ndarray) -> dict[str, Any]:
    edges: Any = graph.relation
    jobs = {
        "sort": lambda: np.lexsort((edges.values, edges.sources)),
        "score": lambda: ranker.score(graph),
        "predict_edges": lambda: ranker.predict_edges(queries, objects),
        "predict_edges, RBF": lambda: rbf.predict_edges(queries, objects),
    }
    scorers = {name: make_scorer(name) for name in MEASURED}
    return jobs | {name: lambda scorer=scorer: scorer(ranker, graph) for name, scorer in scorers.items()}


def _difference(graph: RelationGraph, ranker: Any) -> Row:
    """Largest difference between measures of edges and of the matrix with holes, on a part that fits in memory."""
    part = graph[np.arange(min(500, len(graph)))]
    edges: Any = part.relation
    truth, scores = part.to_dense(), ranker.predict(part)
    sparse = edges.matrix(edges.values), edges.matrix(scores[edges.sources, edges.indices])
    worst = max(abs(metrics.MEASURES[name](*sparse) - metrics.MEASURES[name](truth, scores)) for name in MEASURED)
    worst = max(worst, abs(metrics.rank_loss(*sparse) - metrics.rank_loss(truth, scores)))
    return Row("edges against matrices", "", worst, bar=0.0, unit="error")
