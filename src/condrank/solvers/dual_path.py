"""Edge coefficients for many λ: most of them from one Krylov sequence, the smallest with a preconditioner.

The unpreconditioned sequence serves all λ at once (`condrank.solvers.shifted`) and is as long as the smallest of them
needs. A preconditioner depends on λ, so each λ then has a sequence of its own, but a short one. Expected iterations
decide from which λ on it is cheaper to leave the shared sequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from condrank.base.measured import STEP_FLOPS
from condrank.problem.coordinates import check_alpha
from condrank.problem.sizes import single_precision_pays
from condrank.products.kronecker import KroneckerEdges
from condrank.solvers.dual import DualSystem, solve_dual
from condrank.solvers.dual_plan import RankPlan, plan_preconditioner, rank_costs
from condrank.solvers.path import Starts
from condrank.solvers.shifted import PathWatch, Shifted, shifted_krylov
from condrank.solvers.system import Options, Solution

# The shared sequence has no rounds, so its residuals cannot be refined: single precision is enough down to this one.
SINGLE_LEAST_TOL = 1e-5
# A true residual may be this many times the tolerance, as that of conjugate gradients may.
DRIFTED = 2.0


class PathSplit(NamedTuple):
    """The first ``shared`` of the λ, in descending order, share one sequence; ``plan`` is that of the others."""

    shared: int
    plan: RankPlan | None


def split_path(system: DualSystem, alphas: np.ndarray, tol: float, rank: int | None = None) -> PathSplit:
    """Where to leave the shared sequence, for λ in descending order.

    A sequence for the j largest costs the plain iterations of the j-th. The eigenvectors for a preconditioner are
    computed only if plain iterations for all would cost much more than that.
    """
    if not isinstance(system.kernel, KroneckerEdges):
        return PathSplit(len(alphas), None)
    plan = plan_preconditioner(system, float(alphas[-1]), tol, rank=rank)
    if plan.spectrum is None or not plan.rank:
        return PathSplit(len(alphas), None)
    step, sizes = system.kernel.cost + STEP_FLOPS, (system.edges.shape, system.edges.n_pairs)
    k, at = (len(plan.spectrum.sigma) + len(plan.spectrum.tau)) // 2, plan.ranks.index(plan.rank)
    build = rank_costs(*sizes, k, plan.ranks, np.zeros(len(plan.ranks)), step)[at]
    expected = [plan.iterations_at(float(alpha), tol) for alpha in alphas]
    alone = np.array([rank_costs(*sizes, k, plan.ranks, few, step)[at] - build for few in expected])
    together = np.append(0.0, [few[0] * step for few in expected])
    rest = np.append(np.cumsum(alone[::-1])[::-1] + build, 0.0)
    return PathSplit(int(np.argmin(together + rest)), plan)


def solve_dual_path(
    system: DualSystem,
    values: np.ndarray,
    alphas: np.ndarray,
    options: Options,
    watch: PathWatch | None = None,
    rank: int | None = None,
    split: PathSplit | None = None,
) -> Iterator[tuple[int, Solution]]:
    """Places in ``alphas`` and edge coefficients a for each λ, from large λ to small.

    Parameters
    ----------
    system : DualSystem
        The system.
    values : ndarray of shape (n_pairs,)
        Labels of the edges.
    alphas : ndarray of shape (n_alphas,)
        Values of λ > 0, in any order.
    options : Options
        Tolerance and largest number of iterations. Its start is not used.
    watch : callable, optional
        Says which λ have iterated enough; it gets edge coefficients.
    rank : int, optional
        Planned number of features of the preconditioner.
    split : PathSplit, optional
        Where to leave the shared sequence; by default where it is cheapest (`split_path`).

    Notes
    -----
    Without a watch, the true residuals of the shared solutions are computed, one product for each λ. A solution whose
    residual has drifted off is iterated further.
    """
    for alpha in (alphas.min(), alphas.max()):
        check_alpha(float(alpha), system.weights.dtype)
    order = np.argsort(-alphas, kind="stable")
    descending = alphas[order]
    rhs, tol = system.rhs(values), options.tol
    # A watch ends small λ long before they converge, so they stay in the shared sequence.
    if split is None:
        split = PathSplit(len(alphas), None) if watch is not None else split_path(system, descending, tol, rank)
    starts, exact = Starts(rhs, tol), dict[str, Any](values=values, tol=tol, max_iter=options.max_iter)
    if split.shared:
        together = descending[: split.shared]
        found = _shared(system, rhs, together, options, watch, order)
        for j, alpha in enumerate(together):
            x, n_iter, converged = found.X[j], int(found.n_iter[j]), bool(found.converged[j])
            if watch is None:
                residual = float(np.linalg.norm(rhs - system.apply(x, float(alpha))))
                converged = residual <= DRIFTED * tol * float(np.linalg.norm(rhs))
            if not converged and n_iter < options.max_iter:
                _, more = solve_dual(system, float(alpha), start=x, preconditioner=None, **exact)
                x, n_iter, converged = more.x, n_iter + more.n_iter, more.converged
            starts.add(float(alpha), x)
            yield int(order[j]), Solution(system.root(x), n_iter, converged)
        del found
    if split.shared == len(alphas):
        return
    preconditioner = None if split.plan is None else split.plan.build()
    for j in range(split.shared, len(alphas)):
        alpha = float(descending[j])
        a, more = solve_dual(system, alpha, start=starts.at(alpha), preconditioner=preconditioner, **exact)
        starts.add(alpha, more.x)
        yield int(order[j]), Solution(a, more.n_iter, more.converged)


def _shared(
    system: DualSystem,
    rhs: np.ndarray,
    alphas: np.ndarray,
    options: Options,
    watch: PathWatch | None,
    order: np.ndarray,
) -> Shifted:
    """One sequence for all λ. Products are in single precision if that is enough; vectors are not."""
    single = system.single() if options.tol >= SINGLE_LEAST_TOL else None
    if single is not None and not single_precision_pays(float(alphas.min()), strongest(single, rhs)):
        single = None

    def apply(c: np.ndarray) -> np.ndarray:
        return system.apply(c, 0.0) if single is None else single.apply(c.astype(np.float32), 0.0).astype(c.dtype)

    def enough(number: int, places: np.ndarray, X: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        assert watch is not None
        return watch(number, order[places], np.array([system.root(x) for x in X]), residuals)

    with system.iterating():
        return shifted_krylov(
            apply, rhs, alphas, tol=options.tol, max_iter=options.max_iter, watch=None if watch is None else enough
        )


def strongest(system: DualSystem, rhs: np.ndarray) -> float:
    """Approximately the largest eigenvalue of RᵀK̄R, from one product with the labels and one with equal labels."""
    scaled = rhs / np.abs(rhs).max(initial=np.finfo(rhs.dtype).tiny)
    c = scaled.astype(system.weights.dtype)
    return max(system.largest(), float(np.linalg.norm(system.apply(c, 0.0)) / max(np.linalg.norm(c), 1e-30)))
