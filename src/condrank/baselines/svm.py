"""RankSVM: a linear support vector machine on difference vectors of edges, by scikit-learn's liblinear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from condrank.base.checks import check_choice, check_count, check_number
from condrank.baselines.base import WeightedBaseline
from condrank.baselines.rls import check_relation
from condrank.models.model import Model
from condrank.observations import Edges
from condrank.observations.edges import all_edges
from condrank.rankers.checks import as_graph, check_agreement
from condrank.solvers.explicit import MAX_BYTES
from condrank.solvers.product_features import n_product_features, product_features, weight_matrix


class RankSVM(WeightedBaseline):
    """Minimise ½‖W‖² + C Σ max(0, 1 - (h(v, a) - h(v, b))) over pairs of edges of a node v with y(v, a) > y(v, b).

    Parameters
    ----------
    relation : {"ordinary", "symmetric", "reciprocal"}
        Features of edges: all products z_k z'_l, or their symmetric or reciprocal part.
    C : float
        Weight of a preference pair, > 0.
    hinge : {"hinge", "squared_hinge"}
        The hinge itself, or its square, which is smooth and much faster to minimise if C is large.
    max_pairs : int
        Approximate largest number of preference pairs to train on. If there are more, each conditioning node keeps a
        uniform sample of its pairs: the same share for every node, and at least one pair. The pairs kept get more
        weight, so that C means the same.
    kernel, gamma, degree, coef0, kernel_params
        Node kernel and its parameters, as in `condrank.ConditionalRanker`.
    constant : bool
        Append a constant coordinate to z.
    max_iter : int
        Largest number of iterations of liblinear, which warns (``ConvergenceWarning``) if it needs more.
    max_bytes : int
        Difference vectors that need more memory raise a ValueError.
    random_state : int, RandomState or None
        Seed of the sample of pairs, and of liblinear's dual coordinate descent (``hinge="hinge"``).

    Attributes
    ----------
    coef_ : ndarray of shape (r, r)
        W of h(v, v') = z(v)ᵀ W z(v').
    n_pairs_ : int
        Number of preference pairs used.

    Notes
    -----
    Cost: ``n_pairs_`` × p difference vectors, p = r² or r(r ± 1)/2, and liblinear's own copy of them.
    Scores order objects; they are not on the scale of the labels. If C times the squared length of difference vectors
    is large, the order hardly depends on C, but liblinear hardly converges on the plain hinge: lower C, or use the
    squared hinge. The weight of a preference pair is the product of the weights of its two edges. Repeated edges
    between two nodes count as one edge with their mean label and the sum of their weights.
    """

    def __init__(
        self,
        relation: str = "ordinary",
        C: float = 1.0,
        hinge: str = "hinge",
        max_pairs: int = 100_000,
        kernel: str | Callable[..., Any] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        constant: bool = False,
        max_iter: int = 10_000,
        max_bytes: int = MAX_BYTES,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(kernel, gamma, degree, coef0, kernel_params)
        self.relation = relation
        self.C = C
        self.hinge = hinge
        self.max_pairs = max_pairs
        self.constant = constant
        self.max_iter = max_iter
        self.max_bytes = max_bytes
        self.random_state = random_state

    def fit(self, X: Any, Y: Any = None) -> RankSVM:
        """Learn from a graph, or from node features X (n_nodes, n_features) and their relation Y (n_nodes, n_nodes)."""
        graph = as_graph(X, Y)
        check_choice("hinge", self.hinge, ("hinge", "squared_hinge"))
        C, max_pairs = check_number("C", self.C, above=0.0), check_count("max_pairs", self.max_pairs)
        relation = check_relation(self.relation, graph)
        check_agreement(graph, relation)
        seeds = check_random_state(self.random_state)
        edges = all_edges(graph.relation)
        query, better, worse, weight = preference_pairs(edges, max_pairs, seeds)
        if len(query) == 0:
            raise ValueError("no conditioning node has two objects with different relation values: nothing to rank")
        rows, cols = self.coordinates(graph)
        Z = rows.training()
        Z_objects = Z if cols is rows else cols.training()
        _check_size(len(query), n_product_features(relation, Z.shape[1], Z_objects.shape[1]), self.max_bytes)
        # Features are bilinear: the difference of a node's edges has the features of the difference of their ends.
        differences = product_features(relation, Z[query], Z_objects[better] - Z_objects[worse])
        # Without an intercept a pair may change its sign. Half of them do, because liblinear needs both classes.
        side = np.where(np.arange(len(query)) % 2, -1, 1)
        if len(query) == 1:
            differences, side, weight = np.vstack([differences] * 2), np.array([1, -1]), np.repeat(weight / 2, 2)
        differences *= side[:, None]
        squared = self.hinge == "squared_hinge"
        machine = LinearSVC(
            C=C,
            loss=self.hinge,
            dual=cast(Any, not squared),  # may be a bool, but its type says only "auto"
            fit_intercept=False,
            tol=1e-6 if squared else 1e-4,
            max_iter=check_count("max_iter", self.max_iter),
            random_state=seeds.randint(2**31 - 1),
        ).fit(differences, side, sample_weight=weight)
        self.n_pairs_ = len(query)
        W = weight_matrix(relation, machine.coef_.ravel(), Z.shape[1], Z_objects.shape[1])
        self._keep_scorer(Model(rows, cols, W), graph.objects, graph.n_features_in_, graph)
        return self


def preference_pairs(
    edges: Edges, max_pairs: int, seeds: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Conditioning node, better object, worse object and weight of the preference pairs, or of a sample of them.

    O(E log E) plus the pairs returned: pairs are numbered by each node's sorted labels, not enumerated.
    """
    nodes = np.flatnonzero(np.diff(edges.indptr) > 1)
    numbered = [_numbered(edges.values[edges.indptr[node] : edges.indptr[node + 1]]) for node in nodes]
    totals = np.array([int(ends[-1]) for _, ends in numbered], dtype=np.int64)
    share = min(1.0, max_pairs / max(1, int(totals.sum())))
    found: list[tuple[np.ndarray, ...]] = []
    for node, (order, ends), total in zip(nodes.tolist(), numbered, totals.tolist(), strict=True):
        if total == 0:
            continue
        kept = max(1, int(share * total))
        chosen = np.arange(total) if kept == total else sample_without_replacement(total, kept, random_state=seeds)
        place = np.searchsorted(ends, chosen, side="right")
        below = chosen - np.concatenate([[0], ends])[place]
        first = edges.indptr[node]
        better, worse = first + order[place], first + order[below]
        weight = edges.weights[better] * edges.weights[worse] * (total / kept)
        found.append((np.full(kept, node), edges.indices[better], edges.indices[worse], weight))
    if not found:
        return np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), np.zeros(0)
    query, better, worse, weight = (np.concatenate(column) for column in zip(*found, strict=True))
    return query, better, worse, weight


def _numbered(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of the labels, and for each label in this order the number of pairs up to and including its own.

    The pairs of a label are those with smaller labels.
    """
    order = np.argsort(labels, kind="stable")
    ascending = labels[order]
    return order, np.cumsum(np.searchsorted(ascending, ascending, side="left"))


def _check_size(n_pairs: int, n_features: int, max_bytes: int) -> None:
    needed = (8 + 16) * n_pairs * n_features  # a difference vector, and liblinear's list of (index, value)
    if needed > max_bytes:
        raise ValueError(
            f"RankSVM needs about {needed / 2**30:.3g} GiB for {n_pairs:,} difference vectors of {n_features:,} "
            f"product features, more than the {max_bytes / 2**30:.3g} GiB allowed; lower max_pairs"
        )
