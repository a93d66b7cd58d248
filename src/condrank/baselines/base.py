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
from condrank.problem.coordinates import fit_coordinates
from condrank.rankers.base import Ranker


class Baseline(Ranker):
    """A ranker by the edges that start at the conditioning node (outgoing edges only).

    The parameters of the kernel are those of `ConditionalRanker`.
    """

    def __init__(
        self,
        kernel: str | Kernel | Callable[..., Any] = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def _node_kernel(self, nodes: Nodes) -> Kernel:
        """The kernel of the parameters, with widths for some nodes."""
        constant = getattr(self, "constant", False)
        given = read_kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params, constant)
        return fitted_kernel(given, nodes)

    def coordinates(self, graph: RelationGraph) -> tuple[Coordinates, Coordinates]:
        """Coordinates of the conditioning nodes and of the objects; one instance for both in a single domain."""
        rows = fit_coordinates(self._node_kernel(graph.nodes), graph.nodes)
        if not graph.is_two_domain:
            return rows, rows
        return rows, fit_coordinates(self._node_kernel(graph.objects), graph.objects)

    def _keep_scorer(self, scorer: Any, objects: Nodes, n_features: int) -> None:
        """Set the fitted state to a scorer, with the training objects for their number and ids."""
        self._keep(Fitted(scorer, objects, n_features))


class WeightedBaseline(Baseline):
    """A baseline with scores z(v)ᵀ W z(v')."""

    @property
    def coef_(self) -> np.ndarray:
        """W (r, r')."""
        return self._state("model").W
