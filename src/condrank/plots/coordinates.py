"""Nodes as points of a plane that shows what was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from condrank.base.checks import check_choice
from condrank.plots.axes import NOT_OBSERVED, label_below, new_axes, sample_note
from condrank.plots.predictions import fitted_ranker, predict_sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from condrank.graph import RelationGraph

#: Largest number of nodes drawn; their scores are decomposed, O(n³).
MAX_NODES = 1000
#: Largest number of groups with different colours: the cycle of matplotlib has ten.
MAX_COLOURS = 10


class CoordinatesDisplay:
    """Nodes in the plane of the two coordinates that explain most of the scores h(v, v') = z(v)ᵀ W z(v').

    - reciprocal: the leading rotation plane of the skew W. The area that v and v' span with the origin approximates
      h(v, v'): v beats the nodes that lie counter-clockwise of it. A circle of nodes is a cycle, as in
      rock-paper-scissors. Nodes along a line that does not go through the origin are in one order.
    - symmetric: the two leading eigenvectors of W. Nodes in the same direction are alike (nodes in opposite directions
      if the axis says "negative"). Nodes near the origin are like no others.
    - ordinary: the two leading singular vectors. Objects are hollow; they rank high for the conditioning nodes in the
      same direction.

    Parameters
    ----------
    points : ndarray of shape (n_queries, 2)
        Conditioning nodes; all nodes for symmetric and reciprocal relations.
    object_points : ndarray of shape (n_objects, 2) or None
        Objects, for ordinary relations.
    relation : {"ordinary", "symmetric", "reciprocal"}
        What the plane shows.
    share : float
        Share of the sum of the squared scores that the plane explains.
    signs : tuple of two int
        Sign of the contribution of each axis to a symmetric relation.
    values, groups : ndarray of shape (n_queries,) or None
        Numbers or groups that give the colours of the points.
    note : str
        Text below the picture, for example that it shows a sample.

    Attributes
    ----------
    figure_ : Figure
        The figure drawn on.
    ax_ : Axes
        The axes drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from condrank.plots import CoordinatesDisplay
    >>> rock_paper_scissors = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    >>> display = CoordinatesDisplay.from_predictions(rock_paper_scissors, relation="reciprocal")
    >>> x, y = display.points.T
    >>> bool(np.allclose(np.outer(x, y) - np.outer(y, x), rock_paper_scissors))
    True
    """

    figure_: Figure
    ax_: Axes

    def __init__(
        self,
        points: np.ndarray,
        *,
        object_points: np.ndarray | None = None,
        relation: str = "ordinary",
        share: float = 1.0,
        signs: tuple[int, int] = (1, 1),
        values: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        note: str = "",
    ):
        self.points, self.object_points, self.relation = points, object_points, relation
        self.share, self.signs = share, signs
        self.values, self.groups, self.note = values, groups, note

    @classmethod
    def from_estimator(
        cls,
        ranker: Any,
        graph: RelationGraph,
        *,
        values: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        max_nodes: int = MAX_NODES,
    ) -> CoordinatesDisplay:
        """The plane of the scores of a fitted ranker between the nodes of a graph, which may be new or training nodes.

        Parameters
        ----------
        ranker : fitted ranker
            Its ``relation`` decides the plane; a ranker without a relation is "ordinary".
        graph : RelationGraph
            Its nodes are shown; its relation is not used.
        values, groups
            Number or group of each conditioning node of the graph, which gives its colour; NaN is grey. By default the
            colour of the nodes of a reciprocal relation is their strength, the mean of their scores.
        max_nodes : int
            If there are more nodes, this many are drawn at random and shown, and a note says so.
        """
        shown = predict_sample(ranker, graph, max_nodes)
        relation = "ordinary" if graph.is_two_domain else getattr(fitted_ranker(ranker), "relation", "ordinary")
        numbers, names = (
            None if given is None else _aligned(given, shown.total[0], name)[shown.queries]
            for given, name in ((values, "values"), (groups, "groups"))
        )
        display = cls.from_predictions(shown.scores, relation=relation, values=numbers, groups=names)
        display.note = sample_note(shown.scores.shape, shown.total)
        return display

    @classmethod
    def from_predictions(
        cls,
        Y_score: ArrayLike,
        *,
        relation: str = "ordinary",
        values: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> CoordinatesDisplay:
        """The plane of scores (n_queries, n_objects). O(n³).

        It is the plane of the skew part (reciprocal), of the symmetric part minus its mean (symmetric), or of the rows
        minus their means (ordinary). Parameters are the same as in `from_estimator`.
        """
        check_choice("relation", relation, ("ordinary", "symmetric", "reciprocal"))
        scores = np.asarray(Y_score, dtype=float)
        if scores.ndim != 2 or min(scores.shape) < 2:
            raise ValueError(f"Y_score must have shape (n_queries, n_objects), at least 2 of each, got {scores.shape}")
        if not np.isfinite(scores).all():
            raise ValueError("Y_score must be finite predicted scores, not a relation with holes, got NaN or infinity")
        n, m = scores.shape
        if relation != "ordinary" and n != m:
            raise ValueError(f"Y_score must be square for relation={relation!r}, got {scores.shape}")
        if values is not None and groups is not None:
            raise ValueError("values and groups cannot both give the colours; pass one of them, not both")
        numbers = None if values is None else _aligned(values, n, "values").astype(float)
        names = None if groups is None else _aligned(groups, n, "groups")
        if relation == "reciprocal":
            skew = (scores - scores.T) / 2
            if numbers is None and names is None:
                numbers = skew.mean(axis=1)
            points, share = _rotation_plane(skew)
            return cls(points, relation=relation, share=share, values=numbers, groups=names)
        if relation == "symmetric":
            # No ranking depends on a constant, and the ranking loss does not fix it, so it could be the leading axis.
            points, share, signs = _leading_axes((scores + scores.T) / 2 - scores.mean())
            return cls(points, relation=relation, share=share, signs=signs, values=numbers, groups=names)
        # The order of the objects does not depend on a row's mean, which could be the leading coordinate.
        centred = scores - scores.mean(axis=1, keepdims=True)
        left, singular, right = np.linalg.svd(centred, full_matrices=False)
        scale = np.sqrt(singular[:2])
        share = _share(singular[:2] ** 2, np.sum(singular**2))
        return cls(left[:, :2] * scale, object_points=right[:2].T * scale, share=share, values=numbers, groups=names)

    def plot(self, ax: Axes | None = None, *, cmap: str = "viridis", label: str | None = None) -> CoordinatesDisplay:
        """Draw the nodes.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure.
        cmap : str
            Name of a colour map of matplotlib, for values.
        label : str, optional
            What the colours mean.
        """
        axes = new_axes(1, 1, figsize=(5.2, 4.4))[0] if ax is None else ax
        figure: Any = axes.get_figure(root=True)
        if self.object_points is not None:
            hollow = {"facecolors": "none", "edgecolors": "0.5", "linewidths": 0.7}
            axes.scatter(*self.object_points.T, s=14, label="objects", **hollow)
        if self.groups is not None and len(np.unique(self.groups)) <= MAX_COLOURS:
            for group in np.unique(self.groups):
                axes.scatter(*self.points[self.groups == group].T, s=18, label=str(group))
            axes.legend(title=label, frameon=False, fontsize=8)
        else:
            numbers = self.values if self.groups is None else np.unique(self.groups, return_inverse=True)[1]
            self._scatter_values(axes, numbers, cmap, label, figure)
            if self.object_points is not None:
                axes.legend(frameon=False, fontsize=8)
        axes.plot(0, 0, "+", color="0.4")
        names = [f"{'negative ' if sign < 0 else ''}coordinate {k}" for k, sign in enumerate(self.signs, 1)]
        label_below(axes, names[0], f"the plane explains {100 * self.share:.0f} % of the scores", self.note)
        axes.set_ylabel(names[1], fontsize=9)
        axes.set_aspect("equal", adjustable="datalim")
        self.figure_, self.ax_ = figure, axes
        return self

    def _scatter_values(self, ax: Axes, numbers: Any, cmap: str, label: str | None, figure: Any) -> None:
        """Points coloured by numbers; points without a number are grey."""
        if numbers is None:
            ax.scatter(*self.points.T, s=18, label="conditioning nodes")
            return
        known = ~np.isnan(numbers)
        if not known.all():
            ax.scatter(*self.points[~known].T, s=18, color=NOT_OBSERVED)
        if known.any():
            dots = ax.scatter(*self.points[known].T, s=18, c=numbers[known], cmap=cmap, label="conditioning nodes")
            if self.groups is None:
                bar = figure.colorbar(dots, ax=ax, shrink=0.75, pad=0.02)
                bar.set_label(label or ("strength" if self.relation == "reciprocal" else ""), fontsize=9)
                bar.outline.set_visible(False)


def _rotation_plane(skew: np.ndarray) -> tuple[np.ndarray, float]:
    """Points (n, 2) such that x yᵀ - y xᵀ is the best skew approximation of rank two, and its share."""
    n = len(skew)
    # i A is Hermitian; an eigenvector p + i q of its largest eigenvalue ω spans the plane: A ≈ 2 ω (q pᵀ - p qᵀ).
    omega, vectors = eigh(1j * skew, subset_by_index=(n - 1, n - 1))
    scale = np.sqrt(2 * max(float(omega[0]), 0.0))
    points = scale * np.column_stack([vectors[:, 0].imag, vectors[:, 0].real])
    return points, _share(2 * omega**2, np.sum(skew**2))


def _leading_axes(symmetric: np.ndarray) -> tuple[np.ndarray, float, tuple[int, int]]:
    """Points (n, 2) whose signed products are the best approximation of rank two, its share, and the two signs."""
    values, vectors = eigh(symmetric)
    first, second = np.argsort(-np.abs(values), kind="stable")[:2]
    chosen = values[[first, second]]
    signs = (-1 if chosen[0] < 0 else 1, -1 if chosen[1] < 0 else 1)
    return vectors[:, [first, second]] * np.sqrt(np.abs(chosen)), _share(chosen**2, np.sum(values**2)), signs


def _share(parts: np.ndarray, total: float) -> float:
    return float(np.sum(parts) / total) if total > 0 else 0.0


def _aligned(given: ArrayLike, n: int, name: str) -> np.ndarray:
    array = np.asarray(given)
    if array.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {array.shape}")
    return array
