"""Expected iterations: from the sizes, or from a sample of the kernel if that may change the choice of a solver."""

from __future__ import annotations

from condrank.base.measured import SAMPLE_LEAST_FLOPS, STEP_FLOPS
from condrank.problem.expected import Expected
from condrank.problem.problem import Problem
from condrank.products.cost import loops_for, product_cost
from condrank.solvers.costs import has_dense_products, iteration_flops


def expected(problem: Problem) -> Expected:
    """Expected iterations of primal and dual.

    A sample of the kernel is computed only if primal and dual compete, for exact kernels, and only if the cheaper of
    them costs so much more that the sample does not matter. With an edge or two per node the dual is always fastest.
    """
    settings, s = problem.settings, problem.sizes
    asked = settings.solver
    is_open = asked == "iterative" or (asked == "auto" and not problem.is_complete)
    special = settings.clip or settings.pairwise_kernel is not None or bool(settings.compared)
    few = s.n_pairs <= 2 * max(s.shape)
    if not is_open or special or few or not s.exact or not worth_a_sample(problem):
        return problem.expected_by_sizes
    return problem.expected_by_sample


def worth_a_sample(problem: Problem) -> bool:
    """Whether a sample of the kernel can be had, and costs little beside the fit."""
    if not problem.can_be_sampled:
        return False
    guess = problem.expected_by_sizes
    primal = problem.sizes.flops + guess.primal * iteration_flops(problem, has_dense_products(problem))
    dual = 2 * float(guess.dual[0]) * (edge_product_flops(problem) + STEP_FLOPS)
    return min(primal, dual) >= SAMPLE_LEAST_FLOPS


def edge_product_flops(problem: Problem) -> float:
    """Flops of a product with the edge kernel of a relation."""
    s, (n, m) = problem.sizes, problem.sizes.shape
    signed = bool(problem.settings.relation.sign)
    # Both directions of a pair are folded into one.
    pairs = round(s.n_pairs * (1 - problem.both_ways / 2)) if signed else s.n_pairs
    loops = loops_for("auto", pairs, min(n, m))
    return min(product_cost(sides, pairs * (1 + signed), pairs, loops) for sides in ((n, m), (m, n)))
