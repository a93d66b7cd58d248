"""The base class of the baselines, with the parameters of the node kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank.fitting.fitted import Fitted
from condrank.fitting.reading import fitted_kernel
from condrank.graph import RelationGraph
from condrank.kernels import Kernel, read_kernel
from condrank.nodes import Coordinates, Nodes
from condrank.nodes.similarity import NodeSimilarity
from condrank.problem.coordinates import fit_coordinates
from condrank.rankers.base import Ranker


class Baseline(Ranker):
    """A ranker by the edges that start at the conditioning node (outgoing edges only).

    The parameters of the kernel are those of `ConditionalRanker`; ``object_kernel`` is an expression or a name, for the
    objects of a second domain.
    """

    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        object_kernel: str | Kernel | Callable[..., Any] | None = None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.object_kernel = object_kernel

    def _node_kernel(self, nodes: Nodes) -> Kernel:
        """The kernel of the parameters, with widths for some nodes."""
        constant = getattr(self, "constant", False)
        given = read_kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params, constant)
        return fitted_kernel(given, nodes)

    def _kernel_of_objects(self, objects: Nodes) -> Kernel:
        """The kernel of the objects of a second domain: their own expression, or that of the conditioning nodes."""
        if self.object_kernel is None:
            return self._node_kernel(objects)
        constant = getattr(self, "constant", False)
        return fitted_kernel(read_kernel(self.object_kernel, constant=constant), objects)

    def coordinates(self, graph: RelationGraph) -> tuple[Coordinates, Coordinates]:
        """Coordinates of the conditioning nodes and of the objects; one instance for both in a single domain."""
        rows = fit_coordinates(self._node_kernel(graph.nodes), graph.nodes)
        if not graph.is_two_domain:
            return rows, rows
        return rows, fit_coordinates(self._kernel_of_objects(graph.objects), graph.objects)

    def similarities(self, graph: RelationGraph) -> tuple[NodeSimilarity, NodeSimilarity]:
        """Kernels of the conditioning nodes and of the objects; one instance for both in a single domain."""
        rows = NodeSimilarity(self._node_kernel(graph.nodes), graph.nodes)
        if not graph.is_two_domain:
            return rows, rows
        return rows, NodeSimilarity(self._kernel_of_objects(graph.objects), graph.objects)

    def _keep_scorer(self, scorer: Any, objects: Nodes, n_features: int) -> None:
        """Set the fitted state to a scorer, with the training objects for their number and ids."""
        self._keep(Fitted(scorer, objects, n_features))


class WeightedBaseline(Baseline):
    """A baseline with scores z(v)ᵀ W z(v')."""

    @property
    def coef_(self) -> np.ndarray:
        """W (r, r')."""
        return self._state("model").W
