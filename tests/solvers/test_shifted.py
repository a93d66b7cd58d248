"""Many λ from one Krylov sequence: compared with dense solves and with a dense minimum over the Krylov space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from condrank.solvers.krylov import krylov
from condrank.solvers.shifted import shifted_krylov
from reference import naive_krylov_minimum

ALPHAS = np.array([0.1, 10.0, 1.0, 3.0])


def semidefinite(n, rank, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, rank)) * np.geomspace(1, 0.1, rank)
    return F @ F.T, rng.normal(size=n)


def going_on(number, places, X, residuals):
    return np.zeros(len(places), bool)


@given(
    n=st.integers(1, 25),
    share=st.floats(0, 1),
    exponent=st.sampled_from([-300, 0, 200]),
    watched=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(max_examples=60, deadline=None)
def test_every_alpha_is_solved(n, share, exponent, watched, seed):
    A, b = semidefinite(n, max(1, round(share * n)), seed)
    b = np.ldexp(b, exponent)
    tol, watch = (1e-5, going_on) if watched else (1e-9, None)
    found = shifted_krylov(lambda x: A @ x, b, ALPHAS, tol=tol, watch=watch)
    assert found.converged.all()
    for alpha, x in zip(ALPHAS, found.X, strict=True):
        exact = np.linalg.solve(A + alpha * np.eye(n), np.ldexp(b, -exponent))
        assert_allclose(np.ldexp(x, -exponent), exact, atol=(1e-3 if watched else 1e-7) * np.abs(exact).max())


def test_iterations_are_those_of_conjugate_gradients():
    A, b = semidefinite(60, 60)
    found = shifted_krylov(lambda x: A @ x, b, ALPHAS, tol=0.0, max_iter=7)
    for alpha, x in zip(ALPHAS, found.X, strict=True):
        same = krylov(lambda x, alpha=alpha: A @ x + alpha * x, b, tol=0.0, max_iter=7)
        assert_allclose(x, same.x, rtol=1e-8, atol=1e-10)
    assert not found.converged.any()
    assert_array_equal(found.n_iter, 7)


@pytest.mark.parametrize("n_iter", [1, 2, 3, 8, 9, 13])
def test_watched_iterates_minimise_the_objective_over_the_krylov_space(n_iter):
    A, b = semidefinite(30, 30)
    seen = []
    found = shifted_krylov(
        lambda x: A @ x, b, ALPHAS, tol=1e-15, max_iter=n_iter, watch=lambda k, p, X, r: seen.append((X, r)) or p < 0
    )
    for j, alpha in enumerate(ALPHAS):
        expected = naive_krylov_minimum(A, b, alpha, n_iter, delta=ALPHAS.min())
        assert_allclose(found.X[j], expected, rtol=1e-4, atol=1e-5)
        residual = np.linalg.norm(b - A @ expected - alpha * expected) / np.linalg.norm(b)
        assert_allclose(seen[-1][1][j], residual, rtol=1e-4)


def test_a_watch_ends_single_alphas():
    A, b = semidefinite(50, 50)
    looks = []

    def watch(number, places, X, residuals):
        looks.append((number, places.tolist()))
        return places == 1

    found = shifted_krylov(lambda x: A @ x, b, ALPHAS, tol=1e-14, max_iter=30, watch=watch)
    assert looks[0] == (8, [0, 1, 2, 3])
    assert looks[1] == (16, [0, 2, 3])
    assert found.n_iter[1] == 8
    assert found.converged[1]
    assert_array_equal(found.n_iter[[0, 2, 3]], 30)


def test_zero_gives_zero_and_an_indefinite_operator_does_not_converge():
    A, b = semidefinite(10, 10)
    found = shifted_krylov(lambda x: A @ x, 0 * b, ALPHAS)
    assert found.converged.all()
    assert not found.X.any()
    found = shifted_krylov(lambda x: -100 * x, b, ALPHAS)
    assert not found.converged.any()
    assert np.isfinite(found.X).all()


def test_single_precision_products_are_enough_for_a_small_residual():
    A, b = semidefinite(80, 80)
    found = shifted_krylov(
        lambda x: (A.astype(np.float32) @ x.astype(np.float32)).astype(float), b, ALPHAS, tol=1e-4, watch=going_on
    )
    for alpha, x in zip(ALPHAS, found.X, strict=True):
        assert np.linalg.norm(A @ x + alpha * x - b) < 2e-4 * np.linalg.norm(b)
