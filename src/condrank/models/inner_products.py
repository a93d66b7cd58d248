"""Scores as inner products: the vector of an object, and the vector of a conditioning node."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import row_blocks
from condrank.base.dense import dense
from condrank.models.model import Model
from condrank.nodes import ExplicitFeatures, Nodes
from condrank.nodes.feature_maps import FeatureRows, OwnFeatures, is_sparse


class InnerProducts:
    """Vectors x(v') and q(v) with h(v, v') = q(v)ᵀx(v') + shift(v).

    In coordinates x = z' and q = Wᵀz. With explicit features φ and z = Vᵀφ, x = φ' and q = V Wᵀ Vᵀφ + τφ is used
    instead if coordinates would not be shorter, or if there is a similarity prior, which this includes. The features of
    a linear kernel are the node data, which are not copied: feature weights move to q, and the constant to the shift.

    Parameters
    ----------
    model : Model
        A model; with a prior only if its objects have explicit features, see `applies`.
    """

    def __init__(self, model: Model):
        self.model = model
        cols: Any = model.cols
        explicit = isinstance(cols, ExplicitFeatures)
        self.in_features = explicit and (
            bool(model.prior_weight)
            or is_sparse(cols.kernel, cols.nodes)
            or cols.rotation.shape[1] == len(cols.rotation)
        )
        own = cols.features.alone if self.in_features and isinstance(cols.features, OwnFeatures) else None
        #: The linear kernel whose features are the node data, if the vectors are these.
        self.linear = own
        self.in_node_data = own is not None

    @staticmethod
    def applies(scorer: Any) -> bool:
        """Whether scores are inner products of a vector of the conditioning node and a vector of the object."""
        return isinstance(scorer, Model) and (not scorer.prior_weight or isinstance(scorer.cols, ExplicitFeatures))

    @property
    def length(self) -> int:
        """The length p of a vector."""
        cols: Any = self.model.cols
        if not self.in_features:
            return self.model.W.shape[1]
        return len(cols.rotation) - (self.in_node_data and bool(cols.kernel.constant))

    def of_objects(self, nodes: Nodes | None) -> Any:
        """x (m, p) of objects, by default of the training objects. In blocks, as kernel values may be much larger."""
        cols: Any = self.model.cols
        if self.in_features:
            chosen: Nodes = cols.nodes if nodes is None else nodes
            if self.linear is None:
                return self._features(chosen)
            chosen, training = chosen.view(self.linear.view), cols.nodes.view(self.linear.view)
            expected, given = training.base.shape[1], chosen.base.shape[1]
            if given != expected:
                raise ValueError(f"objects must have {expected} features, like the training objects, got {given}")
            return chosen.rows if sparse.issparse(chosen.base) else np.asarray(chosen.rows)
        if nodes is None:
            return np.asarray(cols.training())  # gathered, if they are distributed
        explicit = isinstance(cols, ExplicitFeatures)
        out: Any = None
        for block in row_blocks(len(nodes), len(cols.rotation) if explicit else cols.n_nodes):
            part = cols.transform(nodes.block(block))
            out = np.empty((len(nodes), part.shape[1]), dtype=part.dtype) if out is None else out
            out[block] = part
        return out

    def of_queries(self, nodes: Nodes, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """q (n, p) and shift (n,) of conditioning nodes, in the floating type of the objects."""
        features = self._features(nodes) if self.model.prior_weight else None
        Q, shift = self._of_coordinates(self.model.rows.transform(nodes), features)
        return np.ascontiguousarray(Q, dtype=dtype), shift.astype(dtype)

    def typical_queries(self) -> np.ndarray:
        """Vectors (r, p) with the same second moments as q of the training nodes, known from ZᵀZ = diag(σ) alone."""
        rows: Any = self.model.rows
        Z = np.diag(np.sqrt(rows.sigma / rows.n_nodes)).astype(np.float64)
        return self._of_coordinates(Z, Z @ rows.rotation.T if self.model.prior_weight else None)[0]

    def _of_coordinates(self, Z: np.ndarray, features: Any) -> tuple[np.ndarray, np.ndarray]:
        """q and shift from coordinates, and from features if there is a prior."""
        model, cols = self.model, self.model.cols
        Q = Z @ model.W
        shift = np.full(len(Z), 0.0 if model.logistic else model.offset)
        if self.in_features:
            assert isinstance(cols, ExplicitFeatures)
            Q = Q @ cols.rotation.T
            if features is not None:
                Q += model.prior_weight * dense(features)
            if self.linear is not None:
                root = cols.kernel.constant**0.5
                Q, shift = (Q[:, :-1], shift + root * Q[:, -1]) if root else (Q, shift)
                weights = self.linear.feature_weights
                Q = Q if weights is None else Q * np.asarray(weights)
        return Q, shift

    def _features(self, nodes: Nodes) -> Any:
        cols: Any = self.model.cols
        rows = cols._rows(nodes)
        rows = rows.part(slice(0, len(nodes))) if isinstance(rows, FeatureRows) else rows
        return rows if sparse.issparse(rows) else np.asarray(rows)
