"""Whether probabilities of winning are true: the favourites of held-out games, and how often they won."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from condrank.explorer.markup import Markup, join, tag
from condrank.graph import RelationGraph
from condrank.metrics import accuracy, brier_score, log_loss
from condrank.metrics.games import probabilities_of
from condrank.model_selection import SettingSplit
from condrank.model_selection.scoring import judged
from condrank.plots.predictions import ranks_incoming
from condrank.report import charts
from condrank.report.headline import percent
from condrank.report.measured import SETTINGS, Step, unfitted
from condrank.report.rankings import observed_pairs
from condrank.tables.ranker import TableRanker

#: Models that are fitted to predict held-out games, and the fewest games of a bin.
MODELS, FEWEST = 3, 10


@dataclass(frozen=True)
class Games:
    """Held-out games from the side of the favourite.

    Attributes
    ----------
    chances, won : ndarray of shape (n,)
        Predicted probability, at least ½, that the favourite wins; and 1 if it won, ½ for a tie, otherwise 0.
    setting : int
        What was new in these games.
    """

    chances: np.ndarray
    won: np.ndarray
    setting: int


def held_out_games(
    ranker: TableRanker, graph: RelationGraph, setting: int, folds: int, scale: str, step: Step
) -> Games | None:
    """Predict the games of a few folds by models that have not seen them; None if there are none. `MODELS` fits."""
    rank_by = "incoming" if ranks_incoming(ranker.ranker_) else "outgoing"
    split = SettingSplit(setting, folds, rank_by=rank_by, both_directions=True, random_state=0)
    chances, won = [], []
    for number, (train, test) in enumerate(islice(split.split(graph), MODELS), 1):
        step(f"calibration: model {number}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the folds of the settings gave the same ones
                truth, scores = judged(unfitted(ranker).fit(train), test)
        except ValueError:  # too little data in this fold; the others may have enough
            continue
        rows, columns, y, h = observed_pairs(truth, scores)
        if truth.shape[0] == truth.shape[1]:  # each game once: the other direction says the same
            y, h = y[rows < columns], h[rows < columns]
        p = probabilities_of(h, scale)
        y = y if graph.centre == 0.5 else (1 + y) / 2
        favourite = p >= 0.5
        chances.append(np.where(favourite, p, 1 - p))
        won.append(np.where(favourite, y, 1 - y))
    found = np.concatenate(chances) if chances else np.empty(0)
    return Games(found, np.clip(np.concatenate(won), 0, 1), setting) if len(found) else None


def bins(games: Games, count: int = 10) -> np.ndarray:
    """Mean chance, share won, its 95 % interval (Wilson) and number of games in bins of chance, (n_bins, 5)."""
    edges = np.linspace(0.5, 1, count + 1)
    number = np.clip(np.searchsorted(edges, games.chances, side="right") - 1, 0, count - 1)
    rows = []
    for one in range(count):
        inside = number == one
        n = int(inside.sum())
        if n < FEWEST:
            continue
        share, z = float(games.won[inside].mean()), 1.96
        centre = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        rows.append((float(games.chances[inside].mean()), share, centre - half, centre + half, n))
    return np.array(rows).reshape(-1, 5)


def calibration(games: Games | None) -> Markup:
    """A chart of held-out games by the predicted chance of the favourite."""
    if games is None:
        return tag("p", "Not measured: no game could be held out.")
    rows = bins(games)
    right = float(np.mean(games.won))
    text = (
        f"{len(games.won):,} games that the models had not seen ({SETTINGS[games.setting]}): the favourite was given "
        f"{percent(float(games.chances.mean()))} on average, and won {percent(right)} of them."
    )
    if not len(rows):
        return join([tag("p", text), tag("p", f"No chance has {FEWEST} games: too few to say more.")])
    low = min(0.4, float(np.floor(10 * rows[:, 2].min()) / 10))
    frame = charts.Frame((0.5, 1.0), (low, 1.0), height=300)
    parts = [
        frame.axes(
            "predicted chance of the favourite", "games it won", charts.percents(0.5, 1), charts.percents(low, 1)
        ),
        charts.line(frame.across(0.5), frame.up(0.5), frame.across(1), frame.up(1), "ideal"),
    ]
    largest = rows[:, 4].max()
    for chance, share, lowest, highest, n in rows:
        x = frame.across(chance)
        parts.append(charts.line(x, frame.up(lowest), x, frame.up(highest), "error"))
        title = f"{n:,.0f} games: predicted {percent(chance)}, won {percent(share)}"
        parts.append(charts.dot(x, frame.up(share), 3.5 + 4 * np.sqrt(n / largest), "model", title))
    picture = charts.chart("Predicted chance and share of games won", frame.width, frame.height, *parts)
    caption = (
        "Points on the dashed line: chances are true. Below it, the model is too sure; above it, not sure enough. "
        "Larger points have more games; the lines are 95 % intervals."
    )
    figure = tag("figure", picture, tag("figcaption", caption))
    return join([tag("p", text), tag("div", figure, _measures(games), class_="aside")])


def _measures(games: Games) -> Markup:
    """The measures of games that papers print, beside those of a coin."""
    options: dict[str, Any] = {"scale": "probability"}
    found = [
        ("accuracy", f"{percent(accuracy(games.won, games.chances, **options))}", "a coin: 50 %"),
        ("log loss", f"{log_loss(games.won, games.chances, **options):.3f}", "a coin: 0.693"),
        ("Brier score", f"{brier_score(games.won, games.chances, **options):.3f}", "a coin: 0.25"),
    ]
    pairs = (tag("div", tag("dt", name), tag("dd", value, tag("small", f" {coin}"))) for name, value, coin in found)
    return tag("dl", *pairs, class_="measures")
