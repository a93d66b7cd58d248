"""Loss curves over λ and over the iterations of early stopping."""

import numpy as np
import pytest

from builders import GAMES, PLAYERS
from condrank import ConditionalRanker, ConditionalRankerCV, TableRanker
from condrank.plots import CoordinatesDisplay, LossCurveDisplay
from condrank.tables import read_graph
from drawn import reciprocal

RNG = np.random.default_rng(0)


def test_rankers_of_tables_have_loss_curves_and_coordinates():
    pytest.importorskip("matplotlib")
    nodes = {"id": np.arange(12), "x": RNG.normal(size=12), "y": RNG.normal(size=12)}
    edges = {"a": np.repeat(np.arange(12), 4), "b": RNG.integers(0, 12, 48), "value": RNG.normal(size=48)}
    search = TableRanker(ConditionalRankerCV([0.1, 1.0], 3)).fit(nodes, edges)
    display = LossCurveDisplay.from_estimator(search)
    np.testing.assert_array_equal(display.losses, search.ranker_.cv_losses_)
    games = TableRanker().fit(PLAYERS, GAMES)
    assert CoordinatesDisplay.from_estimator(games, read_graph(PLAYERS, GAMES)).relation == "reciprocal"


def test_curves_of_lambda_and_of_early_stopping_mark_what_was_chosen():
    graph = reciprocal(20)
    ranker = ConditionalRankerCV([0.01, 1.0, 100.0], 3, relation="reciprocal", random_state=0).fit(graph)
    line, *_, mark = LossCurveDisplay.from_estimator(ranker).plot().ax_.lines
    np.testing.assert_array_equal(line.get_xydata(), np.column_stack([ranker.alphas_, ranker.cv_losses_]))
    np.testing.assert_allclose(mark.get_xydata(), [[ranker.alpha_, min(ranker.cv_losses_)]])
    stopped = ConditionalRanker("reciprocal", solver="early_stopping", alpha=0.0, max_iter=6, random_state=0).fit(graph)
    display = LossCurveDisplay.from_estimator(stopped).plot()
    assert display.ax_.get_xscale() == "linear"
    assert display.ax_.get_xlabel() == "iteration"
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), stopped.history_)
