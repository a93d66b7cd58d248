"""Coordinates z(v) of nodes: exact kernels, explicit features and approximations share one small protocol."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from condrank.base.checks import check_choice
from condrank.kernels.expression import Kernel
from condrank.nodes.approximate import ApproximateKernel, Approximation
from condrank.nodes.exact import ExactKernel
from condrank.nodes.feature_maps import has_features
from condrank.nodes.features import ExplicitFeatures
from condrank.nodes.store import Nodes
from condrank.persistence.arrays import Arrays, Held

__all__ = [
    "COORDINATES",
    "ApproximateKernel",
    "Approximation",
    "Coordinates",
    "ExactKernel",
    "ExplicitFeatures",
    "Nodes",
    "coordinates_from_state",
]


class Coordinates(Protocol):
    """A coordinate map z, fitted to training nodes so that ZᵀZ is diagonal.

    With node weights ω, Zᵀ diag(ω) Z is diagonal instead. Below, ω then replaces 1, as in b = Zᵀω.

    Attributes
    ----------
    nodes : Nodes
        The training nodes.
    sigma : ndarray of shape (r,)
        The diagonal of ZᵀZ, ascending, positive.
    ones : ndarray of shape (r,)
        b = Zᵀ1.
    outside : float
        n - Σ b²/σ ≥ 0, the squared length of the part of 1 outside the span of Z (the ω of the closed form).
    n_nodes : int
        Number of training nodes.
    basis : array of shape (n, p)
        Training nodes before the rotation: Z = basis @ M (without node weights). Sums over nodes use the basis, so Z
        is not needed for them.
    """

    nodes: Nodes
    sigma: np.ndarray
    ones: np.ndarray
    outside: float
    n_nodes: int

    @property
    def basis(self) -> Any:
        """Training nodes before the rotation, (n, p)."""
        ...

    def rotate(self, G: np.ndarray) -> np.ndarray:
        """MᵀG for a (p, k) array, where Z = basis @ M."""
        ...

    def factor_sums(self, A: Any) -> np.ndarray:
        """Aᵀ basis (k, p) for a factor matrix A (n, k) of the training nodes."""
        ...

    def training(self) -> np.ndarray:
        """Z, the coordinates of the training nodes, (n, r)."""
        ...

    def dual_basis(self) -> np.ndarray:
        """P (n, r) with z(v) = Pᵀk_v, where k_v are the kernel values of v against the training nodes."""
        ...

    def constant(self) -> np.ndarray:
        """Coordinates (r,) of the constant that is appended to every node."""
        ...

    def transform(self, nodes: Nodes) -> np.ndarray:
        """Coordinates of other nodes, (m, r)."""
        ...

    def similarity(self, nodes: Nodes | None, others: Nodes | None) -> np.ndarray:
        """The node kernel itself between nodes and others; None means the training nodes."""
        ...

    def similarity_at(self, nodes: Nodes, others: Nodes, pairs: tuple[np.ndarray, np.ndarray]) -> np.ndarray | None:
        """The node kernel at pairs of positions, (n_pairs,); None if it needs all pairs."""
        ...

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Plain values for a manifest; arrays are added to ``arrays``. `coordinates_from_state` reads both."""
        ...


#: Classes of coordinates by their name in a file. Dual models have `KernelValues` instead.
COORDINATES = {kind.__name__: kind for kind in (ExactKernel, ExplicitFeatures, ApproximateKernel)}


def coordinates_from_state(
    given: dict[str, Any],
    held: Held,
    kernel: Kernel,
    approximation: Approximation | None = None,
    n_nodes: int | None = None,
) -> Any:
    """Stored coordinates, of the class that the file names. Raises if the kernel cannot have such coordinates.

    Parameters
    ----------
    given, held
        What ``to_state`` returned, and its arrays.
    kernel : Kernel
        The node kernel.
    approximation : Approximation, optional
        How the kernel was approximated.
    n_nodes : int, optional
        Number of training nodes, if the nodes themselves were not kept.
    """
    allowed = [ExactKernel.__name__]
    if has_features(kernel):
        allowed.append(ExplicitFeatures.__name__)
    if approximation is not None:
        allowed.append(ApproximateKernel.__name__)
    check_choice(f"coordinates of {held.name}", given["class"], tuple(allowed))
    return COORDINATES[given["class"]].from_state(given, held, kernel, approximation, n_nodes)
