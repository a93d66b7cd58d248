"""The base class of the baselines, with the parameters of the node kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank._version import __version__
from condrank.base.checks import check_choice
from condrank.fitting.fitted import Fitted
from condrank.fitting.reading import fitted_kernel
from condrank.graph import RelationGraph
from condrank.kernels import Kernel, read_kernel
from condrank.nodes import Coordinates, Nodes
from condrank.nodes.similarity import NodeSimilarity
from condrank.observations import observations_from, observations_to
from condrank.persistence.arrays import Arrays, Held
from condrank.problem.coordinates import fit_coordinates
from condrank.rankers.base import fitted_of
from condrank.rankers.saving import READERS, Saved, plain_param, read_params

#: Baselines that can be loaded, by the names of their classes.
KINDS: dict[str, Any] = {}
NAME = "baseline"  # their kind in a manifest, and before their arrays


class Baseline(Saved):
    """A ranker by the edges that start at the conditioning node (outgoing edges only).

    Its file has the training graph, to which it is fitted again when it is loaded.

    The parameters of the kernel are those of `ConditionalRanker`; ``object_kernel`` is an expression or a name, for the
    objects of a second domain.
    """

    relation: Any = "ordinary"
    loss: Any = None

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
        clip = getattr(self, "clip", False)
        rows = fit_coordinates(self._node_kernel(graph.nodes), graph.nodes, clip)
        if not graph.is_two_domain:
            return rows, rows
        return rows, fit_coordinates(self._kernel_of_objects(graph.objects), graph.objects, clip)

    def similarities(self, graph: RelationGraph) -> tuple[NodeSimilarity, NodeSimilarity]:
        """Kernels of the conditioning nodes and of the objects; one instance for both in a single domain."""
        rows = NodeSimilarity(self._node_kernel(graph.nodes), graph.nodes)
        if not graph.is_two_domain:
            return rows, rows
        return rows, NodeSimilarity(self._kernel_of_objects(graph.objects), graph.objects)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        KINDS[cls.__name__] = cls

    def _keep_scorer(self, scorer: Any, objects: Nodes, n_features: int, graph: RelationGraph | None = None) -> None:
        """Set the fitted state to a scorer, with the training objects, and keep the training graph to be saved."""
        self._graph = graph
        self._keep(Fitted(scorer, objects, n_features))

    def to_state(
        self, training: bool = False, uncertainty: bool | None = None
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """A manifest of plain values, and named arrays: parameters, nodes and labels."""
        fitted_of(self)
        graph: RelationGraph | None = vars(self).get("_graph")
        if graph is None:
            raise ValueError(f"a {type(self).__name__} is saved with its training graph: fit it to a RelationGraph")
        arrays, model = Arrays(name=NAME), fitted_of(self).model
        sides = {"nodes": (graph.nodes, model.rows)}
        if graph.is_two_domain:
            sides["objects"] = (graph.objects, model.cols)
        stored = {name: nodes.to_state(arrays.under(name), one.kernel.matrices) for name, (nodes, one) in sides.items()}
        params = {name: plain_param(name, value) for name, value in self.get_params(deep=False).items()}
        relation = observations_to(graph.relation, arrays.under("relation"))
        own = {"class": type(self).__name__, "sides": stored, "relation": relation, "scale": graph.probabilities}
        return {"condrank": __version__, "kind": NAME, "params": params, NAME: own}, arrays.named

    @classmethod
    def from_state(cls, manifest: dict[str, Any], held: Held) -> Any:
        """The baseline of a manifest and its arrays, fitted again."""
        given, held = manifest[NAME], held.under(NAME)
        check_choice("class of the baseline", given["class"], tuple(KINDS))
        if set(given["sides"]) not in ({"nodes"}, {"nodes", "objects"}):
            raise ValueError(f"a baseline has nodes, and perhaps objects, got {sorted(given['sides'])}")
        sides = {name: Nodes.from_state(one, held.under(name)) for name, one in given["sides"].items()}
        relation = observations_from(given["relation"], held.under("relation"))
        nodes = sides["nodes"]
        graph = RelationGraph.of_parts(nodes, sides.get("objects", nodes), relation, given["scale"])
        return KINDS[given["class"]](**read_params(manifest["params"])).fit(graph)


READERS[NAME] = Baseline.from_state


class WeightedBaseline(Baseline):
    """A baseline with scores z(v)ᵀ W z(v')."""

    @property
    def coef_(self) -> np.ndarray:
        """W (r, r')."""
        return self._state("model").W
