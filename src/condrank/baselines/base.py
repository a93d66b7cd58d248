"""What the baselines share: the parameters of the node kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from condrank.graph import RelationGraph
from condrank.nodes import Coordinates, NodeKernel
from condrank.problem.coordinates import fit_coordinates
from condrank.rankers.base import Ranker


class Baseline(Ranker):
    """A ranker over the edges that start at the conditioning node (outgoing edges only).

    Parameters of the kernel are those of `ConditionalRanker`.
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

    def _coordinates(self, graph: RelationGraph) -> tuple[Coordinates, Coordinates]:
        """Coordinates of the conditioning nodes and of the objects; the same for a single domain."""
        kernel = self._node_kernel()
        rows = fit_coordinates(kernel, graph.nodes)
        return rows, fit_coordinates(kernel, graph.objects) if graph.is_two_domain else rows
