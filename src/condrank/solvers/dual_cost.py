"""Costs of iterations over the edges, and what they refuse. Both dual solvers use this."""

from __future__ import annotations

from dataclasses import replace

from condrank.base.measured import (
    PRECONDITIONER_LEAST_EDGES,
    ROUND_MOST_ITERATIONS,
    STEP_FLOPS,
)
from condrank.problem.expected import Expected
from condrank.problem.problem import Problem, n_eigenvectors
from condrank.products.cost import loops_for
from condrank.solvers.costs import listed_bytes
from condrank.solvers.dual_bytes import DualTask
from condrank.solvers.dual_plan import expected_rank, rank_costs
from condrank.solvers.iterations import edge_product_flops, expected, worth_a_sample
from condrank.solvers.main_effects import main_effects_cost, n_effects, pays
from condrank.solvers.shifted import MOST_BLOCK
from condrank.solvers.system import Peak

# Iterations to a smaller residual are counted as those to this one.
LEAST_TOL = 1e-10


def refuses_edges(problem: Problem) -> str | None:
    """Why a problem cannot be solved over its edges, or None.

    If the kernel has explicit features, their eigendecomposition is cheap, so only solver='dual' solves over the edges.
    """
    settings = problem.settings
    if problem.is_distributed:
        return "a distributed graph has no n×n arrays; use solver='auto'"
    if settings.compared:
        return "compared features are solved on W; use solver='auto'"
    if settings.clip and settings.pairwise_kernel is None and settings.solver != "dual":
        return "clip=True needs an eigendecomposition, which the dual solver avoids; use solver='primal'"
    if settings.pairwise_kernel is None and settings.solver != "dual" and not problem.sizes.exact:
        return "the kernel has explicit features; use solver='primal'"
    return None


def dual_flops(problem: Problem, scale: float = 1.0, steps: int = 0) -> float:
    """Flops of a solve over the edges, with the preconditioner that will be chosen.

    Parameters
    ----------
    problem : Problem
        The problem.
    scale : float
        Number of iterations relative to one least-squares solve.
    steps : int
        Number of Newton steps, each with a product of its own and perhaps a new preconditioner; 0 for least squares.
    """
    s, guess = problem.sizes, expected(problem)
    product, builds = edge_product_flops(problem), max(1, steps)
    guess, step = replace(guess, dual=scale * guess.dual), product + STEP_FLOPS
    tol = max(problem.settings.tol, LEAST_TOL)
    rank = expected_rank(s.shape, s.n_pairs, guess, product, tol, s.two_domains, builds)
    k = (n_eigenvectors(s.shape[0]) + n_eigenvectors(s.shape[1])) // 2
    cost = float(rank_costs(s.shape, s.n_pairs, k, (rank,), guess.dual_at(rank), step, builds=builds)[0])
    if not steps:
        without = _effects_cost(problem, guess)
        cost = without if pays(without, cost) else cost
    return 2 * (cost + steps * step) + (s.flops if problem.settings.clip else 0.0)


def _effects_cost(problem: Problem, guess: Expected) -> float:
    """Cost of a solve whose preconditioner removes main effects."""
    s = problem.sizes
    size = n_effects(s.shape, problem.settings.loss.centres_rows, s.two_domains)
    step = edge_product_flops(problem) + STEP_FLOPS
    return main_effects_cost(size, s.n_pairs, loops_for("auto", s.n_pairs, size), guess.without_effects, step)


def dual_peak(
    problem: Problem, newton: bool = False, builds: int = 1, least_tol: float = LEAST_TOL, n_alphas: int = 1
) -> Peak:
    """Bytes at the peak, and the expected number of features of the preconditioner.

    Several λ have a solution and a direction each, a converted copy, and the basis vectors of a block.
    """
    settings, s = problem.settings, problem.sizes
    rank, steps = _rank(problem, builds, max(settings.tol, least_tol))
    listed, listing = listed_bytes(problem)
    kernel = settings.pairwise_kernel
    folded = settings.relation.sign != 0 if kernel is None else kernel == "mlpk"
    share = problem.both_ways if folded else 0.0
    single = s.in_single_precision(settings.alpha) and not steps > ROUND_MOST_ITERATIONS
    task = DualTask(s.shape, s.n_pairs, s.itemsize, s.two_domains, share, settings, rank, single)
    clipping = max(side.peak for side in (s.rows, s.cols)) + task.kernels if settings.clip else 0
    effects = 0
    if not newton and _removes_effects(problem):
        # The kernel of the effects and the factor, and before that two products of the size of the kernel.
        size = n_effects(s.shape, settings.loss.centres_rows, s.two_domains)
        effects = 3 * 4 * size**2
    many = (3 * n_alphas + MOST_BLOCK) * s.itemsize * s.n_pairs if n_alphas > 1 else 0
    return Peak(max(task.kernels + listing, listed + task.peak(newton) + effects + many, clipping), rank)


def _rank(problem: Problem, builds: int, tol: float) -> tuple[int, float]:
    """Number of features of the preconditioner and of iterations with it, estimated from a sample of the nodes."""
    s = problem.sizes
    few = s.n_pairs < PRECONDITIONER_LEAST_EDGES
    if problem.settings.pairwise_kernel is not None or few or not worth_a_sample(problem):
        return 0, 0.0
    guess = problem.expected_by_sample
    product = edge_product_flops(problem)
    rank = expected_rank(s.shape, s.n_pairs, guess, product, tol, s.two_domains, builds)
    return rank, float(guess.dual_at(rank)[0])


def _removes_effects(problem: Problem) -> bool:
    """Whether a preconditioner of main effects is expected, estimated from a sample of the nodes."""
    s = problem.sizes
    few = s.n_pairs < PRECONDITIONER_LEAST_EDGES
    if problem.settings.pairwise_kernel is not None or few or not worth_a_sample(problem):
        return False
    guess, step = problem.expected_by_sample, edge_product_flops(problem) + STEP_FLOPS
    return pays(_effects_cost(problem, guess), step * float(guess.dual[0]))
