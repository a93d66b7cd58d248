"""Judging a ranker on a sparse graph: the cost should grow with the edges, not with all pairs."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Row, measure, suite
from condrank import ConditionalRanker, RelationGraph

N_NODES, N_FEATURES = 20_000, 8


@suite("Judging observed edges", plot="curves", axes=("edges", "seconds"))
def judging(quick: bool) -> list[Row]:
    """``score`` of a fitted ranker on a graph of 20,000 nodes with 8 features, and ``predict_edges`` of as many pairs.
    Floor: sorting the labels of all edges by row (np.lexsort). The cost should grow in proportion to the edges.
    """
    n, counts = (500, (5_000,)) if quick else (N_NODES, (250_000, 500_000, 1_000_000, 2_000_000))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_FEATURES))
    rows = []
    for n_edges in counts:
        sources, targets = rng.integers(0, n, (2, n_edges))
        graph = RelationGraph.from_edges(X, sources, targets, rng.normal(size=n_edges))
        ranker = ConditionalRanker().fit(graph)
        edges, pairs = graph.relation, (X[sources], X[targets])
        times = measure(
            {
                "sort": lambda edges=edges: np.lexsort((edges.values, edges.sources)),
                "score": lambda ranker=ranker, graph=graph: ranker.score(graph),
                "predict_edges": lambda ranker=ranker, pairs=pairs: ranker.predict_edges(*pairs),
            },
            3,
        )
        rows += [Row(name, f"{n_edges:,}", times[name], times["sort"], bar) for name, bar in JUDGED.items()]
    return rows


JUDGED = {"score": 3.0, "predict_edges": None}
