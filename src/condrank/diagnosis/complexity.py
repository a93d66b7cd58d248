"""Regression against ranking in the paper's theory: the plain and the block-centred edge kernel side by side.

The paper shows that the ranking loss is regression with the block-centred kernel L K̄ L, where L takes the
mean out of each conditioning node's block, and compares error bounds that grow with κ = sup k(e, e).

Erratum: the paper says that κ is lower for the block-centred kernel. That is not so in general. A node far
from the mean of the others can have a larger centred than plain squared norm: ratios up to 2 were seen for
RBF kernels, up to 4 for linear ones. What does hold, because L is a projection: the trace never grows, and no
eigenvalue does, so that the effective dimension never grows either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Relation = Literal["ordinary", "symmetric", "reciprocal"]


@dataclass(frozen=True)
class KernelComplexity:
    """Size of an edge kernel over all edges of the given nodes.

    Attributes
    ----------
    trace : float
        Sum of the eigenvalues, Σ_e k(e, e).
    kappa : float
        Largest diagonal entry, max_e k(e, e): the κ of the error bound, over the given nodes.
    effective_dimension : float
        Σ μ/(μ + α) over the eigenvalues μ: about how many edge labels the fit with this α uses up.
    """

    trace: float
    kappa: float
    effective_dimension: float


@dataclass(frozen=True)
class LossComparison:
    """The edge kernel of the regression loss against the block-centred one of the ranking loss.

    Attributes
    ----------
    relation : {"ordinary", "symmetric", "reciprocal"}
        Relation the edge kernel is for.
    alpha : float
        Regularisation of the effective dimension.
    n_queries, n_objects : int
        Conditioning nodes and objects; equal for one domain.
    plain, centred : KernelComplexity
        Of K̄ (regression) and of L K̄ L (ranking).
    """

    relation: Relation
    alpha: float
    n_queries: int
    n_objects: int
    plain: KernelComplexity
    centred: KernelComplexity

    @property
    def trace_ratio(self) -> float:
        """Trace of the centred kernel over that of the plain one; never above 1."""
        return _ratio(self.centred.trace, self.plain.trace)

    @property
    def kappa_ratio(self) -> float:
        """κ of the centred kernel over that of the plain one; may exceed 1, against what the paper says."""
        return _ratio(self.centred.kappa, self.plain.kappa)

    @property
    def effective_dimension_ratio(self) -> float:
        """Effective dimension of the centred kernel over that of the plain one; never above 1."""
        return _ratio(self.centred.effective_dimension, self.plain.effective_dimension)

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain Python objects, ready for JSON."""
        return {
            "relation": self.relation,
            "alpha": self.alpha,
            "n_queries": self.n_queries,
            "n_objects": self.n_objects,
            "plain": vars(self.plain).copy(),
            "centred": vars(self.centred).copy(),
            "trace_ratio": self.trace_ratio,
            "kappa_ratio": self.kappa_ratio,
            "effective_dimension_ratio": self.effective_dimension_ratio,
        }

    def summary(self) -> str:
        """Text for people: the three numbers side by side, and what they do and do not say."""
        rows = [
            ("trace", self.plain.trace, self.centred.trace, self.trace_ratio),
            ("κ", self.plain.kappa, self.centred.kappa, self.kappa_ratio),
            (
                "effective dimension",
                self.plain.effective_dimension,
                self.centred.effective_dimension,
                self.effective_dimension_ratio,
            ),
        ]
        lines = [
            f"Edge kernel of {self.n_queries:,} × {self.n_objects:,} edges, "
            f"{self.relation} relation, alpha = {self.alpha:g}",
            f"  {'':<20} {'regression':>12} {'ranking':>12} {'ratio':>7}",
            *(f"  {name:<20} {plain:>12.6g} {centred:>12.6g} {ratio:>7.3f}" for name, plain, centred, ratio in rows),
            "The ranking loss is regression with the block-centred kernel, whose trace never grows.",
        ]
        if self.kappa_ratio > 1 + 1e-9:
            lines.append("κ does grow here: the paper says that centring lowers it, which is not always so (erratum).")
        else:
            lines.append("κ does not grow here, but contrary to the paper it can (erratum).")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


def compare_losses(
    K: ArrayLike,
    *,
    alpha: float = 1.0,
    relation: Relation = "ordinary",
    K_objects: ArrayLike | None = None,
) -> LossComparison:
    """Trace, κ and effective dimension of the edge kernel K̄ and of its block-centred form L K̄ L, exactly.

    The n²×n² kernels are never formed. With eigenvalues σ of K, C the centring matrix and g the eigenvalues
    of C K C:

    - ordinary: eigenvalues σ_i σ_j and σ_i g_j, diagonals K_ii K_jj and K_ii (CKC)_jj;
    - symmetric (s = 1) and reciprocal (s = -1): eigenvalues σ_i σ_j, i ≤ j or i < j; diagonals ½(K_ii K_jj +
      s K_ij²) and ½(K_ii (CKC)_jj + s (KC)_ij²). The centred kernel, seen in the space of symmetric or skew
      matrices, is the plain one minus a term of rank n, so that Woodbury's identity gives the effective
      dimension from one n×n system, the one of the closed form of symmetric and reciprocal ranking.

    Cost O(n³ + m³), memory O(n² + m² + n m). The trace and the effective dimension never grow by centring; κ
    may (see the module's erratum).

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel matrix of the nodes (two domains: of the conditioning nodes), symmetric positive semi-definite.
    alpha : float
        Regularisation λ of the paper, positive. For the symmetric and reciprocal relation the effective
        dimension of the centred kernel loses digits when alpha is below about 1e-12 times the largest squared
        eigenvalue.
    relation : {"ordinary", "symmetric", "reciprocal"}
        Which edge kernel.
    K_objects : array of shape (m, m), optional
        Kernel matrix of the objects, for two domains; ordinary relation only.

    Returns
    -------
    LossComparison
    """
    if relation not in get_args(Relation):
        raise ValueError(f"relation must be one of {', '.join(map(repr, get_args(Relation)))}, got {relation!r}.")
    if not isinstance(alpha, (int, float, np.number)) or not 0 < float(alpha) < np.inf:
        raise ValueError(f"alpha must be a positive finite number, got {alpha!r}.")
    if K_objects is not None and relation != "ordinary":
        raise ValueError(f'K_objects (two domains) needs relation="ordinary", got relation={relation!r}.')
    K = _kernel("K", K)
    if relation == "ordinary":
        G = K if K_objects is None else _kernel("K_objects", K_objects)
        plain, centred = _ordinary(K, G, float(alpha))
        n_objects = len(G)
    else:
        plain, centred = _one_sign(K, float(alpha), 1.0 if relation == "symmetric" else -1.0)
        n_objects = len(K)
    return LossComparison(relation, float(alpha), len(K), n_objects, plain, centred)


def _ordinary(
    K: NDArray[np.float64], G: NDArray[np.float64], alpha: float
) -> tuple[KernelComplexity, KernelComplexity]:
    sigma = _above_noise(np.linalg.eigvalsh(K))

    def complexity(objects: NDArray[np.float64]) -> KernelComplexity:
        mu = np.outer(sigma, _above_noise(np.linalg.eigvalsh(objects), size=float(np.trace(G))))
        return KernelComplexity(
            float(np.trace(K) * np.trace(objects)),
            float(np.diag(K).max() * np.diag(objects).max().clip(0)),
            float(np.sum(mu / (mu + alpha))),
        )

    return complexity(G), complexity(_centred(_centred(G).T))


def _one_sign(K: NDArray[np.float64], alpha: float, s: float) -> tuple[KernelComplexity, KernelComplexity]:
    """Both complexities of the symmetric (s = 1) or reciprocal (s = -1) edge kernel."""
    n = len(K)
    KC = _centred(K)
    diagonals = [
        (np.outer(np.diag(K), np.diag(right)) + s * cross**2).clip(0) / 2
        for right, cross in ((K, K), (_centred(KC.T), KC))
    ]
    sigma, Q = np.linalg.eigh(K)
    ones = Q.sum(axis=0)[len(sigma) - len(_above_noise(sigma)) :]
    sigma = _above_noise(sigma)
    products = np.outer(sigma, sigma)
    inverse = 1.0 / (products + alpha)
    plain = float(np.sum((products * inverse)[np.triu_indices(len(sigma), 0 if s > 0 else 1)]))

    # In coordinates with ZᵀZ = diag(σ), b = Zᵀ1 = √σ·ones, the centred operator on W = ±Wᵀ is σσᵀ∘W - U Uᵀ W
    # with U x = Π[(√σ x) bᵀ]/√n. Woodbury: the effective dimension falls by α tr[(I - Uᵀ D⁻¹ U)⁻¹ Uᵀ D⁻² U],
    # D = σσᵀ + α.
    b2 = sigma * ones**2
    cross = sigma * ones  # √σ b
    outside = max(n - float(ones @ ones), 0.0)  # the part of 1 outside the span of K, n - Σ b²/σ
    # n (I - Uᵀ D⁻¹ U) without the cancellation of n against Σ b²σ/D, and n Uᵀ D⁻² U: n drops out.
    system = np.diag(outside + alpha * (inverse @ ones**2) + sigma * (inverse @ b2) / 2)
    system -= s / 2 * cross[:, None] * inverse * cross
    squared = inverse**2
    drop = np.diag(sigma * (squared @ b2) / 2) + s / 2 * cross[:, None] * squared * cross
    loss = alpha * float(np.trace(np.linalg.solve(system, drop))) if len(sigma) else 0.0
    dimensions = plain, float(np.clip(plain - loss, 0.0, plain))
    complexities = [
        KernelComplexity(float(diagonal.sum()), float(diagonal.max()), dimension)
        for diagonal, dimension in zip(diagonals, dimensions, strict=True)
    ]
    return complexities[0], complexities[1]


def _above_noise(eigenvalues: NDArray[Any], size: float | None = None) -> NDArray[Any]:
    """Ascending eigenvalues above the rounding error of a matrix whose largest one is about ``size``."""
    size = max(float(eigenvalues[-1]), 0.0) if size is None else size
    return eigenvalues[eigenvalues > size * len(eigenvalues) * np.finfo(float).eps]


def _centred(M: NDArray[np.float64]) -> NDArray[np.float64]:
    """M C: each row minus its mean."""
    return M - M.mean(axis=1, keepdims=True)


def _kernel(name: str, K: ArrayLike) -> NDArray[np.float64]:
    K = np.asarray(K, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.size == 0:
        raise ValueError(f"{name} must be a square kernel matrix of shape (n, n), got shape {K.shape}.")
    if not np.all(np.isfinite(K)):
        raise ValueError(f"{name} must be finite, got {int(np.sum(~np.isfinite(K)))} entries that are not.")
    size = float(np.abs(K).max())
    asymmetry = float(np.abs(K - K.T).max())
    if asymmetry > 1e-8 * size:
        raise ValueError(f"{name} must be symmetric, got entries that differ from their mirror by {asymmetry:.3g}.")
    K = (K + K.T) / 2
    lowest = float(np.linalg.eigvalsh(K)[0])
    if lowest < -1e-8 * size * len(K):
        raise ValueError(f"{name} must be positive semi-definite, got smallest eigenvalue {lowest:.3g}.")
    return K


def _ratio(centred: float, plain: float) -> float:
    # A zero plain kernel (one node, reciprocal) has a zero centred one: nothing grew, nothing shrank.
    return centred / plain if plain > 0 else 1.0
