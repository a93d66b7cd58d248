"""Nyström features φ(v) = K_mm^(-½) k_m(v): the kernel of all nodes, approximated from its values at m landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.kernels.expression import Kernel
from condrank.nodes.exact import first_positive, noise_level, spectrum
from condrank.nodes.landmarks import check_landmarks, choose_nodes, means, only_leaf, unweighted
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.store import Nodes
from condrank.nodes.views import Views
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.plain import check_same


@dataclass(frozen=True)
class NystroemFeatures:
    """Features with φ(v)ᵀφ(v') = k_m(v)ᵀ K_mm⁺ k_m(v'), which equals k(v, v') if v or v' is a landmark.

    Attributes
    ----------
    similarity : NodeSimilarity
        The node kernel without its constant: between landmarks and other nodes; for kernel matrices, of all training
        nodes.
    landmarks : Nodes of length m
        The landmarks.
    whitening : ndarray of shape (m, r)
        K_mm^(-½) without the eigenvalues that are rounding noise.
    """

    similarity: NodeSimilarity
    landmarks: Nodes
    whitening: np.ndarray

    @classmethod
    def fit(
        cls, kernel: Kernel, nodes: Nodes, m: int, landmarks: str, seed: int, clip: bool = False
    ) -> NystroemFeatures:
        """Choose m landmarks among the nodes, or near them (k-means). O(m³), and the cost of the choice.

        Parameters
        ----------
        kernel : Kernel
            The node kernel.
        nodes : Nodes of length n
            Training nodes: features, kernel matrices or both.
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
        body, rng = kernel.body, np.random.default_rng(seed)
        if landmarks == "kmeans":
            points = means(body, nodes, m, rng)
        else:
            points = nodes.take(choose_nodes(landmarks, body, nodes, m, rng))
        similarity, points = _between(body, nodes, points)
        if body.matrices:
            K = NodeSimilarity(body, points).training_kernel()
        else:
            K = NodeSimilarity(body, points.astype(np.float64)).training_kernel()
        sigma, Q = spectrum(K)
        first = first_positive(sigma, kernel, clip)
        # Kernel values of other nodes have the nodes' precision. Eigenvalues below its noise have no meaning for them.
        first = max(first, int(np.searchsorted(sigma, noise_level(float(sigma[-1]), nodes.dtype), side="right")))
        return cls(similarity, points, (Q[:, first:] / np.sqrt(sigma[first:])).astype(np.float64, copy=False))

    def to_state(self, arrays: Arrays, training: Nodes) -> dict[str, Any]:
        """Landmarks and whitening. With kernel matrices, landmarks are positions among the training nodes."""
        arrays.put("whitening", self.whitening)
        body = self.similarity.kernel
        if body.matrices:
            arrays.put("landmarks", self.landmarks.places_in(training))
        elif isinstance(self.landmarks.base, Views):
            return {"landmarks": self.landmarks.to_state(arrays.under("landmarks"))}
        else:
            leaf = only_leaf(body)
            rows = self.landmarks.rows
            arrays.matrix("landmarks", rows if leaf is None else leaf.weighted(rows))
        return {}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, kernel: Kernel, nodes: Nodes) -> NystroemFeatures:
        """The stored features of a kernel on training nodes."""
        body = kernel.body
        if body.matrices:
            NodeSimilarity(body, nodes)  # raises if the nodes are not a kernel matrix
            points = nodes.take(held.places("landmarks", None, len(nodes)))
        elif isinstance(nodes.base, Views):
            points = Nodes.from_state(given["landmarks"], held.under("landmarks"))
        else:
            leaf = only_leaf(body)
            rows = held.matrix("landmarks")
            check_same(f"number of features of the landmarks of {held.name}", rows.shape[1], nodes.base.shape[1])
            points = Nodes(rows if leaf is None else unweighted(leaf, rows))
        similarity, points = _between(body, nodes, points)
        return cls(similarity, points, held.floats("whitening", len(points), None))

    @property
    def n_features(self) -> int:
        """r, the rank of the landmarks' kernel."""
        return self.whitening.shape[1]

    def __call__(self, nodes: Nodes) -> np.ndarray:
        """Features (b, r) of some nodes, in their precision: kernel values and a product, O(bmd + bmr)."""
        return self.values(nodes) @ self.whitening.astype(nodes.dtype, copy=False)

    def values(self, nodes: Nodes) -> np.ndarray:
        """Kernel values (b, m) of some nodes against the landmarks."""
        return self.similarity.similarity(nodes, self.landmarks)


def _between(body: Kernel, nodes: Nodes, points: Nodes) -> tuple[NodeSimilarity, Nodes]:
    """The kernel between nodes and landmarks, and the landmarks. Features of the other nodes are not kept."""
    if body.matrices:
        return NodeSimilarity(body, nodes), points
    points = Nodes(points.rows, None, points.ids)
    return NodeSimilarity(body, points), points
