"""Kronecker kernels between observed edges: K S G at some pairs of nodes, for a sparse S, without the edge kernel.

This is the generalised vec trick. Let S hold the entries of a vector a at the observed edges. Then the ordinary edge
kernel times a is K S G at these edges. One factor is multiplied by the sparse S, the other only at the pairs where a
value is needed: O(n_pairs (n + m)). Symmetric and reciprocal kernels are K (S ± Sᵀ) K / 2. For these, the two
directions of a pair are folded into one.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np
from scipy import sparse

from condrank.base.measured import IDLE_NODES_SHARE
from condrank.objective.relations import Relation
from condrank.observations.edges import Edges
from condrank.products.cost import dense_products, loops_for, product_cost
from condrank.products.sampled import Panels, SampledProducts, panels_pay


class Pattern(NamedTuple):
    """Pairs of nodes in compressed sparse rows."""

    indptr: np.ndarray
    indices: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def of_keys(cls, keys: np.ndarray, shape: tuple[int, int]) -> Pattern:
        """The pairs (i, j) with ascending keys i m + j."""
        indptr = np.searchsorted(keys, np.arange(shape[0] + 1, dtype=np.int64) * shape[1])
        return cls(indptr, keys % shape[1], shape)

    @property
    def rows(self) -> np.ndarray:
        """Starting node of each pair."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))


class Sandwich:
    """F = K S G at some pairs. S (n, m) is sparse with a fixed pattern; K (n, n) and G (m, m) are symmetric.

    Parameters
    ----------
    K, G : ndarray of shape (n, n) and (m, m)
        Node kernels.
    entries : Pattern
        Where S has entries.
    pairs : Pattern
        Where F is needed.
    backend : {"auto", "numba", "numpy"}
        Backend of the sampled products.
    branch : {"auto", "objects", "rows"}
        Which factor is multiplied by S first: S G, then K; or Sᵀ K, then G. "auto" takes the cheaper order.

    Notes
    -----
    Each of the two products is either sampled, O(n_entries m) or O(n_pairs n), or dense, O(n m min(n, m)). Dense is
    faster if the pattern is full enough (about a fifteenth of all pairs with numba).
    """

    def __init__(
        self,
        K: np.ndarray,
        G: np.ndarray,
        entries: Pattern,
        pairs: Pattern,
        backend: str = "auto",
        branch: str = "auto",
    ):
        n, m = entries.shape
        counts = len(entries.indices), len(pairs.indices), loops_for(backend, len(pairs.indices), min(n, m))
        self.cost_objects, self.cost_rows = product_cost((n, m), *counts), product_cost((m, n), *counts)
        self.sparse_first, self.sparse_second = (not dense for dense in dense_products((n, m), *counts))
        self.rows_first = branch == "rows" or (branch == "auto" and self.cost_rows < self.cost_objects)
        # The other branch is Sᵀ K at the reversed pairs. So S is transposed, and the same code serves both branches.
        self.order = None
        if self.rows_first:
            self.order = np.lexsort((entries.rows, entries.indices))
            entries = Pattern.of_keys((entries.indices * n + entries.rows)[self.order], (m, n))
            K, G = G, K
        self.outer, self.inner, self.entries, self.pairs = K, G, entries, pairs
        self._first = SampledProducts(entries.indptr, entries.indices, entries.shape, backend)
        self._second = SampledProducts(pairs.indptr, pairs.indices, pairs.shape, backend)
        # Only in single precision: another copy in double would take too much memory.
        self.panels: Panels | None = None
        # Positions in the dense arrays, if a product is dense.
        self._at = None if self.sparse_second else pairs.rows * pairs.shape[1] + pairs.indices
        self._from = None if self.sparse_first else entries.rows * entries.shape[1] + entries.indices

    def astype(self, dtype: np.dtype, known: dict[int, np.ndarray]) -> Sandwich:
        """The same products in another precision. ``known`` holds kernels that are already converted, by their id."""
        other = copy(self)
        other.outer = known.get(id(self.outer), self.outer).astype(dtype, copy=False)
        known = known | {id(self.outer): other.outer}
        other.inner = known.get(id(self.inner), self.inner).astype(dtype, copy=False)
        sampled = self.sparse_first and loops_for(self._first.backend, self._first.n_pairs, len(other.inner)) == "numba"
        if dtype == np.float32 and sampled and panels_pay(len(other.inner)):
            other.panels = Panels(other.inner)
        return other

    @property
    def cost(self) -> float:
        """Cost of one product, in multiplications of a dense matrix product."""
        return self.cost_rows if self.rows_first else self.cost_objects

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """F at the pairs. ``values`` are the entries of S in the order of their pattern."""
        if self.order is not None:
            values = values[self.order]
        if self.sparse_first:
            T = self._first.times(values, self.inner if self.panels is None else self.panels)
        else:
            T = np.zeros(self.entries.shape, dtype=values.dtype)
            T.ravel()[self._from] = values
            T = T @ self.inner
        if self.sparse_second:
            left, right = (T.T, self.outer) if self.rows_first else (self.outer, T.T)
            return self._second.at_edges(left, right)
        F = (T.T @ self.outer) if self.rows_first else self.outer @ T
        return F.ravel()[self._at]


class Folded:
    """Both directions of each observed pair as one, for kernels in which the directions differ at most by a sign.

    S ± Sᵀ has the entries ``both_ways(a)``. ``place`` is the unordered pair of each edge.

    Parameters
    ----------
    sources, targets : ndarray of int
        Nodes of the edges.
    n : int
        Number of nodes.
    sign : {1, -1}
        S + Sᵀ or S - Sᵀ.
    """

    def __init__(self, sources: np.ndarray, targets: np.ndarray, n: int, sign: int):
        low, high = np.minimum(sources, targets), np.maximum(sources, targets)
        keys, self.place = np.unique(low.astype(np.int64) * n + high, return_inverse=True)
        self.pairs = Pattern.of_keys(keys, (n, n))
        self.direction = np.where(sources > targets, sign, 1)
        low, high = keys // n, keys % n
        apart = np.flatnonzero(low != high)
        both = np.concatenate([keys, high[apart] * n + low[apart]])
        order = np.argsort(both)
        self.entries = Pattern.of_keys(both[order], (n, n))
        self._pair = np.concatenate([np.arange(len(keys)), apart])[order]
        # A loop is its own reverse: it counts twice in S + Sᵀ and not at all in S - Sᵀ.
        scale = np.concatenate([np.where(low == high, 1 + sign, 1), np.full(len(apart), sign)])
        self._scale = scale[order].astype(np.int8)

    def both_ways(self, a: np.ndarray) -> np.ndarray:
        """Entries of S ± Sᵀ, where S has the entries a at the edges. O(n_edges)."""
        total = np.bincount(self.place, weights=self.direction * a, minlength=len(self.pairs.indices))
        return total.astype(a.dtype, copy=False)[self._pair] * self._scale


class KroneckerEdges:
    """The Kronecker edge kernel of a relation: k(a, c) g(b, d), or ½ [k(a, c) k(b, d) ± k(a, d) k(b, c)].

    Parameters
    ----------
    relation : Relation
        Ordinary, symmetric or reciprocal.
    K : ndarray of shape (n, n)
        Kernel of the conditioning nodes.
    G : ndarray of shape (m, m) or None
        Kernel of the objects; None if they are the same nodes.
    edges : Edges
        Observed edges.
    backend, branch : str
        See `Sandwich`.
    """

    known_only = False

    def __init__(
        self,
        relation: Relation,
        K: np.ndarray,
        G: np.ndarray | None,
        edges: Edges,
        backend: str = "auto",
        branch: str = "auto",
    ):
        if relation.sign and G is not None and G is not K:
            raise ValueError(f"a {relation.name} relation needs one domain, but the objects have their own kernel")
        self.name, self.relation, self.edges = relation.name, relation, edges
        self.K, self.G = K, K if G is None else G
        sources, targets = edges.sources, edges.indices
        self._fold = None
        if relation.sign:
            used, (sources, targets) = renumbered(edges.shape[0], sources, targets)
            n = edges.shape[0] if used is None else len(used)
            self._fold = Folded(sources, targets, n, relation.sign)
            K = submatrix(K, used)
            self.sandwich = Sandwich(K, K, self._fold.entries, self._fold.pairs, backend, branch)
        else:
            rows, (sources,) = renumbered(edges.shape[0], sources)
            cols, (targets,) = renumbered(edges.shape[1], targets)
            n = edges.shape[0] if rows is None else len(rows)
            m = edges.shape[1] if cols is None else len(cols)
            pattern = Pattern.of_keys(sources * m + targets, (n, m))
            self.sandwich = Sandwich(submatrix(K, rows), submatrix(self.G, cols), pattern, pattern, backend, branch)

    @property
    def cost(self) -> float:
        """Cost of one product, in multiplications of a dense matrix product."""
        return self.sandwich.cost

    @property
    def by_loops(self) -> bool:
        """Whether a product is made by our own loops and threads, not by dense products of BLAS."""
        return self.sandwich.sparse_first and self.sandwich.sparse_second

    @property
    def distinct_share(self) -> float:
        """Share of the edges that is left if both directions of a pair count as one, as the relation sees them."""
        return 1.0 if self._fold is None else len(self._fold.pairs.indices) / max(1, self.edges.n_pairs)

    def product(self, a: np.ndarray) -> np.ndarray:
        """The edge kernel times a, at the observed edges. O(n_pairs (n + m))."""
        if self._fold is None:
            return self.sandwich(a)
        folded = self.sandwich(self._fold.both_ways(a))[self._fold.place]
        return folded * (0.5 * self._fold.direction).astype(folded.dtype)

    def astype(self, dtype: np.dtype) -> KroneckerEdges:
        """The same kernel in another precision. It shares the pattern of the edges."""
        if self.K.dtype == dtype:
            return self
        other = copy(self)
        other.edges = self.edges.astype(dtype)
        other.K = self.K.astype(dtype)
        other.G = other.K if self.G is self.K else self.G.astype(dtype)
        other.sandwich = self.sandwich.astype(dtype, {id(self.K): other.K, id(self.G): other.G})
        return other

    def diagonal(self) -> np.ndarray:
        """The kernel of each observed edge with itself. O(n_pairs)."""
        sources, targets = self.edges.sources, self.edges.indices
        own = self.K.diagonal()[sources] * self.G.diagonal()[targets]
        return (own + self.relation.sign * self.K[sources, targets] ** 2) / 2 if self.relation.sign else own

    def coefficients(self, a: np.ndarray) -> sparse.csr_array:
        """The sparse A (n, m) for which scores are k_vᵀ A k_v'."""
        S = self.edges.matrix(a)
        return S if not self.relation.sign else sparse.csr_array((S + self.relation.sign * S.T) * a.dtype.type(0.5))

    def from_coefficients(self, A: sparse.csr_array) -> np.ndarray:
        """The a with ``coefficients(a)`` = A, for an A that these edges can give. O(n_pairs)."""
        sources, targets = self.edges.sources, self.edges.indices
        a = np.asarray(A[sources, targets])
        if self._fold is None:
            return a
        # A pair that is observed one way shares its coefficient with the other direction. A loop has only one.
        both = np.bincount(self._fold.place)[self._fold.place]
        return a * np.where(sources == targets, 1, 2 / both).astype(a.dtype)

    def predict(
        self, a: np.ndarray, K_queries: np.ndarray | None = None, K_objects: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores (n_queries, n_objects) from kernel rows against the training nodes; None means the training nodes."""
        K_queries = self.K if K_queries is None else K_queries
        K_objects = self.G if K_objects is None else K_objects
        return bilinear(K_queries, self.coefficients(a), K_objects)

    def between(self, k: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The edge kernel between the observed edges and one pair, from the kernel rows of its two ends. O(n_pairs)."""
        sources, targets = self.edges.sources, self.edges.indices
        values = k[sources] * g[targets]
        if self.relation.sign:
            values = (values + self.relation.sign * (k[targets] * g[sources])) * values.dtype.type(0.5)
        return values


def bilinear(K_queries: np.ndarray, A: sparse.csr_array, K_objects: np.ndarray) -> np.ndarray:
    """K_queries A K_objectsᵀ for a sparse A, in the cheaper order. O(n_queries n_objects min(n, m)) without A."""
    (q, n), (o, m) = K_queries.shape, K_objects.shape
    if A.nnz * o + q * n * o <= A.nnz * q + q * m * o:
        return K_queries @ np.asarray(A @ K_objects.T)
    return np.asarray(A.T @ K_queries.T).T @ K_objects.T


def renumbered(n: int, *ends: np.ndarray) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """The nodes that occur, and the ends as positions among them. If nearly all occur: None and the ends as given."""
    seen = np.zeros(n, dtype=bool)
    for end in ends:
        seen[end] = True
    if np.count_nonzero(seen) >= (1 - IDLE_NODES_SHARE) * n:
        return None, list(ends)
    number = np.cumsum(seen) - 1
    return np.flatnonzero(seen), [number[end] for end in ends]


def submatrix(K: np.ndarray, used: np.ndarray | None) -> np.ndarray:
    """The kernel among the used nodes; K itself, without a copy, for None."""
    return K if used is None else K[np.ix_(used, used)]
