"""Coordinates that are the kernel values themselves, z(v) = k_v. A dual solution A is bilinear in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from condrank.nodes.exact import SLIGHTLY_INDEFINITE, first_positive, spectrum
from condrank.nodes.kernels import NodeKernel
from condrank.nodes.similarity import NodeSimilarity, training_nodes_from
from condrank.nodes.store import Nodes
from condrank.persistence.arrays import Arrays, Held


class KernelValues(NodeSimilarity):
    """Coordinates z(v) = k_v, kernel values against the n training nodes, so that h(v, v') = k_vᵀ A k_v'.

    No eigendecomposition is needed: O(n²d). A kernel that may be indefinite is checked by a Cholesky factorisation,
    O(n³/3). It is refused if `ExactKernel` would refuse it.

    Parameters
    ----------
    kernel : NodeKernel
        The node kernel.
    nodes : Nodes of length n
        Training nodes, features or (kernel "precomputed") a kernel matrix.
    """

    def __init__(self, kernel: NodeKernel, nodes: Nodes):
        super().__init__(kernel, nodes)
        self.K = self.training_kernel()
        if not np.isfinite(self.K).all():
            raise ValueError("the kernel values of the nodes overflow; scale the features (or the kernel) down")
        if not kernel.is_positive:
            self._check_positive()

    def _check_positive(self) -> None:
        """Raise if `ExactKernel` would. Eigenvalues are computed only for the error message."""
        K = self.K.copy()
        np.einsum("ii->i", K)[:] += SLIGHTLY_INDEFINITE * float(np.abs(K).sum(axis=1).max())
        try:
            linalg.cholesky(K, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            first_positive(spectrum(self.K.copy())[0], self.kernel, clip=False)

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """The nodes. The kernel matrix follows from them and is not stored."""
        return {"class": type(self).__name__} | self.nodes.to_state(arrays, among=self.kernel.is_precomputed)

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, kernel: NodeKernel) -> KernelValues:
        """Kernel values of the stored nodes, computed again. O(n²d)."""
        return cls(kernel, training_nodes_from(given, held))

    def training(self) -> np.ndarray:
        """K, (n, n); not a copy."""
        return self.K

    def dual_basis(self) -> np.ndarray:
        """The identity (n, n): z(v) is k_v already."""
        return np.eye(self.n_nodes, dtype=self.K.dtype)

    def constant(self) -> np.ndarray:
        """Kernel values of the constant alone: the 1 that is added to all kernel values."""
        return np.ones(self.n_nodes, dtype=self.K.dtype)

    def transform(self, nodes: Nodes) -> np.ndarray:
        """Kernel values of other nodes against the training nodes, (m, n)."""
        return self.K if self.is_training(nodes) else self.similarity(nodes, None)
