"""Coordinates that are the kernel values themselves, z(v) = k_v: what a dual solution A is bilinear in."""

from __future__ import annotations

import numpy as np

from condrank.nodes.exact import ExactKernel, check_symmetric
from condrank.nodes.kernels import NodeKernel
from condrank.nodes.store import Nodes


class KernelValues(ExactKernel):
    """Coordinates z(v) = k_v, kernel values against the n training nodes, so that h(v, v') = k_vᵀ A k_v'.

    An exact kernel that is spared its eigendecomposition: O(n²d). It has no ``sigma``, ``ones``, ``outside`` or
    ``basis``, which closed forms need; an indefinite kernel shows only in the solver, as no eigenvalue is computed.

    Parameters
    ----------
    kernel : NodeKernel
        The node kernel.
    nodes : Nodes of length n
        Training nodes, features or (kernel "precomputed") a kernel matrix.
    """

    def __init__(self, kernel: NodeKernel, nodes: Nodes):
        # Not the parent's: that would decompose K.
        self.kernel, self.nodes, self.weights = kernel, nodes, None
        self.n_nodes = len(nodes)
        self.K = self._training_kernel()
        if kernel.is_precomputed or callable(kernel.name):
            check_symmetric(self.K, kernel)
        if not np.isfinite(self.K).all():
            raise ValueError("the kernel values of the nodes overflow; scale the features (or the kernel) down")

    def rotate(self, G: np.ndarray) -> np.ndarray:
        """G itself: there is no rotation."""
        return G

    def training(self) -> np.ndarray:
        """K, (n, n); not a copy."""
        return self.K

    def dual_basis(self) -> np.ndarray:
        """The identity (n, n): z(v) is k_v already."""
        return np.eye(self.n_nodes, dtype=self.K.dtype)

    def constant(self) -> np.ndarray:
        """Kernel values of a node with no similarity to any other but the 1 that was added."""
        return np.ones(self.n_nodes, dtype=self.K.dtype)

    def transform(self, nodes: Nodes) -> np.ndarray:
        """Kernel values of other nodes against the training nodes, (m, n)."""
        return self.K if self.is_training(nodes) else self.similarity(nodes, None)
