"""The eigenvalues of a kernel, estimated from a sample of the nodes, and how many of them a model needs."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from condrank.base.measured import (
    CONSTANT_RIDGE_SHARE,
    CONSTANT_SAMPLE_NODES,
    SAMPLED_NODES_LEAST,
    SAMPLED_NODES_MOST,
    SAMPLED_NODES_SHARE,
)
from condrank.kernels import Kernel, read_kernel
from condrank.nodes.exact import noise_level
from condrank.nodes.similarity import NodeSimilarity, fit_widths
from condrank.nodes.store import Nodes

# If more than this share of a sample's eigenvalues is needed, the sample is too small to show how many are.
UNRESOLVED = 0.9


class KernelSample:
    """The kernel on a sample of the nodes, from which a plan estimates its eigenvalues. O(m³) for m ≤ 300 nodes.

    Parameters
    ----------
    kernel : Kernel
        The node kernel.
    nodes : Nodes of length n
        Nodes to draw from. The same nodes always give the same sample.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        Which nodes are in the sample, ascending.
    eigenvalues : ndarray of shape (m,)
        Eigenvalues of the kernel matrix of the sample, descending. Negative ones are set to zero.
    K : ndarray of shape (m, m)
        The kernel matrix of the sample.
    mean_diagonal : float
        Mean of its diagonal.
    """

    def __init__(self, kernel: Kernel, nodes: Nodes):
        self.n = len(nodes)
        m = min(self.n, max(SAMPLED_NODES_LEAST, min(SAMPLED_NODES_MOST, int(SAMPLED_NODES_SHARE * self.n))))
        self.places = np.sort(np.random.default_rng(0).permutation(self.n)[:m]) if m < self.n else np.arange(m)
        if m < self.n:
            nodes = nodes.take(self.places)
        K = finite_kernel(kernel, nodes)
        self.eigenvalues = np.linalg.eigvalsh(K)[::-1].clip(0)
        self._of_half = np.linalg.eigvalsh(K[::2, ::2])[::-1].clip(0)
        self.mean_diagonal = float(np.trace(K)) / m
        self.K = K

    def without_constant(self) -> KernelSample | None:
        """The same sample without the constant in its kernel (`constant_part`); None if it has none to speak of."""
        constant = constant_part(self.K)
        if not constant > CONSTANT_RIDGE_SHARE * self.mean_diagonal:
            return None
        other = copy(self)
        other.K = self.K - constant
        other.eigenvalues = np.linalg.eigvalsh(other.K)[::-1].clip(0)
        other.mean_diagonal = self.mean_diagonal - constant
        return other

    def spectrum(self) -> np.ndarray:
        """Approximate eigenvalues (n,) of the kernel matrix of all nodes, descending.

        The i-th eigenvalue of a sample of m nodes is about m μ_i + Σ_{j>i} μ_j. The first term grows with the sample;
        the second, the sum of all later μ, is each node's own part. Solved for μ, this gives the eigenvalues for any
        number of nodes.
        """
        n, m = self.n, len(self.eigenvalues)
        if m == n:
            return self.eigenvalues
        grown, left = np.empty(n), self.mean_diagonal
        for i, value in enumerate(self.eigenvalues):
            mu = min(max(0.0, (float(value) - left) / (m - 1)), left)
            left -= mu
            grown[i] = n * mu + left
        grown[m:] = max(0.0, n * self.mean_diagonal - float(grown[:m].sum())) / (n - m)
        return np.sort(grown)[::-1]

    def rank(self, n: int, dtype: np.dtype) -> int:
        """Approximate number of eigenvalues of n such nodes above the rounding noise of a floating type."""
        counts = [
            int(np.count_nonzero(sigma > noise_level(float(sigma[0]), dtype)))
            for sigma in (self._of_half, self.eigenvalues)
        ]
        # Each doubling of the nodes adds fewer eigenvalues than the doubling before.
        power = np.log2(max(counts[1], 1) / max(counts[0], 1))
        return min(n, round(counts[1] * (n / len(self.eigenvalues)) ** power))

    def largest(self, n: int) -> float:
        """Approximate largest eigenvalue of n such nodes."""
        return float(self.eigenvalues[0]) * n / len(self.eigenvalues)


def constant_part(K: np.ndarray) -> float:
    """The constant in a node kernel: the largest c, at least 0, for which K - c is still a kernel. O(n³), n ≤ 400.

    That is 1/(1ᵀK⁻¹1), here of a sample of the nodes. The mean of K would be too much for kernels that are wide but not
    constant: main effects would then be removed that the edge kernel does not have.
    """
    step = max(1, -(-len(K) // CONSTANT_SAMPLE_NODES))
    K = K[::step, ::step].astype(np.float64)
    np.einsum("ii->i", K)[:] += CONSTANT_RIDGE_SHARE * float(K.diagonal().mean())
    try:
        factor = np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return 0.0
    total = float((solve_triangular(factor, np.ones(len(K)), lower=True, check_finite=False) ** 2).sum())
    return 1 / total if total > 0 and np.isfinite(total) else 0.0


def finite_kernel(kernel: Kernel, nodes: Nodes) -> np.ndarray:
    """The kernel matrix in double precision; a ValueError if it, or the sum of its eigenvalues, overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        K = NodeSimilarity(kernel, nodes).similarity(None, None).astype(np.float64)
        if not (np.isfinite(K).all() and np.isfinite(len(K) * np.trace(K))):
            raise ValueError("the kernel values of the nodes overflow; scale the features (or the kernel) down")
    return K


def components_for_share(sigma: np.ndarray, share: float) -> int:
    """How many of the descending eigenvalues are needed to sum to a share of all, up to rounding."""
    total = np.cumsum(sigma)
    return min(int(np.searchsorted(total, share * total[-1] * (1 - 1e-12))) + 1, len(sigma))


def components_for_alpha(sigma: np.ndarray, alpha: float) -> int:
    """How many of the descending eigenvalues matter at λ: those with σ₁σ_i ≥ λ, at least one."""
    return max(1, int(np.searchsorted(-sigma, -alpha / float(sigma[0]), side="right")))


def count_components(kernel: Kernel, nodes: Nodes, share: float, alpha: float | None, sample: int) -> int:
    """`suggest_components` for checked arguments."""
    n, m = len(nodes), min(len(nodes), sample)
    some = nodes.take(np.sort(np.random.default_rng(0).permutation(n)[:m])) if m < n else nodes
    K = finite_kernel(kernel, some)
    sigma = np.linalg.eigvalsh(K)[::-1].clip(0) * (n / m)
    if sigma[0] <= 0:
        raise ValueError(f"the {kernel.label} kernel of the nodes has no positive eigenvalue")
    count = components_for_share(sigma, share) if alpha is None else components_for_alpha(sigma, alpha)
    return n if m < n and count > UNRESOLVED * m else count


def suggest_components(
    X: Any,
    kernel: Any = "rbf",
    *,
    gamma: float | str | None = None,
    degree: float = 3,
    coef0: float = 1,
    kernel_params: dict[str, Any] | None = None,
    share: float = 0.99,
    alpha: float | None = None,
    sample: int = 1000,
) -> int:
    """How many components a kernel needs, from the eigenvalues of a sample of the nodes. O(sample³).

    With λ, as many as matter at this λ. Without, as many as keep a share of the kernel's trace, which is fewer than a
    small λ needs.

    Parameters
    ----------
    X : RelationGraph, dict of views, or array-like or scipy sparse array of shape (n_nodes, n_features)
        Nodes (for a graph, its conditioning nodes); a kernel matrix for ``kernel="precomputed"``.
    kernel, gamma, degree, coef0, kernel_params
        As for `ConditionalRanker`.
    share : float
        Share of the trace to keep, within 0..1, if no ``alpha`` is given.
    alpha : float, optional
        λ. On a complete graph it halves the contribution of a pair of coordinates with σσ' = λ. So coordinates whose
        eigenvalue times the largest is below λ contribute little.
    sample : int
        Most nodes to look at. In a test, a sample of half the nodes gave about 20 % too few components. If the sample
        is too small to show how many are needed, the number of nodes is returned.

    Returns
    -------
    int
        Number of components for ``ConditionalRanker(n_components=...)``, with ``approximation="nystroem"``.

    Examples
    --------
    >>> import numpy as np
    >>> from condrank import suggest_components
    >>> X = np.random.default_rng(0).standard_normal((2000, 3))
    >>> suggest_components(X, "linear")
    3
    """
    from condrank.base.checks import check_count, check_number
    from condrank.nodes.reading import read_nodes

    if check_number("share", share, above=0.0) > 1:
        raise ValueError(f"share must be at most 1, got {share!r}")
    nodes = getattr(X, "nodes", None)
    nodes = nodes if isinstance(nodes, Nodes) else read_nodes(X, "X")
    node_kernel = fit_widths(read_kernel(kernel, gamma, degree, coef0, kernel_params), nodes)
    alpha = None if alpha is None else check_number("alpha", alpha, above=0.0)
    return count_components(node_kernel, nodes, share, alpha, check_count("sample", sample, SAMPLED_NODES_LEAST))
