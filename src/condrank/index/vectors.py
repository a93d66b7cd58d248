"""Scores as inner products: the vector stored for an object, and the vector of a conditioning node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import row_blocks
from condrank.base.dense import dense
from condrank.base.measured import INDEX_BLOCK_LEAST_SCORES, INDEX_BLOCK_MOST_SCORES, INDEX_BLOCK_OBJECTS
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
            bool(model.prior_weight) or is_sparse(cols.nodes) or cols.rotation.shape[1] == len(cols.rotation)
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


class VectorScores:
    """Scores of stored vectors X (m, p) for query vectors Q (n, p), without the shift of each query."""

    def __init__(self, Q: np.ndarray, shift: np.ndarray, X: Any):
        self.Q, self.shift, self.X = Q, shift, X

    def __len__(self) -> int:
        return len(self.Q)

    def take(self, rows: Any) -> VectorScores:
        """The scores of some of the conditioning nodes."""
        return VectorScores(self.Q[rows], self.shift[rows], self.X)

    def negated(self) -> VectorScores:
        """The scores with the other sign: the worst objects become the best."""
        return VectorScores(-self.Q, -self.shift, self.X)

    def blocks(self, columns: np.ndarray | None) -> Iterator[tuple[slice, int, np.ndarray]]:
        """Rows, first column and scores of blocks of all objects, or of some. O(nmp) in all.

        The next block overwrites the scores. The products of a large block run in BLAS's threads.
        """
        m = self.X.shape[0] if columns is None else len(columns)
        width = max(INDEX_BLOCK_OBJECTS, min(m, INDEX_BLOCK_LEAST_SCORES // max(1, len(self.Q))))
        room = np.empty(min(INDEX_BLOCK_MOST_SCORES, max(1, len(self.Q)) * width), dtype=self.X.dtype)
        for block in row_blocks(m, 1, budget=width):
            X = self.X[block] if columns is None else self.X[columns[block]]
            for rows in row_blocks(len(self.Q), width, budget=INDEX_BLOCK_MOST_SCORES):
                shape = rows.stop - rows.start, X.shape[0]
                scores = room[: shape[0] * shape[1]].reshape(shape)
                if sparse.issparse(X):
                    scores[:] = (X @ self.Q[rows].T).T
                else:
                    np.matmul(self.Q[rows], X.T, out=scores)
                yield rows, block.start, scores


class ModelScores:
    """Complete scores by the model itself, if they are not inner products.

    Parameters
    ----------
    scorer : Scorer
        The model.
    queries : Nodes
        Conditioning nodes.
    parts : tuple of Nodes or None
        Objects; None means the training objects, which some models know only by position.
    n_training : int
        Number of training objects.
    sign : {1, -1}
        By what scores are multiplied.
    """

    def __init__(self, scorer: Any, queries: Nodes, parts: tuple[Nodes | None, ...], n_training: int, sign: int = 1):
        self.scorer, self.queries, self.parts, self.n_training, self.sign = scorer, queries, parts, n_training, sign
        self.shift = np.zeros(len(queries))

    def __len__(self) -> int:
        return len(self.queries)

    def take(self, rows: Any) -> ModelScores:
        """The scores of some of the conditioning nodes."""
        chosen = np.arange(len(self))[rows]
        return ModelScores(self.scorer, self.queries.take(chosen), self.parts, self.n_training, self.sign)

    def negated(self) -> ModelScores:
        """The scores with the other sign: the worst objects become the best."""
        return ModelScores(self.scorer, self.queries, self.parts, self.n_training, -self.sign)

    def blocks(self, columns: np.ndarray | None) -> Iterator[tuple[slice, int, np.ndarray]]:
        """As `VectorScores.blocks`, in blocks of objects that are small enough for their kernel values."""
        for rows, start, scores in self._blocks(columns):
            yield rows, start, scores if self.sign > 0 else -scores

    def _blocks(self, columns: np.ndarray | None) -> Iterator[tuple[slice, int, np.ndarray]]:
        first = start = 0
        for part in self.parts:
            m = self.n_training if part is None else len(part)
            chosen = np.arange(m) if columns is None else columns[(columns >= first) & (columns < first + m)] - first
            if part is None and known_by_place(self.scorer):
                for rows, scores in self.scorer.blocks(self.queries, None) if len(chosen) else ():
                    yield rows, start, scores[:, chosen]
            elif part is None and len(chosen) == m:
                for rows, scores in self.scorer.blocks(self.queries, None):
                    yield rows, start, np.array(scores)
            else:
                nodes = self.scorer.cols.nodes if part is None else part
                for block in row_blocks(len(chosen), self.n_training, budget=4 * INDEX_BLOCK_MOST_SCORES):
                    for rows, scores in self.scorer.blocks(self.queries, nodes.take(chosen[block])):
                        yield rows, start + block.start, np.array(scores)
            first, start = first + m, start + len(chosen)


def known_by_place(scorer: Any) -> bool:
    """Whether a model knows its training objects only by their position, and cannot score some of them as nodes."""
    cols = getattr(scorer, "cols", None)
    return cols is None or getattr(getattr(scorer, "kernel", None), "known_only", False)
