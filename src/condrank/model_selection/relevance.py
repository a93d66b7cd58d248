"""Learns feature weights by descent on a held-out loss (automatic relevance determination), for RBF and Laplacian.

The loss of a model on held-out nodes is differentiated through the fit. Let W be the solution of (H + λ) W = R, G the
derivative of the loss in W, and V = (H + λ)⁻¹ H G. A change dK of the training kernel changes the loss by
-⟨V, dK W K + K W dK⟩, and a change dK' of the kernel of the held-out nodes by ⟨slope, dK' W K' + K' W dK'⟩, in dual
coordinates. So one more solve gives the derivatives for all features at once, and for λ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics.pairwise import manhattan_distances

from condrank.fitting.reading import read_settings
from condrank.graph import RelationGraph
from condrank.objective.losses import REGRESSION
from condrank.objective.relations import SYMMETRIC
from condrank.problem.problem import Problem
from condrank.products.compared import compared_values, multiply_by_signs
from condrank.solvers.primal import PrimalSolver
from condrank.solvers.system import Options

KERNELS = ("rbf", "laplacian")
# Relative residuals of the fit and of the solve for the derivative. With looser ones the derivatives are wrong.
TOLERANCES = 1e-4, 1e-5
# Width of the smoothed step of the rank loss, in standard deviations of the scores.
SMOOTHING = 0.25
# Adam's learning rate for the logarithms, and its two decay rates.
RATE, MEMORY, MEMORY_OF_SQUARES = 0.1, 0.9, 0.95


def learn_weights(ranker: Any, splits: Iterable[tuple[RelationGraph, RelationGraph]]) -> Any:
    """A clone of the ranker with feature weights and λ that lower the smoothed rank loss, by one step per split.

    They are the geometric mean over the last half of the steps, which averages out the noise of single splits.
    """
    theta = mean = square = np.empty(0)
    visited = []
    for step, (train, test) in enumerate(splits, start=1):
        if step == 1:
            weights = np.ones(train.n_features_in_) if ranker.feature_weights is None else ranker.feature_weights
            theta = np.log(np.append(weights, ranker.alpha))
            mean, square = np.zeros_like(theta), np.zeros_like(theta)
        _, slope = held_out_slope(_at(ranker, theta), train, test)
        mean = MEMORY * mean + (1 - MEMORY) * slope
        square = MEMORY_OF_SQUARES * square + (1 - MEMORY_OF_SQUARES) * slope**2
        size = np.sqrt(square / (1 - MEMORY_OF_SQUARES**step)) + np.finfo(float).tiny
        theta = theta - RATE * (mean / (1 - MEMORY**step)) / size
        visited.append(theta)
    return _at(ranker, np.mean(visited[len(visited) // 2 :], axis=0))


def _at(ranker: Any, theta: np.ndarray) -> Any:
    weights = np.exp(theta)
    return changed(ranker, feature_weights=weights[:-1], alpha=float(weights[-1]))


def changed(ranker: Any, **params: Any) -> Any:
    """A clone of a ranker with some parameters changed."""
    fresh: Any = clone(ranker)
    return fresh.set_params(**params)


def held_out_slope(ranker: Any, train: RelationGraph, test: RelationGraph) -> tuple[float, np.ndarray]:
    """Smoothed rank loss on held-out nodes, and its derivatives in the logarithms of the feature weights and of λ.

    Costs two iterative solves and O(n²d). The loss "logistic" is replaced by "regression".

    Returns
    -------
    loss : float
    slope : ndarray of shape (n_features + 1,)
    """
    settings = read_settings(ranker, train)
    if not settings.loss.is_quadratic:
        settings = replace(settings, loss=REGRESSION)
    leaf: Any = settings.kernel.body
    if leaf.name not in KERNELS or settings.prior_weight or settings.approximation is not None:
        raise ValueError(f"feature weights are learned for exact kernels {list(KERNELS)} without a prior")
    system = PrimalSolver().build(Problem(train, settings))
    rows, alpha = system.rows, settings.alpha
    W = system.solve(alpha, Options(tol=TOLERANCES[0])).W
    model = system.model(W)
    scores = np.concatenate([block for _, block in model.blocks(test.nodes, test.nodes)])
    loss, slope = smooth_rank_loss(test.conditioned(ranker.rank_by).observed.to_dense(), scores)
    turned = [slope, *(multiply_by_signs(slope.copy(), x, x) for x in compared_values(test.nodes, settings.compared))]
    Z = rows.transform(test.nodes)
    pulled = [Z.T @ (part @ Z) for part in turned]
    pulled = [settings.relation.project(pulled[0]), *(SYMMETRIC.project(part) for part in pulled[1:])]
    G = np.stack(pulled) if settings.compared else pulled[0]
    V = system.solve(alpha, Options(tol=TOLERANCES[1]), system.apply(G, 0.0)).W

    P = rows.dual_basis()
    K, K_test = rows.similarity(None, None), rows.similarity(test.nodes, None)
    dK, dK_test = np.zeros_like(K), np.zeros_like(K_test)
    blocks = (W, V) if settings.compared else (W[None], V[None])
    for part, of_W, of_V in zip(turned, *blocks, strict=True):
        A, U = (P @ of_W) @ P.T, (P @ of_V) @ P.T
        KA, KAt = K @ A, K @ A.T
        dK -= U @ KAt + U.T @ KA
        dK_test += part @ (K_test @ A.T) + part.T @ (K_test @ A)
    dK *= K - settings.kernel.constant
    dK_test *= K_test - settings.kernel.constant
    nodes, others = (leaf.weighted(graph.nodes.view(leaf.view).rows) for graph in (train, test))
    gamma = leaf.gamma or 1.0 / nodes.shape[1]
    of_features = [
        _distance_slope(leaf.name, nodes[:, [f]], nodes[:, [f]], dK)
        + _distance_slope(leaf.name, others[:, [f]], nodes[:, [f]], dK_test)
        for f in range(nodes.shape[1])
    ]
    return loss, np.append(-gamma * np.array(of_features), -float(np.vdot(G - V, W)))


def _distance_slope(kernel: Any, x: np.ndarray, y: np.ndarray, dK: np.ndarray) -> float:
    """⟨dK, Δ⟩ for the derivative Δ of the exponent in the logarithm of a weight: |x - y|, or 2(x - y)² for RBF."""
    distance = manhattan_distances(x, y)
    if kernel == "rbf":
        distance *= 2 * distance
    return float(np.vdot(distance, dK))


def smooth_rank_loss(truth: np.ndarray, scores: np.ndarray) -> tuple[float, np.ndarray]:
    """Rank loss with a sigmoid instead of the step of each pair, pooled over rows, and its slope in the scores.

    O(m²) for a row with m observed objects. Truth is NaN for pairs that were not observed.
    """
    known = ~np.isnan(truth)
    width = SMOOTHING * float(scores[known].std()) or 1.0
    total, n_pairs = 0.0, 0
    slope = np.zeros_like(scores)
    for i, seen in enumerate(known):
        y, f = truth[i, seen], scores[i, seen]
        wrong = np.where(y[:, None] > y, expit((f - f[:, None]) / width), 0.0)
        total += float(wrong.sum())
        n_pairs += int(np.count_nonzero(y[:, None] > y))
        steep = np.where(y[:, None] > y, wrong * (1 - wrong), 0.0) / width
        slope[i, seen] = steep.sum(axis=0) - steep.sum(axis=1)
    return total / max(n_pairs, 1), slope / max(n_pairs, 1)
