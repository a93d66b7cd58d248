"""Coordinates of an exact kernel, from one symmetric eigendecomposition K = Q diag(σ) Qᵀ.

z(v) = σ^(-½) Qᵀ k_v. Eigenvalues that are rounding noise are dropped, so a singular K needs no special case.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg

from condrank.base.blocks import one_thread_a_product
from condrank.base.checks import check_number
from condrank.base.dense import beside_lapack
from condrank.base.measured import (
    DIVIDE_AND_CONQUER_MOST_NODES,
    NUMPY_EIGH_MOST_NODES,
    ONE_THREAD_BEFORE_EIGH_MOST_FLOPS,
)
from condrank.base.warn import warn
from condrank.exceptions import KernelWarning
from condrank.kernels.expression import Kernel
from condrank.nodes.similarity import NodeSimilarity, training_nodes_from
from condrank.nodes.store import Nodes
from condrank.persistence.arrays import Arrays, Held

if TYPE_CHECKING:
    from condrank.nodes.approximate import Approximation

# A kernel counts as indefinite by rounding only if its smallest eigenvalue is above -this times the largest.
SLIGHTLY_INDEFINITE = 1e-5


class ExactKernel(NodeSimilarity):
    """Coordinates z with zᵀz' = k(v, v') on the training nodes.

    Parameters
    ----------
    kernel : Kernel
        The node kernel.
    nodes : Nodes of length n
        Training nodes, features or (kernel "precomputed") a kernel matrix.
    clip : bool
        Drop the negative part of an indefinite kernel instead of raising an error.
    weights : ndarray of shape (n,), optional
        Node weights ω of mean 1. The coordinates are then rotated so that Zᵀ diag(ω) Z is diagonal, by the
        eigendecomposition of √ω K √ω. The model is the same; the closed form is the one for pair weights ω_v ω_v'.

    Notes
    -----
    Cost: one kernel matrix and one eigendecomposition, O(n²d + n³) time, three n×n arrays at the peak (five
    up to 1,000 nodes, see `spectrum`). The array that is kept is P = √ω Q σ^(-½). It gives Z = P σ/ω, and K_v P for
    other nodes.
    """

    def __init__(self, kernel: Kernel, nodes: Nodes, clip: bool = False, weights: np.ndarray | None = None):
        super().__init__(kernel, nodes)
        self.weights = weights
        with one_thread_a_product() if self._is_quick() else nullcontext():
            K = self.training_kernel()
        root = np.ones(len(nodes), dtype=K.dtype) if weights is None else np.sqrt(weights).astype(K.dtype)
        if weights is not None:
            K *= root
            K *= root[:, None]
        sigma, Q = spectrum(K)
        first = first_positive(sigma, kernel, clip)
        self.sigma = sigma[first:]
        Q = Q[:, first:]
        # Qᵀ√ω, and the residual of √ω. The residual keeps its digits where n - Σ b²/σ would cancel.
        sums = Q.T @ root if len(Q) <= NUMPY_EIGH_MOST_NODES else beside_lapack(Q.T, root)
        self.ones = sums * np.sqrt(self.sigma)
        self.outside = 0.0 if first == 0 else residual_energy(root - Q @ sums)
        Q /= np.sqrt(self.sigma)
        if weights is not None:
            Q *= root[:, None]
        self.basis = Q

    def _is_quick(self) -> bool:
        """Whether the products of the kernel are so small that one thread is better for them.

        More threads of NumPy's BLAS would wait for further products beside SciPy's eigendecomposition, and delay it.
        """
        n, views = len(self.nodes), self.kernel.feature_views
        width = sum(self.nodes.view(view).base.shape[1] for view in views)
        return n > NUMPY_EIGH_MOST_NODES and 2 * n * n * width <= ONE_THREAD_BEFORE_EIGH_MOST_FLOPS

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Nodes, P and the values that belong to its columns; `from_state` reads them."""
        given = {"class": type(self).__name__} | self.nodes.to_state(arrays, self.kernel.matrices)
        arrays.put("basis", self.basis)
        return given | diagonal_to(self, arrays)

    @classmethod
    def from_state(
        cls,
        given: dict[str, Any],
        held: Held,
        kernel: Kernel,
        approximation: Approximation | None = None,
        n_nodes: int | None = None,
    ) -> ExactKernel:
        """Stored coordinates, without a new eigendecomposition. Only the kernel is not part of the state."""
        nodes, coordinates = training_nodes_from(given, held), cls.__new__(cls)
        NodeSimilarity.__init__(coordinates, kernel, nodes)
        found = diagonal_from(given, held, len(nodes))
        coordinates.sigma, coordinates.ones, coordinates.outside, coordinates.weights = found
        coordinates.basis = held.floats("basis", len(nodes), len(coordinates.sigma))
        if not held.mmap and not np.isfinite(coordinates.similarity(nodes.block(slice(1)), None)).all():
            raise ValueError("the kernel values of the nodes overflow")
        return coordinates

    def rotate(self, G: np.ndarray) -> np.ndarray:
        """σ G, because Z = P σ; in place."""
        G *= self.sigma.reshape(-1, *(1,) * (G.ndim - 1))
        return G

    def factor_sums(self, A: Any) -> np.ndarray:
        """AᵀP (k, r) for a factor matrix (n, k) of the training nodes."""
        return np.asarray(A.astype(self.basis.dtype, copy=False).T @ self.basis)

    def training(self) -> np.ndarray:
        """Z = P σ/ω, the coordinates of the training nodes. O(nr)."""
        Z = self.basis * self.sigma
        if self.weights is not None:
            Z /= self.weights.astype(Z.dtype)[:, None]
        return Z

    def dual_basis(self) -> np.ndarray:
        """P (n, r) with z(v) = Pᵀk_v."""
        return self.basis

    def constant(self) -> np.ndarray:
        """Coordinates of the constant alone: kernel values are then only the number that is added to all."""
        return self.kernel.constant * self.basis.sum(axis=0)

    def transform(self, nodes: Nodes) -> np.ndarray:
        """Coordinates K_v P of other nodes. O(mnr), and the kernel values."""
        if self.is_training(nodes):
            return self.training()
        return self.similarity(nodes, None) @ self.basis


def diagonal_to(coordinates: Any, arrays: Arrays) -> dict[str, Any]:
    """Store the diagonal of ZᵀZ, Zᵀ1 and the part of 1 outside the span, with the node weights if there are any."""
    arrays.put("sigma", coordinates.sigma)
    arrays.put("ones", coordinates.ones)
    if coordinates.weights is not None:
        arrays.put("weights", coordinates.weights)
    return {"outside": float(coordinates.outside)}


def diagonal_from(given: dict[str, Any], held: Held, n: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray | None]:
    """σ, Zᵀ1, the part of 1 outside the span and the node weights of n nodes, as `diagonal_to` stored them."""
    sigma = held.positive("sigma", None)
    outside = check_number(f"outside of {held.name}", given["outside"], at_least=0.0)
    weights = held.positive("weights", n) if "weights" in held else None
    return sigma, held.floats("ones", len(sigma)), outside, weights


def spectrum(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix, which is overwritten.

    Divide and conquer (evd) was the fastest LAPACK driver at every measured size (docs/decisions.md). It counts its
    workspace in 32-bit integers, so above 32,000 rows relatively robust representations (evr) are used instead.
    Small matrices go to NumPy's LAPACK, which uses the same threads as the products before and after. It makes a copy.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(K.sum()) and not np.isfinite(K).all():
            raise ValueError("the kernel values of the nodes overflow; scale the features (or the kernel) down")
    if len(K) <= NUMPY_EIGH_MOST_NODES:
        found = np.linalg.eigh(K)
        return found.eigenvalues, found.eigenvectors
    driver = "evd" if len(K) <= DIVIDE_AND_CONQUER_MOST_NODES else "evr"
    # The transpose of a symmetric matrix in C order is the same matrix in Fortran order, which LAPACK can overwrite.
    return linalg.eigh(K.T, driver=driver, overwrite_a=True, check_finite=False)


def residual_energy(residual: np.ndarray) -> float:
    """Squared length of the residual of a projection of 1; zero if that is rounding noise."""
    energy = float(np.sum(residual**2, dtype=np.float64))
    return energy if energy > len(residual) * (1000 * np.finfo(residual.dtype).eps) ** 2 else 0.0


def noise_level(sigma_max: float, dtype: np.dtype) -> float:
    """Eigenvalues below this are rounding noise of the largest one."""
    return 4 * np.finfo(dtype).eps * sigma_max


def first_positive(sigma: np.ndarray, kernel: Kernel, clip: bool) -> int:
    """Index of the first eigenvalue above noise. Warns if a kernel is slightly indefinite, raises if it clearly is."""
    largest, smallest = float(sigma[-1]), float(sigma[0])
    if largest <= 0:
        raise ValueError(f"the {kernel.label} kernel of the nodes has no positive eigenvalue (largest: {largest:.3g})")
    rounding = 10 * len(sigma) * float(np.finfo(sigma.dtype).eps) * largest
    if smallest < -rounding and not clip:
        negative = sigma[sigma < -rounding]
        share = float(np.abs(negative).sum() / np.abs(sigma).sum())
        extent = (
            f"the {kernel.label} kernel matrix is not positive semi-definite: {len(negative)} of {len(sigma)} "
            f"eigenvalues are negative, the smallest {smallest:.3g} against a largest of {largest:.3g} "
            f"({share:.2%} of the spectrum)"
        )
        if smallest < -max(SLIGHTLY_INDEFINITE * largest, rounding):
            raise ValueError(f"{extent}; set clip=True to drop the negative part, or choose another kernel")
        warn(f"{extent}; that part was dropped", KernelWarning)
    return int(np.searchsorted(sigma, noise_level(largest, sigma.dtype), side="right"))
