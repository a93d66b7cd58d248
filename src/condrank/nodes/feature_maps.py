"""Explicit features φ(v) of nodes, with k(v, v') = φ(v)ᵀφ(v'), computed from a block of rows of node data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from condrank.base.blocks import row_blocks
from condrank.base.dense import dense
from condrank.base.measured import DENSE_FEATURES_BLOCK_ENTRIES, SPARSE_FEATURES_BLOCK_ROWS
from condrank.nodes.kernels import NodeKernel
from condrank.nodes.store import Nodes


class FeatureMap(Protocol):
    """A map from a block of rows of node data X (b, d) to their explicit features φ (b, m), in X's floating type."""

    @property
    def n_features(self) -> int:
        """m, without the constant that a kernel may append."""
        ...

    def __call__(self, X: Any) -> Any:
        """Features φ (b, m) of the rows of X, dense or sparse; X itself if nothing changes."""
        ...


class LinearFeatures:
    """φ = x, multiplied by the kernel's feature weights if it has any."""

    def __init__(self, kernel: NodeKernel, n_features: int):
        self.kernel, self.n_features = kernel, n_features

    def __call__(self, X: Any) -> Any:
        """Weighted rows."""
        return self.kernel.weighted(X)


class CosineFeatures(LinearFeatures):
    """φ = x/‖x‖, after weighting."""

    def __call__(self, X: Any) -> Any:
        """Weighted rows of unit length."""
        return normalize(self.kernel.weighted(X))


def own_features(kernel: NodeKernel, n_features: int) -> FeatureMap:
    """The features of a linear or cosine kernel."""
    return (CosineFeatures if kernel.name == "cosine" else LinearFeatures)(kernel, n_features)


class FeatureRows:
    """Φ (n, p): features of nodes and the kernel's constant. Products are made block by block; Φ is never held whole.

    Products are in the features' floating type; sums over blocks of rows are accumulated in double precision.

    Parameters
    ----------
    features : FeatureMap
        φ.
    nodes : Nodes of length n
        Node data. A ``numpy.memmap`` is read one block of rows at a time.
    constant : bool
        Append a column of ones.
    """

    __array_ufunc__ = None  # NumPy then leaves array @ self to __rmatmul__
    ndim = 2

    def __init__(self, features: FeatureMap, nodes: Nodes, constant: bool):
        self.features, self.nodes, self.constant = features, nodes, constant
        self.shape = len(nodes), features.n_features + constant
        self.dtype = nodes.dtype

    def part(self, rows: slice) -> Any:
        """Features of a run of nodes, (b, p)."""
        X = self.features(_plain(self.nodes.block(rows).rows))
        if self.constant:
            one = np.ones((X.shape[0], 1), dtype=X.dtype)
            X = sparse.csr_array(sparse.hstack([X, one])) if sparse.issparse(X) else np.hstack([X, one])
        return X

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """All rows, one block at a time. A block has more rows than columns, because a p×p sum follows each."""
        n, p = self.shape
        stay_sparse = sparse.issparse(self.nodes.base) and isinstance(self.features, LinearFeatures)
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
