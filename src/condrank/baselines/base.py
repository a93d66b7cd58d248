"""The base class of the baselines, with the parameters of the node kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank.fitting.fitted import Fitted
from condrank.graph import RelationGraph
from condrank.nodes import Coordinates, NodeKernel, Nodes
from condrank.problem.coordinates import fit_coordinates
from condrank.rankers.base import Ranker


class Baseline(Ranker):
    """A ranker by the edges that start at the conditioning node (outgoing edges only).

    The parameters of the kernel are those of `ConditionalRanker`.
    """

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def _node_kernel(self) -> NodeKernel:
        constant = bool(getattr(self, "constant", False))
        return NodeKernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params or {}, constant)

    def coordinates(self, graph: RelationGraph) -> tuple[Coordinates, Coordinates]:
        """Coordinates of the conditioning nodes and of the objects; one instance for both in a single domain."""
        kernel = self._node_kernel()
        rows = fit_coordinates(kernel, graph.nodes)
        return rows, fit_coordinates(kernel, graph.objects) if graph.is_two_domain else rows

    def _keep_scorer(self, scorer: Any, objects: Nodes, n_features: int) -> None:
        """Set the fitted state to a scorer, with the training objects for their number and ids."""
        self._keep(Fitted(scorer, objects, n_features))


class WeightedBaseline(Baseline):
    """A baseline with scores z(v)ᵀ W z(v')."""

    @property
    def coef_(self) -> np.ndarray:
        """W (r, r')."""
        return self._state("model").W
