"""Baselines without features: the same order of the objects for every conditioning node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import cg

from condrank.base.blocks import row_blocks
from condrank.base.checks import check_number
from condrank.baselines.base import Baseline
from condrank.graph import RelationGraph
from condrank.kernels import Kernel
from condrank.nodes import Nodes
from condrank.nodes.similarity import NodeSimilarity
from condrank.observations import Edges
from condrank.observations.edges import all_edges
from condrank.rankers.checks import as_graph

# Relative residual of strengths, which are only compared.
TOLERANCE = 1e-10


class _WithoutFeatures(Baseline):
    """A baseline whose scores depend on known labels only."""

    def __init__(
        self,
        shrinkage: float = 5.0,
        kernel: str | Kernel | Callable[..., Any] = "linear",
        object_kernel: str | Kernel | Callable[..., Any] | None = None,
    ):
        super().__init__(kernel, object_kernel=object_kernel)
        self.shrinkage = shrinkage

    def _keep_values(self, graph: RelationGraph, of_queries: np.ndarray, of_objects: np.ndarray, unknown: float) -> Any:
        sides = self.similarities(graph)
        self._keep_scorer(
            _NodeValues(*sides, of_queries, of_objects, unknown), graph.objects, graph.n_features_in_, graph
        )
        return self


class PopularityRanker(_WithoutFeatures):
    """Score an object by the mean of its known labels, shrunk to the mean of all: (Σ m y + s ȳ) / (Σ m + s).

    m are the weights of the edges (1 by default), s is ``shrinkage`` and ȳ the mean of all known labels, which is also
    the score of an object that is not known. Every conditioning node gets the same ranking. O(n_edges).

    Parameters
    ----------
    shrinkage : float
        s ≥ 0: as many labels of the mean ȳ are added to those of each object.
    kernel, object_kernel
        How nodes are given, "precomputed" or any kernel of features; its values are not used.

    Examples
    --------
    >>> import numpy as np
    >>> from condrank.baselines import PopularityRanker
    >>> Y = np.array([[1.0, 5.0, 3.0], [2.0, 4.0, np.nan], [np.nan, 5.0, 3.0]])
    >>> PopularityRanker().fit(np.eye(3), Y).rank(np.eye(3)[:1], top=3).indices
    array([[1, 2, 0]])
    """

    def fit(self, X: Any, Y: Any = None) -> PopularityRanker:
        """Learn from a graph, or from node features X (n_nodes, n_features) and their relation Y (n_nodes, n_nodes)."""
        graph = as_graph(X, Y)
        shrinkage, sums = check_number("shrinkage", self.shrinkage, at_least=0.0), _Sums(graph)
        mean = sums.total / sums.weight
        total, weight = sums.of_objects + shrinkage * mean, sums.weight_of_objects + shrinkage
        means = np.divide(total, weight, out=np.full(len(total), mean), where=weight > 0)
        return self._keep_values(graph, np.zeros(len(graph)), means, mean)


class StrengthRanker(_WithoutFeatures):
    """Strengths f of the nodes of a reciprocal relation, without features: y(v, v') ≈ f(v) - f(v').

    Minimises Σ m (y - f(v) + f(v'))² + s Σ f² over the observed edges, a Bradley–Terry model with the squared loss.
    Nodes that are not known have strength 0. O(n_edges) for each step of conjugate gradients.

    Parameters
    ----------
    shrinkage : float
        s > 0: every node has drawn so many games against an average node.
    kernel, object_kernel
        How nodes are given, "precomputed" or any kernel of features; its values are not used.

    Attributes
    ----------
    strengths_ : ndarray of shape (n_nodes,)
        f of the training nodes.
    """

    def __init__(
        self,
        shrinkage: float = 1.0,
        kernel: str | Kernel | Callable[..., Any] = "linear",
        object_kernel: str | Kernel | Callable[..., Any] | None = None,
    ):
        super().__init__(shrinkage, kernel, object_kernel)

    def fit(self, X: Any, Y: Any = None) -> StrengthRanker:
        """Learn from a graph of a single domain, or from node features X and their relation Y (n_nodes, n_nodes)."""
        graph = as_graph(X, Y)
        shrinkage = check_number("shrinkage", self.shrinkage, above=0.0)
        if graph.is_two_domain:
            raise ValueError("strengths need a single domain, but the graph has two; use PopularityRanker")
        if graph.n_edges == 0:
            raise ValueError("the graph has no observed edge: there is nothing to learn from")
        edges, centre = all_edges(graph.relation), graph.centre
        M = edges.matrix(edges.weights.astype(np.float64))
        wins = edges.matrix(edges.weights.astype(np.float64) * (edges.values - centre))
        gained = _sums_of(wins, 1) - _sums_of(wins, 0)
        both = M + M.T
        laplacian = sparse.diags_array(_sums_of(both, 1) + shrinkage) - both
        strengths, _ = cg(sparse.csr_array(laplacian), gained, rtol=TOLERANCE)
        self.strengths_ = strengths
        return self._keep_values(graph, strengths, -strengths, 0.0)


class _Sums:
    """Sums of labels and of weights over the edges of a graph, in all and for each object."""

    def __init__(self, graph: RelationGraph):
        relation: Any = graph.relation
        if graph.n_edges == 0:
            raise ValueError("the graph has no observed edge: there is nothing to learn from")
        if isinstance(relation, Edges):
            weights = relation.weights.astype(np.float64)
            self.weight_of_objects = _sums_of(relation.matrix(weights), 0)
            self.of_objects = _sums_of(relation.matrix(weights * relation.values), 0)
        else:
            self.of_objects = np.asarray(relation.transpose().row_sums(), dtype=np.float64)
            self.weight_of_objects = np.full(len(self.of_objects), float(relation.shape[0]))
        self.total, self.weight = float(self.of_objects.sum()), float(self.weight_of_objects.sum())


def _sums_of(M: Any, axis: int) -> np.ndarray:
    return np.asarray(M.sum(axis=axis), dtype=np.float64).ravel()


@dataclass
class _NodeValues:
    """Scores that are the sum of a value of the conditioning node and one of the object."""

    rows: NodeSimilarity
    cols: NodeSimilarity
    of_queries: np.ndarray
    of_objects: np.ndarray
    unknown: float

    def blocks(self, queries: Nodes | None, objects: Nodes | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores, one block of conditioning nodes at a time."""
        first = self._of(self.rows, queries, self.of_queries, 0.0)
        second = self._of(self.cols, objects, self.of_objects, self.unknown)
        for block in row_blocks(len(first), len(second)):
            yield block, np.add.outer(first[block], second)

    def at_edges(self, queries: Nodes, objects: Nodes, edges: Edges) -> np.ndarray:
        """Scores of observed edges only, (n_pairs,)."""
        first = self._of(self.rows, queries, self.of_queries, 0.0)
        second = self._of(self.cols, objects, self.of_objects, self.unknown)
        return first[edges.sources] + second[edges.indices]

    @staticmethod
    def _of(side: NodeSimilarity, nodes: Nodes | None, values: np.ndarray, unknown: float) -> np.ndarray:
        if nodes is None:
            return values
        places = side.places(nodes)
        return np.where(places >= 0, values[places], unknown)
