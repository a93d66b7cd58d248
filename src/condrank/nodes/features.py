"""Coordinates from explicit features, p < n: the features are rotated so that ZᵀZ is diagonal. Gram matrix: p×p."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from condrank.base.dense import dense
from condrank.kernels.expression import Kernel
from condrank.nodes.aligned import Pairs, products_at
from condrank.nodes.exact import diagonal_from, diagonal_to, noise_level, residual_energy, spectrum
from condrank.nodes.feature_maps import FeatureMap, FeatureRows, OwnFeatures, count_features, has_features, is_sparse
from condrank.nodes.feature_sums import FeatureSums
from condrank.nodes.similarity import check_columns
from condrank.nodes.store import Nodes
from condrank.persistence.arrays import Arrays, Held

if TYPE_CHECKING:
    from condrank.nodes.approximate import Approximation


class ExplicitFeatures:
    """Coordinates z = Vᵀφ from explicit features φ of linear and cosine kernels, or of an approximation.

    Parameters
    ----------
    kernel : Kernel
        A sum of linear and cosine kernels; any kernel if ``features`` is given.
    nodes : Nodes of length n
        Training nodes, dense or sparse.
    weights : ndarray of shape (n,), optional
        Node weights ω of mean 1. The rotation then makes Zᵀ diag(ω) Z diagonal, as in `ExactKernel`.
    features : FeatureMap, optional
        φ; by default the kernel's own.
    factors : sequence of arrays of shape (n, k)
        Factors A of the nodes for which `factor_sums` will be called. Their sums AᵀΦ are made in the same pass.
    sums : FeatureSums, optional
        Sums over the features of all training nodes, if they are known already.

    Notes
    -----
    Cost: one pass over blocks of features, O(np²) time (less for sparse ones), and a p×p eigendecomposition. There is
    no n×n array and no n×p copy of the features.
    """

    def __init__(
        self,
        kernel: Kernel,
        nodes: Nodes,
        weights: np.ndarray | None = None,
        features: FeatureMap | None = None,
        factors: Sequence[Any] = (),
        sums: FeatureSums | None = None,
    ):
        self.kernel, self.nodes, self.weights = kernel, nodes, weights
        self.features = OwnFeatures(kernel, nodes) if features is None else features
        self._known: list[tuple[Any, np.ndarray]] = []
        if sums is None:
            rows = FeatureRows(self.features, nodes, kernel.constant)
            sums = FeatureSums(rows.shape[1], [A.shape[1] for A in factors])
            add_rows(sums, rows, weights, factors)
            self._known = list(zip(factors, sums.factors, strict=True))
        self.sums = sums
        self._rotate_to(sums)

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Nodes, V and the values that belong to its columns, but not the sums; `from_state` reads them."""
        given = {"class": type(self).__name__} | self.nodes.to_state(arrays, self.kernel.matrices)
        arrays.put("rotation", self.rotation)
        return given | diagonal_to(self, arrays)

    @classmethod
    def from_state(
        cls,
        given: dict[str, Any],
        held: Held,
        kernel: Kernel,
        approximation: Approximation | None = None,
        n_nodes: int | None = None,
    ) -> ExplicitFeatures:
        """Stored coordinates, without a pass over the nodes.

        Parameters
        ----------
        given, held
            What `to_state` returned, and its arrays.
        kernel : Kernel
            The node kernel.
        approximation : Approximation, optional
            How the kernel was approximated.
        n_nodes : int, optional
            Number of training nodes, if the nodes themselves were not kept.
        """
        nodes, coordinates = Nodes.from_state(given, held), cls.__new__(cls)
        coordinates.kernel, coordinates.nodes = kernel, nodes
        coordinates.n_nodes = len(nodes) if n_nodes is None else n_nodes
        found = diagonal_from(given, held, len(nodes))
        coordinates.sigma, coordinates.ones, coordinates.outside, coordinates.weights = found
        features = cls._features_from(given, held, kernel, nodes, approximation)
        coordinates.features, coordinates._known = features, []
        p = features.n_features + bool(kernel.constant)
        coordinates.rotation = held.floats("rotation", p, len(coordinates.sigma))
        return coordinates

    @classmethod
    def _features_from(
        cls, given: dict[str, Any], held: Held, kernel: Kernel, nodes: Nodes, approximation: Approximation | None
    ) -> FeatureMap:
        """φ of stored nodes: the kernel's own features, which need no state."""
        return OwnFeatures(kernel, nodes)

    def _rotate_to(self, sums: FeatureSums) -> None:
        """Set σ, V, Zᵀ1 and the part of 1 outside the span, from sums over the training nodes. O(p³)."""
        dtype = self.nodes.dtype
        self.n_nodes = round(sums.total)
        sigma, V = spectrum(sums.gram())
        if sigma[-1] <= 0:
            raise ValueError("all features of the nodes are zero: nothing can be learned from them")
        first = int(np.searchsorted(sigma, self._noise(sums, float(sigma[-1])), side="right"))
        self.sigma, self.rotation = sigma[first:], V[:, first:]
        self.ones = self.rotation.T @ sums.ones
        span = self.rotation @ (self.ones / self.sigma)
        self.outside, certain = sums.outside(span, dtype)
        if not certain and 0 < len(self.nodes) == self.n_nodes:
            # The sums cannot decide whether it is noise. Computed node by node it keeps its digits.
            left = 1 - self.basis @ span.astype(dtype)
            self.outside = residual_energy(left if self.weights is None else np.sqrt(self.weights).astype(dtype) * left)

    def _noise(self, sums: FeatureSums, largest: float) -> float:
        """Eigenvalues of the Gram matrix below this are rounding noise.

        Dense features are shifted to their mean and then multiplied in their own precision. The part of the mean is
        added in double precision, so a large mean does not add noise.
        """
        noise = noise_level(largest, self.nodes.dtype)
        if is_sparse(self.kernel, self.nodes):
            return noise
        shifted = noise_level(float(np.linalg.norm(sums.scatter)), self.nodes.dtype)
        return min(noise, max(shifted, noise_level(largest, np.dtype(np.float64))))

    def factor_sums(self, A: Any) -> np.ndarray:
        """AᵀΦ (k, p) for a factor matrix of the nodes: known if A was given to the fit, otherwise one pass."""
        for factor, sums in self._known:
            if factor is A:
                return sums
        product = A.astype(self.nodes.dtype, copy=False).T @ self.basis
        return dense(product)

    @staticmethod
    def applies(kernel: Kernel, nodes: Nodes) -> bool:
        """Whether the kernel has explicit features of its own, fewer than nodes."""
        return has_features(kernel) and count_features(kernel, nodes) + bool(kernel.constant) < len(nodes)

    @property
    def basis(self) -> Any:
        """Φ (n, p): the node data itself if the features are the data, otherwise computed block by block."""
        return self._rows(self.nodes)

    def rotate(self, G: np.ndarray) -> np.ndarray:
        """VᵀG. O(pr) per column."""
        return self.rotation.T @ G

    def training(self) -> np.ndarray:
        """Z = ΦV, the coordinates of the training nodes. O(npr)."""
        return self.transform(self.nodes)

    def dual_basis(self) -> np.ndarray:
        """P = ωZ/σ (n, r) with z(v) = Pᵀk_v."""
        P = self.training()
        P /= self.sigma.astype(P.dtype)
        if self.weights is not None:
            P *= self.weights.astype(P.dtype)[:, None]
        return P

    def constant(self) -> np.ndarray:
        """Coordinates of the appended constant alone."""
        return self.kernel.constant**0.5 * self.rotation[-1]

    def transform(self, nodes: Nodes) -> np.ndarray:
        """Coordinates ΦV of other nodes. O(mpr)."""
        X = self._rows(nodes)
        return np.asarray(X @ self.rotation.astype(X.dtype, copy=False))

    def similarity(self, nodes: Nodes | None, others: Nodes | None) -> np.ndarray:
        """The kernel itself, including features outside the span of the training nodes."""
        X, X_other = (self._rows(self.nodes if one is None else one) for one in (nodes, others))
        X = X.part(slice(None)) if isinstance(X, FeatureRows) else X
        K = X @ X_other.T
        return dense(K)

    def similarity_at(self, nodes: Nodes, others: Nodes, pairs: Pairs) -> np.ndarray | None:
        """The kernel at pairs of positions, (n_pairs,), in O(n_pairs p); None if it needs all pairs."""
        X, X_other = (self._rows(one) for one in (nodes, others))
        X, X_other = (one.part(slice(None)) if isinstance(one, FeatureRows) else one for one in (X, X_other))
        return products_at(X, X_other, pairs)

    def _rows(self, nodes: Nodes) -> Any:
        """Φ (m, p) of some nodes."""
        for view in self.kernel.feature_views:
            check_columns(nodes.view(view), self.nodes.view(view))
        alone = self.features.alone if isinstance(self.features, OwnFeatures) else None
        if alone is not None and alone.feature_weights is None and not self.kernel.constant and nodes.is_view:
            return nodes.view(alone.view).rows
        return FeatureRows(self.features, nodes, self.kernel.constant)


def add_rows(sums: FeatureSums, rows: FeatureRows, weights: np.ndarray | None, factors: Sequence[Any]) -> None:
    """Add all nodes of some rows to sums, block by block."""
    for block, part in rows.blocks():
        sums.add(part, None if weights is None else weights[block], [A[block] for A in factors])
        del part  # frees it before the next block is made
    sums.close()
