"""Games: the logistic loss by Newton's method, where each step is the same preconditioned iteration."""

from __future__ import annotations

import numpy as np

from benchmarks import data
from benchmarks.harness import Row, cut_short, seconds, suite
from condrank import ConditionalRanker, RelationGraph

# An exact kernel of 3,000 nodes and 150,000 games, on two cores.
SECONDS = 7.0


def games(n: int, d: int, n_games: int) -> RelationGraph:
    """Games between nodes, decided by strengths and a cyclic part. Each game is one edge, 1 or -1."""
    X = data.nodes(n, d)
    drawn = np.column_stack(data.pairs(n, 3 * n_games))
    rng = np.random.default_rng(5)
    # Two nodes meet once, because the outcome of a second game might contradict the first.
    first, second = rng.permutation(drawn[drawn[:, 0] < drawn[:, 1]])[:n_games].T
    log_odds = 3 * np.einsum("ij,ij->i", (X @ data.bilinear(d, "reciprocal"))[first], X[second])
    log_odds += X[first, 0] - X[second, 0]
    won = rng.random(len(first)) < 1 / (1 + np.exp(-log_odds))
    return RelationGraph.from_edges(X, first, second, np.where(won, 1.0, -1.0))


@suite("Games and the logistic loss")
def logistic(quick: bool) -> list[Row]:
    """Reciprocal relation, λ = 1, until the gradient is 10⁻⁶ of the first. Floor: least squares on the same games, to
    the same tolerance and with the same preconditioned iteration.
    """
    n, d, n_games = (60, 5, 300) if quick else (3000, 10, 150_000)
    graph = games(n, d, n_games)
    kernels = {
        "linear and constant": {"kernel": "linear", "constant": True},
        "rbf": {"kernel": "rbf", "constant": True},
    }
    rows = []
    for name, kernel in kernels.items():
        took, steps = {}, {}
        for loss in ("regression", "logistic"):
            ranker = ConditionalRanker("reciprocal", loss, tol=1e-6, **kernel)
            with cut_short():
                took[loss] = seconds(lambda r=ranker: r.fit(graph))
            steps[loss] = ranker.n_iter_
        note = f"{steps['logistic']} Newton steps; least squares: {steps['regression']} iterations"
        size = f"n={n:,}, {graph.n_edges:,} games"
        rows.append(Row(f"logistic, {name}", size, took["logistic"], took["regression"], note=note))
        if name == "rbf" and not quick:
            rows.append(Row(f"logistic, {name}, seconds", size, took["logistic"], None, SECONDS, note="on two cores"))
    return rows
