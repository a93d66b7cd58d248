"""Offsets of the ranking loss by Woodbury's identity, against the whole system in 40 digits."""

import mpmath
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from condrank.solvers.offsets import Offsets
from reference import error

SIGNS = st.sampled_from([0, 1, -1])


def spectrum(seed, decades, outside):
    """Eigenvalues (the last ones zero, as those of directions outside the span), β and n, with ‖β‖² = n - ω."""
    rng = np.random.default_rng(seed)
    r = int(rng.integers(1, 9))
    sigma = 10.0 ** rng.uniform(-decades, 1, size=r)
    sigma[r - int(rng.integers(0, 2)) :] = 0
    n = r + int(rng.integers(0, 20))
    sums = rng.normal(size=r)
    sums *= np.sqrt(n * (1 - outside)) / np.linalg.norm(sums)
    return sigma, sums, n, rng.normal(size=(3, r))


def whole(sigma, sums, n, outside, sign, alpha):
    """T (r, r) and B (r, r) in 40 digits."""
    r, beta = len(sigma), [mpmath.mpf(float(b)) for b in sums]
    damping = mpmath.matrix(r, r)
    for k in range(r):
        for j in range(r):
            damping[k, j] = alpha / (mpmath.mpf(float(sigma[k])) * mpmath.mpf(float(sigma[j])) + alpha)
    tau = [mpmath.fsum(damping[k, j] * beta[j] ** 2 for j in range(r)) for k in range(r)]
    T, B = mpmath.matrix(r, r), mpmath.matrix(r, r)
    for k in range(r):
        for j in range(r):
            B[k, j] = sign * beta[k] * damping[k, j] * beta[j] / 2
            T[k, j] = B[k, j] - sign * beta[k] * beta[j] / 2 if sign else mpmath.mpf(0)
        own = (n + outside + tau[k]) / 2
        B[k, k] += own
        T[k, k] += own if sign else outside + tau[k]
    return T, B, np.array([float(t) for t in tau])


@given(st.integers(0, 10**6), st.floats(0, 8), st.floats(-6, 4), st.sampled_from([0.0, 0.3, 1e-9]), SIGNS)
@settings(max_examples=60, deadline=None)
def test_offsets_solve_the_whole_system(seed, decades, log_alpha, share, sign):
    sigma, sums, n, f = spectrum(seed, decades, share)
    alpha = 10.0**log_alpha
    with mpmath.workdps(40):
        # ω of the rounded β, so that both have the same system.
        exact_outside = n - mpmath.fsum(mpmath.mpf(float(b)) ** 2 for b in sums)
        T, _, tau = whole(sigma, sums, n, exact_outside, sign, alpha)
        expected, along = np.empty_like(f), np.empty(len(f))
        for i, row in enumerate(f):
            expected[i] = [float(v) for v in mpmath.lu_solve(T, mpmath.matrix(row.tolist()))]
            along[i] = float(mpmath.fdot(row.tolist(), sums.tolist()))
        found = Offsets(sigma, sums, tau, n, float(exact_outside), sign, alpha)
    # T is nearly singular if sums of damped offsets are small beside n: each digit lost there is lost by any solution.
    lost = n / (float(exact_outside) + max(tau.min(), 0)) if sign >= 0 else 1.0
    assert error(found(f, along), expected) <= 1e-13 * max(10, lost)
    assert error(found(f), expected) <= 1e-13 * max(10, lost)


@given(st.integers(0, 10**6), st.floats(0, 8), st.floats(-6, 4), st.sampled_from([1, -1]))
@settings(max_examples=60, deadline=None)
def test_the_system_without_its_rank_one_part_has_a_condition_of_at_most_three(seed, decades, log_alpha, sign):
    sigma, sums, n, f = spectrum(seed, decades, 0.2)
    alpha, outside = 10.0**log_alpha, 0.2 * n
    with mpmath.workdps(40):
        _, B, tau = whole(sigma, sums, n, outside, sign, alpha)
    B = np.array(B.tolist(), dtype=float)
    values = np.linalg.eigvalsh(B) / n
    assert values[0] >= 0.5 - 1e-12
    assert values[-1] <= 1.5 + 1e-12
    found = Offsets(sigma, sums, tau, n, outside, sign, alpha)
    assert error(found.without(f), np.linalg.solve(B, f.T).T) <= 1e-12


@given(st.integers(0, 10**6), st.floats(-3, 4), st.sampled_from([1, -1]))
@settings(max_examples=40, deadline=None)
def test_the_factors_are_those_of_the_inverse(seed, log_alpha, sign):
    sigma, sums, n, f = spectrum(seed, 3, 0.1)
    alpha = 10.0**log_alpha
    damped = (alpha / (np.multiply.outer(sigma, sigma) + alpha)) @ sums**2
    offsets = Offsets(sigma, sums, damped, n, 0.1 * n, sign, alpha)
    diagonal, thin, weights = offsets.factors()
    assert error(f * diagonal + ((f @ thin) * weights) @ thin.T, offsets(f)) <= 1e-11
