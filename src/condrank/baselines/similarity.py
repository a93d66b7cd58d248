"""Unsupervised ranking: objects are ranked by their similarity to the conditioning node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.baselines.base import Baseline
from condrank.graph import RelationGraph
from condrank.models.placed import similarity_at
from condrank.nodes import Nodes
from condrank.nodes.reading import read_nodes
from condrank.nodes.similarity import NodeSimilarity
from condrank.observations import Edges
from condrank.rankers.checks import as_graph


class SimilarityRanker(Baseline):
    """Rank objects by the kernel k(v, v'). Nothing is learned, and labels are not used.

    Parameters
    ----------
    kernel : str or callable
        Node kernel, as in `condrank.ConditionalRanker`; it need not be positive semi-definite here.
    gamma, degree, coef0, kernel_params
        Parameters of the kernel.

    Notes
    -----
    With ``kernel="precomputed"``, if both queries and objects are new, pass a subgraph of the whole graph
    (``graph[test]``): kernel values against the training nodes do not say how similar new nodes are to each other.

    Examples
    --------
    >>> from condrank.baselines import SimilarityRanker
    >>> SimilarityRanker().fit([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).rank([[2.0, 1.0]], top=3).indices
    array([[2, 0, 1]])
    """

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "cosine",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
    ):
        super().__init__(kernel, gamma, degree, coef0, kernel_params)

    def fit(self, X: Any, Y: Any = None) -> SimilarityRanker:
        """Keep the nodes; they are the objects to rank by default.

        Parameters
        ----------
        X : RelationGraph, or array-like or scipy sparse array of shape (n_nodes, n_features)
            A graph; or features (a kernel matrix for ``kernel="precomputed"``), which are not copied.
        Y : array-like, optional
            Relation values, ignored.
        """
        graph = None
        if isinstance(X, RelationGraph):
            graph = as_graph(X, Y)
            if graph.is_two_domain:
                raise ValueError("similarity needs a single domain, but the graph has two: no kernel compares them")
            nodes = graph.nodes
        else:
            nodes = read_nodes(X, "X")
        kernel = self._node_kernel(nodes)
        self._keep_scorer(_Similarity(NodeSimilarity(kernel, nodes)), nodes, nodes.base.shape[1], graph)
        return self


@dataclass
class _Similarity:
    rows: NodeSimilarity

    @property
    def cols(self) -> NodeSimilarity:
        """The similarity of the objects, which are the conditioning nodes."""
        return self.rows

    def blocks(self, queries: Nodes | None, objects: Nodes | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Kernel values, one block of conditioning nodes at a time."""
        queries = self.rows.nodes if queries is None else queries
        objects = self.rows.nodes if objects is None else objects
        for block in row_blocks(len(queries), len(objects)):
            yield block, self.rows.similarity(queries.block(block), objects)

    def at_edges(self, queries: Nodes, objects: Nodes, edges: Edges) -> np.ndarray:
        """Kernel values of observed edges only, (n_pairs,)."""
        return similarity_at(self.rows, queries, objects, edges)
