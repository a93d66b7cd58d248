"""Coordinates of explicit features, d < n: features rotated so that ZᵀZ is diagonal. The Gram matrix is d×d."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from condrank.nodes.exact import noise_level, residual_energy, spectrum
from condrank.nodes.kernels import NodeKernel
from condrank.nodes.store import Nodes


class ExplicitFeatures:
    """Coordinates z = Vᵀx of the linear (or, with rows scaled to unit length, the cosine) kernel.

    Parameters
    ----------
    kernel : NodeKernel
        "linear" or "cosine".
    nodes : Nodes of length n
        Training nodes with d features, dense or sparse.
    weights : ndarray of shape (n,), optional
        Node weights ω of mean 1: the rotation makes Zᵀ diag(ω) Z diagonal, as in `ExactKernel`.

    Notes
    -----
    Cost: the Gram matrix XᵀX, O(nd²) time (less for sparse features), and a d×d eigendecomposition; no n×n array and
    no second copy of the features (except for the scaled rows of "cosine" and an appended constant).
    """

    def __init__(self, kernel: NodeKernel, nodes: Nodes, weights: np.ndarray | None = None):
        self.kernel, self.nodes, self.weights = kernel, nodes, weights
        self.n_nodes = len(nodes)
        X = self.basis = self._raw(nodes)
        weight = np.ones(X.shape[0], dtype=X.dtype) if weights is None else weights.astype(X.dtype)
        gram = X.T @ (X if weights is None else _scaled(X, weight))
        gram = (gram.toarray() if sparse.issparse(gram) else gram).astype(np.float64, copy=False)
        sigma, V = spectrum(gram)
        if sigma[-1] <= 0:
            raise ValueError("all features of the nodes are zero: nothing can be learned from them")
        first = int(np.searchsorted(sigma, noise_level(float(sigma[-1]), X.dtype), side="right"))
        self.sigma, self.rotation = sigma[first:], V[:, first:]
        self.ones = self.rotation.T @ (X.T @ weight)
        span = self.rotation @ (self.ones / self.sigma)
        self.outside = residual_energy(np.sqrt(weight) * (1 - X @ span.astype(X.dtype)))

    @staticmethod
    def applies(kernel: NodeKernel, nodes: Nodes) -> bool:
        """The kernel has explicit features, and there are fewer of them than nodes."""
        return kernel.name in ("linear", "cosine") and nodes.base.shape[1] + kernel.constant < len(nodes)

    def rotate(self, G: np.ndarray) -> np.ndarray:
        """VᵀG. O(dr) a column."""
        return self.rotation.T @ G

    def training(self) -> np.ndarray:
        """Z = XV, the coordinates of the training nodes. O(ndr)."""
        return np.asarray(self.basis @ self.rotation.astype(self.basis.dtype, copy=False))

    def dual_basis(self) -> np.ndarray:
        """P = ωZ/σ (n, r) with z(v) = Pᵀk_v."""
        P = self.training()
        P /= self.sigma.astype(P.dtype)
        if self.weights is not None:
            P *= self.weights.astype(P.dtype)[:, None]
        return P

    def constant(self) -> np.ndarray:
        """Coordinates of the appended constant alone."""
        return self.rotation[-1]

    def transform(self, nodes: Nodes) -> np.ndarray:
        """Coordinates XV of other nodes. O(mdr)."""
        X = self.basis if nodes is self.nodes else self._raw(nodes)
        return np.asarray(X @ self.rotation.astype(X.dtype, copy=False))

    def similarity(self, nodes: Nodes | None, others: Nodes | None) -> np.ndarray:
        """The kernel itself, features outside the span of the training nodes included."""
        X = self.basis if nodes is None else self._raw(nodes)
        X_other = self.basis if others is None else self._raw(others)
        K = X @ X_other.T
        return np.asarray(K.toarray() if sparse.issparse(K) else K)

    def _raw(self, nodes: Nodes) -> Any:
        X: Any = nodes.rows
        expected = self.nodes.base.shape[1]
        if X.shape[1] != expected:
            raise ValueError(
                f"the given nodes must have {expected} features, as the training nodes have, got {X.shape[1]}"
            )
        X = self.kernel.weighted(X)
        if self.kernel.name == "cosine":
            X = normalize(X)
        if self.kernel.constant:
            one = np.ones((X.shape[0], 1), dtype=X.dtype)
            X = sparse.csr_array(sparse.hstack([X, one])) if sparse.issparse(X) else np.hstack([X, one])
        return X


def _scaled(X: Any, weight: np.ndarray) -> Any:
    """diag(weight) X."""
    return sparse.diags_array(weight) @ X if sparse.issparse(X) else X * weight[:, None]
