"""The time of explanations beside fits, and how exactly their sums are the scores."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Row, measure, suite
from condrank import ConditionalRanker, RelationGraph

MOST_SECONDS = 0.02
MODELS = [
    (relation, loss) for relation in ("ordinary", "symmetric", "reciprocal") for loss in ("regression", "ranking")
]


@suite("Explanations")
def explanations(quick: bool) -> list[Row]:
    """Contributions of all labels to the difference of two scores, and of features with a linear kernel.

    Complete graphs: the bar is 20 ms for 1,000 nodes; incomplete ones: the floor is the fit. The error is the
    difference of the sum and the score, relative to the sum of the sizes of the contributions.
    """
    n, repeats = (60, 1) if quick else (1000, 7)
    rows: list[Row] = []
    for relation, loss in MODELS:
        rows += _rows("complete", _graph(n, relation, 1.0), relation, loss, repeats, MOST_SECONDS)
    for relation, loss in MODELS:
        for solver in ("primal", "dual"):
            graph = _graph(n if quick else 600, relation, 0.1)
            rows += _rows(f"10 % observed, {solver}", graph, relation, loss, min(repeats, 3), None, solver=solver)
    ranker = ConditionalRanker(alpha=1.0).fit(_graph(n, "ordinary", 1.0))
    times = measure({"features": lambda: ranker.explain(3, 5, 7).features}, repeats)
    rows.append(Row("complete, features of a linear kernel", f"n={n:,}", times["features"], None, MOST_SECONDS))
    return rows


def _rows(
    name: str, graph: RelationGraph, relation: str, loss: str, repeats: int, bar: float | None, solver: str = "auto"
) -> list[Row]:
    ranker = ConditionalRanker(relation, loss, alpha=1.0, kernel="rbf", solver=solver)
    jobs = {"fit": lambda: ranker.fit(graph), "labels": lambda: ranker.explain(3, 5, 7).labels}
    times = measure(jobs, repeats)
    explained = ranker.explain(3, 5, 7)
    error = abs(explained.labels.total - explained.total) / float(np.abs(explained.labels.contributions).sum())
    what, size = f"{name}, {relation} {loss}", f"n={len(graph):,}, {graph.n_edges:,} labels"
    floor = None if bar is not None else times["fit"]
    note = f"a fit: {times['fit']:.3g} s" if floor is None else "floor: the fit"
    return [
        Row(what, size, times["labels"], floor, 1.0 if bar is None else bar, note=note),
        Row(f"{what}: sum", size, error, None, 1e-8 if bar is not None else 1e-5, unit="error"),
    ]


def _graph(n: int, relation: str, observed: float) -> RelationGraph:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    Y = X @ rng.normal(size=(10, 10)) @ X.T
    Y = {"ordinary": Y, "symmetric": Y + Y.T, "reciprocal": Y - Y.T}[relation]
    known = np.triu(rng.random((n, n)) < observed)
    return RelationGraph(X, Y if observed == 1.0 else np.where(known | known.T, Y, np.nan), probabilities=False)
