"""Pictures of a relation and its prediction: order, groups, holes, samples."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from condrank import ConditionalRanker, RelationGraph
from condrank.metrics import rank_loss
from condrank.plots import CoordinatesDisplay, QueryLossDisplay, RelationDisplay, deal_out
from drawn import CLASSES, Y, image, reciprocal, two_domains


def test_deal_out_gives_the_truth_for_a_perfect_order():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=(6, 9)).astype(float)
    np.testing.assert_array_equal(deal_out(truth, 10 * truth + rng.random(truth.shape)), truth)


def test_deal_out_puts_the_largest_value_where_the_score_is_highest():
    truth = np.array([[0.0, np.nan, 2.0, 1.0]])
    scores = np.array([[3.0, 9.0, 1.0, 2.0]])
    np.testing.assert_array_equal(deal_out(truth, scores), [[2.0, np.nan, 0.0, 1.0]])


def test_relation_is_drawn_in_the_given_order():
    order = np.argsort(CLASSES, kind="stable")
    display = RelationDisplay.from_predictions(Y, Y + 5, order=order, groups=CLASSES).plot()
    for ax in display.ax_:
        np.testing.assert_array_equal(ax.images[0].get_array(), Y[np.ix_(order, order)])
        assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2"]
        np.testing.assert_allclose(ax.get_yticks(), [0.5, 2.5, 4])
    assert isinstance(display.figure_, Figure)


def test_relation_can_show_the_scores_themselves():
    display = RelationDisplay.from_predictions(Y[:2], Y[:2] + 5).plot(show="scores")
    np.testing.assert_array_equal(display.ax_[1].images[0].get_array(), Y[:2] + 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"Y_true": Y, "Y_score": Y[:2]}, "shape of Y_true"),
        ({"Y_true": Y[0], "Y_score": Y[0]}, "n_queries, n_objects"),
        ({"Y_true": Y, "Y_score": Y, "order": [0, 0, 1, 2, 3]}, "order must have each"),
        ({"Y_true": Y, "Y_score": Y, "groups": [0, 1]}, "groups must have shape"),
        ({"Y_true": Y[:2], "Y_score": Y[:2], "groups": [0, 1]}, "square"),
    ],
)
def test_relation_refuses_what_does_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        RelationDisplay.from_predictions(**arguments)


def test_relation_refuses_an_unknown_choice_and_a_single_axes():
    display = RelationDisplay.from_predictions(Y, Y)
    with pytest.raises(ValueError, match="show must be"):
        display.plot(show="both")
    with pytest.raises(ValueError, match="two axes"):
        display.plot(ax=Figure().subplots())


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("make", [two_domains, reciprocal])
def test_relation_of_a_ranker_has_a_row_for_each_conditioning_node(rank_by, make):
    graph = make()
    ranker = ConditionalRanker(rank_by=rank_by, alpha=0.1).fit(graph)
    display = RelationDisplay.from_estimator(ranker, graph).plot(show="scores")
    truth = graph.to_dense() if rank_by == "outgoing" else graph.to_dense().T
    np.testing.assert_array_equal(image(display.ax_[0]), truth)
    np.testing.assert_array_equal(image(display.ax_[1]), ranker.predict(graph))
    losses = QueryLossDisplay.from_estimator(ranker, graph).losses
    np.testing.assert_allclose(losses, rank_loss(truth, ranker.predict(graph), average=None))


def test_relation_shows_holes_and_says_so():
    truth = np.array([[1.0, np.nan], [np.nan, 3.0]])
    display = RelationDisplay.from_predictions(truth, np.ones((2, 2))).plot(colourbar=True)
    for ax in display.ax_:
        np.testing.assert_array_equal(image(ax), truth)
        assert ax.get_facecolor()[:3] == (0.8, 0.8, 0.8)
    assert "not observed" in display.ax_[1].get_xlabel()
    assert "not observed" not in RelationDisplay.from_predictions(Y, Y).plot().ax_[1].get_xlabel()
    assert len(display.figure_.axes) == 3
    with pytest.raises(ValueError, match="NaN only"):
        RelationDisplay.from_predictions(np.full((2, 2), np.nan), np.ones((2, 2)))


def test_relation_in_the_order_of_scores_puts_the_highest_mean_first():
    truth = np.array([[0.0, 1, np.nan], [9, 9, 9], [np.nan, np.nan, np.nan]])
    display = RelationDisplay.from_predictions(truth, np.ones((3, 3)), order="score").plot()
    np.testing.assert_array_equal(display.order, [1, 0, 2])
    np.testing.assert_array_equal(image(display.ax_[0]), truth[np.ix_([1, 0, 2], [1, 0, 2])])
    wide = np.array([[1.0, 5, 3], [2, 6, 4]])
    display = RelationDisplay.from_predictions(wide, wide, order="score").plot()
    np.testing.assert_array_equal(image(display.ax_[0]), [[6, 4, 2], [5, 3, 1]])


def test_relation_in_the_order_of_groups_keeps_the_order_of_scores_within():
    truth = np.diag([1.0, 2, 3, 4])
    display = RelationDisplay.from_predictions(truth, truth, order="groups", groups=["b", "a", "b", "a"]).plot()
    np.testing.assert_array_equal(display.order, [3, 1, 2, 0])
    assert [label.get_text() for label in display.ax_[0].get_xticklabels()] == ["a", "b"]


def test_a_large_relation_is_sampled_with_a_note_and_keeps_its_order_and_groups():
    n = 30
    truth = np.arange(n * n, dtype=float).reshape(n, n)
    groups, order = np.arange(n) // 10, np.arange(n)[::-1]
    display = RelationDisplay.from_predictions(truth, truth, order=order, groups=groups, max_nodes=6).plot()
    assert "6 of 30 nodes, drawn at random" in display.ax_[0].get_xlabel()
    shown = image(display.ax_[0])
    rows = (shown[:, 0] // n).astype(int)
    np.testing.assert_array_equal(rows, np.sort(rows)[::-1])
    np.testing.assert_array_equal(shown, truth[np.ix_(rows, rows)])
    assert [text.get_text() for text in display.ax_[0].get_yticklabels()] == [
        str(group) for group in dict.fromkeys(groups[rows])
    ]


def test_a_large_graph_is_sampled_before_anything_is_predicted():
    graph = RelationGraph.from_classes(np.random.default_rng(0).standard_normal((3000, 2)), np.arange(3000) % 3)
    ranker = ConditionalRanker("symmetric").fit(graph)
    display = RelationDisplay.from_estimator(ranker, graph, groups=np.arange(3000) % 3, order="groups", max_nodes=40)
    assert display.Y_true.shape == (40, 40)
    assert display.note == "40 of 3,000 nodes, drawn at random"
    np.testing.assert_array_equal(display.Y_true, np.equal.outer(display.groups, display.groups))
    assert CoordinatesDisplay.from_estimator(ranker, graph, max_nodes=50).note.startswith("50 of 3,000")
    two = two_domains(n=20, m=9)
    display = RelationDisplay.from_estimator(ConditionalRanker().fit(two), two, max_nodes=10)
    assert display.note == "10 × 9 of 20 × 9 nodes, drawn at random"
