"""Approximate kernels: which features replace the exact kernel, and how many of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from condrank.kernels.expression import Kernel
from condrank.nodes.feature_maps import FeatureMap, count_features
from condrank.nodes.features import ExplicitFeatures
from condrank.nodes.fourier import FourierFeatures
from condrank.nodes.nystroem import NystroemFeatures
from condrank.nodes.spectrum import count_components
from condrank.nodes.store import Nodes
from condrank.persistence.arrays import Arrays, Held

APPROXIMATIONS = ("nystroem", "fourier")
# With n_components="auto": the most components, and the nodes from which their number is estimated.
AUTO_MOST, AUTO_SAMPLE = 2000, 1000


@dataclass(frozen=True)
class Approximation:
    """How a kernel is approximated. Two that differ only in seed or λ are equal.

    Attributes
    ----------
    n_components : int or "auto"
        Number of landmarks or of Fourier features. "auto": as many as matter at this λ, estimated from a sample of the
        nodes (`condrank.suggest_components`), at most 2,000.
    name : {"nystroem", "fourier"}
        Kind of features.
    landmarks : {"uniform", "kmeans", "pivoted"}
        How the landmarks of Nyström features are chosen.
    seed : int
        Seed of the random choices.
    alpha : float, optional
        λ, for "auto".
    """

    n_components: int | str
    name: str = "nystroem"
    landmarks: str = "uniform"
    seed: int = field(default=0, compare=False)
    alpha: float | None = field(default=None, compare=False)

    def size(self, kernel: Kernel, nodes: Nodes) -> int | None:
        """Number of components for some nodes; None if exact coordinates are not more than that."""
        if kernel.body.constant:
            return None  # only a constant, which is one coordinate
        exact = count_features(kernel, nodes) if ExplicitFeatures.applies(kernel, nodes) else len(nodes)
        m = self.n_components
        if isinstance(m, str):
            m = count_components(kernel.body, nodes, 1.0, self.alpha, AUTO_SAMPLE)
            m = min(m, AUTO_MOST)
        return m if m < exact else None

    def fit(self, kernel: Kernel, nodes: Nodes, m: int, clip: bool) -> FeatureMap:
        """Features of m components, fitted to training nodes."""
        if self.name == "fourier":
            return FourierFeatures.fit(kernel, nodes, m, self.seed)
        return NystroemFeatures.fit(kernel, nodes, m, self.landmarks, self.seed, clip)

    def fitted_from(self, given: dict[str, Any], held: Held, kernel: Kernel, nodes: Nodes) -> FeatureMap:
        """The features that `fit` returned, as they were stored with the coordinates of training nodes."""
        if self.name == "fourier":
            return FourierFeatures.from_state(given, held, kernel, nodes, int(self.n_components))
        return NystroemFeatures.from_state(given, held, kernel, nodes)

    def described(self, kernel: Kernel, m: int) -> str:
        """A description for people: "200 Nyström coordinates of the rbf kernel, uniform landmarks"."""
        if self.name == "fourier":
            return f"{m} random Fourier features of the {kernel.body.label} kernel"
        return f"{m} Nyström coordinates of the {kernel.body.label} kernel, {self.landmarks} landmarks"


class ApproximateKernel(ExplicitFeatures):
    """Coordinates of an approximate kernel from explicit features.

    The parameters are those of `ExplicitFeatures`.
    """

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """The state of `ExplicitFeatures`, and the features."""
        features: Any = self.features
        return super().to_state(arrays) | features.to_state(arrays, self.nodes)

    @classmethod
    def _features_from(
        cls, given: dict[str, Any], held: Held, kernel: Kernel, nodes: Nodes, approximation: Approximation | None
    ) -> FeatureMap:
        if approximation is None:
            raise ValueError(f"coordinates of {held.name} belong to an approximation, which is missing")
        return approximation.fitted_from(given, held, kernel, nodes)
