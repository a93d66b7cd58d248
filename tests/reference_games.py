"""Games between twelve nodes, rankers of them, and a dense minimiser of the logistic loss."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import reference
from condrank import ConditionalRanker, RelationGraph

N = 12
GAMMA = 0.3
RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(N, 4)), RNG.normal(size=(3, 4))
EVERYONE = np.vstack([X, NEW])
# A game for some pairs, some of them more than once: who played whom, and -1, 0 or 1 for the first.
SOURCES = RNG.integers(0, N, 120)
TARGETS = (SOURCES + RNG.integers(1, N, 120)) % N
TRUE = X[:, 0] + 0.5 * X[:, 1] ** 2
OUTCOMES = np.sign(np.round(TRUE[SOURCES] - TRUE[TARGETS] + RNG.normal(size=120)))

kernels = pytest.mark.parametrize("kernel", ["linear", "rbf"])
constants = pytest.mark.parametrize("constant", [False, True])
# Newton's steps in W, and over the edges.
NEWTONS = {"primal": "newton", "dual": "dual_newton"}
solvers = pytest.mark.parametrize("solver", NEWTONS)


def values(kernel, first, second, constant):
    return reference.kernel_values(kernel, first, second, gamma=GAMMA) + constant


def naive_logistic(edges, shares, weights, alpha, kernel, constant=False):
    """Scores between all nodes of the minimiser of Σ m (log(1 + e^f) - t f) + ½ λ‖W‖² over skew W."""
    sources, targets = edges
    K, K_all = values(kernel, X, X, constant), values(kernel, EVERYONE, X, constant)
    s, Q = np.linalg.eigh(K)
    Q, s = Q[:, s > 1e-12 * s[-1]], s[s > 1e-12 * s[-1]]
    Z, Z_all = Q * np.sqrt(s), K_all @ (Q / np.sqrt(s))
    k, l = np.triu_indices(len(s), 1)  # noqa: E741
    # W = Σ θ (e_k e_lᵀ - e_l e_kᵀ)/√2, so that ‖W‖ = ‖θ‖.
    Phi = (Z[sources][:, k] * Z[targets][:, l] - Z[sources][:, l] * Z[targets][:, k]) / np.sqrt(2)

    def objective(theta):
        f = Phi @ theta
        return weights @ (np.logaddexp(0, f) - shares * f) + 0.5 * alpha * theta @ theta

    def gradient(theta):
        return Phi.T @ (weights * (expit(Phi @ theta) - shares)) + alpha * theta

    def hessian(theta):
        p = expit(Phi @ theta)
        return (Phi.T * (weights * p * (1 - p))) @ Phi + alpha * np.eye(len(theta))

    found = minimize(objective, np.zeros(len(k)), jac=gradient, hess=hessian, method="trust-exact", tol=1e-9)
    theta = found.x
    for _ in range(3):  # Newton's last steps, to full precision
        theta = theta - np.linalg.solve(hessian(theta), gradient(theta))
    assert np.abs(gradient(theta)).max() < 1e-9
    W = np.zeros((len(s), len(s)))
    W[k, l] = theta / np.sqrt(2)
    return Z_all @ (W - W.T) @ Z_all.T


def ranker(alpha=0.3, kernel="rbf", **params):
    params = {"gamma": GAMMA, "tol": 1e-10, **params}
    return ConditionalRanker("reciprocal", "logistic", alpha, kernel, **params)


def games(values=OUTCOMES, weights=None, **params):
    return RelationGraph.from_edges(X, SOURCES, TARGETS, values, weights, **params)
