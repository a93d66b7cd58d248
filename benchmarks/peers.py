"""Other ways to the same model: other libraries (if installed), explicit edges, the paper's own solver."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, bicgstab
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks import data
from benchmarks.harness import Row, cut_short, measure, suite
from benchmarks.libraries import ON_EDGES, TREES, KronRLS, Peer, cg_kron_rls, missing
from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import ExplicitRankRLS
from condrank.metrics import rank_loss

PAPER_ITERATIONS = 200
# RLScore's iterations on an incomplete graph.
CG_ITERATIONS = 10


def paper_symmetric_ranking(graph: RelationGraph, iterations: int) -> tuple[np.ndarray, int]:
    """Scores of the training pairs by the paper's method (λ = 0, BiCGSTAB, dense products with K), and its iterations.

    The operator maps A to K (A + Aᵀ)/2 K with centred rows. An iteration has two such products.
    """
    K, Y = rbf_kernel(graph.nodes.rows), graph.to_dense()
    shape = Y.shape

    def scores(a: np.ndarray) -> np.ndarray:
        A = a.reshape(shape)
        return (K @ ((A + A.T) / 2)) @ K

    def product(a: np.ndarray) -> np.ndarray:
        F = scores(a)
        return (F - F.mean(axis=1, keepdims=True)).ravel()

    rhs = (Y - Y.mean(axis=1, keepdims=True)).ravel()
    operator = LinearOperator((Y.size, Y.size), matvec=product, dtype=Y.dtype)
    count = itertools.count()
    a, _ = bicgstab(operator, rhs, rtol=0.0, atol=0.0, maxiter=iterations, callback=lambda _: next(count))
    return scores(a), next(count)


def apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference of two scores, relative to the largest score."""
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def beside(name: str, ranker: ConditionalRanker, graph: RelationGraph, peer: Callable[[], np.ndarray]) -> Row:
    """A row that compares condrank with a peer: fit and scores of all pairs, and how far the scores differ."""
    found = {}
    times = measure(
        {
            "peer": lambda: found.update(peer=peer()),
            "condrank": lambda: found.update(condrank=ranker.fit(graph).predict(graph)),
        }
    )
    ours, theirs = found["condrank"], found["peer"]
    Y = graph.to_dense()
    note = f"scores differ by {apart(ours, theirs):.0e}; "
    note += f"rank loss {rank_loss(Y, ours):.4f} against {rank_loss(Y, theirs):.4f}"
    return Row(name, f"n={len(graph):,}", times["condrank"], times["peer"], note=note)


@suite("condrank beside its peers")
def peers(quick: bool) -> list[Row]:
    """Fit and scores of all training pairs. Measured is condrank, the floor is the peer: a ratio below 1 means that
    condrank is faster. RBF kernel and λ are the same. Libraries that are not importable are listed without a value.
    RLScore has rows of its own for fit, scores and a new λ on a complete graph; on an incomplete one our whole fit is
    compared with some of its iterations, each of which is a product with the kernel of the edges.
    """
    small, medium, n_paper = ((8, 16), 16, 30) if quick else ((20, 40, 60), 600, 600)
    iterations = 10 if quick else PAPER_ITERATIONS
    rows = []
    for n in small:
        graph = data.complete(n, 10)
        rows += [beside_library(peer, graph) for peer in ON_EDGES]
        symmetric = data.complete(n, 10, "symmetric")
        ranking = ConditionalRanker("symmetric", kernel="rbf")
        edge_wise = ExplicitRankRLS("symmetric", kernel="rbf", features="auto")
        name = "RankRLS on edges, symmetric ranking"
        rows.append(beside(name, ranking, symmetric, lambda g=symmetric, e=edge_wise: e.fit(g).predict(g)))
    graph = data.complete(medium, 10)
    rows += [beside_library(peer, graph) for peer in TREES]
    if missing("rlscore"):
        rows.append(Row("RLScore", "", None, note=f"{missing('rlscore')}; benchmarks/README.md says how to build it"))
    else:
        for n in (30,) if quick else (600, 1000, 2000):
            rows += kron_rls_rows(data.complete(n, 10))
        for n, n_edges in ((40, 400),) if quick else ((1000, 50_000), (1000, 500_000)):
            rows.append(cg_kron_rls_row(data.incomplete(n, 10, n_edges), 100 if quick else CG_ITERATIONS))
    return rows + paper_rows(n_paper, iterations)


def beside_library(peer: Peer, graph: RelationGraph) -> Row:
    """A row that compares condrank's regression with a library; without a value if it is not importable."""
    if missing(peer.module):
        return Row(peer.name, "", None, note=missing(peer.module))
    return beside(peer.name, ConditionalRanker(loss="regression", kernel="rbf"), graph, lambda: peer.scores(graph, 1.0))


def kron_rls_rows(graph: RelationGraph) -> list[Row]:
    """RLScore on a complete graph: a fit, the scores of all pairs, another λ, and another λ with its scores.

    RLScore's new λ ends with dual weights, ours with weights in the eigenbasis; so the last row is the fair one.
    """
    ranker, theirs = ConditionalRanker(loss="regression", kernel="rbf").fit(graph), KronRLS(graph, 1.0)
    fits = measure({"RLScore": lambda: KronRLS(graph, 1.0), "condrank": lambda: ranker.fit(graph)})
    predictions = measure({"RLScore": theirs.scores, "condrank": lambda: ranker.predict(graph)})
    first = apart(ranker.predict(graph), theirs.scores())

    def other() -> ConditionalRanker:
        return next(iter(ranker.path([0.1])))

    lambdas = measure({"RLScore": lambda: theirs.again(0.1), "condrank": other})
    wholes = measure({"RLScore": lambda: theirs.again(0.1).scores(), "condrank": lambda: other().predict(graph)})
    second = apart(other().predict(graph), theirs.again(0.1).scores())
    return [
        Row(
            f"RLScore KronRLS, {name}",
            f"n={len(graph):,}",
            times["condrank"],
            times["RLScore"],
            note=f"scores differ by {difference:.0e}",
        )
        for name, times, difference in (
            ("fit", fits, first),
            ("scores of all pairs", predictions, first),
            ("a new λ", lambdas, second),
            ("a new λ and its scores", wholes, second),
        )
    ]


def cg_kron_rls_row(graph: RelationGraph, iterations: int) -> Row:
    """Our whole fit of an incomplete graph beside some iterations of RLScore's."""
    ranker = ConditionalRanker(loss="regression", kernel="rbf")
    start = time.perf_counter()
    theirs = cg_kron_rls(graph, 1.0, iterations)
    floor = time.perf_counter() - start
    seconds = measure({"condrank": lambda: ranker.fit(graph)})["condrank"]
    ours = ranker.predict(graph)[graph.relation.sources, graph.relation.indices]
    note = f"scores of the edges differ by {apart(ours, theirs()):.0e} after these iterations; ours: {ranker.n_iter_}"
    note += f" iterations, {seconds / floor * iterations:.2g} of one of theirs"
    size = f"n={len(graph):,}, {graph.n_edges:,} edges"
    return Row(f"RLScore CGKronRLS, {iterations} iterations; our whole fit", size, seconds, floor, note=note)


def paper_rows(n: int, iterations: int) -> list[Row]:
    """The paper's method for symmetric ranking, compared with the closed form and with our own early stopping."""
    graph = data.complete(n, 10, "symmetric")
    held_out = data.complete(20, 10, "symmetric", seed=8)
    closed = ConditionalRanker("symmetric", kernel="rbf", alpha=0.1)
    stopped = ConditionalRanker(
        "symmetric",
        kernel="rbf",
        alpha=0.0,
        solver="early_stopping",
        method="bicgstab",
        tol=0.0,
        max_iter=iterations,
        n_iter_no_change=iterations,
    )
    made = 0

    def paper() -> None:
        nonlocal made
        made = paper_symmetric_ranking(graph, iterations)[1]

    with cut_short():
        times = measure(
            {
                "paper": paper,
                "closed": lambda: closed.fit(graph).predict(graph),
                "stopped": lambda: stopped.fit(graph, validation=held_out).predict(graph),
            },
            2,
        )
    name, size = f"paper's route, {made} BiCGSTAB iterations", f"n={n:,}"
    return [
        Row(f"{name}; closed form", size, times["closed"], times["paper"], note="λ = 0.1 against λ = 0 stopped early"),
        Row(
            f"{name}; early stopping",
            size,
            times["stopped"],
            times["paper"],
            note=f"{iterations} iterations in spectral coordinates, each watched on 20 held-out nodes",
        ),
    ]
