"""True and predicted relation as images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from condrank.plots.axes import draw_nodes, given_axes, label_below, new_axes, sample_note, show_matrix
from condrank.plots.predictions import predict_sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from condrank.graph import RelationGraph

#: Largest number of nodes on a side; a screen does not have more pixels.
MAX_NODES = 2000


class RelationDisplay:
    """True and predicted relation side by side, as two images with the same order and colours.

    A ranking has no values, only an order. So each row of the predicted image shows the true values of that row in the
    predicted order. A perfect ranking gives the true image again, and every difference is a wrong rank. What was not
    observed is grey.

    Parameters
    ----------
    Y_true, Y_score : ndarray of shape (n_queries, n_objects)
        Relation, NaN where it is not observed, and scores.
    order : ndarray of int or None
        Order of the conditioning nodes, and of the objects of a square relation; None: unchanged.
    object_order : ndarray of int or None
        Order of the objects, if it differs from the order of the conditioning nodes.
    groups : ndarray of shape (n_queries,) or None
        Group of each node, such as its class; the names of groups are on the axes.
    note : str
        Text below the images, for example that they show a sample.

    Attributes
    ----------
    figure_ : Figure
        The figure drawn on.
    ax_ : ndarray of two Axes
        Truth and prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from condrank.plots import RelationDisplay
    >>> Y = np.equal.outer([0, 1, 0], [0, 1, 0]).astype(float)
    >>> display = RelationDisplay.from_predictions(Y, Y, order="groups", groups=[0, 1, 0]).plot()
    >>> [ax.get_title() for ax in display.ax_]
    ['true', 'predicted']
    """

    figure_: Figure
    ax_: np.ndarray

    def __init__(
        self,
        Y_true: np.ndarray,
        Y_score: np.ndarray,
        *,
        order: np.ndarray | None = None,
        object_order: np.ndarray | None = None,
        groups: Any = None,
        note: str = "",
    ):
        self.Y_true, self.Y_score = Y_true, Y_score
        self.order, self.object_order = order, order if object_order is None else object_order
        self.groups, self.note = groups, note

    @classmethod
    def from_estimator(
        cls,
        ranker: Any,
        graph: RelationGraph,
        *,
        order: ArrayLike | str | None = None,
        groups: ArrayLike | None = None,
        max_nodes: int = MAX_NODES,
    ) -> RelationDisplay:
        """Relation of a graph and scores of a fitted ranker; parameters are the same as in `from_predictions`."""
        shown = predict_sample(ranker, graph, max_nodes)
        places, names = _check_sides(order, groups, shown.total)
        places, names = _of_sample(places, names, shown.queries)
        display = cls.from_predictions(shown.truth, shown.scores, order=places, groups=names, max_nodes=max_nodes)
        display.note = sample_note(shown.truth.shape, shown.total)
        return display

    @classmethod
    def from_predictions(
        cls,
        Y_true: ArrayLike,
        Y_score: ArrayLike,
        *,
        order: ArrayLike | str | None = None,
        groups: ArrayLike | None = None,
        max_nodes: int = MAX_NODES,
    ) -> RelationDisplay:
        """Check and keep a relation and its predictions.

        Parameters
        ----------
        Y_true, Y_score : array-like of shape (n_queries, n_objects)
            Relation, NaN where it is not observed, and scores.
        order : {"score", "groups"} or array-like of int, shape (n_nodes,), optional
            "score": by the mean of the observed values of a node, highest first; for two domains each side has its own
            order. "groups": by group, and by that mean within a group. Or a permutation of the nodes of a square
            relation.
        groups : array-like of shape (n_nodes,), optional
            Group of each node of a square relation, in the original order of the nodes.
        max_nodes : int
            If there are more nodes, this many are drawn at random and shown, and a note says so.
        """
        truth, scores = np.asarray(Y_true, dtype=float), np.asarray(Y_score, dtype=float)
        if truth.ndim != 2 or truth.size == 0:
            raise ValueError(f"Y_true must have shape (n_queries, n_objects), got {truth.shape}")
        if scores.shape != truth.shape:
            raise ValueError(f"Y_score must have the shape of Y_true, {truth.shape}, got {scores.shape}")
        if np.isnan(truth).all():
            raise ValueError("Y_true must have an observed value, got NaN only")
        n, m = truth.shape
        places, names = _check_sides(order, groups, truth.shape)
        rows = draw_nodes(n, max_nodes)
        columns = rows if n == m else draw_nodes(m, max_nodes)
        note = sample_note((len(rows), len(columns)), truth.shape)
        if note:
            places, names = _of_sample(places, names, rows)
            truth, scores = truth[np.ix_(rows, columns)], scores[np.ix_(rows, columns)]
        if isinstance(places, str):
            by_row = _best_first(truth)
            if places == "groups":
                # Nodes are already sorted by mean; a stable sort keeps that order within a group.
                by_row = by_row[np.argsort(names[by_row], kind="stable")]
            by_column = by_row if n == m else _best_first(truth.T)
            return cls(truth, scores, order=by_row, object_order=by_column, groups=names, note=note)
        return cls(truth, scores, order=places, groups=names, note=note)

    def plot(
        self, ax: Any = None, *, show: str = "ranks", cmap: str = "YlGnBu", colourbar: bool = False
    ) -> RelationDisplay:
        """Draw both images on the colour scale of the true relation.

        Parameters
        ----------
        ax : sequence of two Axes, optional
            Where to draw truth and prediction; by default a new figure.
        show : {"ranks", "scores"}
            Predictions as true values in the predicted order, or as the scores themselves.
        cmap : str
            Name of a colour map of matplotlib.
        colourbar : bool
            Whether to draw a colour bar.
        """
        if show not in ("ranks", "scores"):
            raise ValueError(f"show must be 'ranks' or 'scores', got {show!r}")
        axes = new_axes(1, 2, figsize=(8, 4)) if ax is None else given_axes(ax, 2, "two axes, for truth and prediction")
        predicted = deal_out(self.Y_true, self.Y_score) if show == "ranks" else self.Y_score
        low, high = np.nanmin(self.Y_true), np.nanmax(self.Y_true)
        holes = "grey: not observed" if np.isnan(self.Y_true).any() else ""
        n, m = self.Y_true.shape
        rows = np.arange(n) if self.order is None else self.order
        columns = np.arange(m) if self.object_order is None else self.object_order
        image = None
        for each, values, title in zip(axes, (self.Y_true, predicted), ("true", "predicted"), strict=True):
            image = show_matrix(each, values[np.ix_(rows, columns)], cmap=cmap, vmin=low, vmax=high)
            each.set_title(title, fontsize=10)
            self._mark_groups(each)
        label_below(axes[0], "object", self.note)
        label_below(axes[1], "object", holes)
        axes[0].set_ylabel("conditioning node")
        figure = axes[0].get_figure(root=True)
        if colourbar:
            figure.colorbar(image, ax=list(axes), shrink=0.75, pad=0.02).outline.set_visible(False)
        self.figure_, self.ax_ = figure, axes
        return self

    def _mark_groups(self, ax: Axes) -> None:
        """Write the name of each group in the middle of its rows and columns."""
        if self.groups is None:
            ax.set(xticks=[], yticks=[])
            return
        names = self.groups if self.order is None else self.groups[self.order]
        starts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]])
        ends = np.r_[starts[1:], len(names)]
        middle = (starts + ends - 1) / 2
        for set_ticks in (ax.set_xticks, ax.set_yticks):
            set_ticks(middle, [str(name) for name in names[starts]])
        ax.tick_params(length=0, labelsize=9)
        for side in ax.spines.values():
            side.set_color("0.7")


def deal_out(Y_true: np.ndarray, Y_score: np.ndarray) -> np.ndarray:
    """The observed true values of each row in the order of its scores: the largest where the score is highest.

    O(m log m) for a row of m objects. NaN stays in its place. Equal scores are ordered by position.
    """
    dealt = np.full_like(Y_true, np.nan)
    for row, (truth, scores) in enumerate(zip(Y_true, Y_score, strict=True)):
        seen = np.flatnonzero(~np.isnan(truth))
        dealt[row, seen[np.argsort(-scores[seen], kind="stable")]] = -np.sort(-truth[seen])
    return dealt


def _check_sides(order: Any, groups: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Order and groups as arrays (an order may also be the name of a rule), checked against the shape."""
    n, m = shape
    places = order if order is None or isinstance(order, str) else np.asarray(order)
    if isinstance(places, str) and places not in ("score", "groups"):
        raise ValueError(f"order must be 'score', 'groups' or positions, got {order!r}")
    by_score = isinstance(places, str) and places == "score"
    if n != m and not (groups is None and (places is None or by_score)):
        raise ValueError(f"groups, and an order other than 'score', need a square relation, got shape {shape}")
    if isinstance(places, str) and not by_score and groups is None:
        raise ValueError("order='groups' needs groups, got None")
    if isinstance(places, np.ndarray) and not np.array_equal(np.sort(places), np.arange(n)):
        raise ValueError(f"order must have each of the positions 0 to {n - 1} once")
    names = None if groups is None else np.asarray(groups)
    if names is not None and names.shape != (n,):
        raise ValueError(f"groups must have shape ({n},), got {names.shape}")
    return places, names


def _of_sample(places: Any, names: Any, rows: np.ndarray) -> tuple[Any, Any]:
    """Order and groups of the nodes that were drawn, with positions among these nodes."""
    if isinstance(places, np.ndarray):
        places = np.searchsorted(rows, places[np.isin(places, rows)])
    return places, None if names is None else names[rows]


def _best_first(Y: np.ndarray) -> np.ndarray:
    """Rows by the mean of their observed values, highest first; rows without any come last."""
    observed = ~np.isnan(Y)
    count = observed.sum(axis=1)
    mean = np.where(count > 0, np.where(observed, Y, 0.0).sum(axis=1) / np.maximum(count, 1), -np.inf)
    return np.argsort(-mean, kind="stable")
