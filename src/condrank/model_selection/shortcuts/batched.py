"""Many small symmetric systems at once: conjugate gradients for rows that are independent of each other."""

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
    """x with A_i x_i = c_i for every row i of c (k, q), by conjugate gradients preconditioned with a diagonal.

    Positive semi-definite systems, consistent where they are singular. Returns x, which rows did not get there, and
    the number of iterations. ``apply`` maps all rows at once. ``null`` is a unit vector that every A_i maps to zero:
    rounding noise along it, which the iteration would blow up, is taken off. ``precision`` of the residual is in units
    of rounding.
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
    # Rows that are this far and gain no more have met their rounding noise; iterating on would only collect it.
    enough = eps**1.4 * rho
    failed = eps**1.2 * rho
    done = rho <= goal
    number = 0
    while number < MAX_ITER and not done.all():
        number += 1
        Ad = project(apply(d))
        curvature = np.vecdot(d, Ad)
        # A direction without curvature is rounding noise in the null space: the row has gone as far as it can.
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
    """The same for one row, O(q³): ``apply`` is given q rows, each of which stands for that one system."""
    A = apply(np.eye(len(c), dtype=c.dtype))
    return np.linalg.lstsq((A + A.T) / 2, c, rcond=len(c) * float(np.finfo(c.dtype).eps))[0]
