"""A fitted model: coordinates of conditioning nodes and objects, and the r×r matrix W between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.base.checks import FiniteScores, check_number, check_scores
from condrank.base.dask import is_dask
from condrank.models.placed import PlacedEdges, PlacedPairs, similarity_at
from condrank.models.sides import FitSettings, scale_from, sides_from, sides_to
from condrank.nodes import Coordinates, Nodes
from condrank.observations import Edges
from condrank.persistence.arrays import Arrays, Held
from condrank.products.sampled import SampledProducts


@dataclass(frozen=True)
class Model:
    """Scores h(v, v') = z(v)ᵀ W z(v') + τ k(v, v') + offset of objects v' conditioned on nodes v.

    Attributes
    ----------
    rows, cols : Coordinates
        Coordinates of the conditioning nodes and of the objects.
    W : ndarray of shape (r, r')
        Weights.
    prior_weight : float
        τ of the similarity prior.
    offset : float
        Centre of the relation's scale: ½ for winning probabilities.
    logistic : bool
        Whether scores are log-odds, to which no centre is added.
    """

    rows: Coordinates
    cols: Coordinates
    W: Any
    prior_weight: float = 0.0
    offset: float = 0.0
    logistic: bool = False

    def blocks(
        self, queries: Nodes | None, objects: Nodes | None, check: bool = False
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of all objects, one block of conditioning nodes at a time; None means the training nodes.

        Each block takes its coordinates and two matrix products. Only one block of scores is held.
        ``check`` raises a ValueError if a score is not finite.
        """
        Z_objects = self.cols.training() if objects is None else self.cols.transform(objects)
        same = queries is objects and self.rows is self.cols
        queries = self.rows.nodes if queries is None else queries
        n_queries = len(queries)
        known = Z_objects if same else self.rows.training() if queries is self.rows.nodes else None
        W = self.W.astype(Z_objects.dtype, copy=False)
        # W is multiplied with the smaller side. If that is the objects, once for all blocks.
        right = W @ Z_objects.T if len(Z_objects) < n_queries else None
        finite = FiniteScores(None if self.prior_weight else Z_objects if right is None else right.T)
        for block in row_blocks(n_queries, len(Z_objects)):
            part = queries if block.stop - block.start == n_queries else queries.block(block)
            Z = self.rows.transform(part) if known is None else known[block]
            left = Z @ W if right is None else Z
            scores = left @ (Z_objects.T if right is None else right)
            if self.prior_weight:
                scores += self.prior_weight * self.cols.similarity(part, objects)
            if self.offset and not self.logistic:
                scores += self.offset
            if check:
                finite(scores, left)
            yield block, scores

    def placed(self, queries: Nodes, objects: Nodes) -> PlacedPairs:
        """The pairs with their coordinates, which many models of these coordinates can then score."""
        Z_objects = self.cols.transform(objects)
        same = queries is objects and self.rows is self.cols
        Z = Z_objects if same else self.rows.transform(queries)
        return PlacedPairs(Z, Z_objects, self.cols.similarity(queries, objects) if self.prior_weight else None)

    def placed_edges(self, queries: Nodes, objects: Nodes, edges: Edges) -> PlacedEdges:
        """Observed edges with the coordinates of both ends, which many models can then score."""
        Z_objects = self.cols.transform(objects)
        same = queries is objects and self.rows is self.cols
        Z = Z_objects if same else self.rows.transform(queries)
        similarity = similarity_at(self.cols, queries, objects, edges) if self.prior_weight else None
        return PlacedEdges(Z, Z_objects, SampledProducts(edges.indptr, edges.indices, edges.shape), similarity)

    def at_edges(self, queries: Nodes, objects: Nodes, edges: Edges) -> np.ndarray:
        """Scores of observed edges only, (n_pairs,). O(n_pairs r), and the coordinates."""
        scores = self.placed_edges(queries, objects, edges).scores(self.W, self.prior_weight)
        return scores if self.logistic else scores + scores.dtype.type(self.offset)

    def probabilities(self, queries: Nodes, objects: Nodes | None) -> np.ndarray:
        """P(v beats v') = sigmoid(h(v, v')), (n_queries, n_objects). The two directions sum to exactly one."""
        Z = self.rows.transform(queries)
        Z_objects = self.cols.training() if objects is None else self.cols.transform(objects)
        W = self.W.astype(Z.dtype, copy=False)
        return as_probabilities((Z @ W) @ Z_objects.T, (Z_objects @ W) @ Z.T)

    def strengths(self, nodes: Nodes) -> np.ndarray:
        """f(v) = z(v)ᵀ W z₀, where z₀ are the coordinates of the constant (a node without features)."""
        return self.rows.transform(nodes) @ (self.W @ self.cols.constant())

    def with_weights(self, W: Any) -> Model:
        """The same model with other weights."""
        return replace(self, W=W)

    def gathered(self) -> Model:
        """The same model with its training nodes as NumPy arrays, if they are in Dask collections."""
        if not is_dask(self.rows.nodes.base):
            return self
        from condrank.distributed.rows import gathered_coordinates

        rows = gathered_coordinates(self.rows)
        return replace(self, rows=rows, cols=rows if self.cols is self.rows else gathered_coordinates(self.cols))

    def start(self) -> Any:
        """The weights, as a starting point for another fit to the same nodes."""
        return self.W

    def dual(self) -> np.ndarray:
        """Dual coefficients A (n, m): scores of the learned part are k_vᵀ A k_v'. Two matrix products."""
        left = self.rows.dual_basis()
        right = left if self.cols is self.rows else self.cols.dual_basis()
        return (left @ self.W.astype(left.dtype, copy=False)) @ right.T

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Plain values for a manifest; arrays are added to ``arrays``. `from_state` reads both."""
        given = sides_to(self, arrays) | {"prior_weight": float(self.prior_weight)}
        arrays.put("W", self.W)
        return given

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, settings: FitSettings) -> Model:
        """The stored model of a fit with these settings."""
        rows, cols = sides_from(given, held, settings)
        prior_weight = check_number("prior_weight of the model", given["prior_weight"])
        return cls(rows, cols, held.floats("W", len(rows.sigma), len(cols.sigma)), prior_weight, *scale_from(given))


def as_probabilities(scores: np.ndarray, reverse: np.ndarray) -> np.ndarray:
    """Sigmoid of reciprocal scores (n, m), exactly reciprocal. ``reverse`` (m, n) are the scores of the reversed pairs.

    The mean of both directions is used, so reversing a pair negates the score to the last bit. ½ tanh(h/2) is rounded
    to a grid of 2⁻⁵³, so adding ½ makes no rounding error. Scores that are not finite are refused: their probability
    would look certain.
    """
    half = np.tanh(check_scores(scores - reverse.T).astype(np.float64) / 4) / 2
    return 0.5 + np.round(half * 2.0**53) / 2.0**53
