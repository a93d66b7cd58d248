"""Rank loss of each conditioning node, as a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from condrank.base.checks import check_choice, check_count
from condrank.fitting.judging import NOTHING_TO_RANK
from condrank.metrics import rank_loss
from condrank.plots.axes import label_below, new_axes
from condrank.plots.predictions import predict_blocks, query_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from condrank.graph import RelationGraph

#: Share of wrongly ordered pairs of random scores.
CHANCE = 0.5
#: Points between the lines of the names of the worst nodes, and the largest number of characters of a name.
LINE, LONGEST = 11.0, 24


class QueryLossDisplay:
    """Distribution of the rank loss over conditioning nodes, with the names of the worst ones.

    A mean hides the nodes for which a ranker is worse than chance. Here they are right of the dotted line.

    Parameters
    ----------
    losses : ndarray of shape (n_queries,)
        Rank loss of each conditioning node; NaN if it has nothing to rank.
    ids : ndarray of shape (n_queries,)
        Name of each conditioning node.

    Attributes
    ----------
    figure_ : Figure
        The figure drawn on.
    ax_ : Axes
        The axes drawn on.

    Examples
    --------
    >>> from condrank.plots import QueryLossDisplay
    >>> display = QueryLossDisplay.from_values([0.1, 0.6, 0.2], ids=["ann", "bob", "cyd"])
    >>> display.worst(2)
    [('bob', 0.6), ('cyd', 0.2)]
    """

    figure_: Figure
    ax_: Axes

    def __init__(self, losses: np.ndarray, ids: np.ndarray):
        self.losses, self.ids = losses, ids

    @classmethod
    def from_values(cls, losses: ArrayLike, ids: ArrayLike | None = None) -> QueryLossDisplay:
        """Check and keep losses, such as ``result.queries["rank_loss"]`` of a cross-validation.

        Without ``ids`` the names are positions.
        """
        values = np.asarray(losses, dtype=float)
        if values.ndim != 1 or len(values) == 0:
            raise ValueError(f"losses must have shape (n_queries,), at least one, got {values.shape}")
        if np.isnan(values).all():
            raise ValueError(f"losses are all NaN: {NOTHING_TO_RANK}")
        known = values[~np.isnan(values)]
        if known.min() < 0 or known.max() > 1:
            raise ValueError(f"losses must lie within 0..1, got {known.min():.3g} to {known.max():.3g}")
        names = np.arange(len(values)) if ids is None else np.asarray(ids)
        if names.shape != values.shape:
            raise ValueError(f"ids must have shape {values.shape}, got {names.shape}")
        return cls(values, names)

    @classmethod
    def from_predictions(cls, Y_true: ArrayLike, Y_score: ArrayLike, ids: ArrayLike | None = None) -> QueryLossDisplay:
        """Losses of scores on a relation (n_queries, n_objects), NaN where it is not observed. O(n m log m)."""
        return cls.from_values(rank_loss(Y_true, Y_score, average=None), ids)

    @classmethod
    def from_estimator(cls, ranker: Any, graph: RelationGraph) -> QueryLossDisplay:
        """Losses of a fitted ranker on a graph; truth and scores are made in blocks and not kept."""
        losses = [rank_loss(truth, scores, average=None) for truth, scores in predict_blocks(ranker, graph)]
        return cls.from_values(np.concatenate(losses), query_names(ranker, graph))

    def worst(self, n: int = 5) -> list[tuple[Any, float]]:
        """Name and loss of the n conditioning nodes with the highest loss, the highest first."""
        known = np.flatnonzero(~np.isnan(self.losses))
        order = known[np.argsort(-self.losses[known], kind="stable")][: check_count("n", n, at_least=0)]
        return [(name, loss) for name, loss in zip(self.ids[order].tolist(), self.losses[order].tolist(), strict=True)]

    def plot(
        self, ax: Axes | None = None, *, kind: str = "histogram", worst: int = 5, name: str | None = None
    ) -> QueryLossDisplay:
        """Draw the distribution, its mean and the loss of chance.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure. Several distributions may share axes; "ecdf" is best for that.
        kind : {"histogram", "ecdf"}
            Number of conditioning nodes in bins of 0.05, or share of conditioning nodes with at most that loss.
        worst : int
            How many of the worst conditioning nodes to name.
        name : str, optional
            Name in the legend, which then also shows the mean.
        """
        check_choice("kind", kind, ("histogram", "ecdf"))
        axes = new_axes(1, 1, figsize=(5.4, 3.6))[0] if ax is None else ax
        losses = self.losses[~np.isnan(self.losses)]
        mean = f"mean {losses.mean():.3f}"
        # On shared axes every distribution has its own mean, and the legend has room for it.
        label = None if name is None else f"{name} ({mean})"
        if kind == "histogram":
            top = max(losses.max(), CHANCE)
            bins = np.arange(0, np.ceil(round(top / 0.05, 9)) + 1) * 0.05
            _, _, bars = axes.hist(losses, bins=bins, alpha=0.75, label=label, edgecolor="white", linewidth=0.5)
            colour = bars[0].get_facecolor()  # type: ignore[index]
            axes.set_ylabel("conditioning nodes")
        else:
            line = axes.ecdf(losses, label=label)
            colour = line.get_color()
            axes.set_ylabel("share of conditioning nodes")
        axes.axvline(losses.mean(), color=colour, linestyle="--", linewidth=1)
        axes.axvline(CHANCE, color="0.4", linestyle=":", linewidth=1)
        left_out = len(self.losses) - len(losses)
        undefined = f"{left_out:,} of {len(self.losses):,} have nothing to rank" if left_out else ""
        label_below(axes, f"rank loss ({mean if name is None else 'mean'} dashed, chance dotted)", undefined)
        self._name_worst(axes, worst)
        if name is not None:
            axes.legend(frameon=False, loc="center right")
        figure: Any = axes.get_figure(root=True)
        self.figure_, self.ax_ = figure, axes
        return self

    def _name_worst(self, ax: Axes, n: int) -> None:
        """A list of the worst nodes in the corner; names along the axis would overlap."""
        named = self.worst(n)
        if named:
            figure: Any = ax.get_figure(root=True)
            inches = ax.get_position().height * figure.get_size_inches()[1]
            room = max(1, int(inches * 72 / LINE) - 3)
            lines = [f"{_short(str(name))}  {loss:.2f}" for name, loss in named[:room]]
            lines += [f"and {len(named) - room} more"] if len(named) > room else []
            text = "\n".join(["worst", *lines])
            ax.text(0.98, 0.97, text, transform=ax.transAxes, ha="right", va="top", fontsize=8)


def _short(name: str) -> str:
    """A name, cut if it is too long for the picture."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
