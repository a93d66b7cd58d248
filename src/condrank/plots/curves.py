"""Loss against λ, or against the iterations of early stopping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from condrank.plots.axes import new_axes
from condrank.plots.predictions import fitted_ranker

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class LossCurveDisplay:
    """Rank loss on held-out pairs against λ or the number of iterations, with the chosen value marked.

    Parameters
    ----------
    values : ndarray of shape (n,)
        λ, or numbers of iterations.
    losses : ndarray of shape (n,)
        Rank loss for each value.
    folds : ndarray of shape (n_folds, n) or None
        Losses of each fold, drawn as thin lines.
    chosen : float or None
        The value to mark.
    label : str
        Name of the values.

    Attributes
    ----------
    figure_ : Figure
        The figure drawn on.
    ax_ : Axes
        The axes drawn on.

    Examples
    --------
    >>> from condrank.plots import LossCurveDisplay
    >>> display = LossCurveDisplay.from_values([0.01, 1.0, 100.0], [0.3, 0.1, 0.2], chosen=1.0).plot()
    >>> display.ax_.get_xscale(), display.ax_.get_xlabel()
    ('log', 'λ')
    """

    figure_: Figure
    ax_: Axes

    def __init__(
        self,
        values: np.ndarray,
        losses: np.ndarray,
        *,
        folds: np.ndarray | None = None,
        chosen: float | None = None,
        label: str = "λ",
    ):
        self.values, self.losses = values, losses
        self.folds, self.chosen, self.label = folds, chosen, label

    @classmethod
    def from_values(
        cls,
        values: ArrayLike,
        losses: ArrayLike,
        *,
        folds: ArrayLike | None = None,
        chosen: float | None = None,
        label: str = "λ",
    ) -> LossCurveDisplay:
        """Check and keep a curve; parameters are the same as for the class."""
        x, y = np.asarray(values, dtype=float), np.asarray(losses, dtype=float)
        if x.ndim != 1 or y.shape != x.shape or len(x) == 0:
            raise ValueError(f"values and losses must be of one length, at least 1, got shapes {x.shape} and {y.shape}")
        each = None if folds is None else np.asarray(folds, dtype=float)
        if each is not None and (each.ndim != 2 or each.shape[1] != len(x)):
            raise ValueError(f"folds must have shape (n_folds, {len(x)}), got {each.shape}")
        return cls(x, y, folds=each, chosen=chosen, label=label)

    @classmethod
    def from_estimator(cls, ranker: Any) -> LossCurveDisplay:
        """The λ curve of a fitted `condrank.ConditionalRankerCV`, or the curve of a ranker that stopped early.

        The ranker may be inside a `condrank.TableRanker` or a pipeline.
        """
        ranker = fitted_ranker(ranker)
        if hasattr(ranker, "cv_losses_"):
            return cls.from_values(ranker.alphas_, ranker.cv_losses_, folds=ranker.fold_losses_, chosen=ranker.alpha_)
        if hasattr(ranker, "history_"):
            iterations = np.arange(1, len(ranker.history_) + 1)
            return cls.from_values(iterations, ranker.history_, chosen=ranker.n_iter_, label="iteration")
        raise ValueError(
            "ranker must be a fitted ConditionalRankerCV, or fitted with solver='early_stopping', "
            f"got {type(ranker).__name__} without losses"
        )

    def plot(self, ax: Axes | None = None, *, name: str | None = None, colour: str | None = None) -> LossCurveDisplay:
        """Draw the curve; λ on a logarithmic scale.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default a new figure. Several curves may share axes.
        name : str, optional
            Name in the legend.
        colour : str, optional
            Colour of the curve; by default the next one of the cycle of matplotlib.
        """
        axes = new_axes(1, 1, figsize=(5, 3.6))[0] if ax is None else ax
        order = np.argsort(self.values)
        (line,) = axes.plot(self.values[order], self.losses[order], color=colour, label=name, marker=".", zorder=2)
        if self.folds is not None and len(self.folds) > 1:
            axes.plot(self.values[order], self.folds[:, order].T, color=line.get_color(), alpha=0.45, linewidth=1.0)
        if self.chosen is not None:
            at = int(np.argmin(np.abs(self.values - self.chosen)))
            axes.plot(self.values[at], self.losses[at], "o", color=line.get_color(), markerfacecolor="white", zorder=3)
        if self.label != "iteration":
            axes.set_xscale("log")
        axes.set(xlabel=self.label, ylabel="rank loss")
        if name is not None:
            axes.legend(frameon=False)
        figure: Any = axes.get_figure(root=True)
        self.figure_, self.ax_ = figure, axes
        return self
