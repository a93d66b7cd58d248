"""Training times: complete graphs against nodes, 1,000 nodes against edges, 100 nodes against features."""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from condrank import ConditionalRanker, RelationGraph, datasets
from condrank.baselines import ExplicitRankRLS, RankSVM

from .drawing import Panel, curves
from .results import Picture, Row, Run, experiment

Fit = Callable[[RelationGraph], Any]
ITERATIONS = 200
LIMIT = 10.0
ABSENT = "rlscore cannot be imported here"
# What rankers and baselines say if a fit needs too much memory.
REFUSED = "needs about"


@experiment(
    "Runtime",
    differences=(
        "The newsgroup documents replace the Reuters sample that the paper's text mentions (its figure says "
        "20-Newsgroups).",
        "Kernel RankRLS is `ExplicitRankRLS` with a kernel between edges, RankSVM is liblinear on explicit products "
        "(of the kernel's exact coordinates for the kernel figures; λ = 1 as C = 1/2, at most 100,000 pairs), the "
        "iterative method is `early_stopping` with 200 BiCGSTAB iterations watched on 20 nodes. The other solvers of "
        "the paper (SVMlight, SVMrank, RLScore) are not used, except RLScore's KronRLS if it can be imported.",
        f"A method is not run on larger sizes after a fit took more than {LIMIT:.0f} s or needed too much memory.",
        "The floor is only LAPACK's eigendecomposition of the kernel matrix and two products with it.",
    ),
    files=("20newsgroups/counts_csr.npz", "20newsgroups/labels.npz", "usps/usps.npz"),
)
def runtime(run: Run) -> Iterator[Row | Picture]:
    """Seconds of one fit, λ = 1, ranking loss. Newsgroup documents with a linear kernel on word counts, three-level
    relation; USPS digits with label 1 for the same digit.
    """
    found = datasets.load_newsgroups("set1", data_home=run.data)
    order = np.random.default_rng(run.seed).permutation(len(found.labels))
    documents = found.graph[order]
    digits = datasets.load_usps(data_home=run.data)
    panels = []
    figures = partial(against_nodes, run, documents), partial(against_edges, run, documents)
    for figure in (*figures, partial(against_features, run, digits)):
        rows, panel = figure()
        yield from rows
        panels.append(panel)
    yield curves("scaling", CAPTION, panels)


CAPTION = (
    "Seconds of a fit. The paper's text says about its figure: on complete graphs RankRLS and RankSVM on edges do not "
    "scale beyond tens of nodes, closed form and early stopping reach thousands, the closed form an order of magnitude "
    "faster; on very sparse graphs RankSVM is the fastest, beyond 32,000 edges only early stopping is feasible; with "
    "explicit products the linear solvers are competitive up to about 10 features."
)


def solvers(validation: RelationGraph) -> dict[str, Fit]:
    """The ways to train a conditional ranker."""
    stopped = ConditionalRanker(
        alpha=1.0,
        solver="early_stopping",
        method="bicgstab",
        tol=0.0,
        max_iter=ITERATIONS,
        n_iter_no_change=ITERATIONS,
    )
    return {
        "closed form": ConditionalRanker(alpha=1.0, solver="closed_form").fit,
        "iterative, preconditioned": ConditionalRanker(alpha=1.0, solver="iterative").fit,
        "early stopping, 200 iterations": lambda graph: stopped.fit(graph, validation=validation),
        "RankRLS on edges, kernel": ExplicitRankRLS(alpha=1.0, features="kernel").fit,
        "RankRLS on edges, products": ExplicitRankRLS(alpha=1.0, features="product").fit,
        "RankSVM on edges": RankSVM(C=0.5, random_state=0).fit,
    }


def against_nodes(run: Run, documents: RelationGraph) -> tuple[list[Row], Panel]:
    """Complete graphs of newsgroup documents."""
    sizes = (10, 20) if run.quick else (10, 20, 40, 80, 160, 320, 640, 1280, 2560)
    held_out = documents[len(documents) - 20 :]
    graphs = {n: RelationGraph(documents[:n].nodes.rows, documents[:n].to_dense()) for n in sizes}
    fits = {name: fit for name, fit in solvers(held_out).items() if "precond" not in name and "products" not in name}
    fits["floor: eigh and two products"] = floor
    if importlib.util.find_spec("rlscore") is not None:
        fits["RLScore KronRLS (regression)"] = kron_rls
    rows, panel = measure(run, "Complete graph, newsgroups", "nodes", graphs, fits)
    if "RLScore KronRLS (regression)" not in fits:
        rows.append(Row(rows[0].table, "", "RLScore KronRLS (regression)", None, note=ABSENT, unit="s", seed=run.seed))
    return rows, panel


def against_edges(run: Run, documents: RelationGraph) -> tuple[list[Row], Panel]:
    """Some edges of a graph of 1,000 newsgroup documents."""
    n, sizes = (20, (50, 100)) if run.quick else (1000, [2**k * 1000 for k in range(10)])
    X, Y = documents[:n].nodes.rows, documents[:n].to_dense()
    rng = np.random.default_rng(run.seed)
    graphs = {}
    for size in sizes:
        sources, targets = np.divmod(rng.choice(n * n, size, replace=False), n)
        graphs[size] = RelationGraph.from_edges(X, sources, targets, Y[sources, targets])
    fits = solvers(documents[len(documents) - 20 :])
    shown = (
        "iterative, preconditioned",
        "early stopping, 200 iterations",
        "RankRLS on edges, kernel",
        "RankSVM on edges",
    )
    rows, panel = measure(run, f"{n:,} nodes, newsgroups", "edges", graphs, {name: fits[name] for name in shown})
    complete = RelationGraph(X, Y)
    levels = {"closed form, complete": seconds_of(fits["closed form"], complete), "floor": seconds_of(floor, complete)}
    rows += [
        Row(rows[0].table, f"{n * n} edges", name, value, seconds=value, seed=run.seed, protocol=PROTOCOL, unit="s")
        for name, value in levels.items()
    ]
    return rows, Panel(panel.title, panel.x, panel.y, panel.series, 10, True, levels)


def against_features(run: Run, digits: Any) -> tuple[list[Row], Panel]:
    """Complete graphs of 100 USPS digits with some of the pixels."""
    n, sizes = (20, (2, 4)) if run.quick else (100, (2, 4, 8, 16, 32, 64, 128, 256))
    rng = np.random.default_rng(run.seed)
    order, pixels = rng.permutation(len(digits.labels)), rng.permutation(digits.X.shape[1])
    chosen, held_out = order[:n], order[-20:]
    Y = np.equal.outer(digits.labels[chosen], digits.labels[chosen]).astype(float)
    graphs = {d: RelationGraph(digits.X[np.ix_(chosen, pixels[:d])], Y) for d in sizes}

    def fit_by(name: str, graph: RelationGraph) -> Any:
        X = digits.X[np.ix_(held_out, pixels[: graph.n_features_in_])]
        return solvers(RelationGraph.from_classes(X, digits.labels[held_out]))[name](graph)

    fits = {name: partial(fit_by, name) for name in LINEAR}
    return measure(run, f"{n} nodes, complete graph, USPS", "features", graphs, fits)


LINEAR = ("closed form", "early stopping, 200 iterations", "RankRLS on edges, products", "RankSVM on edges")
PROTOCOL = (
    "the faster of two fits if one takes less than a second, otherwise one fit; λ = 1, ranking loss, linear kernel"
)


def measure(run: Run, title: str, x: str, graphs: dict[int, RelationGraph], fits: dict[str, Fit]) -> Any:
    """Seconds of every method on every graph, until it becomes slow."""
    rows, series = [], {}
    for name, fit in fits.items():
        run.step(f"{title}: {name}")
        points: list[tuple[int, float]] = []
        for size, graph in graphs.items():
            try:
                seconds = seconds_of(fit, graph)
            except ValueError as refusal:
                if REFUSED not in str(refusal):
                    raise
                rows.append(
                    Row(title, f"{size} {x}", name, None, note=str(refusal).split(",")[0], unit="s", seed=run.seed)
                )
                break
            points.append((size, seconds))
            rows.append(Row(title, f"{size} {x}", name, seconds, None, None, seconds, run.seed, PROTOCOL, unit="s"))
            if seconds > (1.0 if run.quick else LIMIT):
                break
        series[name] = tuple(zip(*points, strict=True)) if points else ((), ())
    return rows, Panel(title, x, "seconds", series, x_log=10, y_log=True)


def seconds_of(fit: Fit, graph: RelationGraph) -> float:
    """Seconds of a fit. If the first fit is short, the better of two counts, because of compiled loops and caches."""
    best = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(2):
            start = time.perf_counter()
            fit(graph)
            best = min(best, time.perf_counter() - start)
            if best > 1:
                break
    return best


def floor(graph: RelationGraph) -> None:
    """The eigendecomposition of the kernel, and two products with the eigenvectors."""
    X, Y = graph.nodes.rows, graph.to_dense()
    K = X @ X.T
    _, V = eigh(K.toarray() if hasattr(K, "toarray") else K, driver="evd", check_finite=False)
    _ = V.T @ Y @ V


def kron_rls(graph: RelationGraph) -> None:
    """RLScore's closed form for regression."""
    learners = importlib.import_module("rlscore.learner")
    X = graph.nodes.rows
    K = (X @ X.T).toarray() if hasattr(X, "toarray") else X @ X.T
    learners.KronRLS(K1=K, K2=K, Y=graph.to_dense().ravel(order="F"), regparam=1.0)
