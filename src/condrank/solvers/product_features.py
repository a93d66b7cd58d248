"""Product features of edges, Π[z(v) z(v')ᵀ] as vectors, whose inner products are the edge kernel of the relation."""

from __future__ import annotations

import numpy as np

from condrank.objective.relations import Relation


def n_product_features(relation: Relation, r: int, r_objects: int) -> int:
    """Number of product features of an edge: r r', or r(r + 1)/2 (symmetric), r(r - 1)/2 (reciprocal)."""
    return r * (r + relation.sign) // 2 if relation.sign else r * r_objects


def product_features(relation: Relation, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Features (E, p) of edges with coordinates (E, r) of their starting and (E, r') of their ending nodes.

    Ordinary: all products z_k z'_l. Symmetric and reciprocal: (z_k z'_l ± z_l z'_k)/√2 for k < l, and z_k z'_k
    (symmetric): Π[z z'ᵀ] in an orthonormal basis of the symmetric or skew matrices. O(Ep).
    """
    if not relation.sign:
        return (starts[:, :, None] * ends[:, None, :]).reshape(len(starts), -1)
    one, other, scale = _basis(relation, starts.shape[1])
    Phi = starts[:, one] * ends[:, other]
    Phi += relation.sign * (starts[:, other] * ends[:, one])
    Phi *= scale
    return Phi


def weight_matrix(relation: Relation, weights: np.ndarray, r: int, r_objects: int) -> np.ndarray:
    """W (r, r') from weights (p,) of the product features: zᵀWz' = ⟨weights, features of the edge⟩."""
    if not relation.sign:
        return weights.reshape(r, r_objects)
    one, other, scale = _basis(relation, r)
    W = np.zeros((r, r))
    W[one, other] = scale * weights
    W += relation.sign * W.T
    return W


def product_weights(relation: Relation, W: np.ndarray) -> np.ndarray:
    """Weights (p,) of the product features from W = Π[W]: the inverse of `weight_matrix`."""
    if not relation.sign:
        return W.ravel()
    one, other, scale = _basis(relation, len(W))
    return W[one, other] / np.where(one == other, 2 * scale, scale)


def _basis(relation: Relation, r: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Index pairs k ≤ l (k < l, reciprocal), and the scale of z_k z'_l ± z_l z'_k for each."""
    one, other = np.triu_indices(r, k=0 if relation.sign > 0 else 1)
    return one, other, np.where(one == other, 0.5, np.sqrt(0.5))
