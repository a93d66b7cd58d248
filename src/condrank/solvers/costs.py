"""Costs that several solvers share: operations, and bytes counted array by array.

A solver goes through phases: coordinates, reduction or labels at the edges, iteration. Its memory is the largest sum of
arrays that exist together in one phase. r is the number of coordinates and E the number of observed pairs. An array is
counted in its own precision: r×r arithmetic of explicit features is in double, also for single-precision features.
"""

from __future__ import annotations

from scipy import sparse

from condrank.base.measured import (
    DENSE_FROM_SHARE_OF_PAIRS,
    GATHERED_ENTRIES,
    ITERATION_FLOPS,
    ITERATION_FLOPS_PER_WEIGHT,
    SAMPLED_SPEED_PER_DENSE_SPEED,
)
from condrank.observations import Complete, Edges, Factored
from condrank.problem.problem import Problem
from condrank.products.cost import loops_for

# Arrays that conjugate gradients need beside the right-hand side: x, r, p, z and the product.
CG_ARRAYS = 5
# Arrays that BiCGSTAB needs: x, r, r̃, p, v, s and t, and the iterate that is copied after each step.
BICGSTAB_ARRAYS = 8


def reduction_flops(problem: Problem) -> float:
    """Flops to reduce the labels of a complete graph to r×r' sums."""
    (n, m), rows, cols = problem.sizes.shape, problem.sizes.rows, problem.sizes.cols
    dense = isinstance(problem.observed, Complete)
    return 2.0 * n * m * cols.most * dense + 2.0 * n * rows.most * cols.most


def has_dense_products(problem: Problem) -> bool:
    """Whether iterations on W compute all n×m values instead of only the observed ones."""
    n, m = problem.sizes.shape
    return problem.sizes.n_pairs >= DENSE_FROM_SHARE_OF_PAIRS * n * m


def iteration_flops(problem: Problem, dense: bool) -> float:
    """Flops of one iteration on W."""
    s = problem.sizes
    (n, m), r, r_objects = s.shape, s.rows.most, s.cols.most
    product = 4.0 * n * m * r_objects if dense else 4.0 * s.n_pairs * r_objects / SAMPLED_SPEED_PER_DENSE_SPEED
    around = (4.0 * n + ITERATION_FLOPS_PER_WEIGHT) * r * r_objects
    return problem.n_blocks * (product + around) + ITERATION_FLOPS


def peak_with_coordinates(problem: Problem, after: float) -> int:
    """Bytes at the peak of a fit that needs ``after`` bytes once its coordinates are fitted."""
    kept, making = _held_out_bytes(problem)
    sizes = problem.sizes
    return int(max(making, kept + sizes.making, kept + sizes.kept + after))


def _held_out_bytes(problem: Problem) -> tuple[int, int]:
    """Bytes of the labels that are not held out: when kept, and at the peak of selecting them."""
    s, relation = problem.sizes, problem.observed
    if not s.held_out or isinstance(relation, Factored):
        return 0, 0
    if isinstance(relation, Edges):
        # Pairs, labels and weights; while they are selected, also indices of the edges in compressed rows, three times.
        kept = (8 + 2 * s.itemsize) * s.n_pairs
        return kept, kept + 60 * s.n_pairs
    kept = round(relation.nbytes * s.n_pairs / problem.graph.n_edges)
    return kept, kept + round((1 - s.held_out) * relation.nbytes)


def listed_bytes(problem: Problem) -> tuple[int, int]:
    """Bytes of a complete relation as a list of pairs: when kept, and at the peak of making it."""
    s, relation = problem.sizes, problem.observed
    if isinstance(relation, Edges):
        return 0, 0
    kept = (8 + 2 * s.itemsize) * s.n_pairs
    is_array = isinstance(relation, Complete) and not sparse.issparse(relation.Y)
    # Both ends of each pair and the key they are sorted by; and the labels, if they are not an array already.
    return kept, kept + 24 * s.n_pairs + (0 if is_array else s.itemsize * s.n_pairs)


def krylov_arrays(problem: Problem) -> int:
    """Number of arrays of an unpreconditioned iteration, with the best iterate that early stopping keeps."""
    return (CG_ARRAYS - 1 if problem.settings.method == "cg" else BICGSTAB_ARRAYS) + 1


def iterated_bytes(problem: Problem, *, vectors: int, dense: bool, single: bool, extra_pairs: int = 0) -> int:
    """Bytes of iterations on W, beside the coordinates.

    Parameters
    ----------
    problem : Problem
        The problem.
    vectors : int
        Number of arrays of the size of W, beside the product.
    dense : bool
        Whether products compute all n×m values.
    single : bool
        Whether iterations run in single precision and are refined.
    extra_pairs : int
        Number of further arrays over the pairs during a product.
    """
    s, settings = problem.sizes, problem.settings
    (n, m), pairs, size = s.shape, s.n_pairs, s.itemsize
    listed, listing = listed_bytes(problem)
    n_compared = len(settings.compared)
    weights = problem.n_blocks * s.square
    held = size * s.training + listed + size * n * m * dense + n_compared * size * pairs
    held += (4 * s.training + 4 * pairs + 4 * n * m * dense + 4 * n_compared * pairs) * single
    # A product: ZW, and all values of the model or those of a block of pairs. The preconditioner: W, and W scaled.
    values = n * m * (2 if settings.compared else 1)
    if not dense:
        numba = loops_for("auto", pairs, s.cols.r) == "numba"
        values = pairs if numba else 2 * min(GATHERED_ENTRIES, pairs * s.cols.r) + 2 * pairs
    product = n * s.cols.r + values + extra_pairs * pairs
    if single:
        # During a round, products in single precision, and beside the vectors the residual of the round, x and its sum
        # with the last step. Between rounds, in double: right-hand side, residual, x before and after, step and sum.
        rough = size * (vectors + 3) * weights + max(4 * (product + weights), 2 * size * weights)
        held += max(rough, size * (6 * weights + product))
    else:
        held += size * (vectors * weights + max(product, 2 * weights))
    return int(max(listing + size * s.training, held))
