"""Loss curves, and pictures of rankers of tables."""

import numpy as np
import pytest

from builders import GAMES, PLAYERS
from condrank import ConditionalRankerCV, TableRanker
from condrank.plots import CoordinatesDisplay, LossCurveDisplay
from condrank.tables import read_graph

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
