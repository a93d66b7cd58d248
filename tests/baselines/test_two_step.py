"""Two-step kernel ridge regression against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from condrank import RelationGraph
from condrank.baselines import TwoStepRidge
from reference_baselines import make_labels

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


@pytest.mark.parametrize("alpha_objects", [None, 2.0])
def test_two_step_ridge_follows_its_definition(alpha_objects):
    rng = np.random.default_rng(10)
    X, X_new = rng.standard_normal((9, 3)), rng.standard_normal((4, 3))
    Y = make_labels(9, 9, rng)
    mu = 0.3 if alpha_objects is None else alpha_objects
    for K, K_new, kernel in ((X @ X.T, X_new @ X.T, "linear"), (rbf_kernel(X), rbf_kernel(X_new, X), "rbf")):
        A = np.linalg.inv(K + 0.3 * np.eye(9)) @ Y @ np.linalg.inv(K + mu * np.eye(9))
        ranker = TwoStepRidge(0.3, alpha_objects, kernel=kernel).fit(X, Y)
        np.testing.assert_allclose(ranker.predict(X), K @ A @ K, atol=1e-9)
        np.testing.assert_allclose(ranker.predict(X_new, X_new), K_new @ A @ K_new.T, atol=1e-9)


def test_two_step_ridge_of_two_domains_follows_its_definition():
    rng = np.random.default_rng(11)
    X, X_objects = rng.standard_normal((6, 3)), rng.standard_normal((8, 2))
    Y = make_labels(6, 8, rng)
    K, G = rbf_kernel(X, gamma=1), rbf_kernel(X_objects, gamma=1)
    expected = K @ np.linalg.inv(K + 0.1 * np.eye(6)) @ Y @ np.linalg.inv(G + np.eye(8)) @ G
    graph = RelationGraph(X, Y, objects=X_objects)
    np.testing.assert_allclose(TwoStepRidge(0.1, 1.0, kernel="rbf", gamma=1).fit(graph).predict(X), expected, atol=1e-9)
    Y[0, 0] = np.nan
    with pytest.raises(ValueError, match="complete graph"):
        TwoStepRidge().fit(RelationGraph(X, Y, objects=X_objects))


def test_an_intercept_is_the_mean_of_the_labels():
    rng = np.random.default_rng(12)
    X, X_new = rng.standard_normal((9, 3)), rng.standard_normal((4, 3))
    Y = make_labels(9, 9, rng) + 5
    plain, ranker = TwoStepRidge(0.3, kernel="rbf"), TwoStepRidge(0.3, kernel="rbf", fit_intercept=True).fit(X, Y)
    expected = plain.fit(X, Y - Y.mean()).predict(X_new, X) + Y.mean()
    np.testing.assert_allclose(ranker.predict(X_new, X), expected, atol=1e-9)
    assert ranker.intercept_ == pytest.approx(Y.mean())
    assert plain.intercept_ == 0.0
