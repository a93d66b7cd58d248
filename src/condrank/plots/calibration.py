"""Calibration: what was promised against what was observed, for probabilities and for intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from condrank.base.checks import check_choice, check_count
from condrank.graph import RelationGraph
from condrank.metrics.games import SCALES, outcomes_of, probabilities_of
from condrank.metrics.intervals import coverage
from condrank.plots.axes import new_axes
from condrank.plots.predictions import check_graph, fitted_ranker, predict_sample, ranks_incoming

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
LABELS = {
    "probabilities": ("predicted probability of a win", "share that was won"),
    "intervals": ("coverage that was asked for", "share of labels covered"),
}


class CalibrationDisplay:
    """Promised against observed shares: of games won, by predicted probability; or of labels covered by intervals.

    Points on the diagonal are calibrated. Probabilities: points nearer to ½ in the observed share than in the
    prediction mean that the model is too sure. Intervals: points below the diagonal mean that they are too narrow.

    Parameters
    ----------
    promised, observed : ndarray of shape (n_points,)
        Mean predicted probability and share of wins of each bin; or coverage asked for and observed.
    counts : ndarray of int of shape (n_points,)
        Number of games, or of labels, of each point.
    kind : {"probabilities", "intervals"}
        What is shown.

    Attributes
    ----------
    figure_ : Figure
        The figure drawn on.
    ax_ : Axes
        The axes drawn on.

    Examples
    --------
    >>> from condrank.plots import CalibrationDisplay
    >>> display = CalibrationDisplay.from_predictions([1, 0, 1, 1], [0.9, 0.2, 0.6, 0.95], n_bins=2).plot()
    >>> display.observed
    array([0., 1.])
    """

    figure_: Figure
    ax_: Axes

    def __init__(self, promised: np.ndarray, observed: np.ndarray, counts: np.ndarray, *, kind: str):
        check_choice("kind", kind, tuple(LABELS))
        self.promised, self.observed, self.counts, self.kind = promised, observed, counts, kind

    @classmethod
    def from_predictions(
        cls, Y_true: ArrayLike, Y_score: ArrayLike, *, scale: str = "probability", n_bins: int = 10
    ) -> CalibrationDisplay:
        """Probabilities of wins against outcomes of games, in bins of equal width. Empty bins are left out.

        Parameters
        ----------
        Y_true : array-like
            Outcomes, from 0 to 1 or from -1 to 1; NaN where there was no game. A tie counts as half a win.
        Y_score : array-like of the same shape
            Predictions.
        scale : {"log-odds", "probability", "outcome"}
            What the predictions are, as for `condrank.metrics.log_loss`.
        n_bins : int
            Number of bins from 0 to 1.
        """
        check_choice("scale", scale, SCALES)
        n_bins = check_count("n_bins", n_bins)
        true, score = np.asarray(Y_true, dtype=float), np.asarray(Y_score, dtype=float)
        if true.shape != score.shape:
            raise ValueError(f"Y_score must have the shape of Y_true, {true.shape}, got {score.shape}")
        known = ~np.isnan(true)
        won, score = outcomes_of(true[known], scale, "a calibration curve"), score[known]
        p = probabilities_of(score, scale)
        if not len(p) or np.isnan(p).any():
            raise ValueError("Y_true must have at least one outcome, and Y_score no NaN there")
        place = np.minimum((p * n_bins).astype(int), n_bins - 1)
        counts = np.bincount(place, minlength=n_bins)
        full = counts > 0
        sums = [np.bincount(place, weights=one, minlength=n_bins)[full] / counts[full] for one in (p, won)]
        return cls(sums[0], sums[1], counts[full], kind="probabilities")

    @classmethod
    def from_intervals(
        cls, Y_true: ArrayLike, intervals: Mapping[float, tuple[ArrayLike, ArrayLike]]
    ) -> CalibrationDisplay:
        """Observed coverage of intervals, given by the coverage that was asked for: ``{0.9: (lower, upper), …}``."""
        if not intervals:
            raise ValueError("intervals must have at least one coverage with its lower and upper ends, got none")
        asked = sorted(intervals)
        observed = np.array([coverage(Y_true, *intervals[one]) for one in asked])
        n_labels = int(np.count_nonzero(~np.isnan(np.asarray(Y_true, dtype=float))))
        return cls(np.array(asked, dtype=float), observed, np.full(len(asked), n_labels), kind="intervals")

    @classmethod
    def from_estimator(
        cls,
        ranker: Any,
        graph: RelationGraph,
        *,
        coverages: Sequence[float] = COVERAGES,
        n_bins: int = 10,
        recalibrated: bool = False,
        max_nodes: int = 1000,
    ) -> CalibrationDisplay:
        """Calibration of a fitted ranker on a graph that it has not seen.

        Probabilities if its loss is logistic, else intervals.

        Parameters
        ----------
        ranker : fitted ConditionalRanker or TableRanker
            The ranker.
        graph : RelationGraph
            Held-out games or labels. A node's relation to itself is not counted.
        coverages : sequence of float
            Coverages to ask intervals for.
        n_bins : int
            Number of bins of probabilities.
        recalibrated : bool
            Show recalibrated probabilities.
        max_nodes : int
            At most this many nodes of each side are used, drawn at random with a fixed seed.
        """
        check_graph(graph)
        seen = predict_sample(ranker, graph, max_nodes)
        part = graph.cut(*_rows_and_columns(ranker, graph, seen))
        truth = seen.truth.astype(float)
        if not graph.is_two_domain:
            np.fill_diagonal(truth, np.nan)
        if fitted_ranker(ranker).loss == "logistic":
            inner, encoded = fitted_ranker(ranker), ranker.encode(part) if hasattr(ranker, "encode") else part
            won = inner.predict_proba(encoded, recalibrated=recalibrated)
            return cls.from_predictions(truth, won, n_bins=n_bins)
        return cls.from_intervals(truth, {one: ranker.predict_interval(part, coverage=one) for one in coverages})

    def plot(self, ax: Axes | None = None, *, name: str | None = None, colour: str | None = None) -> CalibrationDisplay:
        """Draw the points beside the diagonal.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure. Several curves may share axes.
        name : str, optional
            Name in the legend.
        colour : str, optional
            Colour of the curve; by default the next one of the cycle of matplotlib.
        """
        axes = new_axes(1, 1, figsize=(4.4, 4.2))[0] if ax is None else ax
        if not axes.lines:
            axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", zorder=1)
        axes.plot(self.promised, self.observed, marker="o", color=colour, label=name, zorder=2)
        xlabel, ylabel = LABELS[self.kind]
        axes.set(xlabel=xlabel, ylabel=ylabel, xlim=(0, 1), ylim=(0, 1), aspect="equal")
        if name is not None:
            axes.legend(frameon=False)
        figure: Any = axes.get_figure(root=True)
        self.figure_, self.ax_ = figure, axes
        return self


def _rows_and_columns(ranker: Any, graph: RelationGraph, seen: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the nodes that are shown, in the order of the graph; one array twice in a single domain."""
    rows, columns = (seen.objects, seen.queries) if ranks_incoming(ranker) else (seen.queries, seen.objects)
    return rows, columns if graph.is_two_domain else rows
