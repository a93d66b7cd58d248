"""Scores of nodes on a triangle, for nodes whose three features are shares that sum to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from condrank.plots.axes import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
        True value at each corner. The background interpolates them linearly, so that well-predicted points have its
        colour.
    limits : tuple of two floats or None
        Ends of the colour scale; None: smallest and largest value.

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
        """Check and keep the points and scores; parameters are the same as for the class."""
        shares, values = np.asarray(points, dtype=float), np.asarray(scores, dtype=float)
        if shares.ndim != 2 or shares.shape[1] != 3:
            raise ValueError(f"points must have shape (n_nodes, 3), got {shares.shape}")
        if (shares < 0).any() or not np.allclose(shares.sum(axis=1), 1):
            raise ValueError("points must be shares, not negative and each row summing to one, got other values")
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
            Label of the colour bar.
        """
        axes = new_axes(1, 1, figsize=(5, 4.2))[0] if ax is None else ax
        low, high = (self.values.min(), self.values.max()) if self.limits is None else self.limits
        colours: dict[str, Any] = {"cmap": cmap, "vmin": low, "vmax": high}
        # The first corner is on top, the others follow clockwise. In rock, paper, scissors each corner beats the next
        # one counter-clockwise.
        places = np.array([[0.5, np.sqrt(3) / 2], [1.0, 0.0], [0.0, 0.0]])
        (outline,) = axes.fill(places[:, 0], places[:, 1], facecolor="none", edgecolor="0.35", linewidth=1)
        if self.corner_values is not None:
            # Values are interpolated, not colours: halfway between the two ends of a colour map is its middle.
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
