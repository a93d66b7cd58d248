"""Pictures of the loss of each conditioning node."""

import numpy as np
import pytest

from condrank import ConditionalRanker
from condrank.model_selection import cross_validate
from condrank.plots import QueryLossDisplay
from drawn import reciprocal


def test_the_worst_nodes_stay_inside_the_axes():
    pytest.importorskip("matplotlib")
    ids = [f"a very long name of a conditioning node, number {i}" for i in range(60)]
    display = QueryLossDisplay.from_values(np.linspace(0, 1, 60), ids).plot(worst=50)
    display.figure_.canvas.draw()
    text, axes = display.ax_.texts[0].get_window_extent(), display.ax_.get_window_extent()
    assert axes.x0 <= text.x0
    assert axes.y0 <= text.y0
    assert text.x1 <= axes.x1
    assert display.ax_.texts[0].get_text().splitlines()[-1].endswith("more")


def test_query_losses_are_counted_in_bins_and_the_worst_are_named():
    losses = [0.02, 0.31, 0.0, 0.72, np.nan, 0.33]
    display = QueryLossDisplay.from_values(losses, ids=["a", "b", "c", "d", "e", "f"]).plot(worst=2)
    assert display.worst(2) == [("d", 0.72), ("f", 0.33)]
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert sum(heights) == 5
    assert heights[0] == 2
    assert heights[6] == 2
    assert heights[14] == 1
    assert display.ax_.texts[0].get_text().splitlines() == ["worst", "d  0.72", "f  0.33"]
    assert display.ax_.get_xlabel() == "rank loss (mean 0.276 dashed, chance dotted)\n1 of 6 have nothing to rank"
    mean, chance = (line.get_xdata()[0] for line in display.ax_.lines)
    assert mean == pytest.approx(0.276)
    assert chance == 0.5


def test_query_losses_as_shares_reach_one():
    display = QueryLossDisplay.from_values([0.5, 0.25, 1.0]).plot(kind="ecdf", name="plain", worst=0)
    curve = display.ax_.lines[0].get_xydata()
    np.testing.assert_allclose(curve[-1], [1.0, 1.0])
    np.testing.assert_allclose(curve[curve[:, 0] == 0.25][:, 1].max(), 1 / 3)
    assert not display.ax_.texts
    assert display.ax_.get_legend().get_texts()[0].get_text() == "plain (mean 0.583)"


def test_query_losses_of_predictions_and_of_a_cross_validation():
    truth, scores = np.array([[1.0, 2, 3], [1, 2, np.nan]]), np.array([[1.0, 2, 3], [2, 1, 0]])
    np.testing.assert_array_equal(QueryLossDisplay.from_predictions(truth, scores).losses, [0, 1])
    graph = reciprocal(15)
    result = cross_validate(ConditionalRanker("reciprocal"), graph, setting=4, cv=3)
    display = QueryLossDisplay.from_values(result.queries["rank_loss"], result.queries["query"])
    assert {name for name, _ in display.worst(15)} == set(graph.nodes.ids)


@pytest.mark.parametrize(
    ("losses", "ids", "message"),
    [
        ([], None, "at least one"),
        ([[0.1]], None, "n_queries"),
        ([np.nan], None, "nothing to rank"),
        ([0.2, 1.5], None, "within 0..1"),
        ([0.2], ["a", "b"], "ids must have shape"),
    ],
)
def test_query_losses_refuse_what_does_not_fit(losses, ids, message):
    with pytest.raises(ValueError, match=message):
        QueryLossDisplay.from_values(losses, ids)
