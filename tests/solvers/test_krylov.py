"""Krylov iterations on arrays of any shape, against direct solves and against textbook loops."""

import numpy as np
import pytest

from condrank.solvers.krylov import krylov

METHODS = ("cg", "bicgstab")
methods = pytest.mark.parametrize("method", METHODS)
SHAPE = (4, 5)
SIZE = 20


def problem(seed=0, dtype=np.float64):
    """A symmetric positive definite operator on 4×5 arrays, its matrix, and a right-hand side."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))
    M = ((Q * np.geomspace(1, 300, SIZE)) @ Q.T).astype(dtype)
    return M, lambda x: (M @ x.ravel()).reshape(SHAPE), rng.normal(size=SHAPE).astype(dtype)


def textbook_cg(M, b, n_steps):
    x, r = np.zeros_like(b), b.copy()
    p, iterates = r.copy(), []
    for _ in range(n_steps):
        Mp = M @ p
        step = (r @ r) / (p @ Mp)
        x = x + step * p
        r_new = r - step * Mp
        p = r_new + (r_new @ r_new) / (r @ r) * p
        r = r_new
        iterates.append(x)
    return iterates


def textbook_bicgstab(M, b, n_steps):
    x, r = np.zeros_like(b), b.copy()
    shadow, p, iterates = r.copy(), r.copy(), []
    for _ in range(n_steps):
        Mp = M @ p
        step = (shadow @ r) / (shadow @ Mp)
        s = r - step * Mp
        Ms = M @ s
        omega = (Ms @ s) / (Ms @ Ms)
        x = x + step * p + omega * s
        r_new = s - omega * Ms
        p = r_new + (shadow @ r_new) / (shadow @ r) * step / omega * (p - omega * Mp)
        r = r_new
        iterates.append(x)
    return iterates


@methods
def test_the_solution_is_that_of_a_direct_solve(method):
    M, apply, rhs = problem()
    found = krylov(apply, rhs, method=method, tol=1e-10, max_iter=200)
    assert found.converged
    assert found.x.shape == SHAPE
    np.testing.assert_allclose(found.x.ravel(), np.linalg.solve(M, rhs.ravel()), atol=1e-8)
    assert np.linalg.norm(apply(found.x) - rhs) <= 1.1e-10 * np.linalg.norm(rhs)


@pytest.mark.parametrize(("method", "textbook"), [("cg", textbook_cg), ("bicgstab", textbook_bicgstab)])
def test_iterates_are_those_of_the_textbook(method, textbook):
    M, apply, rhs = problem()
    seen = []
    found = krylov(
        apply, rhs, method=method, tol=0.0, max_iter=8, watch=lambda number, x: seen.append((number, x.copy()))
    )
    assert [number for number, _ in seen] == list(range(1, 9))
    assert (found.n_iter, found.converged) == (8, False)
    for (_, x), expected in zip(seen, textbook(M, rhs.ravel(), 8), strict=True):
        assert x.shape == SHAPE
        np.testing.assert_allclose(x.ravel(), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(found.x, seen[-1][1])


@methods
def test_a_watch_stops_at_its_iterate(method):
    _, apply, rhs = problem()
    seen = []

    def watch(number, x):
        seen.append(x.copy())
        return number == 3

    found = krylov(apply, rhs, method=method, tol=1e-12, watch=watch)
    assert (found.n_iter, found.converged, len(seen)) == (3, False, 3)
    np.testing.assert_array_equal(found.x, seen[-1])
    cut = krylov(apply, rhs, method=method, tol=1e-12, max_iter=3)
    assert (cut.n_iter, cut.converged) == (3, False)
    np.testing.assert_array_equal(found.x, cut.x)


@methods
def test_an_exact_preconditioner_takes_one_iteration(method):
    M, apply, rhs = problem()
    products = []
    found = krylov(
        lambda x: products.append(x) or apply(x),
        rhs,
        method=method,
        precondition=lambda R: np.linalg.solve(M, R.ravel()).reshape(SHAPE),
        tol=1e-9,
    )
    assert found.converged
    assert len(products) == 1  # BiCGSTAB is there after the first half of its first iteration
    plain = krylov(apply, rhs, method=method, tol=1e-9)
    assert plain.n_iter > 5
    np.testing.assert_allclose(found.x, plain.x, atol=1e-6)


@methods
def test_a_start_near_the_solution_saves_iterations(method):
    M, apply, rhs = problem()
    solution = np.linalg.solve(M, rhs.ravel()).reshape(SHAPE)
    given = solution.copy()
    assert krylov(apply, rhs, method=method, start=given).n_iter == 0
    near = krylov(apply, rhs, method=method, start=solution * (1 + 1e-7), tol=1e-10)
    assert 1 <= near.n_iter < krylov(apply, rhs, method=method, tol=1e-10).n_iter
    np.testing.assert_allclose(near.x, solution, atol=1e-8)
    np.testing.assert_array_equal(given, solution)  # not written into


@methods
def test_a_zero_right_hand_side_has_a_zero_solution(method):
    _, apply, rhs = problem()
    found = krylov(apply, np.zeros(SHAPE), method=method, start=rhs)
    assert (found.n_iter, found.converged) == (0, True)
    np.testing.assert_array_equal(found.x, np.zeros(SHAPE))


@methods
def test_single_precision_stays_single(method):
    M, apply, rhs = problem(dtype=np.float32)
    found = krylov(apply, rhs, method=method, tol=1e-5)
    assert found.converged
    assert found.x.dtype == np.float32
    np.testing.assert_allclose(found.x.ravel(), np.linalg.solve(M.astype(float), rhs.ravel()), atol=1e-3)


def test_errors_of_the_watch_come_through():
    def watch(number, x):
        raise KeyError("mine")

    _, apply, rhs = problem()
    with pytest.raises(KeyError, match="mine"):
        krylov(apply, rhs, watch=watch)


def test_the_last_iterate_is_watched():
    _, apply, _ = problem()
    for method in METHODS:
        seen = []
        rhs = np.linalg.eigh(problem()[0])[1][:, 3].reshape(SHAPE)  # one step suffices
        found = krylov(apply, rhs, method=method, watch=lambda number, x, seen=seen: seen.append(x.copy()))
        assert found.n_iter == 1
        np.testing.assert_array_equal(seen[-1], found.x)


@methods
def test_without_tolerance_an_exact_solution_stays(method):
    found = krylov(lambda x: 4 * x, np.full((2, 2), 8.0), method=method, tol=0.0, max_iter=5)
    np.testing.assert_array_equal(found.x, np.full((2, 2), 2.0))
