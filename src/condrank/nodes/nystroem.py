"""Nyström features φ(v) = K_mm^(-½) k_m(v): the kernel of all nodes, approximated from its values at m landmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condrank.base.dense import dense
from condrank.nodes.exact import first_positive, noise_level, spectrum
from condrank.nodes.kernels import NodeKernel
from condrank.nodes.landmarks import check_landmarks, choose_nodes, means
from condrank.nodes.similarity import NodeSimilarity, check_symmetric
from condrank.nodes.store import Nodes
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.plain import check_same


@dataclass(frozen=True)
class NystroemFeatures:
    """Features with φ(v)ᵀφ(v') = k_m(v)ᵀ K_mm⁺ k_m(v'), which equals k(v, v') if v or v' is a landmark.

    Attributes
    ----------
    kernel : NodeKernel
        The node kernel. A constant that it adds is not part of φ.
    landmarks : array or sparse array of shape (m, d), or ndarray of int of shape (m,)
        Weighted features of the landmarks; for kernel "precomputed", their columns.
    whitening : ndarray of shape (m, r)
        K_mm^(-½) without the eigenvalues that are rounding noise.
    """

    kernel: NodeKernel
    landmarks: Any
    whitening: np.ndarray

    @classmethod
    def fit(
        cls, kernel: NodeKernel, nodes: Nodes, m: int, landmarks: str, seed: int, clip: bool = False
    ) -> NystroemFeatures:
        """Choose m landmarks among the nodes, or near them (k-means). O(m³), and the cost of the choice.

        Parameters
        ----------
        kernel : NodeKernel
            The node kernel.
        nodes : Nodes of length n
            Training nodes, features or (kernel "precomputed") a kernel matrix.
        m : int
            Number of landmarks, at most n.
        landmarks : {"uniform", "kmeans", "pivoted"}
            How the landmarks are chosen.
        seed : int
            Seed of the choice.
        clip : bool
            Drop the negative part of an indefinite kernel instead of raising an error.
        """
        check_landmarks(landmarks, kernel, nodes)
        plain, rng = replace(kernel, constant=False), np.random.default_rng(seed)
        if landmarks == "kmeans":
            points: Any = means(kernel, nodes, m, rng)
        else:
            chosen = nodes.take(choose_nodes(landmarks, plain, nodes, m, rng))
            points = chosen.positions if kernel.is_precomputed else kernel.weighted(chosen.rows)
        if kernel.is_precomputed:
            K = np.array(nodes.base[np.ix_(points, points)])
        else:
            K = replace(plain, weights=None)(*_twice(points.astype(np.float64), callable(kernel.name)))
        if kernel.is_precomputed or callable(kernel.name):
            check_symmetric(K, kernel)
        sigma, Q = spectrum(K)
        first = first_positive(sigma, kernel, clip)
        # Kernel values of other nodes have the nodes' precision. Eigenvalues below its noise have no meaning for them.
        first = max(first, int(np.searchsorted(sigma, noise_level(float(sigma[-1]), nodes.dtype), side="right")))
        return cls(kernel, points, (Q[:, first:] / np.sqrt(sigma[first:])).astype(np.float64, copy=False))

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Landmarks and whitening. Landmarks of a precomputed kernel are positions among the training nodes."""
        arrays.matrix("landmarks", self.landmarks)
        arrays.put("whitening", self.whitening)
        return {}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, kernel: NodeKernel, nodes: Nodes) -> NystroemFeatures:
        """The stored features of a kernel on training nodes."""
        if kernel.is_precomputed:
            NodeSimilarity(kernel, nodes)  # raises if the nodes are not a kernel matrix
            landmarks: Any = held.places("landmarks", None, len(nodes))
            m = len(landmarks)
        else:
            landmarks = held.matrix("landmarks")
            m, d = landmarks.shape
            check_same(f"number of features of the landmarks of {held.name}", d, nodes.base.shape[1])
        return cls(kernel, landmarks, held.floats("whitening", m, None))

    @property
    def n_features(self) -> int:
        """r, the rank of the landmarks' kernel."""
        return self.whitening.shape[1]

    def __call__(self, X: Any) -> np.ndarray:
        """Features (b, r) of a block of nodes, in the nodes' precision: kernel values and a product, O(bmd + bmr)."""
        return self.values(X) @ self.whitening.astype(X.dtype, copy=False)

    def values(self, X: Any) -> np.ndarray:
        """Kernel values (b, m) of a block of nodes against the landmarks."""
        if self.kernel.is_precomputed:
            return dense(X[:, self.landmarks])
        plain = replace(self.kernel, constant=False, weights=None)
        return plain(self.kernel.weighted(X), self.landmarks)


def _twice(points: Any, apart: bool) -> tuple[Any, Any]:
    # On one array scikit-learn mirrors one triangle of a callable's values. With two arrays an asymmetric kernel shows.
    return points, points.copy() if apart else None
