"""A fitted dual model: coefficients of the observed edges, and the edge kernel that gives scores of other pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.base.checks import check_choice, check_number
from condrank.kernels import Kernel
from condrank.models.model import as_probabilities
from condrank.models.placed import PlacedKernel, at_edges, similarity_at
from condrank.models.sides import FitSettings, scale_from, sides_to, stored_shape
from condrank.nodes import Nodes
from condrank.nodes.values import KernelValues
from condrank.observations import Edges
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.plain import check_same
from condrank.products.edge_kernels import NEW_NODES, EdgeKernel, edge_kernel
from condrank.products.kronecker import KroneckerEdges
from condrank.products.sampled import SampledProducts


@dataclass(frozen=True)
class EdgeModel:
    """Scores h(v, v') = Σ_e a_e k̄(e, (v, v')) + τ k(v, v') + offset of objects v' conditioned on nodes v.

    Attributes
    ----------
    rows, cols : KernelValues
        Kernel values of the conditioning nodes and of the objects.
    kernel : EdgeKernel
        k̄, for the observed edges.
    W : ndarray of shape (n_pairs,)
        a, the coefficients of the observed edges.
    prior_weight, offset, logistic
        As in `condrank.models.model.Model`.
    """

    rows: KernelValues
    cols: KernelValues
    kernel: EdgeKernel
    W: Any
    prior_weight: float = 0.0
    offset: float = 0.0
    logistic: bool = False

    def blocks(self, queries: Nodes | None, objects: Nodes | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of all objects, one block of conditioning nodes at a time; None means the training nodes."""
        if self.kernel.known_only:
            yield slice(0, self.rows.n_nodes if queries is None else len(queries)), self._known(queries, objects)
            return
        known_queries = queries is None or self.rows.is_training(queries)
        known_objects = objects is None or self.cols.is_training(objects)
        K_objects = None if objects is None or known_objects else self.cols.transform(objects)
        n_queries = self.rows.n_nodes if queries is None else len(queries)
        n_objects = self.cols.n_nodes if objects is None else len(objects)
        # Training nodes are scored in one block: their kernel rows already exist.
        step = n_queries * n_objects if known_queries else None
        for block in row_blocks(n_queries, n_objects, *([] if step is None else [step])):
            part = queries if queries is None or known_queries else queries.block(block)
            K_queries = None if part is None or known_queries else self.rows.transform(part)
            scores = self.kernel.predict(self.W, K_queries, K_objects)
            if self.prior_weight:
                scores += self.prior_weight * self.cols.similarity(part, objects)
            if self.offset and not self.logistic:
                scores += self.offset
            yield block, scores

    def _known(self, queries: Nodes | None, objects: Nodes | None) -> np.ndarray:
        """Scores of training nodes, which the Cartesian kernel knows only by their position."""
        places = [
            np.arange(side.n_nodes) if given is None else side.places(given)
            for side, given in ((self.rows, queries), (self.cols, objects))
        ]
        if any((place < 0).any() for place in places):
            raise ValueError(NEW_NODES)
        scores = self.kernel.predict(self.W)[np.ix_(*places)] + self.offset
        return scores + self.prior_weight * self.cols.similarity(queries, objects) if self.prior_weight else scores

    def placed_edges(self, queries: Nodes, objects: Nodes, edges: Edges) -> PlacedKernel:
        """Observed edges with kernel values of both ends, which many models of a Kronecker kernel can then score."""
        similarity = similarity_at(self.cols, queries, objects, edges) if self.prior_weight else None
        return PlacedKernel(self.kernel, self.rows.transform(queries), self.cols.transform(objects), edges, similarity)

    def at_edges(self, queries: Nodes, objects: Nodes, edges: Edges) -> np.ndarray:
        """Scores of observed edges only, (n_pairs,). O(n_pairs m) for Kronecker kernels, all pairs for the others."""
        if not isinstance(self.kernel, KroneckerEdges):
            return at_edges(self.blocks(queries, objects), edges)
        A, K_objects = self.dual(), self.cols.transform(objects)
        scores = np.empty(edges.n_pairs, dtype=K_objects.dtype)
        for block in row_blocks(len(queries), self.rows.n_nodes):
            first, last = edges.indptr[block.start], edges.indptr[block.stop]
            indptr = edges.indptr[block.start : block.stop + 1] - first
            shape = (block.stop - block.start, len(objects))
            left = self.rows.transform(queries.block(block)) @ A
            products = SampledProducts(indptr, edges.indices[first:last], shape)
            scores[first:last] = products.at_edges(np.asarray(left), K_objects)
        if self.prior_weight:
            scores += self.prior_weight * similarity_at(self.cols, queries, objects, edges)
        return scores if self.logistic else scores + scores.dtype.type(self.offset)

    def probabilities(self, queries: Nodes, objects: Nodes | None) -> np.ndarray:
        """P(v beats v') = sigmoid(h(v, v')), (n_queries, n_objects). The two directions sum to exactly one."""
        K = self.rows.transform(queries)
        K_objects = self.cols.training() if objects is None else self.cols.transform(objects)
        return as_probabilities(self.kernel.predict(self.W, K, K_objects), self.kernel.predict(self.W, K_objects, K))

    def with_weights(self, W: Any) -> EdgeModel:
        """The same model with other coefficients."""
        return replace(self, W=W)

    def gathered(self) -> EdgeModel:
        """The model itself: its nodes are on this machine."""
        return self

    def start(self) -> Any:
        """The coefficients as a sparse array, as a starting point for a fit to other edges of the same nodes."""
        return self.dual()

    def dual(self) -> Any:
        """Coefficients as a sparse (n, m) array A. With Kronecker kernels, scores are k_vᵀ A k_v'."""
        if isinstance(self.kernel, KroneckerEdges):
            return self.kernel.coefficients(self.W)
        return self.kernel.edges.matrix(self.W)

    def strengths(self, nodes: Nodes) -> np.ndarray:
        """f(v) = k_vᵀ A 1, the transitive part of a reciprocal relation learned with a constant."""
        return self.rows.transform(nodes) @ (self.dual() @ self.cols.constant())

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Plain values for a manifest; arrays are added to ``arrays``. `from_state` reads both."""
        given = sides_to(self, arrays) | {"prior_weight": float(self.prior_weight), "kernel": self.kernel.name}
        given |= self.kernel.edges.to_state(arrays)
        arrays.put("W", self.W)
        return given

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, settings: FitSettings) -> EdgeModel:
        """The stored model of a fit with these settings. Kernel matrices are computed again."""
        shape = stored_shape(given)
        rows = cols = _values_from(given["rows"], held.under("rows"), settings.kernels[0])
        if given.get("cols") is not None:
            cols = _values_from(given["cols"], held.under("cols"), settings.kernels[1])
        check_same("shape of the model", list(shape), [rows.n_nodes, cols.n_nodes])
        edges = Edges.from_state(given, held)
        kernel = edge_kernel(given["kernel"], rows.K, None if cols is rows else cols.K, edges)
        prior_weight = check_number("prior_weight of the model", given["prior_weight"])
        return cls(rows, cols, kernel, held.floats("W", edges.n_pairs), prior_weight, *scale_from(given))


def _values_from(given: dict[str, Any], held: Held, kernel: Kernel) -> KernelValues:
    check_choice(f"coordinates of {held.name}", given["class"], (KernelValues.__name__,))
    return KernelValues.from_state(given, held, kernel)
