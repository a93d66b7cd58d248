"""Pictures of relations and rankings, in the manner of scikit-learn's ``*Display`` classes.

A display keeps what it draws; ``plot(ax=...)`` draws it on axes of yours, or on a figure of its own, and sets
``figure_`` and ``ax_``. Nothing goes through pyplot: no window opens and no figure is kept alive behind your back.
matplotlib is imported when something is drawn, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["RelationDisplay", "SimplexDisplay", "deal_out"]


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
        axes = _new_axes(1, 2, figsize=(8, 4)) if ax is None else np.asarray(ax, dtype=object).ravel()
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


class SimplexDisplay:
    """Nodes whose three features are shares, as points of a triangle coloured by their score for one node.

    Parameters
    ----------
    points : ndarray of shape (n_nodes, 3)
        Shares, each row summing to one.
    values : ndarray of shape (n_nodes,)
        Score of each node, conditioned on the query.
    query : int or None
        Position of the conditioning node, drawn as a star.
    corners : sequence of three str
        Names of the shares.
    corner_values : ndarray of shape (3,) or None
        True value at each corner; blended linearly it is the background, which well-predicted points melt into.
    limits : tuple of two floats or None
        Ends of the colour scale; None: those of the values.

    Attributes
    ----------
    figure_ : Figure
        The figure drawn on.
    ax_ : Axes
        The axes drawn on.
    """

    figure_: Figure
    ax_: Axes

    def __init__(
        self,
        points: np.ndarray,
        values: np.ndarray,
        *,
        query: int | None = None,
        corners: Sequence[str] = ("1", "2", "3"),
        corner_values: np.ndarray | None = None,
        limits: tuple[float, float] | None = None,
    ):
        self.points, self.values, self.query = points, values, query
        self.corners, self.corner_values, self.limits = corners, corner_values, limits

    @classmethod
    def from_predictions(
        cls,
        points: ArrayLike,
        scores: ArrayLike,
        *,
        query: int | None = None,
        corners: Sequence[str] = ("1", "2", "3"),
        corner_values: ArrayLike | None = None,
        limits: tuple[float, float] | None = None,
    ) -> SimplexDisplay:
        """Check and keep the points and scores; parameters are those of the class."""
        shares, values = np.asarray(points, dtype=float), np.asarray(scores, dtype=float)
        if shares.ndim != 2 or shares.shape[1] != 3:
            raise ValueError(f"points must have shape (n_nodes, 3), got {shares.shape}")
        if (shares < 0).any() or not np.allclose(shares.sum(axis=1), 1):
            raise ValueError("points must be shares: not negative, each row summing to one")
        if values.shape != (len(shares),):
            raise ValueError(f"scores must have shape ({len(shares)},), got {values.shape}")
        if len(corners) != 3:
            raise ValueError(f"corners must be three names, got {len(corners)}")
        at_corners = None if corner_values is None else np.asarray(corner_values, dtype=float)
        if at_corners is not None and at_corners.shape != (3,):
            raise ValueError(f"corner_values must have shape (3,), got {at_corners.shape}")
        return cls(shares, values, query=query, corners=corners, corner_values=at_corners, limits=limits)

    def plot(self, ax: Axes | None = None, *, cmap: str = "RdBu", label: str = "score") -> SimplexDisplay:
        """Draw the triangle, its points and a colour bar.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure.
        cmap : str
            Name of a colour map of matplotlib.
        label : str
            What the colours mean, beside the colour bar.
        """
        axes = _new_axes(1, 1, figsize=(5, 4.2))[0] if ax is None else ax
        low, high = (self.values.min(), self.values.max()) if self.limits is None else self.limits
        colours: dict[str, Any] = {"cmap": cmap, "vmin": low, "vmax": high}
        # First corner on top, then clockwise: each beats the next one counter-clockwise in rock, paper, scissors.
        places = np.array([[0.5, np.sqrt(3) / 2], [1.0, 0.0], [0.0, 0.0]])
        (outline,) = axes.fill(places[:, 0], places[:, 1], facecolor="none", edgecolor="0.35", linewidth=1)
        if self.corner_values is not None:
            # Values are blended, not colours: halfway between the two ends of a colour map lies its middle.
            x, y = np.meshgrid(np.linspace(0, 1, 200), np.linspace(0, places[0, 1], 200))
            top = y / places[0, 1]
            blend = np.stack([top, x - top / 2, 1 - x - top / 2], axis=-1) @ self.corner_values
            background = axes.imshow(blend, origin="lower", extent=(0, 1, 0, places[0, 1]), zorder=0, **colours)
            background.set_clip_path(outline)
        where = self.points @ places
        dots = axes.scatter(*where.T, c=self.values, s=34, edgecolors="black", linewidths=0.5, zorder=2, **colours)
        if self.query is not None:
            x, y = where[self.query]
            axes.scatter(x, y, marker="*", s=330, c="gold", edgecolors="black", linewidths=0.9, zorder=3)
        for name, (x, y), shift in zip(self.corners, places, (0.03, -0.03, -0.03), strict=True):
            axes.text(x, y + shift, name, ha="center", va="bottom" if shift > 0 else "top", fontsize=10)
        axes.set(xlim=(-0.08, 1.08), ylim=(-0.1, 0.97), aspect="equal")
        axes.axis("off")
        figure: Any = axes.get_figure(root=True)
        bar = figure.colorbar(dots, ax=axes, shrink=0.75, pad=0.02)
        bar.set_label(label, fontsize=9)
        bar.outline.set_visible(False)
        self.figure_, self.ax_ = figure, axes
        return self


def deal_out(Y_true: np.ndarray, Y_score: np.ndarray) -> np.ndarray:
    """Each row's observed true values in the order of its scores, the largest where the score is highest.

    O(m log m) a row of m objects; NaN stays where it is. Equal scores are dealt to by position.
    """
    dealt = np.full_like(Y_true, np.nan)
    for row, (truth, scores) in enumerate(zip(Y_true, Y_score, strict=True)):
        seen = np.flatnonzero(~np.isnan(truth))
        dealt[row, seen[np.argsort(-scores[seen], kind="stable")]] = -np.sort(-truth[seen])
    return dealt


def _new_axes(rows: int, columns: int, figsize: tuple[float, float]) -> np.ndarray:
    """Axes of a figure that pyplot does not know of."""
    from matplotlib.figure import Figure

    return Figure(figsize=figsize, layout="constrained").subplots(rows, columns, squeeze=False).ravel()
