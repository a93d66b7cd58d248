"""Pictures of a reciprocal relation in two parts: one order and cycles."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from condrank import ConditionalRanker, RelationGraph
from condrank.plots import HodgeDisplay
from drawn import ROCK_PAPER_SCISSORS, image, reciprocal, two_domains


def test_hodge_of_strengths_is_one_order_and_of_rock_paper_scissors_a_cycle():
    strength = np.array([0.3, 0.1, 0.9])
    ordered = HodgeDisplay.from_relation(np.subtract.outer(strength, strength)).plot()
    np.testing.assert_array_equal(ordered.order, [2, 0, 1])
    np.testing.assert_allclose(image(ordered.ax_[0]), image(ordered.ax_[1]))
    assert np.nanmax(np.abs(image(ordered.ax_[2]))) < 1e-12
    assert [ax.get_title() for ax in ordered.ax_] == ["relation", "one order: 100 %", "cycles: 0 %"]
    cycle = HodgeDisplay.from_relation(ROCK_PAPER_SCISSORS).plot()
    np.testing.assert_allclose(image(cycle.ax_[0]), image(cycle.ax_[2]), atol=1e-12)


def test_hodge_parts_add_up_and_keep_holes():
    graph = reciprocal(14, holes=0.3)
    display = HodgeDisplay.from_relation(graph).plot()
    np.testing.assert_allclose(display.gradient + display.cyclic, display.flow)
    expected = graph.to_dense()
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_array_equal(np.isnan(display.cyclic), np.isnan(expected))
    np.testing.assert_allclose(image(display.ax_[0]), expected[np.ix_(display.order, display.order)])
    assert "not observed" in display.ax_[0].get_xlabel()
    # Orthogonal parts: what is cyclic flows out of no node.
    np.testing.assert_allclose(np.nansum(display.cyclic, axis=1), 0, atol=1e-9)


def test_hodge_reads_one_direction_and_probabilities():
    chances = np.array([[np.nan, 0.9], [np.nan, np.nan]])
    graph = RelationGraph(np.eye(2), chances, probabilities=True)
    display = HodgeDisplay.from_relation(graph)
    np.testing.assert_allclose(display.flow, [[np.nan, 0.4], [-0.4, np.nan]])
    np.testing.assert_allclose(HodgeDisplay.from_relation(chances, centre=0.5).flow, display.flow)


def test_hodge_of_a_ranker_splits_its_scores_and_large_graphs_are_sampled():
    graph = reciprocal(20)
    ranker = ConditionalRanker("reciprocal", "regression", alpha=1e-6).fit(graph)
    display = HodgeDisplay.from_estimator(ranker, graph)
    np.testing.assert_allclose(display.flow, HodgeDisplay.from_relation(graph).flow, atol=1e-4)
    assert "5 of 20 nodes" in HodgeDisplay.from_relation(graph, max_nodes=5).plot().ax_[0].get_xlabel()


def test_hodge_without_energy_has_no_shares():
    titles = [ax.get_title() for ax in HodgeDisplay.from_relation(np.zeros((3, 3))).plot().ax_]
    assert titles == ["relation", "one order", "cycles"]


def test_hodge_refuses_what_is_not_reciprocal():
    two = two_domains()
    with pytest.raises(ValueError, match="one domain"):
        HodgeDisplay.from_relation(two)
    with pytest.raises(ValueError, match="one domain"):
        HodgeDisplay.from_estimator(ConditionalRanker().fit(two), two)
    with pytest.raises(ValueError, match="shape"):
        HodgeDisplay.from_relation(np.ones((2, 3)))
    with pytest.raises(ValueError, match="observed value"):
        HodgeDisplay.from_relation(np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="three axes"):
        HodgeDisplay.from_relation(ROCK_PAPER_SCISSORS).plot(ax=Figure().subplots(1, 2))
