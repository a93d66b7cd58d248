"""Kernels between edges other than Kronecker kernels: linear, poly2D, Cartesian, ranking, metric learning.

k is the kernel of the conditioning nodes, g that of the objects (k again in one domain). Between (a, b) and (c, d):

    linear      k(a, c) + g(b, d)                               main effects of both ends
    poly2D      (k(a, c) + g(b, d))²                            main effects and interaction
    cartesian   k(a, c) [b = d] + [a = c] g(b, d)               training nodes only
    ranking     k(a, c) - k(a, d) - k(b, c) + k(b, d)           differences of one score, reciprocal
    mlpk        (k(a, c) - k(a, d) - k(b, c) + k(b, d))²        a learned metric, symmetric

Each class multiplies its kernel by a vector on the observed edges, held in a sparse X, without the kernel matrix.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy import sparse

from condrank.objective.relations import RELATIONS
from condrank.observations.edges import Edges
from condrank.products.kronecker import Folded, KroneckerEdges, Sandwich

NEW_NODES = (
    "the Cartesian edge kernel cannot predict for nodes other than the training nodes, because an edge is similar only "
    "to edges that share a node with it; use the Kronecker kernel (relation='ordinary') for new nodes"
)


class EdgeKernel(Protocol):
    """A kernel between edges, for fixed observed edges. ``known_only``: it scores training nodes only."""

    name: str
    edges: Edges
    known_only: bool

    def product(self, a: np.ndarray) -> np.ndarray:
        """The edge kernel times a (n_pairs,), at the observed edges."""
        ...

    def predict(
        self, a: np.ndarray, K_queries: np.ndarray | None = None, K_objects: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores (n_queries, n_objects) from kernel rows against the training nodes; None means the training nodes."""
        ...

    def between(self, k: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The edge kernel between the observed edges and one pair, (n_pairs,), from the kernel rows of its two ends.

        A kernel that is ``known_only`` takes ones at the places of the two ends, (n,) and (m,), instead.
        """
        ...


class _Bound:
    """Node kernels and observed edges, and the sums X1 and Xᵀ1 of a vector on the edges."""

    name = ""
    one_domain = False
    known_only = False

    def __init__(self, K: np.ndarray, G: np.ndarray | None, edges: Edges, backend: str = "auto"):
        if self.one_domain and G is not None and G is not K:
            raise ValueError(f"the {self.name} edge kernel needs one domain, but the objects have their own kernel")
        self.K, self.G, self.edges, self.backend = K, K if G is None else G, edges, backend
        self._sources = edges.sources

    def _sums(self, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out = np.bincount(self._sources, weights=a, minlength=self.edges.shape[0])
        into = np.bincount(self.edges.indices, weights=a, minlength=self.edges.shape[1])
        return out.astype(a.dtype, copy=False), into.astype(a.dtype, copy=False)

    def _rows(self, K_queries: np.ndarray | None, K_objects: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        return self.K if K_queries is None else K_queries, self.G if K_objects is None else K_objects

    def _at_edges(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return rows[self._sources] + cols[self.edges.indices]


class LinearEdges(_Bound):
    """k(a, c) + g(b, d): (K X1)_a + (G Xᵀ1)_b. O(n² + m² + n_pairs) per product."""

    name = "linear"

    def product(self, a: np.ndarray) -> np.ndarray:
        """The edge kernel times a, at the observed edges."""
        out, into = self._sums(a)
        return self._at_edges(self.K @ out, self.G @ into)

    def predict(
        self, a: np.ndarray, K_queries: np.ndarray | None = None, K_objects: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores (n_queries, n_objects) from kernel rows against the training nodes."""
        K_queries, K_objects = self._rows(K_queries, K_objects)
        out, into = self._sums(a)
        return np.add.outer(K_queries @ out, K_objects @ into)

    def between(self, k: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The edge kernel between the observed edges and one pair."""
        return self._at_edges(k, g)


class Poly2DEdges(_Bound):
    """(k(a, c) + g(b, d))²: K² X J + 2 K X G + J X G², squares elementwise. O(n_pairs (n + m)) per product."""

    name = "poly2D"

    def __init__(self, K: np.ndarray, G: np.ndarray | None, edges: Edges, backend: str = "auto"):
        super().__init__(K, G, edges, backend)
        self._squares = (self.K**2, self.G**2) if self.G is not self.K else (self.K**2,) * 2
        self._interaction = KroneckerEdges(RELATIONS["ordinary"], self.K, self.G, edges, backend)

    def product(self, a: np.ndarray) -> np.ndarray:
        """The edge kernel times a, at the observed edges."""
        out, into = self._sums(a)
        return self._at_edges(self._squares[0] @ out, self._squares[1] @ into) + 2 * self._interaction.product(a)

    def predict(
        self, a: np.ndarray, K_queries: np.ndarray | None = None, K_objects: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores (n_queries, n_objects) from kernel rows against the training nodes."""
        K_queries, K_objects = self._rows(K_queries, K_objects)
        out, into = self._sums(a)
        main = np.add.outer(K_queries**2 @ out, K_objects**2 @ into)
        return main + 2 * self._interaction.predict(a, K_queries, K_objects)

    def between(self, k: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The edge kernel between the observed edges and one pair."""
        return self._at_edges(k, g) ** 2


class CartesianEdges(_Bound):
    """k(a, c) [b = d] + [a = c] g(b, d): KX + XG, between training nodes only.

    An edge is similar only to edges that share an end with it. O(Σ degree²) per product, by rows and columns of X.
    """

    name = "cartesian"
    known_only = True

    def __init__(self, K: np.ndarray, G: np.ndarray | None, edges: Edges, backend: str = "auto"):
        super().__init__(K, G, edges, backend)
        indices = edges.indices
        self._by_target = np.argsort(indices, kind="stable")
        self._starts = np.searchsorted(indices[self._by_target], np.arange(edges.shape[1] + 1))

    def product(self, a: np.ndarray) -> np.ndarray:
        """The edge kernel times a, at the observed edges."""
        out = np.zeros(len(a), dtype=np.result_type(a, self.K))
        targets, indptr = self.edges.indices, self.edges.indptr
        for first, last in pairwise(indptr):
            ends = targets[first:last]
            out[first:last] = self.G[np.ix_(ends, ends)] @ a[first:last]
        for first, last in pairwise(self._starts):
            column = self._by_target[first:last]
            starts = self._sources[column]
            out[column] += self.K[np.ix_(starts, starts)] @ a[column]
        return out

    def predict(
        self, a: np.ndarray, K_queries: np.ndarray | None = None, K_objects: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores (n, m) of all pairs of training nodes. Other nodes raise an error."""
        if K_queries is not None or K_objects is not None:
            raise ValueError(NEW_NODES)
        X = self.edges.matrix(a)
        return np.asarray(X.T @ self.K).T + np.asarray(X @ self.G)

    def between(self, k: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The edge kernel between the observed edges and one pair, whose ends are given by ones at their places."""
        sources, targets = self._sources, self.edges.indices
        return (self.K @ k)[sources] * g[targets] + k[sources] * (self.G @ g)[targets]


class RankingEdges(_Bound):
    """k(a, c) - k(a, d) - k(b, c) + k(b, d): t = X1 - Xᵀ1, (Kt)_a - (Kt)_b. O(n² + n_pairs) per product."""

    name = "ranking"
    one_domain = True

    def product(self, a: np.ndarray) -> np.ndarray:
        """The edge kernel times a, at the observed edges."""
        out, into = self._sums(a)
        score = self.K @ (out - into)
        return self._at_edges(score, -score)

    def predict(
        self, a: np.ndarray, K_queries: np.ndarray | None = None, K_objects: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores (n_queries, n_objects) from kernel rows against the training nodes."""
        K_queries, K_objects = self._rows(K_queries, K_objects)
        out, into = self._sums(a)
        return np.subtract.outer(K_queries @ (out - into), K_objects @ (out - into))

    def between(self, k: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The edge kernel between the observed edges and one pair."""
        return self._at_edges(k - g, g - k)


class MetricEdges(_Bound):
    """The metric learning pairwise kernel (k(a, c) - k(a, d) - k(b, c) + k(b, d))².

    With N = diag(X1 + Xᵀ1) - X - Xᵀ and F = K N K it is F_aa + F_bb - 2 F_ab. O((n_pairs + n) n) per product.
    """

    name = "mlpk"
    one_domain = True

    def __init__(self, K: np.ndarray, G: np.ndarray | None, edges: Edges, backend: str = "auto"):
        super().__init__(K, G, edges, backend)
        n = edges.shape[0]
        # The loop of every node is added to the pattern. It holds the diagonal of N, and F_aa is read from it.
        loops = np.arange(n)
        self._fold = Folded(np.append(self._sources, loops), np.append(edges.indices, loops), n, +1)
        self._sandwich = Sandwich(self.K, self.K, self._fold.entries, self._fold.pairs, backend)

    def _spread(self, a: np.ndarray) -> np.ndarray:
        """Entries of N on the folded pattern."""
        out, into = self._sums(a)
        return self._fold.both_ways(np.append(-a, (out + into) / 2))

    def product(self, a: np.ndarray) -> np.ndarray:
        """The edge kernel times a, at the observed edges."""
        F = self._sandwich(self._spread(a))[self._fold.place]
        own = F[len(a) :]
        return self._at_edges(own, own) - 2 * F[: len(a)]

    def predict(
        self, a: np.ndarray, K_queries: np.ndarray | None = None, K_objects: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores (n_queries, n_objects) from kernel rows against the training nodes."""
        K_queries, K_objects = self._rows(K_queries, K_objects)
        pattern = self._fold.entries
        N = sparse.csr_array((self._spread(a), pattern.indices, pattern.indptr), shape=pattern.shape)
        right = np.asarray(N @ K_objects.T)
        own_objects = np.einsum("on,no->o", K_objects, right)
        own_queries = np.einsum("qn,nq->q", K_queries, np.asarray(N @ K_queries.T))
        return np.add.outer(own_queries, own_objects) - 2 * (K_queries @ right)

    def between(self, k: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The edge kernel between the observed edges and one pair."""
        return self._at_edges(k - g, g - k) ** 2


EDGE_KERNELS = {kind.name: kind for kind in (LinearEdges, Poly2DEdges, CartesianEdges, RankingEdges, MetricEdges)}


def edge_kernel(name: str, K: np.ndarray, G: np.ndarray | None, edges: Edges, backend: str = "auto") -> EdgeKernel:
    """The edge kernel of this name for the observed edges; the name of a relation gives its Kronecker kernel.

    Parameters
    ----------
    name : str
        "ordinary", "symmetric", "reciprocal" (Kronecker), "linear", "poly2D", "cartesian", "ranking" or "mlpk".
    K : ndarray of shape (n, n)
        Kernel of the conditioning nodes.
    G : ndarray of shape (m, m) or None
        Kernel of the objects; None if they are the same nodes.
    edges : Edges
        Observed edges.
    backend : {"auto", "numba", "numpy"}
        Backend of the sampled products.
    """
    if name in RELATIONS:
        return KroneckerEdges(RELATIONS[name], K, G, edges, backend)
    if name not in EDGE_KERNELS:
        raise ValueError(f"the edge kernel must be one of {[*RELATIONS, *EDGE_KERNELS]}, got {name!r}")
    return EDGE_KERNELS[name](K, G, edges, backend)
