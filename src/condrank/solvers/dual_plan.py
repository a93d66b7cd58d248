"""Decides, before any iteration, whether a preconditioner of the dual system pays, and with how many features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from condrank.base.measured import (
    AT_EDGES_FLOPS_PER_MULTIPLICATION,
    FIRST_LOOK_EIGENVECTORS,
    LOOK_LEAST_COST_RATIO,
    LOOK_LEAST_FLOPS,
    PRECONDITIONER_BUILD_FLOPS_PER_FEATURE,
    PRECONDITIONER_COST_SHARE,
    PRECONDITIONER_FREE_FEATURES,
    PRECONDITIONER_LEAST_EDGES,
    PRECONDITIONER_QR_FLOPS_PER_ENTRY,
    PRECONDITIONER_RANKS,
    PRECONDITIONER_SOLVE_FLOPS_PER_ENTRY,
    ROUND_MOST_ITERATIONS,
    SINGLE_TIME_PER_DOUBLE_TIME,
    STEP_FLOPS,
    TIMES_FLOPS_PER_MULTIPLICATION,
    UNEVEN_ITERATIONS_FACTOR,
)
from condrank.problem.expected import Expected, Strengths, dual_steps, moment_steps
from condrank.problem.known_pairs import unevenly_known
from condrank.problem.problem import n_eigenvectors
from condrank.products.cost import loops_for
from condrank.products.kronecker import KroneckerEdges
from condrank.solvers.edge_preconditioner import EdgePreconditioner, EdgeSpectrum, kronecker
from condrank.solvers.main_effects import MainEffects, main_effects_cost, n_effects, pays, rest_steps

if TYPE_CHECKING:
    from condrank.solvers.dual import DualSystem


@dataclass(frozen=True)
class RankPlan:
    """How many features the preconditioner should have, and why.

    Attributes
    ----------
    ranks : tuple of int
        Numbers of features considered; 0 means no preconditioner.
    iterations, costs : ndarray
        Expected iterations of each, and its cost in multiplications of a dense matrix product.
    rank : int
        The cheapest number of features.
    main_effects : float or None
        Expected iterations with the preconditioner of main effects if that is cheaper than any number of features.
    uneven : bool
        Pairs are known unevenly: iterations are more than those of a random sample of the pairs by a factor.
    """

    system: DualSystem
    spectrum: EdgeSpectrum | None
    alpha: float
    ranks: tuple[int, ...]
    iterations: np.ndarray
    costs: np.ndarray
    rank: int
    main_effects: float | None = None
    uneven: bool = False

    @property
    def in_single_precision(self) -> bool:
        """Whether single precision will save time: not if products are small, nor if long rounds will be cut off."""
        most = ROUND_MOST_ITERATIONS * uneven_factor(self.uneven)
        kernel, few = self.system.kernel, not self.expected > most
        return isinstance(kernel, KroneckerEdges) and kernel.cost > STEP_FLOPS and few

    @property
    def expected(self) -> float:
        """Expected iterations with what is chosen."""
        return self.main_effects or float(self.iterations[self.ranks.index(self.rank)])

    def iterations_at(self, alpha: float, tol: float) -> np.ndarray:
        """Expected iterations of each number of features for another λ."""
        assert self.spectrum is not None
        return uneven_factor(self.uneven) * expected_iterations(self.system, self.spectrum, alpha, tol, self.ranks)

    def build(self) -> EdgePreconditioner | MainEffects | None:
        """The preconditioner, or None if none is expected to pay."""
        if self.main_effects is not None:
            return MainEffects(self.system)
        if self.spectrum is None or not self.rank:
            return None
        return EdgePreconditioner(self.system, self.spectrum, self.rank, self.alpha)


def plan_preconditioner(
    system: DualSystem, alpha: float, tol: float = 1e-6, builds: int = 1, rank: int | None = None
) -> RankPlan:
    """Choose the number of features by the cost of building, applying and iterating, from the spectrum alone.

    Mean squares, and then a few eigenvectors, show which systems plain iterations solve quickly (narrow kernels,
    large λ). The others need more eigenvectors, which cost O(n²k), less than an iteration or two. ``builds`` says how
    often the preconditioner will be built, for weights that change. ``rank`` is the number of features that memory was
    planned for: more are not considered, except for a small number that needs little memory.
    """
    kernel, edges = system.kernel, system.edges
    if not isinstance(kernel, KroneckerEdges) or edges.n_pairs < PRECONDITIONER_LEAST_EDGES or alpha <= 0:
        return RankPlan(system, None, alpha, (0,), np.array([np.nan]), np.array([np.nan]), 0)
    step = kernel.cost + STEP_FLOPS
    n, m = edges.shape
    look = look_cost((n, m), kernel.G is not kernel.K)
    weights = system.weights.astype(np.float64)
    share = kernel.distinct_share
    diagonal = float(weights @ kernel.diagonal()) / len(weights) / share
    square = float(weights.mean()) ** 2 * square_sum(kernel, 0.0)
    iterations = np.array([moment_steps(diagonal, square, share * edges.n_pairs, share * n * m, alpha, tol)])
    # The best preconditioner leaves ½ log(2/tol) iterations: if it could save at most half, none is considered.
    few = np.log(2 / tol)
    spectrum, uneven = None, unevenly_known(edges)
    factor = uneven_factor(uneven)
    # By mean squares, half of the plain iterations were expected where nodes in clusters know their pairs in blocks.
    if iterations[0] > few and iterations[0] * step >= (LOOK_LEAST_FLOPS if uneven else look):
        spectrum = EdgeSpectrum(kernel.relation, kernel.K, kernel.G, FIRST_LOOK_EIGENVECTORS)
        seen = factor * expected_iterations(system, spectrum, alpha, tol, (0,))
        iterations = seen if uneven else np.minimum(iterations, seen)
    plain = RankPlan(system, None, alpha, (0,), iterations, iterations * step, 0, uneven=uneven)
    first = or_main_effects(plain, spectrum, tol, builds)
    if iterations[0] <= few or first.expected * step < look:
        return first
    spectrum = EdgeSpectrum(kernel.relation, kernel.K, kernel.G)
    most = min(len(spectrum.strengths), edges.n_pairs // 2)
    most = most if rank is None else min(most, max(rank, PRECONDITIONER_FREE_FEATURES))
    ranks = (0, *(t for t in PRECONDITIONER_RANKS if t <= most))
    iterations = factor * expected_iterations(system, spectrum, alpha, tol, ranks)
    k = (len(spectrum.sigma) + len(spectrum.tau)) // 2
    costs = rank_costs(edges.shape, edges.n_pairs, k, ranks, iterations, step, system.backend, builds)
    plan = RankPlan(system, spectrum, alpha, ranks, iterations, costs, cheapest_rank(ranks, costs), uneven=uneven)
    plan = or_main_effects(plan, spectrum, tol, builds)
    # Many eigenvectors expect too few plain iterations of uneven graphs (280 of Metz, which takes 850).
    return first if uneven and not plan.rank and plan.main_effects is None else plan


def or_main_effects(plan: RankPlan, spectrum: EdgeSpectrum | None, tol: float, builds: int) -> RankPlan:
    """The plan, or one with the preconditioner of main effects if iterations without these are expected to be few."""
    system, cost = plan.system, float(plan.costs[plan.ranks.index(plan.rank)])
    kernel, edges = kronecker(system), system.edges
    size = n_effects(edges.shape, system.loss.centres_rows, kernel.G is not kernel.K)
    loops = loops_for(system.backend, edges.n_pairs, size)
    step = kernel.cost + STEP_FLOPS
    if builds > 1 or not pays(main_effects_cost(size, edges.n_pairs, loops, 0.5 * np.log(2 / tol), step), cost):
        return plan
    few = rest_steps(system, spectrum, plan.alpha, tol, plan.uneven)
    if not pays(main_effects_cost(size, edges.n_pairs, loops, few, step), cost):
        return plan
    return replace(plan, rank=0, main_effects=few)


def uneven_factor(uneven: bool) -> float:
    """Iterations relative to those of a random sample of the pairs."""
    return UNEVEN_ITERATIONS_FACTOR if uneven else 1.0


def look_cost(shape: tuple[int, int], two_domains: bool) -> float:
    """The cost of plain iterations from which the eigenvectors for a preconditioner are worth computing."""
    (n, m), k = shape, n_eigenvectors(max(shape))
    flops = 2.0 * k * (n**2 + m**2 * two_domains) + PRECONDITIONER_QR_FLOPS_PER_ENTRY * (n + m) * k**2 + STEP_FLOPS
    return max(LOOK_LEAST_COST_RATIO * flops, LOOK_LEAST_FLOPS)


def cheapest_rank(ranks: tuple[int, ...], costs: np.ndarray) -> int:
    """The number of features with the lowest cost; 0 if it saves too little."""
    best = int(np.argmin(costs))
    return ranks[best] if costs[best] < PRECONDITIONER_COST_SHARE * costs[0] else 0


def expected_rank(
    shape: tuple[int, int], n_pairs: int, expected: Expected, product: float, tol: float, two_domains: bool, builds: int
) -> int:
    """Approximately the rank that `plan_preconditioner` will choose, from a sample of the kernels."""
    step, plain = product + STEP_FLOPS, float(expected.dual[0])
    if n_pairs < PRECONDITIONER_LEAST_EDGES or plain <= np.log(2 / tol) or plain * step < look_cost(shape, two_domains):
        return 0
    k = (n_eigenvectors(shape[0]) + n_eigenvectors(shape[1])) // 2
    costs = rank_costs(shape, n_pairs, k, expected.ranks, expected.dual, step, builds=builds)
    return cheapest_rank(expected.ranks, costs)


def rank_costs(
    shape: tuple[int, int],
    n_pairs: int,
    k: int,
    ranks: tuple[int, ...],
    iterations: np.ndarray,
    step: float,
    backend: str = "auto",
    builds: int = 1,
) -> np.ndarray:
    """Cost of a solve with each number of features made from k eigenvectors; ``step`` is the cost of an iteration."""
    (n, m), t = shape, np.array(ranks, dtype=float)
    loops = loops_for(backend, n_pairs, k)
    sampled = (
        TIMES_FLOPS_PER_MULTIPLICATION[loops] * n_pairs + min(AT_EDGES_FLOPS_PER_MULTIPLICATION[loops] * n_pairs, n * m)
    ) * k
    apply = (t > 0) * (STEP_FLOPS + sampled + 2.0 * (n + m) * k**2 + PRECONDITIONER_SOLVE_FLOPS_PER_ENTRY * t**2)
    build = (t > 0) * STEP_FLOPS + n_pairs * (t**2 / 4 + PRECONDITIONER_BUILD_FLOPS_PER_FEATURE * t) + t**3
    # Many iterations run in double precision.
    return builds * build + iterations * (
        step / np.where(iterations > ROUND_MOST_ITERATIONS, SINGLE_TIME_PER_DOUBLE_TIME, 1.0) + apply
    )


def expected_iterations(
    system: DualSystem, spectrum: EdgeSpectrum, alpha: float, tol: float, ranks: tuple[int, ...]
) -> np.ndarray:
    """Iterations to ``tol`` with the strongest t features removed, for each t of ``ranks``, from the eigenvalues."""
    kernel, edges = kronecker(system), system.edges
    weights = system.weights.astype(np.float64)
    weight = float(weights.mean())
    missed = 0.0
    if len(spectrum.sigma) < len(kernel.K) or len(spectrum.tau) < len(kernel.G):
        missed = weight * float(max(spectrum.sigma[0] * spectrum.tau[-1], spectrum.sigma[-1] * spectrum.tau[0]))
    values = weight * spectrum.strengths
    square = weight**2 * square_sum(kernel, float(np.sum(spectrum.sigma.astype(np.float64) ** 4)))
    share = kernel.distinct_share
    diagonal = float(weights @ kernel.diagonal()) / edges.n_pairs / share
    strengths = Strengths(values, np.ones(len(values)), np.nan, square, missed)
    n_pairs, size = share * edges.n_pairs, share * float(np.prod(edges.shape))
    return dual_steps(strengths, n_pairs, size, alpha, tol, ranks, diagonal)


def square_sum(kernel: KroneckerEdges, fourth: float) -> float:
    """Sum of the squared eigenvalues of the kernel between all edges; ``fourth`` is Σσ⁴, for W = ±Wᵀ."""
    square = float(np.linalg.norm(kernel.K) * np.linalg.norm(kernel.G)) ** 2
    return (square + kernel.relation.sign * fourth) / 2 if kernel.relation.sign else square
