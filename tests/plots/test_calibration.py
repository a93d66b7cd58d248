"""CalibrationDisplay: bins against their definition, coverage of a ranker, both kinds of rankers."""

import numpy as np
import pytest

from builders import refused
from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.datasets import make_rock_paper_scissors
from condrank.metrics import coverage
from condrank.plots import CalibrationDisplay

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("scale", ["probability", "log-odds", "outcome"])
def test_bins_have_mean_predictions_and_shares_of_wins(scale):
    p = RNG.random((5, 6))
    won = RNG.choice([0.0, 0.5, 1.0], size=(5, 6))
    won[0, :2] = np.nan
    scores = {"probability": p, "log-odds": np.log(p / (1 - p)), "outcome": 2 * p - 1}[scale]
    display = CalibrationDisplay.from_predictions(2 * won - 1, scores, scale=scale, n_bins=4)
    place = 0
    for k in range(4):
        inside = (p >= k / 4) & (p < (k + 1) / 4) & ~np.isnan(won)
        if inside.any():
            assert np.isclose(display.promised[place], p[inside].mean())
            assert np.isclose(display.observed[place], won[inside].mean())
            assert display.counts[place] == inside.sum()
            place += 1
    assert len(display.counts) == place


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_intervals_of_a_ranker(rank_by):
    X = RNG.normal(size=(60, 3))
    graph = RelationGraph(X, np.sin(X @ X.T + X[:, :1]) + RNG.normal(size=(60, 60)))
    ranker = ConditionalRanker(loss="regression", kernel="rbf", rank_by=rank_by).fit(graph[:40])
    new = graph[40:]
    display = CalibrationDisplay.from_estimator(ranker, new, coverages=(0.5, 0.8))
    truth = new.to_dense()
    np.fill_diagonal(truth, np.nan)
    truth = truth if rank_by == "outgoing" else truth.T
    expected = [coverage(truth, *ranker.predict_interval(new, coverage=one)) for one in (0.5, 0.8)]
    assert np.allclose(display.observed, expected)
    assert display.kind == "intervals"
    display.plot(name="new nodes")
    assert display.ax_.get_ylabel() == "share of labels covered"
    assert len(CalibrationDisplay.from_estimator(ranker, new, max_nodes=5).plot(display.ax_).ax_.lines) == 3


def test_probabilities_of_a_ranker_of_games():
    games = make_rock_paper_scissors(10, 40, 400, random_state=0)[0]
    ranker = ConditionalRanker("reciprocal", "logistic", kernel="rbf").fit(games[:30])
    new = games[30:]
    display = CalibrationDisplay.from_estimator(ranker, new, n_bins=5)
    expected = CalibrationDisplay.from_predictions(new.to_dense(), ranker.predict_proba(new), n_bins=5)
    assert np.array_equal(display.observed, expected.observed)
    assert display.plot().ax_.get_xlabel() == "predicted probability of a win"
    again = CalibrationDisplay.from_estimator(ranker, new, n_bins=5, recalibrated=True)
    assert not np.allclose(again.promised.mean(), display.promised.mean(), atol=1e-9) or len(again.counts) != 5


def test_a_ranker_of_tables():
    ids = [f"p{i}" for i in range(8)]
    players = {"id": ids, "speed": np.arange(8.0)}
    pairs = [RNG.permutation(8)[:2] for _ in range(40)]
    table = {"winner": [ids[max(pair)] for pair in pairs], "loser": [ids[min(pair)] for pair in pairs]}
    ranker = TableRanker(ConditionalRanker("reciprocal", "logistic", constant=True)).fit(players, table)
    display = CalibrationDisplay.from_estimator(ranker, ranker.graph_)
    assert display.counts.sum() == np.count_nonzero(~np.isnan(ranker.graph_.to_dense()))


def test_refusals():
    refused("Y_score must have the shape", CalibrationDisplay.from_predictions, [1.0], [0.5, 0.5])
    refused("at least one outcome", CalibrationDisplay.from_predictions, [np.nan], [0.5])
    refused("must be outcomes", CalibrationDisplay.from_predictions, [3.0], [0.5])
    refused("intervals must have at least one", CalibrationDisplay.from_intervals, [1.0], {})
    refused("graph must be a RelationGraph", CalibrationDisplay.from_estimator, ConditionalRanker(), [1.0])
