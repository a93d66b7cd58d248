"""Complete graphs: a fit costs little more than an eigendecomposition, a prediction two products, a λ path one fit."""

from __future__ import annotations

import time

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks import data
from benchmarks.harness import Job, Row, measure, peak_mib, suite
from benchmarks.intercepts import intercept_rows
from condrank import ConditionalRanker, RelationGraph

DRIVERS = ("evd", "evr", "ev")
# A fit may take this many times the fastest eigendecomposition and two products.
FIT_BAR = 1.2


def eigen_jobs(K: np.ndarray) -> dict[str, Job]:
    """Eigendecompositions of a copy of K by each LAPACK driver, in place, and by NumPy."""

    def lapack(driver: str) -> Job:
        return Job(lambda A: linalg.eigh(A, driver=driver, overwrite_a=True, check_finite=False), lambda: K.copy("F"))

    jobs = {f"scipy eigh, {driver}": lapack(driver) for driver in DRIVERS}
    return jobs | {"numpy eigh": Job(np.linalg.eigh, K.copy)}


def fits(n: int, repeats: int) -> tuple[list[Row], dict[str, RelationGraph], dict[str, ConditionalRanker], np.ndarray]:
    """Rows about the fit of six models, their graphs and rankers, and the kernel matrix."""
    graphs = {relation: data.complete(n, 20, relation) for relation in data.SIGN}
    K = rbf_kernel(graphs["ordinary"].nodes.rows)
    A, B = K.copy(), K.copy()
    rankers = {
        f"{relation} {loss}": ConditionalRanker(relation, loss, 0.1, kernel="rbf") for relation, loss in data.MODELS
    }
    # The driver ev takes ten times as long, as the suite eigh shows.
    eigen, size = eigen_jobs(K), f"n={n:,}"
    del eigen["scipy eigh, ev"]
    times = measure(
        eigen
        | {"two products": lambda: (A @ B) @ K}
        | {name: lambda r=ranker: r.fit(graphs[r.relation]) for name, ranker in rankers.items()},
        repeats,
    )
    fastest = min((name for name in eigen if name.startswith("scipy")), key=lambda name: times[name])
    floor = times[fastest] + times["two products"]
    rows = [Row(f"floor: {name}", size, times[name], times[fastest]) for name in eigen]
    rows += [Row(f"fit, {name}", size, times[name], floor, FIT_BAR, note=f"over {fastest}") for name in rankers]
    return rows, graphs, rankers, K


@suite("Fit and prediction on a complete graph")
def fit(quick: bool) -> list[Row]:
    """Six models, RBF kernel. The floor of a fit is SciPy's fastest eigendecomposition of the same kernel matrix plus
    two n×n products (NumPy's eigendecomposition is shown too). The floor of a prediction is two n×n products. The floor
    of memory, which is counted beyond the features and labels, is one n×n array. The floor of a fit with an intercept
    is the fit without one.
    """
    n, smaller, repeats = (120, 90, 2) if quick else (2000, 1500, 12)
    rows, graphs, rankers, K = fits(n, repeats)
    rows = fits(smaller, repeats)[0] + rows
    A, B, size = K.copy(), K.copy(), f"n={n:,}"

    seen, new = graphs["symmetric"], data.complete(n, 20, "symmetric", seed=5)
    ranker = rankers["symmetric ranking"]
    times = measure(
        {
            "two products": lambda: (A @ B) @ K,
            "predict all pairs": lambda: ranker.predict(seen),
            "predict new × new": lambda: ranker.predict(new),
        },
        3 * repeats,
    )
    products = times.pop("two products")
    rows.append(Row("predict all pairs", size, times["predict all pairs"], products, 1.3))
    note = "kernel values and a third product included"
    rows.append(Row("predict new × new", size, times["predict new × new"], products, note=note))

    for relation in ("ordinary", "symmetric"):
        rows += intercept_rows(relation, graphs[relation], repeats, relation=relation, alpha=0.1, kernel="rbf")

    array = K.nbytes / 2**20
    for name, ranker in rankers.items():
        job = lambda r=ranker: ConditionalRanker(**r.get_params()).fit(graphs[r.relation])  # noqa: E731
        rows.append(Row(f"memory, {name}", size, peak_mib(job), array, 4.0, unit="MiB", note="floor: one n×n array"))
    return rows


@suite("A path of λ against one fit", plot="curves", axes=("values of λ, the fit included", "seconds over one fit"))
def path(quick: bool) -> list[Row]:
    """A fit and then 50 values of λ from its factorisation. Floor: the fit alone. Every value gives a whole ranker."""
    n, count, repeats = (100, 6, 1) if quick else (2000, 50, 2)
    alphas = np.logspace(-4, 4, count)
    marks = sorted({1, count // 10 or 1, count // 5, count // 2, count})
    rows = []
    for relation, loss in data.MODELS:
        graph = data.complete(n, 20, relation)
        ranker = ConditionalRanker(relation, loss, kernel="rbf")
        one_fit, best = float("inf"), None
        for _ in range(repeats):
            one_fit = min(one_fit, measure({"fit": lambda r=ranker, g=graph: r.fit(g)}, 1)["fit"])
            start, stamps = time.perf_counter(), []
            for _ in ranker.path(alphas):
                stamps.append(time.perf_counter() - start)
            best = stamps if best is None else [min(pair) for pair in zip(best, stamps, strict=True)]
        assert best is not None
        bar = 8.0 if loss == "ranking" and relation != "ordinary" else 2.0
        name = f"{relation} {loss}"
        for mark in marks:
            total = one_fit + best[mark - 1]
            last = mark == count
            rows.append(
                Row(f"{name}, {mark} λ", f"n={n:,}", total, one_fit, bar if last else None, series=name, x=mark)
            )
    return rows


@suite("Classes as relation: nothing of size n×n")
def classes(quick: bool) -> list[Row]:
    """Explicit features; the relation "same class" stays factored. Floor of a fit: the bare Gram product X.T @ X. Floor
    of memory: one n×n array, of which the fit should take less than a hundredth.
    """
    n, d, n_classes = (3000, 20, 10) if quick else (200_000, 100, 50)
    X = data.nodes(n, d)
    labels = np.random.default_rng(3).integers(n_classes, size=n)
    graph = RelationGraph.from_classes(X, labels)
    size = f"n={n:,}, d={d}"
    rankers = {f"fit, {loss}": ConditionalRanker("symmetric", loss) for loss in ("regression", "ranking")}
    times = measure(
        {"gram": lambda: X.T @ X, "graph": lambda: RelationGraph.from_classes(X, labels)}
        | {name: lambda r=ranker: r.fit(graph) for name, ranker in rankers.items()},
        5,
    )
    rows = [Row(f"{name}, symmetric", size, times[name], times["gram"], 5.0) for name in rankers]
    rows.append(Row("making and checking the graph", size, times["graph"], times["gram"]))
    whole = 8.0 * n * n / 2**20
    for name, ranker in rankers.items():
        peak = peak_mib(lambda r=ranker: ConditionalRanker(**r.get_params()).fit(graph))
        note = f"floor: one n×n array; {peak / (X.nbytes / 2**20):.2f} of the features"
        rows.append(Row(f"memory, {name}", size, peak, whole, 0.01, unit="MiB", note=note))
    return rows
