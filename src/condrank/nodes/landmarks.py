"""Landmarks of the Nyström approximation: the points from which the kernel of all others is approximated."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from sklearn.cluster import MiniBatchKMeans

from condrank.base.blocks import row_blocks
from condrank.base.measured import (
    DIAGONAL_SQUARE_ROWS,
    LANDMARK_SAMPLE_LEAST_NODES,
    LANDMARK_SAMPLE_NODES_PER_LANDMARK,
    PROPOSED_PIVOTS,
)
from condrank.nodes.kernels import NodeKernel
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.store import Nodes

LANDMARKS = ("uniform", "kmeans", "pivoted")

# Kernels with k(v, v) = 1.
UNIT = ("rbf", "laplacian", "chi2")


def check_landmarks(name: str, kernel: NodeKernel, nodes: Nodes) -> None:
    """Raise for a matrix that is not a kernel matrix, and for k-means on a kernel matrix or on sparse features."""
    NodeSimilarity(kernel, nodes)
    if name == "kmeans" and (kernel.is_precomputed or sparse.issparse(nodes.base)):
        what = "a precomputed kernel" if kernel.is_precomputed else "sparse features"
        raise ValueError(f"landmarks='kmeans' needs dense features, got {what}; use 'uniform' or 'pivoted'")


def choose_nodes(name: str, kernel: NodeKernel, nodes: Nodes, m: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of the landmarks among the nodes, ascending: m, or fewer if "pivoted" reaches the kernel's rank."""
    if name == "uniform":
        return np.sort(rng.choice(len(nodes), m, replace=False))
    seen = _sampled(nodes, m, rng)
    # Features are read many times, so their rows are gathered once.
    some = nodes.take(seen) if kernel.is_precomputed else Nodes(nodes.take(seen).rows)
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


def means(kernel: NodeKernel, nodes: Nodes, m: int, rng: np.random.Generator) -> np.ndarray:
    """Centres (m, d) of m clusters of the weighted features, by k-means on a sample."""
    X = kernel.weighted(nodes.take(_sampled(nodes, m, rng)).rows)
    clusters = MiniBatchKMeans(
        m, batch_size=max(1024, m), max_iter=10, random_state=int(rng.integers(2**31)), compute_labels=False
    )
    return np.asarray(clusters.fit(X).cluster_centers_, dtype=X.dtype)


def pivots(similarity: NodeSimilarity, m: int, rng: np.random.Generator) -> np.ndarray:
    """Up to m nodes by randomly pivoted Cholesky.

    Each is drawn in proportion to the part of k(v, v) that the pivots before it do not explain. Proposals are drawn in
    blocks, and some are rejected, so that the pivots have the distribution of single draws. O(nm) kernel values and
    O(nm²) time; an n×m array, never n×n.
    """
    nodes = similarity.nodes
    left = diagonal(similarity)
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


def diagonal(similarity: NodeSimilarity) -> np.ndarray:
    """k(v, v) of the nodes (n,), in double precision, from small squares along the diagonal."""
    nodes = similarity.nodes
    if similarity.kernel.name in UNIT:
        return np.full(len(nodes), 1.0 + similarity.kernel.constant)
    parts = []
    for rows in row_blocks(len(nodes), 1, budget=DIAGONAL_SQUARE_ROWS):
        block = nodes.block(rows)
        parts.append(np.diagonal(similarity.similarity(block, block)).astype(np.float64))
    return np.concatenate(parts).clip(0)


def _sampled(nodes: Nodes, m: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of the sampled nodes, ascending. The sample grows with the landmarks, not with the nodes."""
    return np.sort(rng.choice(len(nodes), _n_sampled(len(nodes), m), replace=False))


def _n_sampled(n: int, m: int) -> int:
    return min(n, max(LANDMARK_SAMPLE_LEAST_NODES, LANDMARK_SAMPLE_NODES_PER_LANDMARK * m))
