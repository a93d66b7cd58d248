"""Logistic loss (Bradley–Terry with features) for reciprocal relations: P(v beats v') = sigmoid(z(v)ᵀ W z(v')).

Minimises Σ m (softplus(f) - t f) + ½ λ‖W‖² over skew-symmetric W, f the values at the observed edges and t in [0, 1]
their outcomes, by Newton's method: each step is the weighted least squares of an incomplete graph, solved by the same
preconditioned iteration.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from condrank.solvers.krylov import krylov
from condrank.solvers.preconditioned import CompleteInverse, PrimalSystem
from condrank.solvers.solution import Iteration, Solution

INNER_ITERATIONS = 1000  # of each Newton step


class LogisticSystem:
    """Newton's method around the products of a `PrimalSystem`.

    Parameters
    ----------
    system : PrimalSystem
        Made with the regression loss; its labels are not used.
    outcomes : ndarray of shape (n_pairs,)
        1 for a win, 0 for a loss, ½ for a tie, or a share of wins.
    """

    def __init__(self, system: PrimalSystem, outcomes: np.ndarray):
        self.system, self.outcomes = system, outcomes
        self.rows, self.cols = system.rows, system.cols

    def solve(self, alpha: float, iteration: Iteration) -> Solution:
        """W for one λ > 0, to a gradient of tol relative to that at W = 0."""
        system, m = self.system, self.system.weights
        W = np.zeros((len(self.rows.sigma),) * 2, dtype=system.Z.dtype) if iteration.start is None else iteration.start
        f = system.values(W)
        scale = float(np.linalg.norm(system.reduce(m * (self.outcomes - 0.5))))
        if scale == 0:
            return Solution(np.zeros_like(W), 0, True)
        tol = max(iteration.tol, 50 * float(np.finfo(W.dtype).eps))
        for step in range(1, iteration.max_iter + 1):
            p = expit(f)
            gradient = system.reduce(m * (self.outcomes - p)) - alpha * W
            size = float(np.linalg.norm(gradient)) / scale
            if size <= tol:
                return Solution(W, step - 1, True)
            direction = self._newton_direction(m * p * (1 - p), gradient, alpha, min(0.1, size))
            W, f = self._search(W, f, direction, alpha)
            if iteration.watch is not None and iteration.watch(step, W):
                return Solution(W, step, False)
        return Solution(W, iteration.max_iter, False)

    def _newton_direction(self, weights: np.ndarray, gradient: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        """Solve (Π[Zᵀ(weights ∘ ZWZᵀ)Z] + λ) W = gradient, as far as this Newton step deserves."""
        system = self.system
        n, m = system.edges.shape
        density = max(float(weights.sum(dtype=np.float64) / (n * m)), float(np.finfo(np.float32).tiny))
        inverse = CompleteInverse(system.relation, "regression", self.rows, self.cols, alpha / density)
        return krylov(
            lambda W: system.reduce(weights * system.values(W)) + alpha * W,
            gradient,
            precondition=lambda R: inverse(R) / density,
            tol=tol,
            max_iter=INNER_ITERATIONS,
        ).x

    def _search(
        self, W: np.ndarray, f: np.ndarray, direction: np.ndarray, alpha: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The longest step among 1, ½, ¼, … that does not raise the objective beyond its rounding."""
        change = self.system.values(direction)
        before = self._objective(W, f, alpha)
        bound = before + 10 * float(np.finfo(W.dtype).eps) * abs(before)
        step = 1.0
        while step > 1e-10 and self._objective(W + step * direction, f + step * change, alpha) > bound:
            step /= 2
        return W + step * direction, f + step * change

    def _objective(self, W: np.ndarray, f: np.ndarray, alpha: float) -> float:
        f = f.astype(np.float64, copy=False)
        losses = np.logaddexp(0, f) - self.outcomes * f
        return float(self.system.weights @ losses) + 0.5 * alpha * float(np.linalg.norm(W)) ** 2
