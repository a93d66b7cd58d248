"""A fitted reciprocal model with compared features: coordinates, and one r×r matrix for each compared feature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.models.model import as_probabilities
from condrank.models.sides import FitSettings, scale_from, sides_from, sides_to
from condrank.nodes import Coordinates, Nodes
from condrank.observations import Edges
from condrank.persistence.arrays import Arrays, Held
from condrank.products.compared import compared_values, multiply_by_signs
from condrank.products.sampled import SampledProducts


@dataclass(frozen=True)
class ComparedModel:
    """Scores h(v, v') = z(v)ᵀ W₀ z(v') + Σ_f sign(x_f(v) - x_f(v')) z(v)ᵀ W_f z(v') + offset.

    Attributes
    ----------
    rows : Coordinates
        Coordinates of the nodes.
    compared : tuple of int
        The compared features.
    W : ndarray of shape (1 + n_compared, r, r)
        W₀, which is skew-symmetric (W₀ᵀ = -W₀), then the symmetric W_f.
    offset : float
        Centre of the relation's scale: ½ for winning probabilities.
    logistic : bool
        Whether scores are log-odds, to which no centre is added.
    """

    rows: Coordinates
    compared: tuple[int, ...]
    W: Any
    offset: float = 0.0
    logistic: bool = False

    @property
    def cols(self) -> Coordinates:
        """Coordinates of the objects, which are the nodes."""
        return self.rows

    def blocks(self, queries: Nodes | None, objects: Nodes | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of all objects, one block of conditioning nodes at a time; None means the training nodes."""
        queries = self.rows.nodes if queries is None else queries
        objects = self.rows.nodes if objects is None else objects
        Z_objects = self.rows.transform(objects)
        Z = Z_objects if queries is objects else None
        dtype = self._compared_in(queries, objects)
        x_objects = compared_values(objects, self.compared, dtype)
        for block in row_blocks(len(queries), len(objects)):
            part = queries if block.stop - block.start == len(queries) else queries.block(block)
            Z_part = self.rows.transform(part) if Z is None else Z[block]
            scores = self._scores(Z_part, Z_objects, compared_values(part, self.compared, dtype), x_objects)
            if self.offset and not self.logistic:
                scores += self.offset
            yield block, scores

    def at_edges(self, queries: Nodes, objects: Nodes, edges: Edges) -> np.ndarray:
        """Scores of observed edges only, (n_pairs,). O(n_pairs r n_compared), and the coordinates."""
        Z_objects = self.rows.transform(objects)
        Z = Z_objects if queries is objects else self.rows.transform(queries)
        dtype = self._compared_in(queries, objects)
        x, x_objects = (compared_values(nodes, self.compared, dtype) for nodes in (queries, objects))
        products, W = SampledProducts(edges.indptr, edges.indices, edges.shape), self.W.astype(Z.dtype, copy=False)
        scores, sources = products.at_edges(Z @ W[0], Z_objects), edges.sources
        for values, others, block in zip(x, x_objects, W[1:], strict=True):
            scores += np.sign(values[sources] - others[edges.indices]) * products.at_edges(Z @ block, Z_objects)
        return scores if self.logistic else scores + scores.dtype.type(self.offset)

    def _compared_in(self, queries: Nodes, objects: Nodes) -> np.dtype:
        """The least precise floating type of all nodes: in a finer type, a value and its rounded copy would differ."""
        return min((nodes.dtype for nodes in (self.rows.nodes, queries, objects)), key=lambda dtype: dtype.itemsize)

    def _scores(self, Z: np.ndarray, Z_objects: np.ndarray, x: np.ndarray, x_objects: np.ndarray) -> np.ndarray:
        W = self.W.astype(Z.dtype, copy=False)
        scores = (Z @ W[0]) @ Z_objects.T
        for values, others, block in zip(x, x_objects, W[1:], strict=True):
            scores += multiply_by_signs((Z @ block) @ Z_objects.T, values, others)
        return scores

    def probabilities(self, queries: Nodes, objects: Nodes | None) -> np.ndarray:
        """P(v beats v') = sigmoid(h(v, v')). The two directions sum to exactly one."""
        objects = self.rows.nodes if objects is None else objects
        Z, Z_objects = self.rows.transform(queries), self.rows.transform(objects)
        dtype = self._compared_in(queries, objects)
        x, x_objects = (compared_values(nodes, self.compared, dtype) for nodes in (queries, objects))
        return as_probabilities(self._scores(Z, Z_objects, x, x_objects), self._scores(Z_objects, Z, x_objects, x))

    def strengths(self, nodes: Nodes) -> np.ndarray:
        """f(v) = z(v)ᵀ W₀ z₀ as in `condrank.models.model.Model`: the transitive part of W₀."""
        return self.rows.transform(nodes) @ (self.W[0] @ self.rows.constant())

    def with_weights(self, W: Any) -> ComparedModel:
        """The same model with other weights."""
        return replace(self, W=W)

    def gathered(self) -> ComparedModel:
        """The model itself: its nodes are on this machine."""
        return self

    def start(self) -> Any:
        """The weights, as a starting point for another fit to the same nodes."""
        return self.W

    def dual(self) -> np.ndarray:
        """Dual coefficients (n, n) of W₀."""
        P = self.rows.dual_basis()
        return (P @ self.W[0].astype(P.dtype, copy=False)) @ P.T

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Plain values for a manifest; arrays are added to ``arrays``. The compared features are in the settings."""
        given = sides_to(self, arrays)
        del given["cols"]  # files of this model have no such entry
        arrays.put("W", self.W)
        return given

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, settings: FitSettings) -> ComparedModel:
        """The stored model of a fit with these settings."""
        rows, cols = sides_from(given, held, settings)
        if cols is not rows:
            raise ValueError("a model with compared features needs one domain, but its objects are other nodes")
        r = len(rows.sigma)
        W = held.floats("W", 1 + len(settings.compared), r, r)
        return cls(rows, settings.compared, W, *scale_from(given))
