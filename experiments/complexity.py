"""Regression against ranking in the paper's theory: the plain and the block-centred edge kernel side by side.

The paper shows that the ranking loss is regression with the block-centred kernel L K̄ L. L subtracts the mean of each
conditioning node's block of edges. The paper compares error bounds that grow with κ = sup k(e, e).

Erratum: the paper says that κ is lower for the block-centred kernel. That does not hold in general. A node far from the
mean of the others can have a larger squared norm after centring than before. The ratio is at most 4, because an edge
minus the mean of its block is at most twice as long as the longest edge. It is at most 2 where no entry of the edge
kernel is negative. L is a projection, so two things do hold: the trace never grows, and no eigenvalue grows. Therefore
the effective dimension never grows either.
"""

from __future__ import annotations

from collections.abc import Sequence
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
        Σ μ/(μ + α) over the eigenvalues μ: about how many free parameters a fit with this α has.
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
        Relation of the edge kernel.
    alpha : float
        Regularisation of the effective dimension.
    n_queries, n_objects : int
        Number of conditioning nodes and of objects; equal for one domain.
    plain, centred : KernelComplexity
        Complexity of K̄ (regression) and of L K̄ L (ranking).
    """

    relation: Relation
    alpha: float
    n_queries: int
    n_objects: int
    plain: KernelComplexity
    centred: KernelComplexity

    @property
    def trace_ratio(self) -> float:
        """Trace of the centred kernel divided by the trace of the plain one; never above 1."""
        return _ratio(self.centred.trace, self.plain.trace)

    @property
    def kappa_ratio(self) -> float:
        """κ of the centred kernel divided by κ of the plain one; up to 4, though the paper says that it is below 1."""
        return _ratio(self.centred.kappa, self.plain.kappa)

    @property
    def effective_dimension_ratio(self) -> float:
        """Effective dimension of the centred kernel divided by that of the plain one; never above 1."""
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
        """The three numbers side by side as text, and what they mean."""
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
            "The ranking loss is regression with the block-centred kernel. Centring never makes the trace larger.",
        ]
        if self.kappa_ratio > 1 + 1e-9:
            lines.append(
                "κ does grow here: the paper says that centring lowers it, but that is not always true (erratum)."
            )
        else:
            lines.append("κ does not grow here, but it can, contrary to the paper (erratum).")
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

    The parameters are the same as in :func:`compare_over_alphas`, with one ``alpha``.
    """
    return compare_over_alphas(K, [alpha], relation=relation, K_objects=K_objects)[0]


def compare_over_alphas(
    K: ArrayLike,
    alphas: Sequence[float] | NDArray[np.float64],
    *,
    relation: Relation = "ordinary",
    K_objects: ArrayLike | None = None,
) -> list[LossComparison]:
    """Trace, κ and effective dimension of the edge kernel K̄ and of its block-centred form L K̄ L, for each alpha.

    The n²×n² kernels are never formed. With eigenvalues σ of K, C the centring matrix and g the eigenvalues
    of C K C:

    - ordinary: eigenvalues σ_i σ_j and σ_i g_j, diagonals K_ii K_jj and K_ii (CKC)_jj;
    - symmetric (s = 1) and reciprocal (s = -1): eigenvalues σ_i σ_j, i ≤ j or i < j; diagonals ½(K_ii K_jj +
      s K_ij²) and ½(K_ii (CKC)_jj + s (KC)_ij²). In the space of symmetric or skew matrices, the centred kernel
      is the plain one minus a term of rank n. Woodbury's identity then gives the effective dimension from one
      n×n system, the same as in the closed form of symmetric and reciprocal ranking.

    Cost O(n³ + m³), and for each alpha O(n m) (ordinary) or O(n³); memory O(n² + m² + n m). Centring never makes
    the trace or the effective dimension larger. It can make κ larger (see the erratum in the module's docstring).

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel matrix of the nodes (two domains: of the conditioning nodes), symmetric positive semi-definite.
    alphas : sequence of float
        Regularisation λ of the paper, positive. For the symmetric and reciprocal relation the effective
        dimension of the centred kernel loses digits if alpha is below about 1e-12 times the largest squared
        eigenvalue.
    relation : {"ordinary", "symmetric", "reciprocal"}
        Which edge kernel.
    K_objects : array of shape (m, m), optional
        Kernel matrix of the objects, for two domains; ordinary relation only.

    Returns
    -------
    list of LossComparison
        One for each alpha, in the same order.
    """
    if relation not in get_args(Relation):
        raise ValueError(f"relation must be one of {', '.join(map(repr, get_args(Relation)))}, got {relation!r}.")
    for alpha in alphas:
        if not isinstance(alpha, (int, float, np.number)) or not 0 < float(alpha) < np.inf:
            raise ValueError(f"alpha must be a positive finite number, got {alpha!r}.")
    if K_objects is not None and relation != "ordinary":
        raise ValueError(f'K_objects (two domains) needs relation="ordinary", got relation={relation!r}.')
    K = _kernel("K", K)
    G = K if K_objects is None else _kernel("K_objects", K_objects)
    values = [float(alpha) for alpha in alphas]
    if relation == "ordinary":
        found = _ordinary(K, G, values)
    else:
        found = _one_sign(K, values, 1.0 if relation == "symmetric" else -1.0)
    return [
        LossComparison(relation, alpha, len(K), len(G), plain, centred)
        for alpha, (plain, centred) in zip(values, found, strict=True)
    ]


def _ordinary(
    K: NDArray[np.float64], G: NDArray[np.float64], alphas: list[float]
) -> list[tuple[KernelComplexity, KernelComplexity]]:
    """Plain and centred complexity of the ordinary edge kernel, for each alpha."""
    sigma = _above_noise(np.linalg.eigvalsh(K))

    def complexities(objects: NDArray[np.float64]) -> list[KernelComplexity]:
        mu = np.outer(sigma, _above_noise(np.linalg.eigvalsh(objects), size=float(np.trace(G))))
        trace = float(np.trace(K) * np.trace(objects))
        kappa = float(np.diag(K).max() * np.diag(objects).max().clip(0))
        return [KernelComplexity(trace, kappa, float(np.sum(mu / (mu + alpha)))) for alpha in alphas]

    return list(zip(complexities(G), complexities(_centred(_centred(G).T)), strict=True))


def _one_sign(K: NDArray[np.float64], alphas: list[float], s: float) -> list[tuple[KernelComplexity, KernelComplexity]]:
    """Plain and centred complexity of the symmetric (s = 1) or reciprocal (s = -1) edge kernel, for each alpha."""
    KC = _centred(K)
    plain, centred = (
        (np.outer(np.diag(K), np.diag(right)) + s * cross**2).clip(0) / 2
        for right, cross in ((K, K), (_centred(KC.T), KC))
    )
    sigma, Q = np.linalg.eigh(K)
    ones = Q.sum(axis=0)[len(sigma) - len(_above_noise(sigma)) :]
    sigma = _above_noise(sigma)
    found = []
    for alpha in alphas:
        before, after = _dimensions(sigma, ones, len(K), alpha, s)
        found.append(
            (
                KernelComplexity(float(plain.sum()), float(plain.max()), before),
                KernelComplexity(float(centred.sum()), float(centred.max()), after),
            )
        )
    return found


def _dimensions(
    sigma: NDArray[np.float64], ones: NDArray[np.float64], n: int, alpha: float, s: float
) -> tuple[float, float]:
    """Effective dimension of the plain and of the centred kernel; ``ones`` is 1 in the eigenvectors of K."""
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
    return plain, float(np.clip(plain - loss, 0.0, plain))


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
    # If the plain kernel is zero (one node, reciprocal), the centred one is too: nothing changed.
    return centred / plain if plain > 0 else 1.0
