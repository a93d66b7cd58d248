"""σσ'/(σσ' + λ) in few factors, and derivatives of scores by labels made of them, against the whole matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condrank import ConditionalRanker
from condrank.solvers.damping import damping_factors
from reference import error


@given(st.integers(0, 10**6), st.floats(-14, 4), st.floats(-10, 6), st.booleans())
@settings(max_examples=80, deadline=None)
def test_the_factors_multiply_to_the_damping(seed, smallest, log_alpha, repeated):
    rng = np.random.default_rng(seed)
    sigma = np.sort(10.0 ** rng.uniform(smallest, 4, size=int(rng.integers(1, 60))))
    tau = np.sort(10.0 ** rng.uniform(smallest, 4, size=int(rng.integers(1, 60))))
    if repeated:
        sigma[: len(sigma) // 2], tau[:] = sigma[0], tau[0]
    product = np.multiply.outer(sigma, tau)
    U, V = damping_factors(sigma, tau, 10.0**log_alpha)
    assert np.abs(U @ V.T - product / (product + 10.0**log_alpha)).max() <= 1e-13


def test_few_factors_are_enough_for_many_nodes():
    sigma = 10.0 ** np.linspace(-13, 3, 2000)
    assert all(damping_factors(sigma, sigma, alpha)[0].shape[1] <= 130 for alpha in (1e-8, 1e-3, 1.0, 1e3))


@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize("loss", ["regression", "ranking", "intercept"])
@pytest.mark.parametrize("alpha", [1e-6, 0.1, 1e3])
def test_the_influence_of_labels_is_that_of_the_whole_adjoint_solution(relation, loss, alpha):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 30))
    Y = {"ordinary": Y, "symmetric": Y + Y.T, "reciprocal": Y - Y.T}[relation]
    options = {"loss": "regression" if loss == "intercept" else loss, "fit_intercept": loss == "intercept"}
    system = ConditionalRanker(relation, kernel="rbf", alpha=alpha, **options).fit(X, Y).fitted_.system
    left, right = system.rows.transform(system.rows.nodes.block(slice(2)))
    rhs = system.relation.project(np.multiply.outer(left, right))
    Z = system.rows.training()
    expected = Z @ system.solve(alpha, rhs=rhs).W @ Z.T
    if system.loss.centres_rows:
        expected -= expected.mean(axis=1, keepdims=True)
    elif system.loss.fits_intercept:
        expected -= expected.mean()
    assert error(system.influence(alpha, left, right), expected) <= 1e-7
