"""Standard deviations of scores beside predictions, and probabilities of orders beside the fit."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Job, Row, measure, suite
from condrank import ConditionalRanker, RelationGraph

N_PROBABILITIES, N_EXACT = 1000, 100


@suite("How sure: standard deviations and probabilities")
def uncertainty(quick: bool) -> list[Row]:
    """RBF kernel. Standard deviations of all pairs of training nodes of a complete graph, at most 3 × the prediction of
    the same pairs for ordinary regression (floor: the prediction). Then 1,000 probabilities that one object is above
    another, on incomplete graphs, at most 3 × the fit (floor: the fit): a sparse graph, whose edges are factorised
    once, and a denser one, with one step by formula and a few draws. The errors are root mean squares of the first 100
    probabilities, against factorisations in double precision and adjoint solves.
    """
    n, sparse, dense = (60, (60, 200), (40, 0.5)) if quick else (2000, (1000, 3000), (500, 0.1))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    Y = X @ rng.normal(size=(10, 10)) @ X.T + rng.normal(size=(n, n))
    rows = []
    for relation, loss, bar in (
        ("ordinary", "regression", 3.0),
        ("ordinary", "ranking", None),
        ("symmetric", "regression", None),
    ):
        labels = Y if relation == "ordinary" else Y + Y.T
        ranker = ConditionalRanker(relation, loss, kernel="rbf").fit(X, labels)
        jobs = {"scores": lambda r=ranker: r.predict(X), "std": lambda r=ranker: r.posterior_.variance(X)}
        took = measure(jobs, 2)
        note = "floor: the prediction of all pairs"
        rows.append(Row(f"all pairs, {relation} {loss}", f"n={n:,}", took["std"], took["scores"], bar, note=note))
    rows += _probabilities("sparse", *sparse)
    nodes, share = dense
    rows += _probabilities("denser", nodes, int(share * nodes**2))
    return rows


def _probabilities(name: str, n: int, n_edges: int) -> list[Row]:
    """A thousand probabilities beside the fit, and their error."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 10))
    sources, targets = rng.integers(0, n, (2, n_edges))
    values = np.einsum("ij,ij->i", X[sources], X[targets]) + rng.normal(size=n_edges)
    graph = RelationGraph.from_edges(X, sources, targets, values)
    ranker = ConditionalRanker(loss="regression", kernel="rbf")
    asked = rng.integers(0, n, (3, N_PROBABILITIES))
    jobs = {
        "fit": lambda: ranker.fit(graph),
        # A new fit has nothing ready: the factorisation counts too.
        "asked": Job(lambda fitted: fitted.probability_above(*asked), lambda: ranker.fit(graph)),
    }
    took = measure(jobs, 2)
    size = f"n={n:,}, {graph.n_edges:,} edges"
    note = f"floor: the fit; {ranker.posterior_.way}"
    first = [one[:N_EXACT] for one in asked]
    apart = ranker.probability_above(*asked)[:N_EXACT]
    posterior = ranker.posterior_
    if hasattr(posterior.posterior.engine, "factor"):
        posterior.posterior.engine.factor  # noqa: B018 - once it is there, it is used
    apart -= ranker.probability_above(*first)
    what = f"1,000 probabilities, {name}"
    return [
        Row(what, size, took["asked"], took["fit"], 3.0, note=note),
        Row(f"{what}: error", size, float(np.sqrt(np.mean(apart**2))), None, 2e-3, unit="error"),
    ]
