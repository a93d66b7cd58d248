"""The naive twin of compared features: the whole edge kernel K̄ = K_reciprocal + Σ_f s_f(e) s_f(e') K_symmetric."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from reference import edge_kernel, loss_root


def compared_edge_kernel(K, X_first, X_second, first, second, compared):
    """K̄ between two lists of edges (sources, targets); K holds kernel values between the nodes of both lists."""
    (s, t), (s_other, t_other) = first, second
    parts = (
        K[np.ix_(s, s_other)],
        K[np.ix_(t, t_other)],
        K[np.ix_(s, t_other)],
        K[np.ix_(t, s_other)],
    )
    out = edge_kernel(*parts, "reciprocal")
    for f in compared:
        sign = np.sign(X_first[s, f] - X_first[t, f])
        sign_other = np.sign(X_second[s_other, f] - X_second[t_other, f])
        out = out + np.multiply.outer(sign, sign_other) * edge_kernel(*parts, "symmetric")
    return out


def naive_compared(K, X, edges, values, alpha, compared, loss, *, K_new=None, X_new=None, weights=None):
    """Scores between all pairs of nodes (K_new (m, n) and X_new: of new nodes) of the minimiser over observed edges."""
    K_new, X_new = (K, X) if K_new is None else (K_new, X_new)
    weights = np.ones(len(values)) if weights is None else weights
    train = compared_edge_kernel(K, X, X, edges, edges, compared)
    if loss == "logistic":
        a = _logistic(train, (1 + values) / 2, weights, alpha)
    else:
        root = loss_root(edges[0], weights, loss)
        a = root @ np.linalg.solve(root.T @ train @ root + alpha * np.eye(len(values)), root.T @ values)
    m = len(K_new)
    pairs = tuple(grid.ravel() for grid in np.meshgrid(range(m), range(m), indexing="ij"))
    return (compared_edge_kernel(K_new, X_new, X, pairs, edges, compared) @ a).reshape(m, m)


def _logistic(kernel, outcomes, weights, alpha):
    """Edge coefficients by iterated weighted least squares."""
    f = np.zeros(len(kernel))
    for _ in range(60):
        p = expit(f)
        curvature = weights * p * (1 - p)
        target = f + weights * (outcomes - p) / curvature
        a = np.linalg.solve(kernel + alpha * np.diag(1 / curvature), target)
        f = kernel @ a
    return a
