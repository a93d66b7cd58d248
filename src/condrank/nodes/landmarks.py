"""Landmarks of the Nyström approximation: the points from which the kernel of all others is approximated."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from condrank.base.measured import (
    LANDMARK_SAMPLE_LEAST_NODES,
    LANDMARK_SAMPLE_NODES_PER_LANDMARK,
    PROPOSED_PIVOTS,
)
from condrank.kernels.expression import Kernel
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.store import Nodes
from condrank.nodes.views import Views

LANDMARKS = ("uniform", "kmeans", "pivoted")


def check_landmarks(name: str, kernel: Kernel, nodes: Nodes) -> None:
    """Raise for a matrix that is not a kernel matrix, and for k-means on a kernel matrix or on sparse features."""
    NodeSimilarity(kernel, nodes)
    check_approximable(kernel)
    if name != "kmeans":
        return
    refuse_means(kernel)
    (view,) = kernel.feature_views
    if sparse.issparse(nodes.view(view).base):
        raise ValueError("landmarks='kmeans' needs dense features, got sparse features; use 'uniform' or 'pivoted'")


def check_approximable(kernel: Kernel) -> None:
    """Raise for the identity of nodes, of which landmarks say nothing."""
    if kernel.has_identity:
        raise ValueError(
            f"n_components cannot approximate {kernel.label}: Identity() gives every node a coordinate of its own; "
            "leave it out, or leave n_components out"
        )


def refuse_means(kernel: Kernel) -> None:
    """Raise if a kernel is not a function of the features of a single view, of which there are means."""
    if kernel.matrices:
        raise ValueError("landmarks='kmeans' needs features, but a precomputed kernel has none; use 'pivoted'")
    if len(kernel.feature_views) != 1:
        raise ValueError("landmarks='kmeans' needs features of one view, got several; use 'uniform' or 'pivoted'")


def only_leaf(kernel: Kernel) -> Any:
    """The only kernel of an expression that has feature weights; None if there are none, or several kernels."""
    leaves = list(kernel.leaves())
    return leaves[0] if len(leaves) == 1 and getattr(leaves[0], "feature_weights", None) is not None else None


def unweighted(leaf: Any, X: Any) -> Any:
    """Features from weighted features; features of weight 0 become 0."""
    weights = np.asarray(leaf.feature_weights)
    inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0).astype(X.dtype)
    return sparse.csr_array(X @ sparse.diags_array(inverse)) if sparse.issparse(X) else X * inverse


def choose_nodes(name: str, kernel: Kernel, nodes: Nodes, m: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of the landmarks among the nodes, ascending: m, or fewer if "pivoted" reaches the kernel's rank."""
    if name == "uniform":
        return np.sort(rng.choice(len(nodes), m, replace=False))
    seen = _sampled(nodes, m, rng)
    # Features are read many times, so their rows are gathered once.
    some = nodes.take(seen) if kernel.matrices else Nodes(nodes.take(seen).rows)
    chosen = pivots(NodeSimilarity(kernel, some), m, rng)
    if len(chosen) == 0:
        raise ValueError(
            f"landmarks='pivoted' finds no landmarks: the {kernel.label} kernel is zero between all of the "
            f"{len(seen)} sampled nodes"
        )
    return np.sort(seen[chosen])


def choice_cost(name: str, n: int, d: int, m: int) -> tuple[float, int]:
    """Floating-point operations and peak of numbers held when m landmarks are chosen among n nodes of d features."""
    if name == "uniform":
        return 0.0, m * d
    seen = _n_sampled(n, m)
    if name == "kmeans":
        return 20.0 * seen * m * d, 2 * seen * d + m * d
    return 2.0 * seen * m * (m + d), seen * (m + d + 3 * PROPOSED_PIVOTS)


def means(kernel: Kernel, nodes: Nodes, m: int, rng: np.random.Generator) -> Nodes:
    """Centres of m clusters of the weighted features, by k-means on a sample, as nodes."""
    from sklearn.cluster import MiniBatchKMeans  # takes a tenth of the time of all other imports

    (view,), leaf = kernel.feature_views, only_leaf(kernel)
    X = nodes.take(_sampled(nodes, m, rng)).view(view).rows
    X = X if leaf is None else leaf.weighted(X)
    clusters = MiniBatchKMeans(
        m, batch_size=max(1024, m), max_iter=10, random_state=int(rng.integers(2**31)), compute_labels=False
    )
    centres = np.asarray(clusters.fit(X).cluster_centers_, dtype=X.dtype)
    centres = centres if leaf is None else unweighted(leaf, centres)
    if not isinstance(nodes.base, Views):
        return Nodes(centres)
    return Nodes(Views({next(iter(nodes.base.parts)) if view is None else view: centres}))


def pivots(similarity: NodeSimilarity, m: int, rng: np.random.Generator) -> np.ndarray:
    """Up to m nodes by randomly pivoted Cholesky.

    Each is drawn in proportion to the part of k(v, v) that the pivots before it do not explain. Proposals are drawn in
    blocks, and some are rejected, so that the pivots have the distribution of single draws. O(nm) kernel values and
    O(nm²) time; an n×m array, never n×n.
    """
    nodes = similarity.nodes
    left = similarity.diagonal().clip(0)
    F = np.empty((len(nodes), m), dtype=nodes.dtype)
    chosen: list[int] = []
    noise = 100 * float(np.finfo(nodes.dtype).eps) * float(left.sum())
    while len(chosen) < m and left.sum() > noise:
        proposed = np.unique(rng.choice(len(left), PROPOSED_PIVOTS, p=left / left.sum()))
        # `unique` has sorted them. Every order of independent draws is equally likely, so any random order will do.
        proposed = rng.permutation(proposed)
        k, block = len(chosen), nodes.take(proposed)
        S = similarity.similarity(block, block).astype(np.float64)
        S -= F[proposed, :k] @ F[proposed, :k].T
        accepted, L = _accept(S, left[proposed], m - k, rng)
        if not accepted:
            left[proposed] = 0.0  # only rounding noise was left of them
            continue
        new = proposed[accepted]
        columns = similarity.similarity(None, nodes.take(new))
        columns -= F[:, :k] @ F[new, :k].T
        added = slice(k, k + len(new))
        F[:, added] = linalg.solve_triangular(L, columns.T, lower=True, check_finite=False).T
        left -= np.einsum("ij,ij->i", F[:, added], F[:, added], dtype=np.float64)
        left[new] = 0.0
        np.maximum(left, 0.0, out=left)
        chosen += new.tolist()
    return np.array(chosen, dtype=np.int64)


def _accept(S: np.ndarray, before: np.ndarray, most: int, rng: np.random.Generator) -> tuple[list[int], np.ndarray]:
    """The proposals that are kept, and the lower Cholesky factor of their part of S.

    S (b, b) is the rest of the kernel after earlier pivots. A proposal is kept with the probability that is the share
    of its diagonal that the kept ones before it leave.
    """
    kept: list[int] = []
    G = np.zeros_like(S)
    for i in range(len(S)):
        left = S[i, i] - G[i] @ G[i]
        # If the diagonal is only rounding noise, a rest may be a large share of it. It would spoil the factor.
        if left <= rng.random() * before[i] or left <= 1e-10 * S.diagonal().max():
            continue
        G[:, len(kept)] = (S[:, i] - G @ G[i]) / np.sqrt(left)
        kept.append(i)
        if len(kept) == most:
            break
    return kept, np.tril(G[np.ix_(kept, range(len(kept)))])


def _sampled(nodes: Nodes, m: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of the sampled nodes, ascending. The sample grows with the landmarks, not with the nodes."""
    return np.sort(rng.choice(len(nodes), _n_sampled(len(nodes), m), replace=False))


def _n_sampled(n: int, m: int) -> int:
    return min(n, max(LANDMARK_SAMPLE_LEAST_NODES, LANDMARK_SAMPLE_NODES_PER_LANDMARK * m))
