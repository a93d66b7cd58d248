"""One global order or cycles: the two parts of a reciprocal relation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from condrank.diagnosis.cycles import HodgeSplit, hodge_split, skew_flow
from condrank.graph import RelationGraph
from condrank.plots.axes import draw_nodes, given_axes, label_below, new_axes, sample_note, show_matrix
from condrank.plots.predictions import predict_sample

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Largest number of nodes on a side; the split is O(n³/3).
MAX_NODES = 1000


class HodgeDisplay:
    """A reciprocal relation, the part that one score per node explains, and the cyclic part.

    Three images with the same order of nodes, the strongest first, and the same colour scale: A = (s_i - s_j) + cyclic
    part. If there is one order of all nodes, the middle image equals the left one. What no order explains is on the
    right. What was not observed is grey.

    Parameters
    ----------
    flow : ndarray of shape (n, n)
        Skew part of the relation, NaN where it is not observed and on the diagonal.
    split : HodgeSplit
        The split of the flow, from `condrank.diagnosis.hodge_split`.
    note : str
        Text below the images, for example that they show a sample.

    Attributes
    ----------
    order : ndarray of shape (n,)
        Nodes by their score, highest first.
    gradient, cyclic : ndarray of shape (n, n)
        The two parts, NaN where the flow is NaN.
    figure_ : Figure
        The figure drawn on.
    ax_ : ndarray of three Axes
        Relation, gradient part, cyclic part.

    Examples
    --------
    >>> import numpy as np
    >>> from condrank.plots import HodgeDisplay
    >>> rock_paper_scissors = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    >>> [ax.get_title() for ax in HodgeDisplay.from_relation(rock_paper_scissors).plot().ax_]
    ['relation', 'one order: 0 %', 'cycles: 100 %']
    """

    figure_: Figure
    ax_: np.ndarray

    def __init__(self, flow: np.ndarray, split: HodgeSplit, *, note: str = ""):
        self.flow, self.split, self.note = flow, split, note
        self.order = np.argsort(-split.scores, kind="stable")
        self.gradient = np.where(np.isnan(flow), np.nan, split.scores[:, None] - split.scores[None, :])
        self.cyclic = flow - self.gradient

    @classmethod
    def from_relation(
        cls, graph: RelationGraph | ArrayLike, *, centre: float | None = None, max_nodes: int = MAX_NODES
    ) -> HodgeDisplay:
        """Split the relation of a graph or of an array.

        Parameters
        ----------
        graph : RelationGraph or array-like of shape (n, n)
            The relation, in an array NaN where it is not observed. A pair that is observed in one direction only has
            the opposite value in the other direction.
        centre : float, optional
            Value of an even contest; by default ½ for a graph of probabilities, otherwise 0.
        max_nodes : int
            If there are more nodes, this many are drawn at random and shown, and a note says so.
        """
        if isinstance(graph, RelationGraph):
            total = graph.shape
            if graph.is_two_domain:
                raise ValueError(f"graph must have one domain to be reciprocal, got {total[0]} × {total[1]} nodes")
            even = graph.centre if centre is None else centre
            labels = graph[draw_nodes(total[0], max_nodes)].to_dense()
        else:
            whole = np.asarray(graph, dtype=float)
            total = whole.shape
            if whole.ndim != 2 or total[0] != total[1] or whole.size == 0:
                raise ValueError(f"graph must be a RelationGraph or an array of shape (n, n), got {total}")
            nodes = draw_nodes(total[0], max_nodes)
            labels, even = whole[np.ix_(nodes, nodes)], 0.0 if centre is None else centre
        return cls._of(np.asarray(labels, dtype=float), even, total)

    @classmethod
    def from_estimator(cls, ranker: Any, graph: RelationGraph, *, max_nodes: int = MAX_NODES) -> HodgeDisplay:
        """Split the predictions of a fitted ranker between the nodes of a graph; all pairs are shown."""
        shown = predict_sample(ranker, graph, max_nodes)
        if graph.is_two_domain:
            raise ValueError(f"graph must have one domain to be reciprocal, got {shown.total[0]} × {shown.total[1]}")
        return cls._of(shown.scores.astype(float), 0.0, shown.total)

    @classmethod
    def _of(cls, labels: np.ndarray, centre: float, total: tuple[int, ...]) -> HodgeDisplay:
        flow = skew_flow(labels, centre=centre, complete=True)
        if np.isnan(flow).all():
            raise ValueError("graph must have an observed value between two nodes, got none")
        return cls(flow, hodge_split(flow), note=sample_note(labels.shape, total))

    def plot(self, ax: Any = None, *, cmap: str = "RdBu") -> HodgeDisplay:
        """Draw the relation and its two parts.

        Parameters
        ----------
        ax : sequence of three Axes, optional
            Where to draw; by default a new figure.
        cmap : str
            Name of a diverging colour map of matplotlib; its middle is an even contest.
        """
        axes = new_axes(1, 3, figsize=(11, 3.9)) if ax is None else given_axes(ax, 3, "three axes, one for each part")
        limit = float(np.nanmax(np.abs(self.flow))) or 1.0
        split = self.split
        shares = (split.gradient_share, split.cyclic_share)
        titles = ["one order", "cycles"]
        if split.gradient_share is not None:
            titles = [f"{title}: {100 * share:.0f} %" for title, share in zip(titles, shares, strict=True)]  # type: ignore[str-format]
        place = np.ix_(self.order, self.order)
        parts = zip(axes, (self.flow, self.gradient, self.cyclic), ("relation", *titles), strict=True)
        image = None
        for each, values, title in parts:
            image = show_matrix(each, values[place], cmap=cmap, vmin=-limit, vmax=limit)
            each.set_title(title, fontsize=10)
            each.set(xticks=[], yticks=[])
        off_diagonal = np.isnan(self.flow).sum() > len(self.flow)
        label_below(axes[0], "strongest first", self.note, "grey: not observed" if off_diagonal else "")
        label_below(axes[2], "" if split.noise_floor is None else f"for pure noise {100 * split.noise_floor:.0f} %")
        figure = axes[0].get_figure(root=True)
        figure.colorbar(image, ax=list(axes), shrink=0.75, pad=0.02).outline.set_visible(False)
        self.figure_, self.ax_ = figure, axes
        return self
