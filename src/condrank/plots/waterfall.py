"""A score as a waterfall of the contributions that add up to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from condrank.base.checks import check_count
from condrank.explanations.terms import shown
from condrank.plots.axes import label_below, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from condrank.explanations import Explanation

#: Colours of contributions above and below zero, which differ for people who see no red and green, and of the total.
ABOVE, BELOW, TOTAL = "#0072b2", "#d55e00", "0.35"
#: The largest number of characters of a label, and inches of a bar.
LONGEST, BAR = 44, 0.34
#: Room beside the bars, as a share of the axis.
ROOM = 0.15


class WaterfallDisplay:
    """Bars from zero to a score, or to the difference of two: each begins where the one above it ends.

    Parameters
    ----------
    labels : list of str
        What the contributions belong to, from the top down.
    values : ndarray of shape (n_bars,)
        The contributions. Their sum is the total.
    title : str
        What is explained.
    unit : str
        Name of the x axis.

    Attributes
    ----------
    figure_ : Figure
        The figure drawn on.
    ax_ : Axes
        The axes drawn on.
    """

    figure_: Figure
    ax_: Axes

    def __init__(self, labels: list[str], values: np.ndarray, title: str = "", unit: str = "score"):
        self.labels, self.values, self.title, self.unit = labels, values, title, unit

    @classmethod
    def from_explanation(cls, explanation: Explanation, by: str | None = None, *, top: int = 10) -> WaterfallDisplay:
        """The ``top`` largest contributions of an explanation, all others as one bar, and the rest by name.

        Parameters
        ----------
        explanation : Explanation
            What `ConditionalRanker.explain` returns.
        by : {"labels", "nodes", "features", "parts"}, optional
            Which contributions; by default those of ``explanation.by``.
        top : int
            The largest number of contributions that have a bar of their own.
        """
        terms = explanation.terms(by)
        rows = terms.rows(check_count("top", top))
        labels, values = [_label(terms.by, row) for row in rows], [float(row["contribution"]) for row in rows]
        if len(terms) > len(rows):
            labels.append(f"{len(terms) - len(rows):,} others")
            values.append(float(terms.contributions.sum(dtype=np.float64)) - sum(values))
        labels += list(terms.rest)
        values += list(terms.rest.values())
        names = f"{explanation.object} for {explanation.query}"
        if explanation.other is None:
            return cls(labels, np.array(values), f"Why {names}?", "score")
        above = "above" if explanation.total >= 0 else "below"
        title = f"Why is {explanation.object} {above} {explanation.other} for {explanation.query}?"
        return cls(labels, np.array(values), title, "difference of the scores")

    def plot(self, ax: Any = None) -> WaterfallDisplay:
        """Draw the bars on your axes, or on a new figure."""
        if ax is None:
            (ax,) = new_axes(1, 1, (7.5, 1.3 + BAR * (len(self.values) + 1)))
        ends = np.cumsum(self.values)
        starts = np.concatenate([[0.0], ends[:-1]])
        total = float(ends[-1]) if len(ends) else 0.0
        places = np.arange(len(self.values) + 1)
        for place, start, value in zip(places, starts, self.values, strict=False):
            ax.barh(place, value, left=start, color=ABOVE if value >= 0 else BELOW, height=0.7)
        ax.barh(places[-1], total, color=TOTAL, height=0.7)
        for place, start, value in zip(places, [*starts, 0.0], [*self.values, total], strict=True):
            right = value >= 0
            ax.annotate(
                f"{value:+.3g}" if place < len(self.values) else f"{value:.3g}",
                (start + value, place),
                xytext=(3 if right else -3, 0),
                textcoords="offset points",
                ha="left" if right else "right",
                va="center",
                fontsize=8,
            )
        # From the end of a bar to the start of the next one.
        for place, end in enumerate(ends):
            ax.plot([end, end], [place - 0.35, place + 1.35], color="0.6", linewidth=0.7)
        ax.axvline(0.0, color="0.2", linewidth=0.8)
        ax.set_yticks(places, [*(_short(label) for label in self.labels), "total"])
        ax.invert_yaxis()
        low, high = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
        margin = ROOM * ((high - low) or 1.0)  # for the numbers beside the bars
        ax.set_xlim(low - margin * bool(low < 0), high + margin * bool(high > 0 or low == 0))
        ax.set_title(self.title, fontsize=10)
        label_below(ax, self.unit)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
        ax.tick_params(axis="y", length=0)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _label(by: str, row: dict[str, Any]) -> str:
    if by == "labels":
        return f"{row['query']} → {row['object']}: {shown(row['label'])}"
    if by == "nodes":
        return f"{row['node']}" + (f" ({row['side']})" if "side" in row else "")
    if by == "parts":
        parts = [row["query_part"], row["object_part"]]
        return " × ".join(part for part in parts if part)
    value, other = row.get("value"), row.get("other_value")
    values = "" if value is None else f" = {shown(value)}" + ("" if other is None else f" (not {shown(other)})")
    return row["feature"] if row["side"] == "both" else f"{row['feature']}{values} of the {row['side']}"


def _short(label: str) -> str:
    # A dollar sign would begin mathematics.
    label = label.replace("$", r"\$")
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"
