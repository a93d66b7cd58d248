"""Damping as a thin product."""

import numpy as np
import pytest

from condrank.solvers.thin_damping import Damping


@pytest.mark.parametrize("alpha", [1e-8, 1.0, 1e8])
def test_damping_is_a_thin_product(alpha):
    s, g = np.logspace(-9, 3, 300), np.append(np.logspace(-5, 2, 250), 0)
    damping = Damping(s, g, alpha)
    assert damping.right is not None
    weights = np.random.default_rng(0).random((3, 300))
    exact = weights @ (alpha / (np.multiply.outer(s, g) + alpha))
    assert np.allclose(damping(weights), exact, rtol=1e-11, atol=0)
    W, values = Damping(s, s, alpha).symmetric()
    assert len(values) < 150
    # Relative to 1/((1 + a)(1 + b)), which Λ exceeds by no more than the largest a.
    a = 1 + s / np.sqrt(alpha)
    error = ((W * values) @ W.T - Damping(s, s, alpha).dense()) * np.multiply.outer(a, a)
    assert np.abs(error).max() <= 1e-12 * a.max()


@pytest.mark.parametrize(("alpha", "most"), [(1e-4, 15), (1.0, 40), (1e6, 15)])
def test_damping_has_few_columns_where_eigenvalues_are_alike(alpha, most):
    s = np.logspace(-1.5, 2, 300)
    damping = Damping(s, s, alpha)
    assert damping.left.shape[1] <= most
    exact = alpha / (np.multiply.outer(s, s) + alpha)
    assert np.abs(damping(np.eye(300)) / exact - 1).max() <= 1e-12


@pytest.mark.parametrize(("n", "m"), [(20, 400), (400, 130)])
def test_damping_of_sides_with_fewer_eigenvalues_than_points(n, m):
    s, g = np.logspace(-1, 1, n), np.logspace(-3, 1, m)
    damping = Damping(s, g, 1.0)
    assert damping.right is not None
    assert np.allclose(damping(np.eye(n)), 1 / (np.multiply.outer(s, g) + 1), rtol=1e-11, atol=0)
