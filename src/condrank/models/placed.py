"""Pairs with their coordinates, which many models can score: all pairs, or observed edges only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import row_blocks
from condrank.base.measured import DENSE_FROM_SHARE_OF_PAIRS, TIMES_FLOPS_PER_MULTIPLICATION
from condrank.nodes import Nodes
from condrank.observations import Edges
from condrank.products.cost import loops_for
from condrank.products.sampled import SampledProducts

# W = ±Wᵀ is multiplied in this many blocks of columns, each only down to its diagonal block.
HALVED_PARTS = 8


@dataclass(frozen=True)
class PlacedPairs:
    """Coordinates Z (n, r) of conditioning nodes and Z' (m, r') of objects, and their kernel values for a prior.

    ``sign`` is that of a relation with W = ±Wᵀ, or 0: then half of W is enough if objects and conditioning nodes are
    the same.
    """

    Z: np.ndarray
    Z_objects: np.ndarray
    similarity: np.ndarray | None
    sign: int = 0

    def blocks(self, W: np.ndarray, prior_weight: float) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of a model, up to a constant, one block of conditioning nodes at a time."""
        W = W.astype(self.Z.dtype, copy=False)
        blocks = list(row_blocks(len(self.Z), len(self.Z_objects)))
        halved = self.sign and self.Z is self.Z_objects and len(blocks) == 1
        for block in blocks:
            if halved:
                yield block, self._with_prior(both_halves(self.Z, W, self.sign), block, prior_weight)
            else:
                yield block, self.rows(block, W, prior_weight)

    def rows(self, rows: slice | np.ndarray, W: np.ndarray, prior_weight: float) -> np.ndarray:
        """Scores of some conditioning nodes."""
        W = W.astype(self.Z.dtype, copy=False)
        return self._with_prior((self.Z[rows] @ W) @ self.Z_objects.T, rows, prior_weight)

    def _with_prior(self, scores: np.ndarray, rows: slice | np.ndarray, prior_weight: float) -> np.ndarray:
        if self.similarity is not None:
            scores += self.Z.dtype.type(prior_weight) * self.similarity[rows]
        return scores


def both_halves(Z: np.ndarray, W: np.ndarray, sign: int) -> np.ndarray:
    """Z W Zᵀ (n, n) for W = ±Wᵀ, from the blocks of W above the diagonal and half of those on it.

    O(nr²/2 + n²r): with T these blocks, W = T ± Tᵀ.
    """
    r = len(W)
    left, step = np.empty_like(Z), max(1, -(-r // HALVED_PARTS))
    for first in range(0, r, step):
        part, above = slice(first, first + step), slice(0, first)
        np.matmul(0.5 * Z[:, part], W[part, part], out=left[:, part])
        if first:
            left[:, part] += Z[:, above] @ W[above, part]
    scores = left @ Z.T
    return scores + scores.T if sign > 0 else scores - scores.T


@dataclass(frozen=True)
class PlacedEdges:
    """Coordinates of both ends of observed edges, and kernel values (n_pairs,) of the edges for a prior."""

    Z: np.ndarray
    Z_objects: np.ndarray
    products: SampledProducts
    similarity: np.ndarray | None

    def scores(self, W: np.ndarray, prior_weight: float) -> np.ndarray:
        """Scores (n_pairs,) of the edges by a model, up to a constant. O(n_pairs r)."""
        scores = self.products.at_edges(self.Z @ W.astype(self.Z.dtype, copy=False), self.Z_objects)
        if self.similarity is not None:
            scores += self.Z.dtype.type(prior_weight) * self.similarity
        return scores


class PlacedKernel:
    """Kernel values K (n_queries, n) and G (n_objects, m) of both ends of observed edges against the training nodes.

    Parameters
    ----------
    kernel : KroneckerEdges
        The kernel between the edges of the model. Its pattern is put in order once, for all models.
    K, G : ndarray of shape (n_queries, n) and (n_objects, m)
        Kernel values.
    edges : Edges
        The edges to score.
    similarity : ndarray of shape (n_pairs,) or None
        Kernel values of the edges, for a prior.
    """

    def __init__(self, kernel: Any, K: np.ndarray, G: np.ndarray, edges: Edges, similarity: np.ndarray | None):
        self.kernel, self.K, self.G, self.edges, self.similarity = kernel, K, G, edges, similarity
        self.products = SampledProducts(edges.indptr, edges.indices, edges.shape)
        self.is_dense = edges.n_pairs >= DENSE_FROM_SHARE_OF_PAIRS * edges.shape[0] * edges.shape[1]
        shape, n_pairs = kernel.edges.shape, kernel.edges.n_pairs * (2 if kernel.relation.sign else 1)
        loops = loops_for("auto", n_pairs, len(K))
        self.full = TIMES_FLOPS_PER_MULTIPLICATION[loops] * n_pairs >= shape[0] * shape[1]
        self.K_columns = None if self.full else np.ascontiguousarray(K.T)

    def scores(self, a: np.ndarray, prior_weight: float) -> np.ndarray:
        """Scores (n_pairs,) of the edges by a model with the coefficients a, up to a constant.

        K A G' with the sparse A of the coefficients, at the edges: dense products where A or the edges are dense.
        """
        A, edges = self.kernel.coefficients(a.astype(self.K.dtype, copy=False)), self.edges
        if self.K_columns is None:
            left = self.K @ A.toarray()
        else:
            # A is ±Aᵀ for symmetric and reciprocal relations, and then in order already.
            sign = self.kernel.relation.sign
            B = A if sign else sparse.csr_array(A.T)
            n, m = self.kernel.edges.shape
            times = SampledProducts(B.indptr, B.indices, (m, n)).times(B.data, self.K_columns)
            left = -times.T if sign < 0 else times.T
        if self.is_dense:
            scores = (left @ self.G.T)[edges.sources, edges.indices]
        else:
            scores = self.products.at_edges(left, self.G)
        if self.similarity is not None:
            scores += self.K.dtype.type(prior_weight) * self.similarity
        return scores


def at_edges(blocks: Iterator[tuple[slice, np.ndarray]], edges: Edges) -> np.ndarray:
    """Entries (n_pairs,) of a matrix at the edges, from blocks of its rows. For values that need whole rows."""
    parts = []
    for block, values in blocks:
        first, last = edges.indptr[block.start], edges.indptr[block.stop]
        parts.append(values[edges.sources[first:last] - block.start, edges.indices[first:last]])
    return np.concatenate(parts) if parts else np.empty(0)


def similarity_at(coordinates: Any, queries: Nodes, objects: Nodes, edges: Edges) -> np.ndarray:
    """The node kernel at the edges: of these pairs only if they are few and the kernel allows it, or from all rows."""
    if edges.n_pairs < DENSE_FROM_SHARE_OF_PAIRS * len(queries) * len(objects):
        values = coordinates.similarity_at(queries, objects, (edges.sources, edges.indices))
        if values is not None:
            return values
    blocks = row_blocks(len(queries), len(objects))
    return at_edges(((block, coordinates.similarity(queries.block(block), objects)) for block in blocks), edges)
