"""Kernel expressions: what constants, identities and sums of kernels add to a fit, and learning their weights."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import Row, measure, suite
from condrank import ConditionalRanker, RelationGraph
from condrank.kernels import RBF, Constant, Identity, Kernel, Precomputed
from condrank.model_selection import learn_kernel_weights
from condrank.nodes import Nodes
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.views import Views

N_SUMMED = 10


@suite("Kernel expressions")
def kernels(quick: bool) -> list[Row]:
    """Fits with a constant, an identity and both beside the plain kernel, with the same solver. A sum of ten given
    kernels beside one of them and nine additions of such matrices. Weights of twenty kernels by evidence, in seconds.
    """
    return [*_fits(quick), *_sums(quick), *_weights(quick)]


def _fits(quick: bool) -> list[Row]:
    n, n_edges = (60, 300) if quick else (1500, 100_000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    Y = np.sin(X[:, :1] + X[:, 1]) + 0.1 * rng.normal(size=(n, n))
    sources, targets = rng.integers(0, n, (2, n_edges))
    graphs = {
        ("complete", "closed_form"): RelationGraph(X, Y),
        (f"{n_edges:,} edges", "primal"): RelationGraph.from_edges(X, sources, targets, Y[sources, targets]),
        (f"{n_edges:,} edges", "dual"): RelationGraph.from_edges(X, sources, targets, Y[sources, targets]),
    }
    plain = RBF(gamma=0.05)
    expressions = {
        "plain": plain,
        "constant": plain + Constant(),
        "identity": plain + 0.1 * Identity(),
        "both": plain + Constant() + 0.1 * Identity(),
    }
    rows = []
    for (form, solver), graph in graphs.items():
        # A fixed number of iterations, so that only their cost is compared.
        given = {} if solver == "closed_form" else {"tol": 0.0, "max_iter": 10}
        fits = {
            name: lambda kernel=kernel, solver=solver, graph=graph, given=given: _fit(kernel, solver, graph, given)
            for name, kernel in expressions.items()
        }
        times = measure(fits, 3)
        rows += [
            Row(f"{solver}, {name}", f"n={n:,}, {form}", times[name], times["plain"], None if quick else 1.15)
            for name in expressions
            if name != "plain"
        ]
    return rows


def _fit(kernel: Kernel, solver: str, graph: RelationGraph, given: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ConditionalRanker("ordinary", "regression", 1.0, kernel, solver=solver, **given).fit(graph)


def _sums(quick: bool) -> list[Row]:
    n = 50 if quick else 2000
    rng = np.random.default_rng(0)
    views = {}
    for number in range(N_SUMMED):
        A = rng.normal(size=(n, 20))
        views[f"k{number}"] = A @ A.T
    nodes = Nodes(Views(views))
    one, ten = Precomputed(view="k0"), Precomputed(view="k0")
    for number in range(1, N_SUMMED):
        ten = ten + Precomputed(view=f"k{number}")
    summed = np.zeros((n, n))

    def additions() -> None:
        for number in range(1, N_SUMMED):
            np.add(summed, views[f"k{number}"], out=summed)

    times = measure(
        {
            "one": lambda: NodeSimilarity(one, nodes).training_kernel(),
            "ten": lambda: NodeSimilarity(ten, nodes).training_kernel(),
            "additions": additions,
        },
        5,
    )
    floor = times["one"] + times["additions"]
    return [Row("kernel matrix of a sum of ten", f"n={n:,}", times["ten"], floor, None if quick else 1.1)]


def _weights(quick: bool) -> list[Row]:
    n, count = (20, 3) if quick else (100, 20)
    rng = np.random.default_rng(0)
    views = {f"v{number}": rng.normal(size=(n, 4)) for number in range(count)}
    graph = RelationGraph(views, np.sin(views["v0"][:, :1] + views["v0"][:, 1]) + 0.1 * rng.normal(size=(n, n)))
    kernels = [*(RBF("median", view=name) for name in views), Constant()]
    times = measure({"evidence": lambda: learn_kernel_weights(graph, kernels)}, 2)
    return [Row("weights by evidence", f"n={n}, {count + 1} kernels", times["evidence"], None, None if quick else 1.0)]
