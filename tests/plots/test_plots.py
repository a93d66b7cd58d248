"""Displays draw what they are given, on axes of the caller or their own, and never through pyplot."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.metrics import rank_loss
from condrank.model_selection import cross_validate
from condrank.plots import (
    CoordinatesDisplay,
    HodgeDisplay,
    LossCurveDisplay,
    QueryLossDisplay,
    RelationDisplay,
    SimplexDisplay,
    deal_out,
)

CLASSES = np.array([1, 0, 1, 2, 0])
Y = np.equal.outer(CLASSES, CLASSES).astype(float)
ROCK_PAPER_SCISSORS = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])
POINTS = np.array([[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [1 / 3, 1 / 3, 1 / 3]])


def test_deal_out_of_a_perfect_order_is_the_truth():
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


def test_displays_draw_on_the_callers_axes(tmp_path):
    figure = Figure()
    first, second, third = figure.subplots(1, 3)
    relation = RelationDisplay.from_predictions(Y, Y).plot(ax=(first, second))
    simplex = SimplexDisplay.from_predictions(POINTS, [0.1, 0.9, 0.5], query=0, corner_values=[0, 1, 0.5]).plot(
        ax=third
    )
    assert relation.figure_ is figure
    assert simplex.figure_ is figure
    figure.savefig(tmp_path / "both.png")
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")


def test_simplex_places_shares_between_the_corners():
    display = SimplexDisplay.from_predictions(np.eye(3), [1, 2, 3], corners=("rock", "paper", "scissors")).plot()
    top, right, left = display.ax_.collections[0].get_offsets()
    assert top[1] > right[1] == left[1]
    assert left[0] < top[0] < right[0]
    assert [text.get_text() for text in display.ax_.texts] == ["rock", "paper", "scissors"]


def test_simplex_background_blends_the_values_of_the_corners():
    corners = np.array([0.2, 0.9, 0.4])
    display = SimplexDisplay.from_predictions(POINTS, POINTS @ corners, corner_values=corners).plot()
    image = display.ax_.images[0].get_array()
    assert image[-1, image.shape[1] // 2] == pytest.approx(0.2, abs=0.01)
    assert image[0, -1] == pytest.approx(0.9)
    assert image[0, 0] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"Y_true": Y, "Y_score": Y[:2]}, "shape of Y_true"),
        ({"Y_true": Y[0], "Y_score": Y[0]}, "n_queries, n_objects"),
        ({"Y_true": Y, "Y_score": Y, "order": [0, 0, 1, 2, 3]}, "order must hold each"),
        ({"Y_true": Y, "Y_score": Y, "groups": [0, 1]}, "groups must have shape"),
        ({"Y_true": Y[:2], "Y_score": Y[:2], "groups": [0, 1]}, "square"),
    ],
)
def test_relation_refuses_what_does_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        RelationDisplay.from_predictions(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": POINTS[:, :2], "scores": [1, 2, 3]}, "n_nodes, 3"),
        ({"points": 2 * POINTS, "scores": [1, 2, 3]}, "summing to one"),
        ({"points": POINTS, "scores": [1, 2]}, "scores must have shape"),
        ({"points": POINTS, "scores": [1, 2, 3], "corners": "ab"}, "three names"),
        ({"points": POINTS, "scores": [1, 2, 3], "corner_values": [1]}, "corner_values"),
    ],
)
def test_simplex_refuses_what_does_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        SimplexDisplay.from_predictions(**arguments)


def test_relation_refuses_an_unknown_choice_and_a_single_axes():
    display = RelationDisplay.from_predictions(Y, Y)
    with pytest.raises(ValueError, match="show must be"):
        display.plot(show="both")
    with pytest.raises(ValueError, match="two axes"):
        display.plot(ax=Figure().subplots())


def test_drawing_leaves_pyplot_alone():
    code = (
        "import sys, numpy as np; from condrank.plots import RelationDisplay; assert 'matplotlib' not in sys.modules; "
        "RelationDisplay.from_predictions(np.eye(2), np.eye(2)).plot(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Relations of fitted rankers


def image(ax):
    """What an image shows, holes as NaN."""
    return np.ma.filled(ax.images[0].get_array().astype(float), np.nan)


def two_domains(seed=0, n=7, m=5):
    rng = np.random.default_rng(seed)
    return RelationGraph(rng.standard_normal((n, 3)), rng.random((n, m)), objects=rng.standard_normal((m, 2)))


def reciprocal(n=12, holes=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    skew = X @ np.array([[0, 1, 0], [-1, 0, 2], [0, -2, 0]]) @ X.T
    hidden = np.triu(rng.random((n, n)) < holes, 1)
    skew[hidden | hidden.T] = np.nan
    return RelationGraph(X, skew, ids=[f"n{i}" for i in range(n)])


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


# Losses of conditioning nodes


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


# Order and cycles


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


def test_hodge_of_a_ranker_is_that_of_its_scores_and_large_ones_are_sampled():
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


# Coordinates


def test_areas_of_the_rotation_plane_are_the_scores():
    rng = np.random.default_rng(1)
    p, q = rng.standard_normal((2, 9))
    skew = np.outer(p, q) - np.outer(q, p)
    display = CoordinatesDisplay.from_predictions(skew + 0.5, relation="reciprocal")
    x, y = display.points.T
    np.testing.assert_allclose(np.outer(x, y) - np.outer(y, x), skew)
    assert display.share == pytest.approx(1)
    np.testing.assert_allclose(display.values, skew.mean(axis=1))


def test_rotation_plane_is_the_best_of_rank_two():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((8, 8))
    skew = A - A.T
    x, y = (display := CoordinatesDisplay.from_predictions(skew, relation="reciprocal")).points.T
    left, singular, right = np.linalg.svd(skew)
    np.testing.assert_allclose(np.outer(x, y) - np.outer(y, x), (left[:, :2] * singular[:2]) @ right[:2], atol=1e-10)
    assert display.share == pytest.approx(np.sum(singular[:2] ** 2) / np.sum(singular**2))


def test_symmetric_and_ordinary_planes_give_the_scores_back():
    rng = np.random.default_rng(3)
    _, a, b = np.linalg.qr(np.column_stack([np.ones(7), rng.standard_normal((7, 2))]))[0].T
    symmetric = 5 * np.outer(a, a) - 2 * np.outer(b, b)
    display = CoordinatesDisplay.from_predictions(symmetric + 100, relation="symmetric").plot()
    np.testing.assert_allclose((display.points * display.signs) @ display.points.T, symmetric, atol=1e-12)
    assert display.ax_.get_ylabel() == "negative coordinate 2"
    ordinary = rng.standard_normal((6, 2)) @ rng.standard_normal((2, 9))
    display = CoordinatesDisplay.from_predictions(ordinary).plot()
    centred = ordinary - ordinary.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(display.points @ display.object_points.T, centred, atol=1e-12)
    objects, nodes = (collection.get_offsets() for collection in display.ax_.collections)
    np.testing.assert_array_equal(objects, display.object_points)
    np.testing.assert_array_equal(nodes, display.points)


def test_coordinates_of_a_ranker_are_coloured_by_strength_groups_or_values():
    graph = reciprocal(12)
    ranker = ConditionalRanker("reciprocal", "regression", alpha=0.1).fit(graph)
    by_strength = CoordinatesDisplay.from_estimator(ranker, graph).plot()
    (dots,) = by_strength.ax_.collections
    np.testing.assert_allclose(dots.get_array(), ranker.predict(graph).mean(axis=1), atol=1e-12)
    by_group = CoordinatesDisplay.from_estimator(ranker, graph, groups=["x", "y"] * 6).plot(label="side")
    assert [text.get_text() for text in by_group.ax_.get_legend().get_texts()] == ["x", "y"]
    np.testing.assert_array_equal(by_group.ax_.collections[0].get_offsets(), by_group.points[::2])
    values = np.arange(12.0)
    values[3] = np.nan
    unknown, known = CoordinatesDisplay.from_estimator(ranker, graph, values=values).plot().ax_.collections
    assert len(unknown.get_offsets()) == 1
    np.testing.assert_array_equal(known.get_array(), values[~np.isnan(values)])
    many = CoordinatesDisplay.from_estimator(ranker, graph, groups=np.arange(12)).plot()
    assert many.ax_.get_legend() is None
    np.testing.assert_array_equal(many.ax_.collections[0].get_array(), np.arange(12))


@pytest.mark.parametrize(
    ("scores", "arguments", "message"),
    [
        (np.ones(3), {}, "Y_score must have shape"),
        (np.full((2, 2), np.nan), {}, "finite"),
        (np.ones((2, 3)), {"relation": "symmetric"}, "square"),
        (np.ones((3, 3)), {"relation": "cyclic"}, "relation must be"),
        (np.ones((3, 3)), {"values": [1, 2]}, "values must have shape"),
        (np.ones((3, 3)), {"values": [1, 2, 3], "groups": [1, 2, 3]}, "not both"),
    ],
)
def test_coordinates_refuse_what_does_not_fit(scores, arguments, message):
    with pytest.raises(ValueError, match=message):
        CoordinatesDisplay.from_predictions(scores, **arguments)


def test_displays_of_rankers_want_a_graph_and_a_whole_number_of_nodes():
    graph = reciprocal(5)
    ranker = ConditionalRanker("reciprocal").fit(graph)
    for display in (RelationDisplay, CoordinatesDisplay, HodgeDisplay, QueryLossDisplay):
        with pytest.raises(ValueError, match="graph must be a RelationGraph"):
            display.from_estimator(ranker, graph.to_dense())
    with pytest.raises(ValueError, match="max_nodes"):
        RelationDisplay.from_estimator(ranker, graph, max_nodes=0)
    with pytest.raises(ValueError, match="needs groups"):
        RelationDisplay.from_estimator(ranker, graph, order="groups")
    with pytest.raises(ValueError, match="order must be"):
        RelationDisplay.from_estimator(ranker, graph, order="class")


def test_new_displays_draw_on_the_callers_axes_and_can_be_saved(tmp_path):
    figure = Figure(figsize=(12, 6))
    axes = figure.subplots(2, 3)
    graph = reciprocal(10, holes=0.2)
    ranker = ConditionalRanker("reciprocal").fit(graph)
    assert HodgeDisplay.from_relation(graph).plot(ax=axes[0]).figure_ is figure
    assert CoordinatesDisplay.from_estimator(ranker, graph).plot(ax=axes[1, 0]).ax_ is axes[1, 0]
    assert QueryLossDisplay.from_estimator(ranker, graph).plot(ax=axes[1, 1]).ax_ is axes[1, 1]
    figure.savefig(tmp_path / "all.svg")
    assert b"</svg>" in (tmp_path / "all.svg").read_bytes()
