"""Logistic loss over the edges, for graphs where that is cheaper than the coordinates of an exact kernel.

K̄ is the reciprocal Kronecker kernel between the games. Then f = K̄a has ‖h‖² = aᵀK̄a, and the minimiser is
a = m (t - p)/λ. With weights w = m p (1 - p) a Newton step d solves

    (√w K̄ √w + λ I) c = (m (t - p) - λ a)/√w,    d = √w c,

the dual system of weighted least squares. No full eigendecomposition is needed, only a few eigenvectors for the
preconditioner.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.measured import (
    NEWTON_ITERATIONS_PER_ITERATION,
    NEWTON_PRECONDITIONER_BUILDS,
    NEWTON_STALE_WEIGHTS_SHARE,
    NEWTON_STEPS,
    SAMPLE_LEAST_NODES,
)
from condrank.models.edge import EdgeModel
from condrank.nodes.values import KernelValues
from condrank.objective.losses import LOGISTIC, REGRESSION
from condrank.objective.relations import RECIPROCAL
from condrank.observations import Edges
from condrank.observations.edges import all_edges
from condrank.problem.coordinates import kernel_values
from condrank.problem.problem import Problem
from condrank.products.kronecker import KroneckerEdges
from condrank.solvers.dual import DualSystem
from condrank.solvers.dual_cost import dual_flops, dual_peak, refuses_edges
from condrank.solvers.dual_plan import RankPlan, plan_preconditioner
from condrank.solvers.edge_preconditioner import EdgePreconditioner
from condrank.solvers.krylov import Operator, krylov, scale_exponent
from condrank.solvers.logistic import INNER_ITERATIONS, Newton, outcomes
from condrank.solvers.system import DEFAULTS, Cost, Options, Solution, Solver

# The inner residual that single precision can reach.
SINGLE = 1e-4


class DualLogistic(Newton):
    """Newton's method over the edges. Steps are computed in single precision, because they need not be exact.

    Parameters
    ----------
    rows : KernelValues
        Kernel values of the nodes.
    edges : Edges
        Games, with outcomes as labels: 1 for a win, 0 for a loss, ½ for a tie, or a share of wins.
    rank : int, optional
        Planned number of features of the preconditioner.
    centre : float
        Centre of the relation's scale, for the model.
    """

    def __init__(self, rows: KernelValues, edges: Edges, rank: int | None = None, centre: float = 0.0):
        self.rows = self.cols = rows
        self.offset = centre
        self._planned = rank
        self.edges = one_way(edges).astype(rows.K.dtype)
        super().__init__(self.edges.weights, self.edges.values)
        self.kernel = KroneckerEdges(RECIPROCAL, rows.K, None, self.edges)
        self._single: KroneckerEdges | None = None
        self._inner, self._tol = self.kernel, SINGLE
        self._rank: RankPlan | None = None
        self._preconditioner: EdgePreconditioner | None = None

    def solve(self, alpha: float, options: Options = DEFAULTS, rhs: np.ndarray | None = None) -> Solution:
        """Edge coefficients a for one λ > 0."""
        self._rank = self._preconditioner = None
        self._inner, self._tol = self.kernel, max(options.tol, SINGLE**2)
        # The trace bounds the largest eigenvalue: if λ is above its rounding error, single precision is enough.
        trace = 0.25 * float(self.weights @ self.kernel.diagonal())
        numbers = np.finfo(np.float32)
        if 10 * float(numbers.eps) * trace < alpha <= float(numbers.max) * float(numbers.eps) ** 2:
            self._single = self._single or self.kernel.astype(np.dtype(np.float32))
            self._inner = self._single
        return super().solve(alpha, options, rhs)

    def model(self, W: Any = None) -> EdgeModel:
        """The model. Its scores are log-odds, so the centre of the scale is not added."""
        return EdgeModel(self.rows, self.cols, self.kernel, W, offset=self.offset, logistic=True)

    def values(self, x: np.ndarray) -> np.ndarray:
        """K̄a."""
        return self.kernel.product(x)

    def gradient(self, entries: np.ndarray) -> np.ndarray:
        """The entries themselves, because K̄ cancels on both sides."""
        return entries

    def penalty(self, x: np.ndarray, f: np.ndarray) -> float:
        """aᵀK̄a."""
        return float(x.astype(np.float64, copy=False) @ f)

    def start(self, start: Any) -> np.ndarray:
        """a from coefficients of these edges, or from a sparse (n, n) array."""
        if isinstance(start, np.ndarray):
            return start
        return self.kernel.from_coefficients(start)

    def direction(self, weights: np.ndarray, gradient: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        """Conjugate gradients on the system above, with the low-rank preconditioner."""
        dtype = self._inner.K.dtype
        weights = np.maximum(weights, np.finfo(np.float32).tiny).astype(dtype)
        system = DualSystem(self._inner, REGRESSION, weights=weights)
        rhs = gradient / np.sqrt(weights)
        exponent = scale_exponent(rhs, always=True)  # so that it is representable in single precision
        precondition = self._precondition(system, alpha)
        with system.iterating():
            found = krylov(
                lambda c: system.apply(c, alpha),
                np.ldexp(rhs, -exponent).astype(dtype),
                precondition=precondition,
                tol=max(tol, SINGLE) if dtype == np.float32 else tol,
                max_iter=INNER_ITERATIONS,
            )
        return np.ldexp(system.root(found.x).astype(gradient.dtype), exponent)

    def _precondition(self, system: DualSystem, alpha: float) -> Operator | None:
        """P⁻¹ of the last step if the weights are nearly the same, otherwise a new one; None if none pays."""
        if self._rank is None:
            self._rank = plan_preconditioner(system, alpha, self._tol, NEWTON_PRECONDITIONER_BUILDS, self._planned)
        if self._rank.spectrum is None or not self._rank.rank:
            return None
        last = self._preconditioner
        if last is None or differ(last.system.weights, system.weights) > NEWTON_STALE_WEIGHTS_SHARE:
            self._preconditioner = last = EdgePreconditioner(system, self._rank.spectrum, self._rank.rank, alpha)
        return last.at(alpha)


class DualNewtonSolver(Solver):
    """Newton's method over the games, for the logistic loss with exact kernels."""

    name = "dual_newton"
    serves = ("auto", "iterative", "dual")
    losses = (LOGISTIC,)
    iterates = over_edges = True

    def refuses(self, problem: Problem) -> str | None:
        """Refuses what the dual solver refuses, and small fits, which would not gain from it."""
        if problem.settings.solver != "dual" and problem.sizes.shape[0] < SAMPLE_LEAST_NODES:
            return "a small logistic fit is solved on W"
        return refuses_edges(problem)

    def cost(self, problem: Problem) -> Cost:
        """The cost of products with the edge kernel: in single precision, except for one in each step."""
        scale, steps = NEWTON_ITERATIONS_PER_ITERATION / 2, NEWTON_STEPS
        flops = dual_flops(problem, scale, steps)
        builds = NEWTON_PRECONDITIONER_BUILDS
        return Cost(flops, lambda: dual_peak(problem, newton=True, builds=builds, least_tol=SINGLE**2))

    def reason(self, problem: Problem) -> str:
        """There is no closed form."""
        return "the logistic loss has no closed form: steps over the edges"

    def build(self, problem: Problem, coordinates: Any = None, rank: int | None = None) -> DualLogistic:
        """Compute the kernel values of the nodes, and read the games with their outcomes."""
        rows, _ = coordinates or kernel_values(problem)
        edges, centre = all_edges(problem.observed), problem.settings.centre
        return DualLogistic(rows, edges.with_values(outcomes(edges.values, centre)), rank, centre)


def one_way(edges: Edges) -> Edges:
    """Games as edges from the lower to the higher node, with both directions of a pair merged and loops dropped."""
    sources, targets = edges.sources, edges.indices
    turned, apart = sources > targets, sources != targets
    shares = np.where(turned, 1 - edges.values, edges.values)
    first, second = np.minimum(sources, targets)[apart], np.maximum(sources, targets)[apart]
    return Edges(first, second, shares[apart], edges.weights[apart], edges.shape)


def differ(one: np.ndarray, other: np.ndarray) -> float:
    """Norm of the difference relative to the norm of the second."""
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))
