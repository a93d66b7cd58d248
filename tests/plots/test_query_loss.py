"""Pictures of the loss of each conditioning node."""

import numpy as np
import pytest

from condrank.plots import QueryLossDisplay


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
