"""The node kernel at single pairs of nodes, without the kernel of all pairs; and equal nodes found once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.measured import GATHERED_ENTRIES
from condrank.kernels.expression import Kernel
from condrank.nodes.store import Nodes

Pairs = tuple[np.ndarray, np.ndarray]


def kernel_at(kernel: Kernel, nodes: Nodes, others: Nodes, pairs: Pairs) -> np.ndarray | None:
    """k(v, v') for each pair of positions, (n_pairs,), in O(n_pairs d); None for kernels that need all pairs.

    Dense features, and weighted sums of linear, cosine, polynomial, sigmoid, RBF and Laplacian kernels and a constant.
    """
    values: np.ndarray | None = None
    for weight, leaf in kernel.summands():
        if leaf.is_constant or not weight:
            continue
        part = _leaf_at(leaf, nodes, others, pairs)
        if part is None:
            return None
        part = part if weight == 1.0 else part * part.dtype.type(weight)
        values = part if values is None else values + part
    return None if values is None else values + values.dtype.type(kernel.constant)


def _leaf_at(leaf: Any, nodes: Nodes, others: Nodes, pairs: Pairs) -> np.ndarray | None:
    """Values of a kernel that is no sum; None if it needs all pairs."""
    named = _NAMED.get(leaf.name) if hasattr(leaf, "weighted") else None
    if named is None:
        return None
    first = nodes.view(leaf.view)
    second = first if others is nodes else others.view(leaf.view)
    if not all(isinstance(one.base, np.ndarray) for one in (first, second)):
        return None
    X = leaf.weighted(first.rows)
    X_other = X if second is first else leaf.weighted(second.rows)
    if leaf.name == "cosine":
        X, X_other = _normalised(X), _normalised(X_other)
    gamma = getattr(leaf, "gamma", None)
    gamma = 1.0 / X.shape[1] if gamma is None else float(gamma)
    return _by_blocks(X, X_other, pairs, lambda A, B: named(A, B, leaf, gamma))


def products_at(A: Any, B: Any, pairs: Pairs) -> np.ndarray | None:
    """A[i]·B[j] for each pair of positions, (n_pairs,); None if either is sparse."""
    if sparse.issparse(A) or sparse.issparse(B):
        return None
    return _by_blocks(A, B, pairs, _dot)


def _by_blocks(A: np.ndarray, B: np.ndarray, pairs: Pairs, value: Callable[..., np.ndarray]) -> np.ndarray:
    out = np.empty(len(pairs[0]), dtype=A.dtype)
    step = max(1, GATHERED_ENTRIES // max(1, A.shape[1]))
    for start in range(0, len(out), step):
        part = slice(start, start + step)
        out[part] = value(A[pairs[0][part]], B[pairs[1][part]])
    return out


def _dot(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", A, B)


def _squared_distance(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    difference = A - B
    return _dot(difference, difference)


def _normalised(X: np.ndarray) -> np.ndarray:
    """Rows of length one; rows of zeros stay zero."""
    length = np.sqrt(_dot(X, X))
    return X / np.where(length == 0, 1, length)[:, None]


_NAMED: dict[str, Callable[..., np.ndarray]] = {
    "linear": lambda A, B, leaf, gamma: _dot(A, B),
    "cosine": lambda A, B, leaf, gamma: _dot(A, B),
    "poly": lambda A, B, leaf, gamma: (gamma * _dot(A, B) + leaf.coef0) ** leaf.degree,
    "sigmoid": lambda A, B, leaf, gamma: np.tanh(gamma * _dot(A, B) + leaf.coef0),
    "rbf": lambda A, B, leaf, gamma: np.exp(-gamma * _squared_distance(A, B)),
    "laplacian": lambda A, B, leaf, gamma: np.exp(-gamma * np.abs(A - B).sum(axis=1)),
}


def distinct_nodes(nodes: Nodes, by_values: bool = True) -> tuple[Nodes, np.ndarray]:
    """Nodes without repetitions, and the position of each given node among them. O(n log n + n d).

    Equal positions in a shared base are the same node, and so are, if ``by_values``, equal rows of dense features. Rows
    are compared by a hash, and then by their values. Rows that are not repeated much, and sparse ones, are returned as
    they are.
    """
    everyone = np.arange(len(nodes))
    if nodes.index is not None:
        key = nodes.index
    elif not by_values or not isinstance(nodes.base, np.ndarray) or nodes.base.dtype not in (np.float32, np.float64):
        return nodes, everyone
    else:
        key = _hashes(nodes.base)
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    if 2 * len(first) > len(nodes):
        return nodes, everyone
    found = nodes.take(first)
    if nodes.index is None and not np.array_equal(found.rows[place], nodes.base):
        return nodes, everyone  # two different rows with the same hash
    return found, place


def _hashes(X: np.ndarray) -> np.ndarray:
    """A number of 64 bits for each row, by wrapping sums of its bits with fixed odd factors."""
    bits = np.ascontiguousarray(X).view(np.uint64 if X.dtype.itemsize == 8 else np.uint32)
    factors = np.random.default_rng(0).integers(0, 2**63, X.shape[1], dtype=np.uint64) * 2 + 1
    out = np.zeros(len(X), dtype=np.uint64)
    for column, factor in enumerate(factors):
        part = bits[:, column].astype(np.uint64) * factor
        part ^= part >> np.uint64(32)  # so that high bits, such as signs, do not cancel between columns
        part *= factors[0]
        out += part ^ (part >> np.uint64(29))
    return out
