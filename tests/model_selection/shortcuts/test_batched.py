"""Many small systems at once."""

import numpy as np

from condrank.model_selection.shortcuts.batched import solve_directly, solve_rows


def test_noise_along_a_null_direction_is_taken_off():
    rng = np.random.default_rng(0)
    null = np.ones(50) / np.sqrt(50)
    P = np.eye(50) - np.multiply.outer(null, null)
    A = P @ np.diag(rng.uniform(1, 2, 50)) @ P
    c = rng.normal(size=(3, 50)) @ A
    x, failed, n_iter = solve_rows(lambda v: v @ A, c + 1e-9 * null, np.ones_like(c), null)
    assert not failed.any()
    assert n_iter < 30
    assert np.abs(x @ A - c).max() <= 1e-12 * np.abs(c).max()


def test_rows_that_do_not_converge_are_reported_and_solved_directly():
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(40, 40)))
    A = (Q * np.logspace(-13, 0, 40)) @ Q.T
    c = (A @ rng.normal(size=40))[None]
    _, failed, _ = solve_rows(lambda x: x @ A, c, np.ones_like(c))
    assert failed.all()
    x = solve_directly(lambda x: x @ A, c[0])
    assert np.abs(A @ x - c[0]).max() <= 1e-12 * np.abs(c).max()
