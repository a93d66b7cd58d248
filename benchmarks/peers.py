"""Other ways to the same model: other libraries (if installed), explicit edges, the paper's own solver."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, bicgstab
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks import data
from benchmarks.harness import Row, cut_short, measure, suite
from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import ExplicitRankRLS
from condrank.metrics import rank_loss

PAPER_ITERATIONS = 200


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


def kernel_ridge(graph: RelationGraph, alpha: float) -> np.ndarray:
    """Scores of the training pairs by scikit-learn's KernelRidge, with every edge as an example."""
    K = rbf_kernel(graph.nodes.rows)
    edges = np.kron(K, K)
    y = graph.to_dense().ravel()
    return KernelRidge(alpha=alpha, kernel="precomputed").fit(edges, y).predict(edges).reshape(graph.shape)


def kron_rls(graph: RelationGraph, alpha: float) -> np.ndarray:
    """Scores of the training pairs by RLScore's KronRLS."""
    from rlscore.learner import KronRLS

    K = rbf_kernel(graph.nodes.rows)
    learner = KronRLS(K1=K, K2=K, Y=graph.to_dense().ravel(order="F"), regparam=alpha)
    return np.asarray(learner.predict(K, K)).reshape(graph.shape, order="F")


def boosted(graph: RelationGraph, module: str) -> np.ndarray:
    """Scores of the training pairs by gradient-boosted trees on the features of both nodes, with edges as examples."""
    X, n = graph.nodes.rows, len(graph)
    edges = np.hstack([np.repeat(X, n, axis=0), np.tile(X, (n, 1))])
    library = importlib.import_module(module)
    learner = library.LGBMRegressor(verbose=-1) if module == "lightgbm" else library.XGBRegressor()
    return np.asarray(learner.fit(edges, graph.to_dense().ravel()).predict(edges)).reshape(graph.shape)


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
    apart = np.abs(ours - theirs).max() / np.abs(theirs).max()
    Y = graph.to_dense()
    note = f"scores differ by {apart:.0e}; rank loss {rank_loss(Y, ours):.4f} against {rank_loss(Y, theirs):.4f}"
    return Row(name, f"n={len(graph):,}", times["condrank"], times["peer"], note=note)


@suite("condrank beside its peers")
def peers(quick: bool) -> list[Row]:
    """Fit and scores of all training pairs. Measured is condrank, the floor is the peer: a ratio below 1 means that
    condrank is faster. RBF kernel and λ are the same. Libraries that are not installed are listed without a value.
    """
    small, medium, n_paper = ((8, 16), 16, 30) if quick else ((20, 40, 60), 600, 600)
    iterations = 10 if quick else PAPER_ITERATIONS
    rows = []
    for n in small:
        graph = data.complete(n, 10, "symmetric")
        regression = ConditionalRanker(loss="regression", kernel="rbf")
        ranking = ConditionalRanker("symmetric", kernel="rbf")
        edge_wise = ExplicitRankRLS("symmetric", kernel="rbf", features="auto")
        rows.append(beside("KernelRidge on edges, regression", regression, graph, lambda g=graph: kernel_ridge(g, 1.0)))
        rows.append(
            beside(
                "RankRLS on edges, symmetric ranking",
                ranking,
                graph,
                lambda g=graph, e=edge_wise: e.fit(g).predict(g),
            )
        )
    libraries = {
        "rlscore": ("RLScore KronRLS, regression", lambda g: kron_rls(g, 1.0)),
        "lightgbm": ("LightGBM on edges", lambda g: boosted(g, "lightgbm")),
        "xgboost": ("XGBoost on edges", lambda g: boosted(g, "xgboost")),
    }
    graph = data.complete(medium, 10)
    for module, (name, peer) in libraries.items():
        if importlib.util.find_spec(module) is None:
            rows.append(Row(name, "", None, note=f"{module} is not importable here"))
            continue
        ranker = ConditionalRanker(loss="regression", kernel="rbf")
        rows.append(beside(name, ranker, graph, lambda p=peer: p(graph)))
    return rows + paper_rows(n_paper, iterations)


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
