"""Nearest neighbours: objects are scored by the labels of the most similar conditioning nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import row_blocks
from condrank.base.checks import check_count
from condrank.base.dense import dense
from condrank.baselines.base import Baseline
from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.store import recognise
from condrank.observations import Complete, Edges, Factored
from condrank.rankers.checks import as_graph
from condrank.rankers.ranking import top_indices


class NearestNeighbours(Baseline):
    """Score an object by a similarity-weighted mean of its known labels at the k nearest conditioning nodes.

    h(v, v') = Σ a(v, u) y(u, v') / Σ a(v, u), with a(v, u) = max(0, k(v, u)). The sums are over those of the k training
    nodes u most similar to v that have a known label y(u, v'). For an object that is not a training node, the mean is
    also over its k most similar training objects, with the product of both similarities as weight.

    If no label counts (none of these is known, or all similarities are zero or negative), the score is the mean of all
    known labels.

    Cost: a kernel value for every query and training node; then O(k n_objects) per query.

    Parameters
    ----------
    n_neighbors : int
        k, at most the number of training nodes; of equally similar nodes the first are taken.
    kernel, gamma, degree, coef0, kernel_params
        Similarity of nodes, as in `condrank.ConditionalRanker`; it need not be positive semi-definite here.
    object_kernel : str, Kernel or callable, optional
        Similarity of the objects of a second domain; by default ``kernel``.

    Notes
    -----
    A query that is a training node is its own nearest neighbour, and its labels count. Objects are recognised as
    training nodes if they are left out, come from the fitted graph (or a subgraph of it), have the ids of training
    nodes, or are the same array that was fitted.
    Weights of edges multiply similarities. Graphs may be complete or not, with one or two domains; relations of classes
    stay factored.
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        kernel: str | Callable[..., Any] = "cosine",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        object_kernel: str | Callable[..., Any] | None = None,
    ):
        super().__init__(kernel, gamma, degree, coef0, kernel_params, object_kernel)
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, Y: Any = None) -> NearestNeighbours:
        """Keep a graph, or node features X (n_nodes, n_features) and their relation Y (n_nodes, n_nodes)."""
        graph = as_graph(X, Y)
        k = check_count("n_neighbors", self.n_neighbors)
        if graph.n_edges == 0:
            raise ValueError("the graph has no observed edge: there is nothing to learn from")
        rows, cols = self.similarities(graph)
        self._keep_scorer(_Neighbourhoods(rows, cols, _Labels(graph), k), graph.objects, graph.n_features_in_, graph)
        return self


class _Labels:
    """Weighted means of known labels."""

    def __init__(self, graph: RelationGraph):
        self.observed: Any = graph.relation
        if isinstance(self.observed, Edges):
            weights = self.observed.weights.astype(np.float64)
            self.weights = self.observed.matrix(weights)
            self.weighted = self.observed.matrix(weights * self.observed.values)
            self.mean = float(self.weighted.sum() / weights.sum())
        else:
            self.mean = float(self.observed.row_sums().sum() / self.observed.n_edges)

    def means(self, A: sparse.csr_array, B: sparse.csr_array | None) -> np.ndarray:
        """A Y Bᵀ / A M Bᵀ with the known labels Y and their weights M; None as B means the identity."""
        if isinstance(self.observed, Edges):
            total, count = dense(_right(A @ self.weighted, B)), dense(_right(A @ self.weights, B))
        else:
            total = _right(self._sums(A), B)
            ends = np.ones(total.shape[1]) if B is None else np.asarray(B.sum(axis=1)).ravel()
            count = np.multiply.outer(np.asarray(A.sum(axis=1)).ravel(), ends)
        return np.divide(total, count, out=np.full(total.shape, self.mean), where=count > 0)

    def _sums(self, A: sparse.csr_array) -> np.ndarray:
        """A Y for a complete relation, without building a factored one."""
        if isinstance(self.observed, Factored):
            left = dense(A @ self.observed.A) @ self.observed.S
            return np.asarray((self.observed.B @ left.T).T)
        assert isinstance(self.observed, Complete)
        return dense(A @ self.observed.Y)


class _Neighbourhoods:
    def __init__(self, rows: NodeSimilarity, cols: NodeSimilarity, labels: _Labels, k: int):
        self.rows, self.cols, self.labels, self.k = rows, cols, labels, k

    def blocks(self, queries: Nodes | None, objects: Nodes | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores, one block of conditioning nodes at a time."""
        queries = self.rows.nodes if queries is None else queries
        objects = self.cols.nodes if objects is None else objects
        B = None if objects is self.cols.nodes else self._ends(objects)
        for block in row_blocks(len(queries), max(self.rows.n_nodes, len(objects))):
            yield block, self.labels.means(self._nearest(self.rows, queries.block(block)), B)

    def _ends(self, objects: Nodes) -> sparse.csr_array:
        """Weights of the training objects for each object: itself if it is one, otherwise its neighbours."""
        parts = [
            self._nearest(self.cols, objects.block(block)) for block in row_blocks(len(objects), self.cols.n_nodes)
        ]
        B = sparse.csr_array(sparse.vstack(parts, format="csr"))
        # Nodes that were encoded or transformed again are recognised only by their ids.
        place = recognise(objects, self.cols.nodes)
        known = np.flatnonzero(place >= 0)
        itself = sparse.csr_array((np.ones(len(known)), (known, place[known])), shape=B.shape)
        return sparse.csr_array(sparse.diags_array((place < 0).astype(np.float64)) @ B + itself)

    def _nearest(self, values: NodeSimilarity, nodes: Nodes) -> sparse.csr_array:
        """Similarities to the k nearest training nodes; zero for the others and for negative similarities."""
        K = values.similarity(nodes, None)
        nearest = top_indices(K, self.k)
        weights = np.maximum(np.take_along_axis(K, nearest, axis=1), 0).astype(np.float64)
        indptr = np.arange(0, nearest.size + 1, nearest.shape[1])
        return sparse.csr_array((weights.ravel(), nearest.ravel(), indptr), shape=K.shape)


def _right(M: Any, B: sparse.csr_array | None) -> Any:
    """M Bᵀ."""
    return M if B is None else (B @ M.T).T
