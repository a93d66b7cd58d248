"""Coordinates that are the kernel values themselves, z(v) = k_v. A dual solution A is bilinear in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from condrank.base.blocks import one_thread_a_product, row_blocks
from condrank.base.measured import CACHED_ENTRIES
from condrank.kernels.expression import Kernel
from condrank.nodes.exact import SLIGHTLY_INDEFINITE, first_positive, spectrum
from condrank.nodes.similarity import NodeSimilarity, training_nodes_from
from condrank.nodes.store import Nodes
from condrank.persistence.arrays import Arrays, Held


class KernelValues(NodeSimilarity):
    """Coordinates z(v) = k_v, kernel values against the n training nodes, so that h(v, v') = k_vᵀ A k_v'.

    No eigendecomposition is needed: O(n²d). A kernel that may be indefinite is checked by a Cholesky factorisation,
    O(n³/3). It is refused if `ExactKernel` would refuse it.

    Parameters
    ----------
    kernel : Kernel
        The node kernel.
    nodes : Nodes of length n
        Training nodes, features or (kernel "precomputed") a kernel matrix.
    clip : bool
        Drop the negative part of an indefinite kernel instead of raising an error, by one eigendecomposition. Kernel
        values are then projected on the eigenvectors with positive eigenvalues, like coordinates of `ExactKernel`.

    Attributes
    ----------
    K : ndarray of shape (n, n)
        Kernel values of the training nodes.
    kept : ndarray of shape (n, r) or None
        The eigenvectors that are kept, if a negative part was dropped.
    """

    def __init__(self, kernel: Kernel, nodes: Nodes, clip: bool = False):
        super().__init__(kernel, nodes)
        self.K = self.training_kernel()
        self.kept: np.ndarray | None = None
        if not np.isfinite(self.K).all():
            raise ValueError("the kernel values of the nodes overflow; scale the features (or the kernel) down")
        if clip and not kernel.is_positive:
            self._drop_negative()
        elif not kernel.is_positive:
            self._check_positive()

    def _drop_negative(self) -> None:
        """Replace K by its positive part, if it has a negative one."""
        sigma, Q = spectrum(self.K.copy())
        first = first_positive(sigma, self.kernel, clip=True)
        if sigma[0] < 0 and first:
            self.kept = np.ascontiguousarray(Q[:, first:])
            self.K = (self.kept * sigma[first:]) @ self.kept.T

    def _check_positive(self) -> None:
        """Raise if `ExactKernel` would. Eigenvalues are computed only for the error message."""
        K = self.K.copy()
        largest = max(float(np.abs(K[rows]).sum(axis=1).max()) for rows in row_blocks(*K.shape, budget=CACHED_ENTRIES))
        np.einsum("ii->i", K)[:] += SLIGHTLY_INDEFINITE * largest
        try:
            # Threads of SciPy's BLAS would wait for more work beside those of NumPy's, which multiply next. The
            # transpose of a symmetric matrix in C order is the same in Fortran order, which LAPACK can overwrite.
            with one_thread_a_product():
                linalg.cholesky(K.T, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            first_positive(spectrum(self.K.copy())[0], self.kernel, clip=False)

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """The nodes, and the eigenvectors that were kept. The kernel matrix follows from them and is not stored."""
        if self.kept is not None:
            arrays.put("kept", self.kept)
        return {"class": type(self).__name__} | self.nodes.to_state(arrays, self.kernel.matrices)

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, kernel: Kernel) -> KernelValues:
        """Kernel values of the stored nodes, computed again. O(n²d)."""
        nodes = training_nodes_from(given, held)
        if "kept" not in held:
            return cls(kernel, nodes)
        values = cls.__new__(cls)
        NodeSimilarity.__init__(values, kernel, nodes)
        values.kept = held.floats("kept", len(nodes), None)
        values.K = values.projected(values.training_kernel())
        values.K = (values.K + values.K.T) / 2  # rounding of the projection
        return values

    def projected(self, K: np.ndarray) -> np.ndarray:
        """Kernel values without the part along the dropped eigenvectors."""
        return K if self.kept is None else (K @ self.kept.astype(K.dtype, copy=False)) @ self.kept.T.astype(K.dtype)

    def training(self) -> np.ndarray:
        """K, (n, n); not a copy."""
        return self.K

    def dual_basis(self) -> np.ndarray:
        """The identity (n, n): z(v) is k_v already."""
        return np.eye(self.n_nodes, dtype=self.K.dtype)

    def constant(self) -> np.ndarray:
        """Kernel values of the constant alone: the number that is added to all kernel values."""
        return np.full(self.n_nodes, self.kernel.constant, dtype=self.K.dtype)

    def transform(self, nodes: Nodes) -> np.ndarray:
        """Kernel values of other nodes against the training nodes, (m, n)."""
        return self.K if self.is_training(nodes) else self.projected(self.similarity(nodes, None))
