"""Conjugate gradients for many small symmetric systems at once, one per row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

MAX_ITER = 300


def solve_rows(
    apply: Callable[[np.ndarray], np.ndarray],
    c: np.ndarray,
    diagonal: np.ndarray,
    null: np.ndarray | None = None,
    precision: float = 32,
) -> tuple[np.ndarray, np.ndarray, int]:
    """x with A_i x_i = c_i for every row i of c (k, q), by conjugate gradients with a diagonal preconditioner.

    The systems must be positive semi-definite, and consistent if singular. Returns x, which rows did not converge, and
    the number of iterations. ``apply`` maps all rows at once. ``null`` is a unit vector that every A_i maps to zero.
    Rounding noise along it is removed, because the iteration would amplify it. ``precision`` is that of the residual,
    in units of rounding.
    """
    eps = float(np.finfo(c.dtype).eps)

    def project(v: np.ndarray) -> np.ndarray:
        if null is not None:
            v -= np.multiply.outer(v @ null, null)
        return v

    x, r = np.zeros_like(c), project(c.copy())
    inverse = 1 / diagonal
    d = r * inverse
    rho = np.vecdot(r, d)
    goal = (precision * eps) ** 2 * rho
    # Rows below this that no longer improve have reached rounding noise; more iterations would only add to it.
    enough = eps**1.4 * rho
    failed = eps**1.2 * rho
    done = rho <= goal
    number = 0
    while number < MAX_ITER and not done.all():
        number += 1
        Ad = project(apply(d))
        curvature = np.vecdot(d, Ad)
        # A direction without curvature is rounding noise in the null space: the row cannot improve any more.
        going = ~done & (curvature > 0)
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=going)[:, None]
        r -= np.multiply(step, Ad, out=Ad)
        x += np.multiply(step, d, out=Ad)
        z = np.multiply(r, inverse, out=Ad)
        new = np.vecdot(r, z)
        done |= (new <= goal) | ~going | ((new <= enough) & (new > rho))
        d *= np.divide(new, rho, out=np.zeros_like(rho), where=rho > 0)[:, None]
        d += z
        rho = new
    return x, rho > failed, number


def solve_directly(apply: Callable[[np.ndarray], np.ndarray], c: np.ndarray) -> np.ndarray:
    """The same for one row, O(q³). ``apply`` gets q rows, which all belong to this one system."""
    A = apply(np.eye(len(c), dtype=c.dtype))
    return np.linalg.lstsq((A + A.T) / 2, c, rcond=len(c) * float(np.finfo(c.dtype).eps))[0]
