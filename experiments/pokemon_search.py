"""Pokémon battles, both Pokémon new: isotropic kernels, the searched similarity, and boosted trees on the same splits.

Protocol: the 784 Pokémon that fought are split into five folds of nodes (setting 4). Each method sees the training
graph of a fold only and tunes itself on holdouts of its nodes; the rank loss is pooled over the observed pairs among
the test nodes. Kernels: λ × width over three holdouts. Trees (LightGBM): both nodes' features, products, absolute and
signed differences; scores of both directions are averaged; size and number of trees, and the objective, over the same
number of holdouts. Run with ``python -m experiments.pokemon_search [fold ...]``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from condrank import ConditionalRanker, RelationGraph
from condrank.datasets import load_pokemon
from condrank.metrics import pair_counts
from condrank.model_selection import SettingShuffleSplit, SettingSplit, SimilaritySearch
from condrank.model_selection.judging import Step

from .trees import dense, pair_features, pairs_of

N_FOLDS, N_HOLDOUTS = 5, 3
N_LEAVES, N_TREES, OBJECTIVES = (15, 31, 63), (100, 200, 400, 800, 1600), ("regression", "binary")
LEARNING_RATE = 0.05


class SignedTrees:
    """LightGBM on the pairs of a graph, its scores made reciprocal: (f(v, v') - f(v', v))/2."""

    def __init__(self, objective: str, n_leaves: int, n_trees: int):
        self.objective, self.n_leaves, self.n_trees = objective, n_leaves, n_trees

    def fit(self, graph: RelationGraph) -> SignedTrees:
        """Learn from every observed pair, in both directions."""
        import lightgbm

        a, b, (rows, columns), values = pairs_of(graph)
        params = {"objective": self.objective, "num_leaves": self.n_leaves, "learning_rate": LEARNING_RATE}
        labels = values if self.objective == "regression" else (values + 1) / 2
        if self.objective == "binary":
            params["objective"] = "cross_entropy"  # takes shares of wins of repeated battles
        data = lightgbm.Dataset(pair_features("reciprocal", a[rows], b[columns], False), labels)
        self.booster = lightgbm.train(params | {"verbose": -1, "num_threads": 0, "seed": 0}, data, self.n_trees)
        return self

    def loss(self, graph: RelationGraph, n_trees: int) -> float:
        """Pooled rank loss of the first trees."""
        X = dense(graph.nodes.rows)
        rows, columns = (grid.ravel() for grid in np.indices((len(X), len(X))))
        features = pair_features("reciprocal", X[rows], X[columns], False)
        scores = np.asarray(self.booster.predict(features, num_iteration=n_trees, raw_score=True))
        scores = scores.reshape(len(X), len(X))
        wrong, comparable = pair_counts(graph.to_dense(), scores - scores.T)
        return float(wrong.sum() / comparable.sum())


def trees(train: RelationGraph, test: RelationGraph) -> float:
    """Test loss of trees tuned on holdouts of the training graph."""
    folds = list(SettingShuffleSplit(4, N_HOLDOUTS, test_size=0.25, random_state=0).split(train))
    losses: dict[tuple[str, int, int], float] = {}
    for objective, leaves in product(OBJECTIVES, N_LEAVES):
        for part, held_out in folds:
            fitted = SignedTrees(objective, leaves, N_TREES[-1]).fit(part)
            for count in N_TREES:
                key = objective, leaves, count
                losses[key] = losses.get(key, 0.0) + fitted.loss(held_out, count)
    objective, leaves, count = min(losses, key=lambda key: losses[key])
    return SignedTrees(objective, leaves, count).fit(train).loss(test, count)


def isotropic(kernel: str, preprocessing: str) -> Callable[[RelationGraph, RelationGraph], float]:
    """Test loss of a kernel with λ and width tuned, nothing else."""

    def run(train: RelationGraph, test: RelationGraph) -> float:
        ranker = ConditionalRanker("reciprocal", "regression", kernel=kernel)
        options: dict[str, Any] = {"preprocessing": (preprocessing,), "kernels": (kernel,), "max_compared": 0}
        return 1 - SimilaritySearch(ranker, n_steps=0, random_state=0, **options).fit(train).score(test)

    return run


def searched(callback: Callable[[Step], None] | None = None) -> Callable[[RelationGraph, RelationGraph], float]:
    """Test loss of what the search finds by itself, starting from the isotropic RBF kernel."""

    def run(train: RelationGraph, test: RelationGraph) -> float:
        ranker = ConditionalRanker("reciprocal", "regression", kernel="rbf")
        return 1 - SimilaritySearch(ranker, callback=callback, random_state=0).fit(train).score(test)

    return run


METHODS: dict[str, Callable[[RelationGraph, RelationGraph], float]] = {
    "RBF": isotropic("rbf", "raw"),
    "Laplacian, quantiles": isotropic("laplacian", "quantile"),
    "LightGBM": trees,
    "SimilaritySearch": searched(),
}


def folds() -> list[tuple[RelationGraph, RelationGraph]]:
    """Training and test graphs of the outer folds."""
    battles = load_pokemon()
    fought = np.unique(np.concatenate([battles.first, battles.second]))
    return list(SettingSplit(4, N_FOLDS, random_state=0).split(battles.graph[fought]))


def main(numbers: list[int]) -> None:
    """Print the losses of each fold, and their mean with its standard error."""
    losses: dict[str, list[float]] = {name: [] for name in METHODS}
    for number, (train, test) in enumerate(folds()):
        if number in numbers:
            for name, method in METHODS.items():
                start = time.perf_counter()
                losses[name].append(method(train, test))
                print(
                    f"fold {number}  {name:22s} {losses[name][-1]:.4f}  {time.perf_counter() - start:.0f} s", flush=True
                )
    for name, found in losses.items():
        error = np.std(found, ddof=1) / len(found) ** 0.5 if len(found) > 1 else np.nan
        print(f"{name:22s} {np.mean(found):.4f} ± {error:.4f}")


if __name__ == "__main__":
    main([int(one) for one in sys.argv[1:]] or list(range(N_FOLDS)))
