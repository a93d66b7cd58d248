"""How fast the eigenvalues of a kernel decay, told from a sample of the nodes, and how many of them are worth it."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.measured import SAMPLED_NODES_LEAST, SAMPLED_NODES_MOST, SAMPLED_NODES_SHARE
from condrank.nodes.exact import noise_level
from condrank.nodes.kernels import NodeKernel
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.store import Nodes

# Where more than this share of a sample's eigenvalues is wanted, the sample does not show where they end.
UNRESOLVED = 0.9


class KernelSample:
    """The kernel of a sample of the nodes: what a plan knows of the kernel's eigenvalues. O(m³) for m ≤ 300 nodes.

    Parameters
    ----------
    kernel : NodeKernel
        The node kernel.
    nodes : Nodes of length n
        Nodes to draw from; the sample is the same each time.

    Attributes
    ----------
    eigenvalues : ndarray of shape (m,)
        Of the kernel matrix of the sample, descending, negative ones as zero.
    """

    def __init__(self, kernel: NodeKernel, nodes: Nodes):
        self.n = len(nodes)
        m = min(self.n, max(SAMPLED_NODES_LEAST, min(SAMPLED_NODES_MOST, int(SAMPLED_NODES_SHARE * self.n))))
        if m < self.n:
            nodes = nodes.take(np.sort(np.random.default_rng(0).permutation(self.n)[:m]))
        K = NodeSimilarity(kernel, nodes).similarity(None, None).astype(np.float64)
        self.eigenvalues = np.linalg.eigvalsh(K)[::-1].clip(0)
        self._of_half = np.linalg.eigvalsh(K[::2, ::2])[::-1].clip(0)
        self._mean_diagonal = float(np.trace(K)) / m

    def spectrum(self) -> np.ndarray:
        """Eigenvalues (n,), descending, that the kernel matrix of all nodes has, approximately.

        The i-th of a sample of m is about m μ_i + Σ_{j>i} μ_j: it grows with the sample except for each node's own
        part, the mass of all eigenvalues that follow. Solved for μ, this gives the eigenvalues at any size.
        """
        n, m = self.n, len(self.eigenvalues)
        if m == n:
            return self.eigenvalues
        grown, left = np.empty(n), self._mean_diagonal
        for i, value in enumerate(self.eigenvalues):
            mu = min(max(0.0, (float(value) - left) / (m - 1)), left)
            left -= mu
            grown[i] = n * mu + left
        grown[m:] = max(0.0, n * self._mean_diagonal - float(grown[:m].sum())) / (n - m)
        return np.sort(grown)[::-1]

    def rank(self, n: int, dtype: np.dtype) -> int:
        """How many eigenvalues of n such nodes are above the rounding noise of a floating type, approximately."""
        counts = [
            int(np.count_nonzero(sigma > noise_level(float(sigma[0]), dtype)))
            for sigma in (self._of_half, self.eigenvalues)
        ]
        # Each doubling of the nodes adds less than the one before.
        power = np.log2(max(counts[1], 1) / max(counts[0], 1))
        return min(n, round(counts[1] * (n / len(self.eigenvalues)) ** power))

    def largest(self, n: int) -> float:
        """The largest eigenvalue of n such nodes, approximately."""
        return float(self.eigenvalues[0]) * n / len(self.eigenvalues)


def components_for_share(sigma: np.ndarray, share: float) -> int:
    """The fewest of the descending eigenvalues that sum to a share of all, up to rounding."""
    total = np.cumsum(sigma)
    return min(int(np.searchsorted(total, share * total[-1] * (1 - 1e-12))) + 1, len(sigma))


def components_for_alpha(sigma: np.ndarray, alpha: float) -> int:
    """How many of the descending eigenvalues λ lets be seen: those with σ₁σ_i ≥ λ, at least one."""
    return max(1, int(np.searchsorted(-sigma, -alpha / float(sigma[0]), side="right")))


def count_components(kernel: NodeKernel, nodes: Nodes, share: float, alpha: float | None, sample: int) -> int:
    """`suggest_components` for checked arguments."""
    n, m = len(nodes), min(len(nodes), sample)
    some = nodes.take(np.sort(np.random.default_rng(0).permutation(n)[:m])) if m < n else nodes
    K = NodeSimilarity(kernel, some).similarity(None, None).astype(np.float64)
    sigma = np.linalg.eigvalsh(K)[::-1].clip(0) * (n / m)
    if sigma[0] <= 0:
        raise ValueError(f"the {kernel.label} kernel of the nodes has no positive eigenvalue")
    count = components_for_share(sigma, share) if alpha is None else components_for_alpha(sigma, alpha)
    return n if m < n and count > UNRESOLVED * m else count


def suggest_components(
    X: Any,
    kernel: Any = "rbf",
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1,
    kernel_params: dict[str, Any] | None = None,
    share: float = 0.99,
    alpha: float | None = None,
    sample: int = 1000,
) -> int:
    """How many components a kernel needs, from the eigenvalues of a sample of the nodes. O(sample³).

    With λ, as many as it lets the solution see; without, as many as keep a share of the kernel's trace, which is fewer
    than a small λ needs.

    Parameters
    ----------
    X : RelationGraph, or array-like or scipy sparse array of shape (n_nodes, n_features)
        Nodes (of a graph its conditioning nodes); a kernel matrix for ``kernel="precomputed"``.
    kernel, gamma, degree, coef0, kernel_params
        As for `ConditionalRanker`.
    share : float
        Share of the trace to keep, within 0..1, where no ``alpha`` is given.
    alpha : float, optional
        λ: on a complete graph it halves what a pair of coordinates with σσ' = λ contributes, so that those whose
        eigenvalue times the largest is below λ hardly count.
    sample : int
        Most nodes to look at. A sample of half the nodes was found to tell some 20 % too few; where it does not show
        an end of the eigenvalues, the number of nodes comes back.

    Returns
    -------
    int
        For ``ConditionalRanker(n_components=...)``, with Nyström's approximation.

    Examples
    --------
    >>> import numpy as np
    >>> from condrank import suggest_components
    >>> X = np.random.default_rng(0).standard_normal((2000, 3))
    >>> suggest_components(X, "linear")
    3
    """
    from condrank.base.arrays import check_features
    from condrank.base.checks import check_count, check_number

    if check_number("share", share, above=0.0) > 1:
        raise ValueError(f"share must be at most 1, got {share!r}")
    nodes = getattr(X, "nodes", None)
    nodes = nodes if isinstance(nodes, Nodes) else Nodes(check_features(X, "X"))
    node_kernel = NodeKernel(kernel, gamma, degree, coef0, kernel_params or {})
    alpha = None if alpha is None else check_number("alpha", alpha, above=0.0)
    return count_components(node_kernel, nodes, share, alpha, check_count("sample", sample, SAMPLED_NODES_LEAST))
