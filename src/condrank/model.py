"""A fitted model: coordinates of conditioning nodes and objects, and the r×r matrix W between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from condrank._blocks import row_blocks
from condrank.nodes import Coordinates, Nodes


@dataclass
class Model:
    """Scores h(v, v') = z(v)ᵀ W z(v') + τ k(v, v') + offset of objects v' conditioned on nodes v.

    Attributes
    ----------
    rows, cols : Coordinates
        Of the conditioning nodes and of the objects.
    W : ndarray of shape (r, r')
        Weights.
    prior_weight : float
        τ of the similarity prior.
    offset : float
        Centre of the relation's scale: ½ for winning probabilities.
    """

    rows: Coordinates
    cols: Coordinates
    W: np.ndarray
    prior_weight: float = 0.0
    offset: float = 0.0

    def blocks(self, queries: Nodes | None, objects: Nodes | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of all objects, a block of conditioning nodes at a time; None: the training nodes.

        Two matrix products a block beside the coordinates; no more than a block of scores is held.
        """
        Z_objects = self.cols.training() if objects is None else self.cols.transform(objects)
        n_queries = self.rows.n_nodes if queries is None else len(queries)
        same = queries is objects and self.rows is self.cols
        known = Z_objects if same else self.rows.training() if queries is None else None
        W = self.W.astype(Z_objects.dtype, copy=False)
        # W joins the smaller side: once for all blocks if that is the objects.
        right = W @ Z_objects.T if len(Z_objects) < n_queries else None
        for block in row_blocks(n_queries, len(Z_objects)):
            part = (
                None if queries is None else queries if block.stop - block.start == n_queries else queries.block(block)
            )
            if known is not None:
                Z = known[block]
            else:
                assert part is not None  # training queries have known coordinates
                Z = self.rows.transform(part)
            scores = Z @ right if right is not None else (Z @ W) @ Z_objects.T
            if self.prior_weight:
                scores += self.prior_weight * self._similarity(part, objects, block)
            if self.offset:
                scores += self.offset
            yield block, scores

    def _similarity(self, part: Nodes | None, objects: Nodes | None, block: slice) -> np.ndarray:
        K = self.cols.similarity(part, objects)
        return K[block] if part is None else K

    def scores(self, queries: Nodes | None, objects: Nodes | None) -> np.ndarray:
        """All scores, (n_queries, n_objects)."""
        out = None
        for block, scores in self.blocks(queries, objects):
            n_queries = self.rows.n_nodes if queries is None else len(queries)
            if len(scores) == n_queries:
                return scores
            if out is None:
                out = np.empty((n_queries, scores.shape[1]), dtype=scores.dtype)
            out[block] = scores
        assert out is not None
        return out

    def edge_scores(self, queries: Nodes, objects: Nodes) -> np.ndarray:
        """Scores of aligned pairs (queries[i], objects[i]), (n_pairs,). O(r²) a pair beside the coordinates."""
        out = np.empty(len(queries), dtype=self.W.dtype)
        for block in row_blocks(len(queries), max(self.W.shape)):
            first, second = queries.block(block), objects.block(block)
            Z, Z_objects = self.rows.transform(first), self.cols.transform(second)
            out[block] = np.einsum("ij,ij->i", Z @ self.W.astype(Z.dtype, copy=False), Z_objects)
            if self.prior_weight:
                for pair in row_blocks(len(Z), 1, budget=256):
                    K = self.cols.similarity(first.block(pair), second.block(pair))
                    out[block][pair] += self.prior_weight * np.diagonal(K)
        out += self.offset
        return out

    def dual(self) -> np.ndarray:
        """Dual coefficients A (n, m): scores of the learned part are k_vᵀ A k_v'. Two matrix products."""
        left = self.rows.training() / self.rows.sigma
        right = left if self.cols is self.rows else self.cols.training() / self.cols.sigma
        return (left @ self.W.astype(left.dtype, copy=False)) @ right.T
