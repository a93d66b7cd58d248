"""Krylov iterations on arrays of any shape: SciPy's conjugate gradients and BiCGSTAB, with a callback that can stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, bicgstab, cg

from condrank.solvers.system import Watch

Operator = Callable[[np.ndarray], np.ndarray]

METHODS = {"cg": cg, "bicgstab": bicgstab}
# CG computes squared norms. Up to this power of two, for each item size, they neither overflow nor underflow.
PLAIN_EXPONENT = {4: 16, 8: 32}


@dataclass(frozen=True)
class Iterated:
    """The last iterate x of a Krylov method, the number of iterations, and whether it converged.

    ``applied`` says that x was the last argument of the operator, so that what it found on the way can be used.
    """

    x: np.ndarray
    n_iter: int
    converged: bool
    applied: bool = False


class _Stopped(Exception):
    """Raised in the callback to stop SciPy; has the last iterate."""

    def __init__(self, x: np.ndarray):
        self.x = x


def krylov(
    apply: Operator,
    rhs: np.ndarray,
    *,
    method: str = "cg",
    precondition: Operator | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    watch: Watch | None = None,
) -> Iterated:
    """Solve apply(x) = rhs for an array x of the shape of rhs, until ‖rhs - apply(x)‖ ≤ tol ‖rhs‖.

    Parameters
    ----------
    apply : callable
        A linear function, symmetric positive (semi-)definite for "cg".
    rhs : ndarray
        Right-hand side, of any shape.
    method : {"cg", "bicgstab"}
        Conjugate gradients, or BiCGSTAB (two products per iteration).
    precondition : callable, optional
        Approximate inverse of apply, symmetric positive definite.
    start : ndarray, optional
        Start of the iteration; zero by default.
    tol : float
        Relative residual at which to stop; 0 runs all max_iter iterations.
    max_iter : int
        Largest number of iterations.
    watch : callable, optional
        Called with the number of the iteration and the iterate; True stops.

    Notes
    -----
    The iteration runs at a scale at which squares of very small or large numbers are representable. So a right-hand
    side times a power of two gives exactly the solution times that power. One that is not finite raises a ValueError.
    """
    exponent = scale_exponent(rhs, always=method == "bicgstab")
    if exponent:
        options = {"method": method, "precondition": precondition, "tol": tol, "max_iter": max_iter}
        return at_scale(krylov, exponent, rhs, start, watch, apply=apply, **options)
    shape, size = rhs.shape, rhs.size
    count, seen = 0, None if start is None else start.ravel()

    def flat(operator: Operator) -> LinearOperator:
        def product(x: np.ndarray) -> np.ndarray:
            return operator(x.reshape(shape)).ravel()

        return LinearOperator((size, size), matvec=product, dtype=rhs.dtype)  # pyright: ignore[reportCallIssue]

    def after(x: np.ndarray) -> None:
        nonlocal count, seen
        count += 1
        seen = x.copy() if method == "bicgstab" else seen
        if watch is not None and watch(count, x.reshape(shape)):
            raise _Stopped(x.copy())

    if not rhs.any():
        return Iterated(np.zeros_like(rhs), 0, True)
    try:
        x, info = METHODS[method](
            flat(apply),
            rhs.ravel(),
            x0=None if start is None else start.ravel(),
            rtol=tol,
            atol=float(np.finfo(rhs.dtype).tiny),  # so that an exact solution stops it, also for tol=0
            maxiter=max_iter,
            M=None if precondition is None else flat(precondition),
            callback=after,
        )
        # SciPy's BiCGSTAB does not call back if it converges half-way through a step.
        if method == "bicgstab" and (seen is None or not np.array_equal(seen, x)):
            after(x)
    except _Stopped as stopped:
        return Iterated(stopped.x.reshape(shape), count, False)
    return Iterated(x.reshape(shape), count, info == 0)


def scale_exponent(rhs: np.ndarray, *, always: bool = False) -> int:
    """The power of two to divide a right-hand side by before an iteration; 0 if its squares are representable as it is.

    ``always`` also scales moderate numbers: SciPy's BiCGSTAB compares its products with an absolute bound. O(rhs.size)
    time, without a copy.
    """
    largest = max(float(rhs.max(initial=0.0)), -float(rhs.min(initial=0.0)))
    if not np.isfinite(largest):
        raise ValueError(
            f"the labels, summed over the kernel values of the nodes, overflow in {rhs.dtype}; scale the labels or "
            "the features (or the kernel) down"
        )
    exponent = int(np.frexp(largest)[1]) if largest else 0
    return exponent if always or abs(exponent) > PLAIN_EXPONENT[rhs.dtype.itemsize] else 0


def at_scale(
    solve: Callable[..., Iterated],
    exponent: int,
    rhs: np.ndarray,
    start: np.ndarray | None,
    watch: Watch | None,
    **options: Any,
) -> Iterated:
    """The result of ``solve`` for rhs / 2^exponent, times 2^exponent. Start and iterates are scaled with it.

    Products with powers of two are exact. The result is inf where it is not representable.
    """

    def grown(x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            return np.ldexp(x, exponent)

    found = solve(
        rhs=np.ldexp(rhs, -exponent),
        start=None if start is None else np.ldexp(start, -exponent),
        watch=None if watch is None else lambda number, x: watch(number, grown(x)),
        **options,
    )
    return replace(found, x=grown(found.x), applied=False)
