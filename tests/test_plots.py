"""Displays draw what they are given, on axes of the caller or their own, and never through pyplot."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from condrank.plots import RelationDisplay, SimplexDisplay, deal_out

CLASSES = np.array([1, 0, 1, 2, 0])
Y = np.equal.outer(CLASSES, CLASSES).astype(float)
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
