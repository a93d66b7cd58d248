"""Gradient-boosted trees on features of pairs, for comparison: LightGBM and XGBoost, tuned on held-out graphs."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from condrank import RelationGraph
from condrank.fitting.fitted import Fitted
from condrank.rankers.base import Ranker
from condrank.rankers.checks import as_graph

LIBRARIES = {"LightGBM": "lightgbm", "XGBoost": "xgboost"}
OBJECTIVES = ("lambdarank", "regression")
RELATIONS = ("ordinary", "symmetric", "reciprocal")
# Number of objects for each conditioning node if a complete graph has too many pairs.
LIST = 100
# Number of pairs whose features are in memory at a time while scoring.
BLOCK = 200_000


def is_installed(library: str) -> bool:
    """Whether the library can be imported."""
    return importlib.util.find_spec(LIBRARIES[library]) is not None


class TreeRanker(Ranker):
    """Boosted trees on features of pairs (v, v'): the features of both nodes, their products and absolute differences.

    Parameters
    ----------
    library : {"LightGBM", "XGBoost"}
        The library; it is imported by ``fit``.
    objective : {"lambdarank", "regression"}
        Order the objects of each conditioning node, or predict the values.
    relation : {"ordinary", "symmetric", "reciprocal"}
        "symmetric" adds the cosine similarity of the nodes. "reciprocal" adds their signed difference, and its score is
        half the difference of the scores of both directions. For two domains only the features of both nodes are used.
    n_trees, n_leaves, learning_rate
        Parameters of the trees. After the fit a smaller ``n_trees`` may be set, to score with the first trees.
    max_pairs : int
        Approximate largest number of pairs to learn from. From a larger complete graph, lists of 100 objects for random
        nodes are used; from other graphs a uniform sample of the edges.
    random_state : int
        Seed of the sample and of the library.
    min_child_samples : int
        Fewest pairs in a leaf, of LightGBM only.
    """

    def __init__(
        self,
        library: str = "LightGBM",
        objective: str = "lambdarank",
        relation: str = "ordinary",
        n_trees: int = 100,
        n_leaves: int = 31,
        learning_rate: float = 0.1,
        max_pairs: int = 100_000,
        random_state: int = 0,
        min_child_samples: int = 20,
    ):
        self.library = library
        self.objective = objective
        self.relation = relation
        self.n_trees = n_trees
        self.n_leaves = n_leaves
        self.learning_rate = learning_rate
        self.max_pairs = max_pairs
        self.random_state = random_state
        self.min_child_samples = min_child_samples

    def fit(self, X: Any, Y: Any = None) -> TreeRanker:
        """Learn from a graph, or from node features and their relation."""
        graph = as_graph(X, Y)
        for name, allowed in (("library", LIBRARIES), ("objective", OBJECTIVES), ("relation", RELATIONS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {list(allowed)}, got {getattr(self, name)!r}")
        lists = [part for part in sample(graph, self.max_pairs, self.random_state) if len(part[3])]
        two_domains = graph.is_two_domain
        features = [pair_features(self.relation, a[rows], b[cols], two_domains) for a, b, (rows, cols), _ in lists]
        values = np.concatenate([part[3] for part in lists])
        # One list for each conditioning node of each part; the rows of a part are in order.
        sizes = np.concatenate([np.unique(part[2][0], return_counts=True)[1] for part in lists])
        self._trees = self._library_fit(np.concatenate(features), values, sizes)
        self._keep(
            Fitted(_PairScorer(self, two_domains, graph.nodes, graph.objects), graph.objects, graph.n_features_in_)
        )
        return self

    def _library_fit(self, features: np.ndarray, values: np.ndarray, sizes: np.ndarray) -> Any:
        module = importlib.import_module(LIBRARIES[self.library])
        shared: dict[str, Any] = {
            "n_estimators": self.n_trees,
            "learning_rate": self.learning_rate,
            "random_state": self.random_state,
        }
        if self.library == "LightGBM":
            # 0 is OpenMP's number of threads; by default LightGBM uses every core and ignores the environment.
            shared |= {"num_leaves": self.n_leaves, "verbose": -1, "n_jobs": 0}
            shared["min_child_samples"] = self.min_child_samples
            if self.objective == "regression":
                return module.LGBMRegressor(**shared).fit(features, values)
            levels = relevance_levels(values)
            learner = module.LGBMRanker(label_gain=list(range(int(levels.max()) + 1)), **shared)
            return learner.fit(features, levels, group=sizes)
        shared |= {"max_leaves": self.n_leaves, "max_depth": 0, "grow_policy": "lossguide", "tree_method": "hist"}
        if self.objective == "regression":
            return module.XGBRegressor(**shared).fit(features, values)
        levels = relevance_levels(values)
        return module.XGBRanker(objective="rank:ndcg", ndcg_exp_gain=False, **shared).fit(features, levels, group=sizes)

    def score_pairs(self, features: np.ndarray) -> np.ndarray:
        """Scores of pairs from the first ``n_trees`` trees."""
        if self.library == "LightGBM":
            return self._trees.booster_.predict(features, num_iteration=self.n_trees)
        return self._trees.predict(features, iteration_range=(0, self.n_trees))


@dataclass
class _PairScorer:
    """Scores for `Ranker`, a block of conditioning nodes at a time."""

    ranker: TreeRanker
    two_domains: bool
    nodes: Any
    objects: Any

    def blocks(self, queries: Any, objects: Any) -> Iterator[tuple[slice, np.ndarray]]:
        a = dense((self.nodes if queries is None else queries).rows)
        b = dense((self.objects if objects is None else objects).rows)
        step = max(1, BLOCK // max(1, len(b)))
        for start in range(0, len(a), step):
            block = slice(start, min(start + step, len(a)))
            part = a[block]
            left, right = np.repeat(part, len(b), axis=0), np.tile(b, (len(part), 1))
            scores = self.ranker.score_pairs(pair_features(self.ranker.relation, left, right, self.two_domains))
            if self.ranker.relation == "reciprocal":
                turned = pair_features(self.ranker.relation, right, left, self.two_domains)
                scores = (scores - self.ranker.score_pairs(turned)) / 2
            yield block, np.asarray(scores, dtype=float).reshape(len(part), len(b))


def pair_features(relation: str, a: np.ndarray, b: np.ndarray, two_domains: bool) -> np.ndarray:
    """Features of aligned pairs of nodes, float32."""
    parts = [a, b]
    if not two_domains:
        parts += [a * b, np.abs(a - b)]
        if relation == "reciprocal":
            parts.append(a - b)
        if relation == "symmetric":
            lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
            parts.append((np.einsum("ij,ij->i", a, b) / np.maximum(lengths, 1e-12))[:, None])
    return np.hstack(parts).astype(np.float32, copy=False)


def sample(graph: RelationGraph, max_pairs: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, Any, np.ndarray]]:
    """Parts of a graph: features of conditioning nodes and of objects, (rows, columns) of pairs, and their values.

    If a complete graph has more than ``max_pairs`` pairs, only one part of it is dense at a time.
    """
    rng = np.random.default_rng(seed)
    if graph.is_complete and not graph.is_two_domain and graph.n_edges > max_pairs:
        order = rng.permutation(len(graph))
        size = min(LIST, int(max_pairs**0.5))
        for start in range(0, min(len(order) - size + 1, size * max(1, max_pairs // size**2)), size):
            yield pairs_of(graph[order[start : start + size]])
        return
    a, b, (rows, columns), values = pairs_of(graph)
    if len(values) > max_pairs:
        kept = np.sort(rng.choice(len(values), max_pairs, replace=False))
        rows, columns, values = rows[kept], columns[kept], values[kept]
    yield a, b, (rows, columns), values


def pairs_of(graph: RelationGraph) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]:
    """All observed pairs of a graph."""
    Y = graph.to_dense()
    rows, columns = np.nonzero(~np.isnan(Y))
    return dense(graph.nodes.rows), dense(graph.objects.rows), (rows, columns), Y[rows, columns]


def relevance_levels(values: np.ndarray, most: int = 31) -> np.ndarray:
    """Whole numbers from 0 in the order of the values, for lambdarank; quantiles if there are too many values."""
    distinct, level = np.unique(values, return_inverse=True)
    if len(distinct) <= most:
        return level
    return np.searchsorted(np.unique(np.quantile(values, np.linspace(0, 1, most)[1:-1])), values)


def dense(X: Any) -> np.ndarray:
    """Features as a float32 array."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float32)


@dataclass(frozen=True)
class Grid:
    """What is tried for trees: numbers of leaves and of trees for each objective, and the number of training pairs."""

    leaves: tuple[int, ...] = (7, 31)
    counts: tuple[int, ...] = (30, 100, 300)
    learning_rate: float = 0.1
    max_pairs: int = 40_000


QUICK = Grid(counts=(5, 10))


def tune(
    library: str,
    train: RelationGraph,
    folds: list[tuple[RelationGraph, RelationGraph]],
    relation: str = "ordinary",
    seed: int = 0,
    grid: Grid | None = None,
) -> TreeRanker:
    """Trees with the objective, size and number of trees that are best on held-out graphs, fitted to ``train``.

    By default there are twelve candidates. Other methods may have more or fewer candidates: methods with a prior have
    all pairs of λ and τ. The pages of the experiments say how many.
    """
    grid = Grid() if grid is None else grid
    losses: dict[tuple[str, int, int], float] = {}
    options: dict[str, Any] = {"learning_rate": grid.learning_rate, "random_state": seed}
    for objective, leaves in product(OBJECTIVES, grid.leaves):
        for part, held_out in folds:
            ranker = TreeRanker(
                library, objective, relation, grid.counts[-1], leaves, max_pairs=grid.max_pairs, **options
            ).fit(part)
            few = held_out[np.random.default_rng(seed).permutation(len(held_out))[:300]]
            for count in grid.counts:
                ranker.n_trees = count
                key = objective, leaves, count
                losses[key] = losses.get(key, 0.0) + 1 - ranker.score(few)
    objective, leaves, count = min(losses, key=lambda key: losses[key])
    most = max(grid.max_pairs, 100_000)
    return TreeRanker(library, objective, relation, count, leaves, max_pairs=most, **options).fit(train)


# What is drawn in a tuning that is limited by time: candidates that share all but the number of trees are one fit.
DRAWN: dict[str, tuple[Any, ...]] = {
    "objective": OBJECTIVES,
    "n_leaves": (7, 15, 31, 63),
    "learning_rate": (0.03, 0.1, 0.3),
    "min_child_samples": (5, 20, 100),
    "n_trees": (100, 300, 1000),
}
COUNTS = (10, 30, 100, 300, 1000)
SEARCHED_PAIRS, LAST_PAIRS = 40_000, 100_000


def tune_for(
    seconds: float,
    library: str,
    train: RelationGraph,
    folds: list[tuple[RelationGraph, RelationGraph]],
    relation: str = "ordinary",
    seed: int = 0,
) -> TreeRanker:
    """Trees with the parameters that are best on held-out graphs, of those that are tried in so many seconds.

    The first candidate has the library's own parameters, the others are drawn at random. The next one is tried if the
    time suffices for one as slow as the slowest before it, and for the last fit. The first is always tried.
    """
    started, slowest, last = time.perf_counter(), 0.0, min(train.n_edges, LAST_PAIRS) / SEARCHED_PAIRS / len(folds)
    rng = np.random.default_rng(seed)
    folds = [(part, rest[rng.permutation(len(rest))[:300]]) for part, rest in folds]
    losses: dict[tuple[tuple[str, Any], ...], float] = {}
    params: dict[str, Any] = {"objective": "regression", "n_leaves": 31, "learning_rate": 0.1, "n_trees": 100}
    while not losses or time.perf_counter() - started + slowest * (1 + last) < seconds:
        begun = time.perf_counter()
        for part, held_out in folds:
            fixed: dict[str, Any] = {"relation": relation, "max_pairs": SEARCHED_PAIRS, "random_state": seed}
            ranker = TreeRanker(library, **fixed, **params).fit(part)
            for count in (one for one in COUNTS if one <= params["n_trees"]):
                ranker.n_trees = count
                key = tuple((params | {"n_trees": count}).items())
                losses[key] = losses.get(key, 0.0) + (1 - ranker.score(held_out)) / len(folds)
        slowest = max(slowest, time.perf_counter() - begun)
        params = {name: values[rng.integers(len(values))] for name, values in DRAWN.items()}
        while tuple(params.items()) in losses:
            params = {name: values[rng.integers(len(values))] for name, values in DRAWN.items()}
    best = dict(min(losses, key=lambda key: losses[key]))
    return TreeRanker(library, relation=relation, max_pairs=LAST_PAIRS, random_state=seed, **best).fit(train)
