"""Curves in panels, each with its name at its end, in one style for the benchmarks and the experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from .results import Picture

INK = "#2b2f33"
LINES = ("#2a7f8e", "#c8553d", "#7a5ea8", "#d19a2a", "#4f7f3a", "#5b6b78", "#b0568a", "#3c66a8")


@dataclass(frozen=True)
class Panel:
    """Series of points (x, y) on one pair of axes; ``levels`` are named horizontal lines."""

    title: str
    x: str
    y: str
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    x_log: int | None = None
    """Base of a logarithmic x axis."""
    y_log: bool = False
    levels: dict[str, float] = field(default_factory=dict)
    x_limits: tuple[float, float] | None = None


def curves(name: str, caption: str, panels: Sequence[Panel], columns: int = 1, height: float = 3.1) -> Picture:
    """Draw panels of some height in inches, and keep their points; a series has the same colour in every panel."""
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(6.4 * columns if columns > 1 else 8.6, 0.4 + height * rows), layout="constrained")
    colours: dict[str, str] = {}
    points = []
    for ax, panel in zip(figure.subplots(rows, columns, squeeze=False).flat, panels, strict=False):
        ends = []
        for series, (x, y) in panel.series.items():
            colour = colours.setdefault(series, LINES[len(colours) % len(LINES)])
            place = list(colours).index(series)
            style = "-" if place < 4 else "--" if place < 12 else ":"
            marker = "o" if len(x) <= 30 else ""
            ax.plot(x, y, marker=marker, markersize=3, linewidth=1.4, color=colour, linestyle=style)
            points += [(panel.title, series, float(a), float(b)) for a, b in zip(x, y, strict=True)]
            if len(x):
                ends.append((float(y[-1]), float(x[-1]), series, colour))
        for level, height in panel.levels.items():
            ax.axhline(height, color="0.6", linewidth=1, linestyle=":")
            ends.append((height, float(ax.get_xlim()[1]), level, "0.45"))
        if panel.x_log:
            ax.set_xscale("log", base=panel.x_log)
        if panel.y_log:
            ax.set_yscale("log")
        if panel.x_limits:
            ax.set_xlim(*panel.x_limits)
        if panel.x_log == 10 and panel.y_log and ends:
            plain_ticks(ax)
        ax.set_title(panel.title, fontsize=9.5, loc="left", color=INK)
        ax.set_xlabel(panel.x, fontsize=8.5)
        ax.set_ylabel(panel.y, fontsize=8.5)
        name_ends(ax, ends)
        tidy(ax, "both")
    return Picture(name, caption, figure, points)


def name_ends(ax: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Names right of the axes, at the height where each line ends, pushed apart; ends are (y, x, name, colour)."""
    to_axes = ax.transScale + ax.transLimits
    ends = sorted(ends)
    heights = [float(to_axes.transform((x, y))[1]) for y, x, _, _ in ends]
    step = 16 / ax.bbox.height  # a line of text, in pixels
    for place in range(1, len(heights)):
        heights[place] = max(heights[place], heights[place - 1] + step)
    # Names that were pushed above the axes come down again, and push those below them.
    limit = 1.0
    for place in reversed(range(len(heights))):
        heights[place] = min(heights[place], limit)
        limit = heights[place] - step
    for height, (_, _, name, colour) in zip(heights, ends, strict=True):
        ax.text(1.01, height, name, transform=ax.transAxes, va="center", fontsize=8, color=colour)


def plain_ticks(ax: Axes) -> None:
    """Plain numbers as ticks; 1, 2, 5 within a decade if there are few decades."""
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        few = high / low < 200
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=20))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1000 else f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def tidy(ax: Axes, grid: Literal["both", "x", "y"]) -> None:
    """Light grid, no frame."""
    ax.grid(axis=grid, color="0.92", linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color("0.7")
    ax.tick_params(labelsize=8, colors=INK, length=2)
