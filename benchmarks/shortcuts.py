"""Cross-validation without refitting: whole paths of λ compared with one fit, and errors compared with retraining."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks import data
from benchmarks.harness import Row, measure, suite
from condrank import ConditionalRanker, RelationGraph
from condrank.base.blocks import in_threads, one_thread_a_product
from condrank.metrics import rank_loss
from condrank.model_selection.shortcuts import LeaveEdgeOut, LeaveNodeOut, LeaveQueryOut
from condrank.model_selection.shortcuts.rough_rows import roughly

SHORTCUTS = {"query": LeaveQueryOut, "node": LeaveNodeOut, "edge": LeaveEdgeOut}
PATH = np.logspace(-4, 4, 20)
# The bars: leaving out every row at 20 λ should take at most four fits, every node at one λ three.
BARS = {"query": 4.0, "node": 3.0}
EXACT = 1e-8
# The rank loss in single precision may differ by this.
ROUGH = 1e-4


def twins() -> ModuleType:
    """The naive reference implementations of the tests, which retrain without each row, node or edge."""
    folder = str(Path(__file__).resolve().parent.parent / "tests")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("reference_shortcuts")
    finally:
        sys.path.remove(folder)


def worst_error(what: str, relation: str, loss: str, n: int) -> float:
    """Largest error relative to the largest score of the retrained models, over kernels (one singular) and λ."""
    naive, worst = twins(), 0.0
    for width, kernel in ((3, "rbf"), (3, "linear")):
        X = data.nodes(n, width)
        Y = np.random.default_rng(4).normal(size=(n, n))
        graph = RelationGraph(X, Y + data.SIGN[relation] * Y.T, probabilities=False)
        ranker = ConditionalRanker(relation, loss, kernel=kernel).fit(graph)
        K = ranker.fitted_.system.rows.similarity(None, None)
        labels = graph.relation.to_dense()
        for share in (1e-6, 1e-3, 1.0, 1e3):
            alpha = share * np.linalg.eigvalsh(K)[-1] ** 2
            found = SHORTCUTS[what](ranker.fitted_.system, graph.relation).scores(alpha)
            exact = getattr(naive, f"leave_{what}_out")(K, labels, alpha, relation=relation, loss=loss)
            worst = max(worst, float(np.abs(found - exact).max() / max(np.abs(exact).max(), 1e-300)))
    return worst


@suite("Cross-validation without refitting")
def shortcuts(quick: bool) -> list[Row]:
    """Six models, RBF kernel. Times include everything except the fit whose factorisation is used. Floor: one fit.
    Leave-query-out and leave-edge-out at 20 λ from 10⁻⁴ to 10⁴, leave-node-out at λ = 1. Leave-query-out: scores as a
    search takes them, two λ at a time, in single precision where that decides the order; "exact" rows are in double
    precision, one λ after the other. Other rows show the two bare n×n products from the eigenbasis to scores, 20 times,
    in double precision. Errors are relative to retraining on few nodes, with RBF and linear kernels and λ from 10⁻⁶ to
    10³ of the largest eigenvalue of the edge kernel; losses of single precision are compared with those of double.
    """
    n, few, count = (80, 4, 2) if quick else (1000, 6, 20)
    rows = []
    alphas = PATH[:: len(PATH) // count]
    for relation, loss in data.MODELS:
        graph = data.complete(n, 20, relation)
        ranker = ConditionalRanker(relation, loss, 0.1, kernel="rbf")
        U = graph.relation.to_dense()
        bare = measure({"fit": lambda r=ranker, g=graph: r.fit(g), "products": lambda U=U: (U @ U) @ U.T}, 3)
        floor = bare["fit"]
        kept: dict[str, list[np.ndarray]] = {}

        def search(ranker=ranker, graph=graph, kept=kept) -> None:
            held_out = roughly(LeaveQueryOut(ranker.fitted_.system, graph.relation))
            scores = {}

            def score(alpha: float) -> None:
                scores[alpha] = held_out.settled(alpha)

            with one_thread_a_product():
                in_threads(score, alphas)
            kept["scores"] = [scores[alpha] for alpha in alphas]

        times = measure({"fit": lambda r=ranker, g=graph: r.fit(g), "search": search}, 2)
        floor = min(floor, times["fit"])
        name = f"query out, {len(alphas)} λ, {relation} {loss}"
        rows.append(Row(name, f"n={n:,}", times["search"], floor, BARS["query"]))
        exact = LeaveQueryOut(ranker.fitted_.system, graph.relation)
        gaps = [
            abs(rank_loss(U, found) - rank_loss(U, exact.settled(alpha)))
            for alpha, found in zip(alphas, kept["scores"], strict=True)
        ]
        rows.append(Row(f"error of the loss, {name}", f"n={n:,}", max(gaps), None, ROUGH, unit="error"))
        for what, shortcut in SHORTCUTS.items():
            tried = [1.0] if what == "node" else list(alphas)
            # Rows and pairs of W = ±Wᵀ need iterations: two λ in the middle represent all; smaller ones take longer.
            slow = what != "node" and relation != "ordinary"
            timed = tried[len(tried) // 3 :: max(1, len(tried) // 3)][:2] if slow else tried

            def job(shortcut=shortcut, timed=timed, ranker=ranker, graph=graph) -> None:
                held_out = shortcut(ranker.fitted_.system, graph.relation)
                for alpha in timed:
                    held_out.scores(alpha)

            repeats = 1 if slow else 2
            # What all λ share is counted once.
            shared = {"shared": lambda s=shortcut, r=ranker, g=graph: s(r.fitted_.system, g.relation)} if slow else {}
            times = measure({"fit": lambda r=ranker, g=graph: r.fit(g), what: job} | shared, repeats)
            floor, once = min(floor, times["fit"]), times.get("shared", 0.0)
            seconds = once + (times[what] - once) * len(tried) / len(timed)
            note = f"measured at λ = {', '.join(f'{a:.2g}' for a in timed)} only" if slow else ""
            name = f"{what} out{', exact' if what == 'query' else ''}, {len(tried)} λ, {relation} {loss}"
            rows.append(Row(name, f"n={n:,}", seconds, floor, BARS["node"] if what == "node" else None, note=note))
        name = f"query out, {len(alphas)} λ, bare products, {relation} {loss}"
        rows.append(Row(name, f"n={n:,}", len(alphas) * bare["products"], floor))
    for relation, loss in data.MODELS:
        for what in SHORTCUTS:
            error = worst_error(what, relation, loss, few)
            rows.append(Row(f"error, {what} out, {relation} {loss}", f"n={few}", error, None, EXACT, unit="error"))
    return rows
