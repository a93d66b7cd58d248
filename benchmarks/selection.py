"""Choosing λ: folds cost one eigendecomposition each, for any number of λ, and no copy of the node data."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks import data
from benchmarks.harness import Job, Row, measure, peak_mib, suite
from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.model_selection import SettingSplit
from condrank.model_selection.fold import Fold

# Five folds with 30 values of λ inside may take this many times their eigendecompositions.
FOLDS_BAR = 2.5


def eigh(A: np.ndarray) -> None:
    """Compute an eigendecomposition that overwrites its argument."""
    linalg.eigh(A, driver="evd", overwrite_a=True, check_finite=False)


@suite("Folds of nodes with a path of λ inside")
def folds(quick: bool) -> list[Row]:
    """Five folds of setting 4 and 30 values of λ, RBF kernel, without the last fit to all nodes. Floor: five
    eigendecompositions of the training size, by SciPy or NumPy, whichever is faster here. Other rows show one λ, which
    is the cost of the fits; refitting for every λ (measured for three λ, times ten); and the bare work: the
    eigendecompositions and the matrix products that a straightforward program needs, which are two of the training size
    per fold for the labels, and for each λ those from its weights to scores of the test pairs.
    """
    n, repeats = (100, 2) if quick else (1000, 3)
    alphas = np.logspace(-4, 3, 30)
    splits, rows = SettingSplit(4, 5, random_state=0), []
    for relation, loss in data.MODELS:
        graph = data.complete(n, 20, relation)
        train, _ = next(iter(splits.split(graph)))
        K = rbf_kernel(train.nodes.rows)
        Z = K[: n - len(K)].copy()

        ranker = ConditionalRanker(relation, loss, kernel="rbf")

        def search(values: np.ndarray, graph: RelationGraph = graph, ranker: ConditionalRanker = ranker) -> None:
            for train, test in splits.split(graph):
                Fold(ranker, train, test, [0.0]).counts(values)

        def refit(graph: RelationGraph = graph, ranker: ConditionalRanker = ranker) -> None:
            for alpha in alphas[::10]:
                for train, test in splits.split(graph):
                    clone(ranker).set_params(alpha=alpha).fit(train).score(test)

        times = measure(
            {
                "eigh": Job(eigh, lambda K=K: K.copy("F")),
                "numpy eigh": lambda K=K: np.linalg.eigh(K),
                "labels": lambda K=K: K @ (K @ K),
                "scores": lambda Z=Z, K=K: (Z @ K) @ Z.T,
                "30 λ": lambda: search(alphas),
                "one λ": lambda: search(alphas[:1]),
                "refit": refit,
            },
            repeats,
        )
        floor, size = 5 * min(times["eigh"], times["numpy eigh"]), f"n={n:,}, 5 folds"
        rows.append(Row(f"30 λ, {relation} {loss}", size, times["30 λ"], floor, FOLDS_BAR))
        bare = floor + 5 * (times["labels"] + len(alphas) * times["scores"])
        rows.append(Row(f"30 λ, bare products, {relation} {loss}", size, bare, floor))
        rows.append(Row(f"one λ, {relation} {loss}", size, times["one λ"], floor))
        rows.append(Row(f"30 λ by refitting, {relation} {loss}", size, 10 * times["refit"], floor))
    return rows


@suite("Memory of a search")
def search_memory(quick: bool) -> list[Row]:
    """Peak memory, beyond the graph, of choosing among 4 λ and 2 kernel widths over 5 folds (setting 4), with many
    features. Floor: one copy of the node data. There must be no copy per fold or candidate.
    """
    n, d = (60, 2000) if quick else (800, 100_000)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    graph = RelationGraph(X, rng.standard_normal((n, n)).astype(np.float32))
    rows = []
    for cv in (SettingSplit(4, 5, random_state=0), "leave-query-out"):
        ranker = ConditionalRankerCV([0.01, 0.1, 1.0, 10.0], cv, [0.3 / d, 1.0 / d], kernel="rbf")
        name = cv if isinstance(cv, str) else "5 folds"
        mib = peak_mib(lambda ranker=ranker: ranker.fit(graph))
        rows.append(Row(f"search, {name}", f"n={n:,}, d={d:,}", mib, X.nbytes / 2**20, 0.5, unit="MiB"))
    return rows
