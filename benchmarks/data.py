"""Nodes and relations of any size, from a seed. Features are normal, so gamma = 1/d is a kernel of medium width."""

from __future__ import annotations

import numpy as np

from condrank import RelationGraph

MODELS = [
    (relation, loss) for loss in ("regression", "ranking") for relation in ("ordinary", "symmetric", "reciprocal")
]
SIGN = {"ordinary": 0, "symmetric": 1, "reciprocal": -1}
# γ of the RBF kernel in units of 1/d: kernel values of neighbours are near 0, in between, or near 1.
WIDTHS = {"narrow": 5.0, "medium": 1.0, "wide": 0.1}


def nodes(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Standard normal features (n, d)."""
    return np.random.default_rng(seed).normal(size=(n, d))


def bilinear(d: int, relation: str) -> np.ndarray:
    """The d×d matrix B of a true relation xᵀBx', symmetric or skew if the relation is."""
    B = np.random.default_rng(7).normal(size=(d, d)) / d
    return B + SIGN[relation] * B.T


def complete(n: int, d: int, relation: str = "ordinary", seed: int = 0) -> RelationGraph:
    """Every pair observed, with noise."""
    X = nodes(n, d, seed)
    Y = np.random.default_rng(seed + 1).normal(scale=0.1, size=(n, n))
    Y += SIGN[relation] * Y.T
    Y += X @ bilinear(d, relation) @ X.T
    return RelationGraph(X, Y)


def pairs(n: int, n_edges: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Distinct ordered pairs, drawn uniformly at random, sorted."""
    rng = np.random.default_rng(seed + 2)
    if n_edges > 0.2 * n * n:
        key = np.sort(rng.permutation(n * n)[:n_edges])
    else:
        key = np.unique(rng.integers(n * n, size=int(1.3 * n_edges) + 50))
        key = np.sort(rng.permutation(key)[:n_edges])
    return key // n, key % n


def incomplete(n: int, d: int, n_edges: int, relation: str = "ordinary", seed: int = 0) -> RelationGraph:
    """Some pairs observed, with noise that is symmetric or reciprocal if the relation is."""
    X = nodes(n, d, seed)
    sources, targets = pairs(n, n_edges, seed)
    B = bilinear(d, relation)
    values = np.einsum("ij,ij->i", (X @ B)[sources], X[targets])
    # The noise is the same in both directions, or opposite (and zero on loops), without looking up the other direction.
    noise = 0.1 * np.sin(12.9898 * (sources + 1) * (targets + 1))
    values += noise * np.sign(targets - sources) if relation == "reciprocal" else noise
    return RelationGraph.from_edges(X, sources, targets, values)
