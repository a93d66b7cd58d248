"""Explicit features φ(v) of nodes, with k(v, v') = φ(v)ᵀφ(v'), computed from a block of rows of node data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from condrank.base.blocks import row_blocks
from condrank.base.dense import dense
from condrank.base.measured import DENSE_FEATURES_BLOCK_ENTRIES, SPARSE_FEATURES_BLOCK_ROWS
from condrank.kernels.expression import Kernel
from condrank.kernels.on_features import Cosine, Linear
from condrank.nodes.store import Nodes


class FeatureMap(Protocol):
    """A map from a block of b nodes to their explicit features φ (b, m), in the nodes' floating type."""

    @property
    def n_features(self) -> int:
        """m, without the constant that a kernel may append."""
        ...

    def __call__(self, nodes: Nodes) -> Any:
        """Features φ (b, m) of the nodes, dense or sparse; their data itself if nothing changes."""
        ...


class OwnFeatures:
    """Features φ with k(v, v') = φᵀφ' of a weighted sum of linear and cosine kernels, side by side.

    Parameters
    ----------
    kernel : Kernel
        Such a sum, see `has_features`. A constant in it is not part of φ.
    nodes : Nodes
        Nodes with the views of the kernel.
    """

    def __init__(self, kernel: Kernel, nodes: Nodes):
        self.kernel = kernel
        self.summands: list[tuple[float, Any]] = [(w, one) for w, one in kernel.summands() if not one.is_constant and w]
        self.n_features = sum(nodes.view(one.view).base.shape[1] for _, one in self.summands)

    @property
    def alone(self) -> Linear | None:
        """The linear kernel, if it is the only one and has no weight: its features are the node data."""
        weight, kernel = self.summands[0]
        return kernel if len(self.summands) == 1 and weight == 1.0 and isinstance(kernel, Linear) else None

    def __call__(self, nodes: Nodes) -> Any:
        """Features of all summands, each times the root of its weight."""
        parts = []
        for weight, kernel in self.summands:
            X = kernel.features(_plain(nodes.view(kernel.view).rows))
            parts.append(X if weight == 1.0 else X * X.dtype.type(weight**0.5))
        if len(parts) == 1:
            return parts[0]
        if any(sparse.issparse(part) for part in parts):
            return sparse.csr_array(sparse.hstack(parts))
        return np.hstack(parts)


def has_features(kernel: Kernel) -> bool:
    """Whether the kernel is a weighted sum of linear and cosine kernels and a constant."""
    parts = [one for weight, one in kernel.summands() if not one.is_constant and weight]
    return bool(parts) and all(isinstance(one, Linear | Cosine) for one in parts)


def count_features(kernel: Kernel, nodes: Nodes) -> int:
    """Number of columns of the views that a kernel computes from, the same view counted for each kernel."""
    return sum(nodes.view(leaf.view).base.shape[1] for leaf in _counting(kernel) if hasattr(leaf, "view"))


def is_sparse(kernel: Kernel, nodes: Nodes) -> bool:
    """Whether the features, or one of the views that a kernel computes from, are sparse."""
    return any(sparse.issparse(nodes.view(leaf.view).base) for leaf in _counting(kernel) if leaf.takes_features)


def _counting(kernel: Kernel) -> list[Any]:
    """All leaves, without summands of weight zero."""
    return [leaf for weight, one in kernel.summands() if weight for leaf in one.leaves()]


class FeatureRows:
    """Φ (n, p): features of nodes and the kernel's constant. Products are made block by block; Φ is never held whole.

    Products are in the features' floating type; sums over blocks of rows are accumulated in double precision.

    Parameters
    ----------
    features : FeatureMap
        φ.
    nodes : Nodes of length n
        Node data. A ``numpy.memmap`` is read one block of rows at a time.
    constant : float
        Weight w of the kernel's constant: a column √w is appended, unless it is 0.
    """

    __array_ufunc__ = None  # NumPy then leaves array @ self to __rmatmul__
    ndim = 2

    def __init__(self, features: FeatureMap, nodes: Nodes, constant: float):
        self.features, self.nodes, self.constant = features, nodes, constant
        self.shape = len(nodes), features.n_features + bool(constant)
        self.dtype = nodes.dtype

    def part(self, rows: slice) -> Any:
        """Features of a run of nodes, (b, p)."""
        X = self.features(self.nodes.block(rows))
        if self.constant:
            one = np.full((X.shape[0], 1), self.constant**0.5, dtype=X.dtype)
            X = sparse.csr_array(sparse.hstack([X, one])) if sparse.issparse(X) else np.hstack([X, one])
        return X

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """All rows, one block at a time. A block has more rows than columns, because a p×p sum follows each."""
        n, p = self.shape
        stay_sparse = isinstance(self.features, OwnFeatures) and is_sparse(self.features.kernel, self.nodes)
        # Rows of a scattered subset are copied. They are as wide as the data, and a kernel matrix is far wider than p.
        width = p if self.nodes.is_view else max(p, self.nodes.base.shape[1])
        step = max(SPARSE_FEATURES_BLOCK_ROWS if stay_sparse else DENSE_FEATURES_BLOCK_ENTRIES // width, 2 * p)
        for block in row_blocks(n, 1, budget=step):
            yield block, self.part(block)

    @property
    def T(self) -> TransposedRows:
        """Φᵀ."""
        return TransposedRows(self)

    def __matmul__(self, M: Any) -> np.ndarray:
        """ΦM (n, k). O(npk)."""
        out = np.empty((self.shape[0], *M.shape[1:]), dtype=np.result_type(self.dtype, M.dtype))
        for block, features in self.blocks():
            out[block] = dense(features @ M)
        return out

    def __rmatmul__(self, M: Any) -> np.ndarray:
        """MΦ (k, p) for dense or sparse M. O(knp), or O(p) for each stored entry of M."""
        M = M.tocsc() if sparse.issparse(M) else M
        out = np.zeros((M.shape[0], self.shape[1]), dtype=np.result_type(self.dtype, M.dtype))
        for block, features in self.blocks():
            out += dense(M[:, block] @ features)
        return out


class TransposedRows:
    """Φᵀ (p, n), for products only."""

    __array_ufunc__ = None
    ndim = 2

    def __init__(self, rows: FeatureRows):
        self.rows, self.shape, self.dtype = rows, rows.shape[::-1], rows.dtype

    def __matmul__(self, M: Any) -> np.ndarray:
        """ΦᵀM (p, k), accumulated in double precision. O(npk)."""
        M = sparse.csr_array(M) if sparse.issparse(M) else M
        out = np.zeros((self.shape[0], *M.shape[1:]))
        for block, features in self.rows.blocks():
            out += dense(features.T @ M[block])
        return out

    def __rmatmul__(self, M: Any) -> np.ndarray:
        """MΦᵀ (k, n). O(npk)."""
        out = np.empty((M.shape[0], self.shape[1]), dtype=np.result_type(self.dtype, M.dtype))
        for block, features in self.rows.blocks():
            out[:, block] = dense(M @ features.T)
        return out


def _plain(X: Any) -> Any:
    """A block of a memory map as a plain array, still without a copy."""
    return X if sparse.issparse(X) else np.asarray(X)
