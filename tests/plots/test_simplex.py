"""Pictures of nodes on a triangle."""

import numpy as np
import pytest

from condrank.plots import SimplexDisplay
from drawn import POINTS


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
