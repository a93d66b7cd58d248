"""A ranker on prepared features, which takes features as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from condrank.fitting.fitted import Fitted, FittedRanker
from condrank.fitting.judging import edge_scores
from condrank.graph import RelationGraph
from condrank.graph.relation_graph import Conditioned
from condrank.kernels import Kernel, read_kernel
from condrank.model_selection.preparation import Preparation
from condrank.nodes import Nodes
from condrank.observations import Edges
from condrank.persistence.arrays import Arrays, Held
from condrank.rankers.base import fitted_of, read_pair, read_side
from condrank.rankers.checks import as_graph
from condrank.rankers.conditional import ConditionalRanker
from condrank.rankers.explained import Explained
from condrank.rankers.saving import READERS, Saved
from condrank.rankers.suggesting import Suggesting
from condrank.rankers.uncertain import Uncertain
from condrank.uncertainty import Posterior

NAME = "prepared"  # of its part of a manifest, and before its arrays
SIDES = ("rows", "cols")


class PreparedRanker(Saved, Uncertain, Explained, Suggesting):
    """A `ConditionalRanker` whose features are prepared first: standardised, mapped to quantiles, or of unit length.

    Parameters
    ----------
    ranker : ConditionalRanker
        Learns from the prepared features.
    preparation : {"raw", "standard", "quantile", "unit"}
        What is done to every view that is not a kernel matrix; it is learned from the training nodes.

    Attributes
    ----------
    ranker_ : ConditionalRanker
        The fitted ranker, which takes prepared features.
    """

    ranker_: Any

    def __init__(self, ranker: Any, preparation: str = "standard"):
        self.ranker = ranker
        self.preparation = preparation

    @property
    def relation(self) -> str:
        """The relation of the ranker."""
        return self.ranker.relation

    @property
    def loss(self) -> str:
        """The loss of the ranker."""
        return self.ranker.loss

    @property
    def rank_by(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The edges that the ranker ranks by."""
        return self.ranker.rank_by

    @property
    def alpha_(self) -> float:
        """λ of the model."""
        return self.ranker_.alpha_

    def fit(self, X: Any, Y: Any = None) -> PreparedRanker:
        """Learn the preparation and the ranker from a graph, or from features X and relation values Y."""
        graph = as_graph(X, Y)
        sides, prepared = prepare(self.preparation, self.ranker, graph)
        fresh: Any = clone(self.ranker)
        self.ranker_ = fresh.fit(prepared)
        first, second = sides if self.rank_by == "outgoing" else (sides[1], sides[0])
        self.keep_model(graph.conditioned(self.rank_by), (first, second))
        return self

    def keep_model(self, given: Conditioned, sides: tuple[Preparation, Preparation]) -> None:
        """Set the fitted state to the fitted ranker, for nodes as they were given."""
        fitted = fitted_of(self.ranker_)
        kernels = [side.kernel for side in (fitted.model.rows, fitted.model.cols)]
        rows = PreparedSide(given.queries, kernels[0], sides[0])
        cols = rows if sides[1] is sides[0] else PreparedSide(given.objects, kernels[1], sides[1])
        model = PreparedModel(fitted.model, rows, cols)
        self._keep(FittedPrepared(model, given.objects, fitted.n_features, fitted))

    @available_if(lambda self: self.ranker.loss == "logistic")
    def predict_proba(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Probability that each conditioning node beats each object, as `ConditionalRanker.predict_proba`."""
        model, (first, second) = fitted_of(self).model, read_pair(self, queries, objects)
        return model.model.probabilities(model.rows.prepared(first), model.cols.prepared(second))

    def strengths(self, nodes: Any, return_std: bool = False) -> Any:
        """Strengths of nodes, as `ConditionalRanker.strengths`."""
        first = read_pair(self, nodes, None)[0] if isinstance(nodes, RelationGraph) else read_side(self, nodes, "nodes")
        return self.ranker_.strengths(fitted_of(self).model.rows.prepared(first), return_std)

    def to_state(
        self, training: bool = False, uncertainty: bool | None = None
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The state of the ranker, with the preparation and the nodes as they were given."""
        model = fitted_of(self).model
        manifest, named = self.ranker_.to_state(training, uncertainty)
        arrays, parts = Arrays(named, NAME), []
        for name, side in zip(SIDES, model.sides, strict=False):
            under = arrays.under(name)
            parts.append([side.preparation.to_state(under), side.nodes.to_state(under, side.kernel.matrices)])
        own = {"way": self.preparation, "sides": parts, "two_domains": model.cols is not model.rows}
        return manifest | {"kind": NAME, NAME: own}, named

    @classmethod
    def from_state(cls, manifest: dict[str, Any], held: Held) -> PreparedRanker:
        """The ranker of a manifest and its arrays, as `to_state` gives them."""
        plain = {name: value for name, value in manifest.items() if name != "kind"}
        given, ranker = manifest[NAME], ConditionalRanker.from_state(plain, held)
        made = cls(clone(ranker), given["way"])
        made.ranker_ = ranker
        sides, nodes, names = [], [], SIDES[: 1 + bool(given["two_domains"])]
        for name, (ways, stored) in zip(names, given["sides"], strict=True):
            under = held.under(NAME).under(name)
            nodes.append(Nodes.from_state(stored, under))
            sides.append(Preparation.from_state(ways, under, nodes[-1]))
        made.keep_model(Conditioned(nodes[0], nodes[-1], None), (sides[0], sides[-1]))  # pyright: ignore
        return made


READERS[NAME] = PreparedRanker.from_state


@dataclass(frozen=True)
class FittedPrepared(Fitted):
    """What a `PreparedRanker` has learned; ``inner`` is the state of its ranker, for prepared nodes."""

    inner: FittedRanker

    @cached_property
    def posterior(self) -> Posterior:
        """How sure the scores are, for nodes as they are given."""
        return self.inner.posterior.prepared(self.model.rows.prepared, self.model.cols.prepared)


@dataclass(frozen=True)
class PreparedSide:
    """Training nodes of one side as they were given, the kernel of the prepared ones, and how they are prepared."""

    nodes: Nodes
    kernel: Kernel
    preparation: Preparation

    def prepared(self, nodes: Nodes | None) -> Nodes | None:
        """Prepared nodes; None means the training nodes."""
        return None if nodes is None else self.preparation(nodes)


@dataclass(frozen=True)
class PreparedModel:
    """A model that prepares the nodes that it is asked for."""

    model: Any
    rows: PreparedSide
    cols: PreparedSide

    @property
    def sides(self) -> tuple[PreparedSide, ...]:
        """The sides, once if they are the same."""
        return (self.rows,) if self.cols is self.rows else (self.rows, self.cols)

    def blocks(self, queries: Nodes | None, objects: Nodes | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores, one block of conditioning nodes at a time."""
        return self.model.blocks(*self._prepared(queries, objects))

    def at_edges(self, queries: Nodes, objects: Nodes, edges: Edges) -> np.ndarray:
        """Scores of observed edges only, (n_pairs,)."""
        first, second = self._prepared(queries, objects)
        assert first is not None
        assert second is not None
        return edge_scores(self.model, Conditioned(first, second, edges))

    def _prepared(self, queries: Nodes | None, objects: Nodes | None) -> tuple[Nodes | None, Nodes | None]:
        first = self.rows.prepared(queries)
        same = objects is queries and self.cols is self.rows
        return first, first if same else self.cols.prepared(objects)


def prepare(way: str, ranker: Any, graph: RelationGraph) -> tuple[tuple[Preparation, Preparation], RelationGraph]:
    """How the nodes and the objects of a training graph are prepared for a ranker, and the prepared graph."""
    kernels = (ranker.kernel, ranker.kernel if ranker.object_kernel is None else ranker.object_kernel)
    matrices = [read_kernel(kernel).matrices for kernel in kernels]
    of_nodes = Preparation.fit(way, graph.nodes, matrices[0])
    of_objects = Preparation.fit(way, graph.objects, matrices[1]) if graph.is_two_domain else of_nodes
    return (of_nodes, of_objects), prepared_graph((of_nodes, of_objects), graph)


def prepared_graph(sides: tuple[Preparation, Preparation], graph: RelationGraph) -> RelationGraph:
    """A graph with prepared nodes."""
    nodes = sides[0](graph.nodes)
    return graph.part(nodes, sides[1](graph.objects) if graph.is_two_domain else nodes, graph.relation)
