"""Iterations in single precision, refined to double."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from condrank.solvers.krylov import krylov
from condrank.solvers.refinement import refined


def system(condition: float, n: int = 40, seed: int = 0):
    """A symmetric matrix with a given condition number, and a right-hand side."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    M = (Q * np.geomspace(1, condition, n)) @ Q.T
    return (M + M.T) / 2, rng.normal(size=n)


def rough(M):
    single = M.astype(np.float32)
    return lambda x: (single @ x.astype(np.float32)).astype(x.dtype)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("condition", [10.0, 1e4])
def test_refined_iterations_reach_double_precision(condition, scale):
    M, b = system(condition)
    found = refined(lambda x: M @ x, rough(M), scale * b, tol=1e-12)
    assert found.converged
    assert np.linalg.norm(scale * b - M @ found.x) <= 1e-12 * np.linalg.norm(scale * b)


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(lambda x: np.full_like(x, np.nan), id="nan"),
        pytest.param(lambda x: x, id="another operator"),
        pytest.param(lambda x: 1e300 * x * 1e300, id="overflow"),
    ],
)
def test_an_operator_that_is_not_near_is_not_used_further(bad):
    M, b = system(50.0)
    found = refined(lambda x: M @ x, bad, b, tol=1e-10)
    assert found.converged
    assert_allclose(M @ found.x, b, atol=1e-9)


def test_most_iterations_are_in_single_precision():
    M, b = system(100.0)
    calls = {"double": 0, "single": 0}
    single = rough(M)

    def count(name, product):
        def counted(x):
            calls[name] += 1
            return product(x)

        return counted

    found = refined(count("double", lambda x: M @ x), count("single", single), b, tol=1e-10)
    plain = krylov(lambda x: M @ x, b, tol=1e-10)
    assert calls["single"] >= found.n_iter
    assert calls["double"] <= 4
    assert found.n_iter <= 2 * plain.n_iter


def test_refined_iterations_start_from_a_guess():
    M, b = system(100.0)
    exact = np.linalg.solve(M, b)
    start = exact.copy()
    found = refined(lambda x: M @ x, rough(M), b, start=start, tol=1e-8)
    assert found.n_iter == 0
    start[0] += 1
    found = refined(lambda x: M @ x, rough(M), b, start=start, tol=1e-8)
    assert_allclose(found.x, exact, rtol=1e-5)
    assert start[0] == exact[0] + 1  # the guess is not written to


def test_a_watch_counts_on_and_sees_the_whole_iterate():
    M, b = system(100.0)
    seen = []
    found = refined(lambda x: M @ x, rough(M), b, tol=1e-10, watch=lambda number, x: seen.append((number, x)))
    assert [number for number, _ in seen] == list(range(1, found.n_iter + 1))
    assert_allclose(seen[-1][1], found.x, rtol=1e-6)
    for stop_at in (1, found.n_iter - 1):  # in the first round and in the last
        stopped = refined(lambda x: M @ x, rough(M), b, tol=1e-10, watch=lambda number, x, at=stop_at: number == at)
        assert stopped.n_iter == stop_at
        assert not stopped.converged
        assert_allclose(stopped.x, seen[stop_at - 1][1])


@pytest.mark.parametrize("operator", [pytest.param(None, id="near"), pytest.param(lambda x: x, id="not near")])
def test_max_iter_bounds_all_rounds_together(operator):
    M, b = system(1e4)
    found = refined(lambda x: M @ x, operator or rough(M), b, tol=1e-12, max_iter=7)
    assert found.n_iter == 7
    assert not found.converged


def test_a_zero_right_hand_side_has_a_zero_solution():
    M, b = system(10.0)
    found = refined(lambda x: M @ x, rough(M), 0 * b)
    assert found.converged
    assert not found.x.any()
