"""σσ'/(σσ' + λ) in few factors: how much the closed form damps each product of two coordinates.

With x = λ/σ this is y/(x + y) at y = σ', a Cauchy matrix. What the crosses of k pivots (x_l, y_l) leave of it is known:

    y/(x + y) · Π_l (x - x_l)/(x + y_l) · Π_l (y - y_l)/(y + x_l).

So pivots are found one after the other without the matrix, and without a difference of large numbers. The error decays
exponentially: 10 to 120 pivots reach rounding for a thousand nodes and λ between 1e-8 and 1e3.
"""

from __future__ import annotations

import numpy as np

# The part that is left out is at most this, relative to the largest possible value, 1.
LEFT_OUT = 1e-14


def damping_factors(sigma: np.ndarray, tau: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """U (r, k) and V (r', k) with UVᵀ = σσ'/(σσ' + λ) to rounding, for σ, σ' ≥ 0. O(k(r + r'))."""
    with np.errstate(divide="ignore"):
        x, y = alpha / sigma.astype(np.float64), tau.astype(np.float64)
    left, right = np.ones_like(x), y.copy()  # what the pivots so far leave of each row and column
    # σ = 0 has x = ∞ and a row of zeros, which is never a pivot.
    left[np.isinf(x)] = 0
    x[np.isinf(x)] = 1
    factors: list[tuple[np.ndarray, np.ndarray]] = []
    j = int(np.argmax(y)) if len(y) else 0
    while len(factors) < min(len(x), len(y)):
        i = int(np.argmax(np.abs(left) / (x + y[j])))
        j = int(np.argmax(np.abs(right) / (x[i] + y)))
        column = left / (x + y[j])
        i = int(np.argmax(np.abs(column)))
        row = right / (x[i] + y)
        pivot = column[i] * right[j]
        if abs(pivot) <= LEFT_OUT:
            break
        factors.append((column / column[i], row * left[i]))
        left = left * ((x - x[i]) / (x + y[j]))
        right = right * ((y - y[j]) / (y + x[i]))
        j = int(np.argmax(np.abs(right) / (x[i] + y)))
    columns, rows = ([pair[side] for pair in factors] for side in (0, 1))
    return np.array(columns).reshape(-1, len(x)).T, np.array(rows).reshape(-1, len(y)).T
