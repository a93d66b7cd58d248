"""Recalibrated probabilities: slopes against refits, better on new players, reciprocal, saved."""

import warnings

import numpy as np
import pytest

from builders import refused
from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.datasets import make_rock_paper_scissors
from condrank.metrics import log_loss
from condrank.model_selection.residuals import best_slope, left_out_slopes


def ranker(alpha=1e-3, **params):
    return ConditionalRanker("reciprocal", "logistic", alpha, kernel="rbf", gamma=5.0, tol=1e-10, **params)


@pytest.fixture(scope="module")
def games():
    return make_rock_paper_scissors(10, 40, 200, random_state=0)[0]


def naive_slope(won, log_odds):
    """The best slope of a fine grid."""
    grid = np.linspace(0, 3, 3001)
    p = 1 / (1 + np.exp(-np.multiply.outer(grid, log_odds)))
    return grid[np.argmin(-(won * np.log(p) + (1 - won) * np.log(1 - p)).sum(axis=1))]


def test_the_slope_has_the_lowest_log_loss():
    random = np.random.default_rng(0)
    h = 3 * random.normal(size=500)
    won = (random.random(500) < 1 / (1 + np.exp(-0.4 * h))).astype(float)
    assert abs(best_slope(won, h, np.ones(500)) - naive_slope(won, h)) <= 2e-3
    doubled = best_slope(np.append(won, won[:100]), np.append(h, h[:100]), np.ones(600))
    weights = np.where(np.arange(500) < 100, 2.0, 1.0)
    assert np.isclose(best_slope(won, h, weights), doubled, atol=1e-4)
    assert best_slope(np.zeros(3), np.ones(3), np.ones(3)) < 1e-3
    assert best_slope(np.ones(3), np.ones(3), np.ones(3)) > 10


@pytest.mark.parametrize("probabilities", [False, True])
def test_slopes_of_left_out_players_are_those_of_refits(probabilities):
    train = make_rock_paper_scissors(10, 12, 60, random_state=1)[0]
    Y = train.to_dense()
    X = train.nodes.rows
    graph = RelationGraph(X, (1 + Y) / 2 if probabilities else Y, probabilities=probabilities or None)
    made = left_out_slopes(ranker(), graph, [2], 12, 0)
    won, log_odds = [], []
    for i in range(12):
        rest = np.delete(np.arange(12), i)
        scores = ranker().fit(graph[rest]).predict(X, X)
        for a, b in [(i, j) for j in rest] + [(j, i) for j in rest]:
            if not np.isnan(Y[a, b]):
                won.append((1 + Y[a, b]) / 2)
                log_odds.append(scores[a, b])
    assert np.isclose(made[2], naive_slope(np.array(won), np.array(log_odds)), atol=2e-3)
    assert made[3] == made[2]


def test_recalibration_helps_an_overfitted_model(games):
    """Games of other players of the same kind, at a λ that is far too small."""
    new = make_rock_paper_scissors(10, 40, 400, random_state=1)[0]
    fitted = ranker().fit(games)
    truth = new.to_dense()
    before = log_loss(truth, fitted.predict_proba(new), scale="probability")
    after = log_loss(truth, fitted.predict_proba(new, recalibrated=True), scale="probability")
    assert fitted.fitted_.slopes[4] < 0.8
    assert after < before - 0.05


def test_both_directions_sum_to_one_and_the_order_stays(games):
    fitted = ranker().fit(games)
    new = np.vstack([games.nodes.rows[:3], np.random.default_rng(0).dirichlet(np.ones(3), size=5)])
    given = fitted.predict_proba(new, new, recalibrated=True)
    assert np.array_equal(given + given.T, np.ones((8, 8)))
    plain = fitted.predict_proba(new, new)
    assert np.array_equal(np.argsort(given, axis=1), np.argsort(plain, axis=1))
    assert not np.allclose(given, plain)


def test_slopes_are_saved(games, tmp_path):
    fitted = ranker().fit(games).calibrate(n_splits=3)
    assert sorted(fitted.fitted_.slopes) == [1, 2, 3, 4]
    fitted.save(tmp_path / "model")
    again = ConditionalRanker.load(tmp_path / "model")
    X = games.nodes.rows[:4] + 0.01
    assert np.array_equal(again.predict_proba(X, recalibrated=True), fitted.predict_proba(X, recalibrated=True))
    ranker().fit(games).save(tmp_path / "bare")
    bare = ConditionalRanker.load(tmp_path / "bare")
    refused("no left-out slopes and no labels", bare.predict_proba, X, recalibrated=True)


def test_tables_have_recalibrated_probabilities():
    players = {"id": [f"p{i}" for i in range(8)], "speed": np.arange(8.0), "size": np.arange(8.0)[::-1] ** 2}
    random = np.random.default_rng(0)
    pairs = [random.permutation(8)[:2] for _ in range(40)]
    table = {"winner": [f"p{first}" for first, _ in pairs], "loser": [f"p{second}" for _, second in pairs]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = TableRanker(ranker(1.0)).fit(players, table).calibrate(n_splits=4)
    plain, given = (fitted.predict_proba(["p1"], recalibrated=one) for one in (False, True))
    slope = fitted.ranker_.fitted_.slopes[1]
    assert np.allclose(np.log(given / (1 - given)), slope * np.log(plain / (1 - plain)), atol=1e-6)
