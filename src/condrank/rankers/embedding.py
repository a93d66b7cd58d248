"""Vectors of conditioning nodes and of objects, whose inner products are the scores: for any store of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.models import ComparedModel, EdgeModel
from condrank.models.inner_products import InnerProducts
from condrank.nodes import Nodes
from condrank.products.kronecker import KroneckerEdges
from condrank.rankers.base import Ranker, fitted_of, read_side


class Embedding(Ranker):
    """Rankers whose scores are inner products of a vector of the conditioning node and one of the object."""

    def query_vectors(self, queries: Any) -> np.ndarray:
        """Vectors q(v) of conditioning nodes, (n_queries, p), with q(v)ᵀx(v') = h(v, v').

        ``query_vectors(queries) @ object_vectors(objects).T`` is ``predict(queries, objects)`` up to rounding, with
        the similarity prior, the constant and the offset of the scores. A database or library that finds the largest
        inner products (not cosines, not distances) then ranks as the model does. O(r²) for each node, and its
        coordinates.

        Parameters
        ----------
        queries
            As in `predict`, but no graph.
        """
        vectors = _vectors(self)
        return vectors.of_queries(read_side(self, queries, "queries"))

    def object_vectors(self, objects: Any = None) -> Any:
        """Vectors x(v') of objects, (n_objects, p), see `query_vectors`.

        With ``kernel="linear"`` the first columns are the features themselves, if their number is that of the learned
        coordinates, or with ``prior="similarity"``: features that a store already holds need not be computed again. A
        last column of ones comes with a number that is added to all scores of a conditioning node (``constant=True``
        or a scale with centre ½). A store that cannot add a column may leave it out on both sides: rankings are the
        same.

        Parameters
        ----------
        objects
            As in `predict`, by default the training objects.

        Returns
        -------
        ndarray or scipy sparse array of shape (n_objects, p)
            Sparse for sparse features of a linear or cosine kernel. May share memory with the objects.
        """
        vectors = _vectors(self)
        if objects is None and not len(fitted_of(self).objects):
            raise ValueError("objects must be given: this ranker does not keep its training objects")
        return vectors.of_objects(None if objects is None else read_side(self, objects, "objects"))


def _vectors(ranker: Ranker) -> _ModelVectors | _DualVectors:
    model = fitted_of(ranker).model
    if InnerProducts.applies(model):
        return _ModelVectors(model)
    if isinstance(model, EdgeModel) and isinstance(model.kernel, KroneckerEdges) and not model.prior_weight:
        return _DualVectors(model)
    if isinstance(model, ComparedModel):
        reason, instead = "compared features compare two nodes", "leave compared out"
    elif model.prior_weight:
        reason = "the similarity prior is a kernel value of two nodes, which may both be new"
        instead = "use a linear or cosine kernel, or approximate the kernel by n_components"
    else:
        reason, instead = "pairwise_kernel compares edges", "leave pairwise_kernel out"
    raise ValueError(
        f"scores of this ranker are not inner products of vectors: {reason}; {instead}; or rank with ranker.index, "
        "which serves any model"
    )


class _ModelVectors:
    """Vectors of a bilinear model, with the shift of each conditioning node as a last coordinate if there is one."""

    def __init__(self, model: Any):
        self.products = InnerProducts(model)
        constant = self.products.in_node_data and bool(model.cols.kernel.constant)
        self.shifted = constant or bool(model.offset and not model.logistic)

    def of_queries(self, nodes: Nodes) -> np.ndarray:
        Q, shift = self.products.of_queries(nodes, nodes.dtype)
        return np.column_stack([Q, shift]) if self.shifted else Q

    def of_objects(self, nodes: Nodes | None) -> Any:
        X = self.products.of_objects(nodes)
        return with_ones(X) if self.shifted else X


class _DualVectors:
    """Vectors of a dual model of Kronecker kernels: q = Aᵀk_v and x = k_v', as long as there are training objects."""

    def __init__(self, model: EdgeModel):
        self.model, self.offset = model, 0.0 if model.logistic else model.offset

    def of_queries(self, nodes: Nodes) -> np.ndarray:
        Q = np.asarray(self.model.rows.transform(nodes) @ self.model.dual()).astype(nodes.dtype, copy=False)
        return np.column_stack([Q, np.full(len(Q), self.offset, dtype=Q.dtype)]) if self.offset else Q

    def of_objects(self, nodes: Nodes | None) -> np.ndarray:
        X = np.asarray(self.model.cols.training() if nodes is None else self.model.cols.transform(nodes))
        return with_ones(X) if self.offset else X


def with_ones(X: Any) -> Any:
    """X with a column of ones, dense or sparse as it is."""
    ones = np.ones((X.shape[0], 1), dtype=X.dtype)
    return sparse.csr_array(sparse.hstack([X, ones])) if sparse.issparse(X) else np.hstack([X, ones])
