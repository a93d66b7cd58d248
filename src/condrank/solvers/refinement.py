"""Conjugate gradients in single precision, refined to double: half the time per iteration, the same solution.

A round solves for the residual of the previous round with the operator in single precision, to a residual that this
precision can reach. Between rounds the residual is computed in double precision. A few rounds reach any tolerance, and
together they take hardly more iterations than double precision alone.
"""

from __future__ import annotations

import numpy as np

from condrank.base.measured import LOST_ROUND_RESIDUAL_SHARE, ROUND_MOST_ITERATIONS, ROUND_RELATIVE_RESIDUAL
from condrank.solvers.krylov import Iterated, Operator, at_scale, krylov, scale_exponent
from condrank.solvers.system import Watch


def refined(
    apply: Operator,
    rough: Operator | None,
    rhs: np.ndarray,
    *,
    precondition: Operator | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    watch: Watch | None = None,
) -> Iterated:
    """Solve apply(x) = rhs with ``rough``, the same operator in single precision.

    The other parameters are those of `krylov`. If ``rough`` is None or not accurate enough, ``apply`` is used alone.
    Very small and very large right-hand sides are scaled as in `krylov`.
    """
    if rough is None:
        options = {"precondition": precondition, "start": start, "tol": tol, "max_iter": max_iter, "watch": watch}
        return krylov(apply, rhs, **options)
    exponent = scale_exponent(rhs)
    if exponent:
        options = {"rough": rough, "precondition": precondition, "tol": tol, "max_iter": max_iter}
        return at_scale(refined, exponent, rhs, start, watch, apply=apply, **options)
    x = np.zeros_like(rhs) if start is None else start.copy()
    residual = rhs if start is None else rhs - apply(x)
    goal, size, count, stopped = tol * float(np.linalg.norm(rhs)), float(np.linalg.norm(residual)), 0, False
    while size > goal and count < max_iter and not stopped:
        scale, before = size, count

        def seen(number: int, step: np.ndarray, x: np.ndarray = x, scale: float = scale, before: int = before) -> bool:
            nonlocal stopped
            if not np.isfinite(step.sum()):
                return True
            stopped = watch is not None and watch(before + number, x + scale * step)
            return stopped

        residual = residual / scale  # replaces the last one, which is no longer needed
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = krylov(
                lambda step: rough(step.astype(np.float32)).astype(step.dtype),
                residual,
                precondition=precondition,
                tol=max(ROUND_RELATIVE_RESIDUAL, 0.9 * goal / scale),
                max_iter=min(max_iter - count, ROUND_MOST_ITERATIONS),
                watch=seen,
            )
            candidate = x + scale * found.x
            residual = rhs - apply(candidate)
            size = float(np.linalg.norm(residual))
        count += found.n_iter
        del found
        lost = not size <= max(LOST_ROUND_RESIDUAL_SHARE * scale, goal)  # also true for NaN
        if lost and not stopped and count < max_iter:
            rest = krylov(
                apply,
                rhs,
                precondition=precondition,
                start=candidate if size < scale else x,
                tol=tol,
                max_iter=max_iter - count,
                watch=None if watch is None else lambda number, iterate, done=count: watch(done + number, iterate),
            )
            return Iterated(rest.x, count + rest.n_iter, rest.converged)
        x = candidate
    return Iterated(x, count, size <= goal, applied=count > 0 or start is not None)
