"""Weights of features, learned from the slope of the held-out loss."""

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph
from condrank.model_selection import relevance
from reference_search import ranker


def _scores(one, train, test):
    return one.fit(train).predict(test)


@pytest.mark.parametrize(
    ("relation", "loss", "kernel"),
    [
        ("reciprocal", "regression", "laplacian"),
        ("reciprocal", "ranking", "rbf"),
        ("symmetric", "ranking", "laplacian"),
        ("symmetric", "regression", "rbf"),
        ("ordinary", "ranking", "rbf"),
        ("ordinary", "regression", "laplacian"),
    ],
)
def test_the_slope_is_that_of_finite_differences(monkeypatch, relation, loss, kernel):
    monkeypatch.setattr(relevance, "TOLERANCES", (1e-11, 1e-11))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16, 3))
    Y = np.sign(X[:, [0]] - X[:, 0]) * (1 + X[:, [1]] * X[:, 1]) + rng.normal(size=(16, 16))
    Y = {"reciprocal": Y - Y.T, "symmetric": Y + Y.T, "ordinary": Y}[relation]
    hidden = np.triu(rng.random(Y.shape) > 0.7, 1)
    Y[hidden | hidden.T] = np.nan
    graph = RelationGraph(X, Y)
    train, test = graph[np.arange(9)], graph[np.arange(9, 16)]
    compared = [0, 1] if relation == "reciprocal" else None
    one = ConditionalRanker(relation, loss, kernel=kernel, gamma=0.4, compared=compared, constant=True)
    theta = np.log([1.0, 0.5, 2.0, 0.7])
    scale = _scores(relevance._at(one, theta).set_params(tol=1e-12), train, test).std()

    def fixed_width(truth, scores, smooth=relevance.smooth_rank_loss):
        # The width follows the scores but counts as constant in the slope.
        monkeypatch.setattr(relevance, "SMOOTHING", 0.25 * scale / scores[~np.isnan(truth)].std())
        return smooth(truth, scores)

    monkeypatch.setattr(relevance, "smooth_rank_loss", fixed_width)
    _, slope = relevance.held_out_slope(relevance._at(one, theta), train, test)
    direction = np.array([1.0, -0.5, 0.3, 0.8])
    ahead, behind = (
        relevance.held_out_slope(relevance._at(one, theta + step * direction), train, test)[0] for step in (1e-4, -1e-4)
    )
    assert slope @ direction == pytest.approx((ahead - behind) / 2e-4, abs=1e-6)


def test_weights_go_to_the_features_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    strength = np.sin(2 * X[:, 0])
    graph = RelationGraph(X, strength[:, None] - strength)
    order = [rng.permutation(80) for _ in range(25)]
    splits = [(graph[np.sort(one[:50])], graph[np.sort(one[50:])]) for one in order]
    learned = relevance.learn_weights(ranker(gamma=0.3, alpha=1.0, constant=True), splits)
    assert learned.feature_weights[0] > 2 * learned.feature_weights[1:].max()
