"""Evidence of a sum of kernels on a complete graph, and its slope in the weights of the kernels and in λ.

Labels are taken as normal with covariance s(K⊗G + λI), where K = Σ w_i K_i and G are the kernels of conditioning nodes
and objects, and s is the scale with the largest likelihood. With eigenvalues σ, γ and labels Ỹ in the eigenbasis, twice
the negative logarithm is N log(Σ Ỹ²/D) + Σ c log D, D = σγᵀ + λ, up to a constant. For a symmetric or reciprocal
relation every pair of two nodes is one label: c is ½, and 1 or 0 for loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condrank.objective.relations import Relation


@dataclass(frozen=True)
class Evidence:
    """Labels of a complete graph and the kernels to weigh.

    Attributes
    ----------
    relation : Relation
        Projection of the labels.
    Y : ndarray of shape (n, m)
        Labels.
    rows, cols : list of ndarray of shape (n, n) and (m, m)
        Kernel matrices of the conditioning nodes and of the objects; the same list for one domain.
    """

    relation: Relation
    Y: np.ndarray
    rows: list[np.ndarray]
    cols: list[np.ndarray]

    @property
    def one_domain(self) -> bool:
        """Whether the objects are the conditioning nodes."""
        return self.cols is self.rows

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Negative log evidence per label, and its slope, at the logarithms of all weights and of λ.

        One eigendecomposition for each side, five products, and O(n²) for each kernel.
        """
        weights = np.exp(theta)
        p = len(self.rows)
        w, v, alpha = weights[:p], weights[p:-1], float(weights[-1])
        sigma, Q = np.linalg.eigh(_sum(w, self.rows))
        gamma, V = (sigma, Q) if self.one_domain else np.linalg.eigh(_sum(v, self.cols))
        sigma, gamma = sigma.clip(0), gamma.clip(0)
        Y = self.relation.project(Q.T @ self.Y @ V)
        D = np.multiply.outer(sigma, gamma) + alpha
        c = self._counts()
        n_labels, M = float(c.sum()), Y / D
        quadratic = float(np.vdot(Y, M))
        value = n_labels * np.log(quadratic / n_labels) + float(np.sum(c * np.log(D)))
        scale = n_labels / quadratic

        # The derivative in K is an n×n matrix, of which each kernel needs one inner product.
        inverse = c / D
        first = Q @ (scale * (M * gamma) @ M.T - np.diag(inverse @ gamma)) @ Q.T
        second = V @ (scale * (M.T * sigma) @ M - np.diag(inverse.T @ sigma)) @ V.T
        if self.one_domain:
            slopes = [-w[i] * np.vdot(K, first + second) for i, K in enumerate(self.rows)]
        else:
            slopes = [-w[i] * np.vdot(K, first) for i, K in enumerate(self.rows)]
            slopes += [-v[i] * np.vdot(K, second) for i, K in enumerate(self.cols)]
        slopes.append(-alpha * (scale * float(np.vdot(M, M)) - float(inverse.sum())))
        return value / (2 * n_labels), np.array(slopes) / (2 * n_labels)

    def _counts(self) -> np.ndarray:
        """c, how often each pair of eigenvectors counts as a label."""
        if not self.relation.sign:
            return np.ones(self.Y.shape)
        counts = np.full(self.Y.shape, 0.5)
        np.fill_diagonal(counts, 1.0 if self.relation.sign > 0 else 0.0)
        return counts


def _sum(weights: np.ndarray, kernels: list[np.ndarray]) -> np.ndarray:
    K = weights[0] * kernels[0]
    for weight, other in zip(weights[1:], kernels[1:], strict=True):
        K += weight * other
    return K
