"""The picture of ``condrank demo``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from condrank.demo.results import DemoResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(result: DemoResult) -> Figure:
    """The picture: true and predicted relation between unseen digits, and predicted chances of unseen players."""
    from matplotlib.figure import Figure

    from condrank.plots import RelationDisplay, SimplexDisplay

    digits, games = result.digits, result.games
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    panels: Any = figure.subfigures(1, 2, width_ratios=(1.7, 1))
    left, right = panels
    digit = np.array([int(name[5]) for name in digits.names])
    # Digits that enclose an area first, so that the coarse level of the relation shows as two large blocks.
    order = np.lexsort((digit, ~np.isin(digit, (0, 4, 6, 8, 9))))
    relation = RelationDisplay.from_predictions(digits.truth, digits.scores, order=order, groups=digit)
    relation.plot(ax=left.subplots(1, 2, sharey=True))
    left.suptitle(f"Digits: how alike are {digits.n_test} images never seen in training?", fontsize=11)

    query = games.ranked.position
    # The true chance is linear in the opponent's shares of moves: so its values at the three corners determine it.
    pure_moves = np.linalg.lstsq(games.features, games.truth[query], rcond=None)[0]
    simplex = SimplexDisplay.from_predictions(
        games.features,
        games.scores[query],
        query=query,
        corners=("rock", "paper", "scissors"),
        corner_values=pure_moves,
        limits=(0, 1),
    )
    simplex.plot(ax=right.subplots(), label="chance that the star wins")
    simplex.ax_.set_title("background: true, dots: predicted", fontsize=10)
    right.suptitle("Rock-paper-scissors: players never seen", fontsize=11)
    return figure
