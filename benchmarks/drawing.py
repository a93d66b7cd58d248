"""Pictures of a table: ratios as bars with their limits, measurements as curves, solvers as a scatter plot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.harness import Row, Suite
from condrank.base.files import atomic_open
from experiments.drawing import INK, LINES, name_ends, plain_ticks, tidy

HELD, MISSED, PLAIN = "#2a7f8e", "#c8553d", "#a9b4bb"
STYLE = {True: HELD, False: MISSED, None: PLAIN}


def draw(suite: Suite, rows: list[Row], path: Path) -> None:
    """Draw the rows as their suite says, and write a PNG."""
    manner = {"bars": _bars, "curves": _curves, "scatter": _scatter}[suite.plot]
    figure = manner(suite, rows)
    figure.suptitle(suite.title, x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
    with atomic_open(path, "wb") as file:
        figure.savefig(file, format="png", dpi=130)


def _bars(suite: Suite, rows: list[Row]) -> Figure:
    """One horizontal bar per ratio, with a dark tick at its limit."""
    shown = [row for row in rows if row.ratio is not None and row.ratio > 0]
    figure = Figure(figsize=(8.6, 1.1 + 0.27 * max(1, len(shown))), layout="constrained")
    ax = figure.subplots()
    ratios = np.array([row.ratio for row in shown], dtype=float)
    errors = bool(shown) and all(row.unit == "error" for row in shown)
    ends = np.concatenate([ratios, [row.bar for row in shown if row.bar is not None], [] if errors else [1.0]])
    logarithmic = ends.max() > 20 * ends.min()
    left = 10 ** np.floor(np.log10(ends.min()) - 0.2) if logarithmic else 0.0
    for place, row in enumerate(shown):
        ax.barh(place, ratios[place] - left, left=left, height=0.62, color=STYLE[row.holds])
        text = f"{ratios[place]:.1e}" if row.unit == "error" else f"{ratios[place]:.3g}"
        ax.annotate(
            text, (ratios[place], place), (4, 0), textcoords="offset points", va="center", fontsize=7.5, color=INK
        )
        if row.bar is not None:
            ax.plot([row.bar, row.bar], [place - 0.42, place + 0.42], color=INK, linewidth=2, solid_capstyle="butt")
    if not errors:
        ax.axvline(1.0, color="0.75", linewidth=1, linestyle=":", zorder=0)
    if logarithmic:
        ax.set_xscale("log")
    ax.set_xlim(left, ends.max() * (3 if logarithmic else 1.12))
    labels = [f"{row.name}  ({row.size})" if len({r.size for r in shown}) > 1 else row.name for row in shown]
    ax.set_yticks(range(len(shown)), labels, fontsize=8)
    ax.invert_yaxis()
    ax.set_xlabel("relative error; tick: the bar" if errors else "measured over floor; tick: the bar", fontsize=8.5)
    tidy(ax, "x")
    return figure


def _curves(suite: Suite, rows: list[Row]) -> Figure:
    """One line per series on logarithmic axes, with its name at the end; ratios if the axis says "over"."""
    figure = Figure(figsize=(8.6, 4.8), layout="constrained")
    ax = figure.subplots()
    relative = "over" in suite.axes[1]
    names = list(dict.fromkeys(row.series for row in rows if row.series))
    ends = []
    for place, name in enumerate(names):
        points = [row for row in rows if row.series == name and row.x is not None and row.measured is not None]
        x = [row.x for row in points]
        y = [row.ratio if relative else row.measured for row in points]
        colour = LINES[place % len(LINES)]
        ax.plot(x, y, marker="o", markersize=3.5, linewidth=1.5, color=colour, linestyle="-" if place < 4 else "--")
        ends.append((float(y[-1] or 0), float(x[-1] or 0), name, colour))
        for row in points:
            if row.bar is not None:
                ax.plot(row.x, row.bar, marker="_", markersize=16, markeredgewidth=2, color=INK)
    ax.set(xscale="log", yscale="log")
    plain_ticks(ax)
    ax.set_xlabel(suite.axes[0], fontsize=8.5)
    ax.set_ylabel(suite.axes[1], fontsize=8.5)
    name_ends(ax, ends)
    tidy(ax, "both")
    slopes = [f"{row.name.removeprefix('slope: ')}: slope {row.measured:.2f}" for row in rows if row.unit == "slope"]
    if slopes:
        ax.text(0.02, 0.97, "\n".join(slopes), transform=ax.transAxes, va="top", fontsize=8, color=INK)
    return figure


def _scatter(suite: Suite, rows: list[Row]) -> Figure:
    """Seconds of the chosen solver against those of the plain solver. Above the diagonal the chosen one was faster."""
    figure = Figure(figsize=(6.2, 5.4), layout="constrained")
    ax = figure.subplots()
    shown = [row for row in rows if row.x is not None and row.measured is not None]
    for place, name in enumerate(sorted({row.series for row in shown})):
        points = [row for row in shown if row.series == name]
        edges = [MISSED if row.holds is False else "white" for row in points]
        ax.scatter(
            [row.measured for row in points],
            [row.x for row in points],
            s=44,
            color=LINES[2 * place],
            edgecolors=edges,
            linewidths=1.6,
            label=name,
            alpha=0.85,
        )
    ends = [value for row in shown for value in (row.measured, row.x) if value]
    low, high = (min(ends) / 1.5, max(ends) * 1.5) if ends else (0.1, 1.0)
    ax.plot([low, high], [low, high], color=INK, linewidth=0.9)
    ax.text(high / 1.2, high / 1.2, "equal", ha="right", va="top", fontsize=8, color=INK, rotation=45)
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    plain_ticks(ax)
    ax.set_xlabel(f"{suite.axes[0]}; red edge: not the best", fontsize=8.5)
    ax.set_ylabel(f"{suite.axes[1]} (at least)", fontsize=8.5)
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    tidy(ax, "both")
    return figure
