"""True and predicted relation as images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from condrank.plots.axes import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class RelationDisplay:
    """True and predicted relation side by side, as two images of the same order and colours.

    A ranking says nothing of values, only of order. So the predicted image shows, in each row, that row's true values
    dealt out in the predicted order: a perfect ranking gives the true image again, and what differs is ranked wrongly.

    Parameters
    ----------
    Y_true, Y_score : ndarray of shape (n_queries, n_objects)
        Relation, NaN where it is not observed, and scores.
    order : ndarray of int or None
        Order of the nodes along both sides of a square relation; None: as they come.
    groups : ndarray of shape (n_queries,) or None
        Group of each node, such as its class; each run of a group is named along the sides.

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
    >>> display = RelationDisplay.from_predictions(Y, Y, order=[0, 2, 1], groups=[0, 1, 0]).plot()
    >>> [ax.get_title() for ax in display.ax_]
    ['true', 'predicted']
    """

    figure_: Figure
    ax_: np.ndarray

    def __init__(self, Y_true: np.ndarray, Y_score: np.ndarray, *, order: np.ndarray | None = None, groups: Any = None):
        self.Y_true, self.Y_score = Y_true, Y_score
        self.order, self.groups = order, groups

    @classmethod
    def from_predictions(
        cls, Y_true: ArrayLike, Y_score: ArrayLike, *, order: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> RelationDisplay:
        """Check and keep a relation and its predictions.

        Parameters
        ----------
        Y_true, Y_score : array-like of shape (n_queries, n_objects)
            Relation, NaN where it is not observed, and scores.
        order : array-like of int, shape (n_nodes,), optional
            A permutation of the nodes of a square relation, such as ``np.argsort(classes)``.
        groups : array-like of shape (n_nodes,), optional
            Group of each node, in the nodes' own order, not in ``order``.
        """
        truth, scores = np.asarray(Y_true, dtype=float), np.asarray(Y_score, dtype=float)
        if truth.ndim != 2 or truth.size == 0:
            raise ValueError(f"Y_true must have shape (n_queries, n_objects), got {truth.shape}")
        if scores.shape != truth.shape:
            raise ValueError(f"Y_score must have the shape of Y_true, {truth.shape}, got {scores.shape}")
        n, m = truth.shape
        if n != m and (order is not None or groups is not None):
            raise ValueError(f"order and groups need a square relation, got shape {truth.shape}")
        places = None if order is None else np.asarray(order)
        if places is not None and not np.array_equal(np.sort(places), np.arange(n)):
            raise ValueError(f"order must hold each of the positions 0 to {n - 1} once")
        names = None if groups is None else np.asarray(groups)
        if names is not None and names.shape != (n,):
            raise ValueError(f"groups must have shape ({n},), got {names.shape}")
        return cls(truth, scores, order=places, groups=names)

    def plot(self, ax: Any = None, *, show: str = "ranks", cmap: str = "YlGnBu") -> RelationDisplay:
        """Draw both images on the colour scale of the true relation.

        Parameters
        ----------
        ax : sequence of two Axes, optional
            Where to draw truth and prediction; by default a new figure.
        show : {"ranks", "scores"}
            Predictions as true values in the predicted order, or as the scores themselves.
        cmap : str
            Name of a colour map of matplotlib.
        """
        if show not in ("ranks", "scores"):
            raise ValueError(f"show must be 'ranks' or 'scores', got {show!r}")
        axes = new_axes(1, 2, figsize=(8, 4)) if ax is None else np.asarray(ax, dtype=object).ravel()
        if len(axes) != 2:
            raise ValueError(f"ax must be two axes, for truth and prediction, got {len(axes)}")
        predicted = deal_out(self.Y_true, self.Y_score) if show == "ranks" else self.Y_score
        low, high = np.nanmin(self.Y_true), np.nanmax(self.Y_true)
        for each, values, title in zip(axes, (self.Y_true, predicted), ("true", "predicted"), strict=True):
            arranged = values if self.order is None else values[np.ix_(self.order, self.order)]
            each.imshow(arranged, cmap=cmap, vmin=low, vmax=high, aspect="equal")
            each.set_title(title, fontsize=10)
            each.set_xlabel("object")
            self._mark_groups(each)
        axes[0].set_ylabel("conditioning node")
        self.figure_, self.ax_ = axes[0].get_figure(root=True), axes
        return self

    def _mark_groups(self, ax: Axes) -> None:
        """Name each run of a group in the middle of it."""
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
    """Each row's observed true values in the order of its scores, the largest where the score is highest.

    O(m log m) a row of m objects; NaN stays where it is. Equal scores are dealt to by position.
    """
    dealt = np.full_like(Y_true, np.nan)
    for row, (truth, scores) in enumerate(zip(Y_true, Y_score, strict=True)):
        seen = np.flatnonzero(~np.isnan(truth))
        dealt[row, seen[np.argsort(-scores[seen], kind="stable")]] = -np.sort(-truth[seen])
    return dealt
