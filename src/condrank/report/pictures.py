"""Pictures of what was learned: nodes in two coordinates, one order against cycles, and the choice of λ."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.diagnosis import Diagnosis
from condrank.explorer.embedded import clipped
from condrank.explorer.markup import Markup, join, tag
from condrank.graph import RelationGraph
from condrank.plots import CoordinatesDisplay, LossCurveDisplay
from condrank.plots.axes import draw_nodes
from condrank.plots.predictions import query_names
from condrank.report import charts
from condrank.report.relations import with_edges
from condrank.report.words import Words

#: Nodes whose scores are decomposed for coordinates, O(n³), and names beside the points.
MAX_POINTS, NAMED = 300, 16
#: Colours of classes, and shades of numbers.
CLASSES, SHADES = 8, 5


def coordinates(ranker: Any, graph: RelationGraph, groups: np.ndarray | None, words: Words) -> Markup:
    """Nodes in the two coordinates that explain most of the scores, with the names of those farthest out."""
    part, kept, _ = with_edges(graph)
    if min(part.shape) < 2:
        part, kept = graph, np.arange(len(graph))
    classes = None if groups is None else groups[kept]
    display = CoordinatesDisplay.from_estimator(ranker, part, groups=classes, max_nodes=MAX_POINTS)
    names = query_names(ranker, part)[draw_nodes(len(query_names(ranker, part)), MAX_POINTS)]
    reading = {
        "reciprocal": "A node beats the nodes counter-clockwise of it: a circle is a cycle, a line is one order.",
        "symmetric": "Nodes in the same direction from the cross are alike; nodes near it are unlike all others.",
        "ordinary": f"{words.objects.capitalize()} (hollow) rank high for {words.queries} (filled) in their direction.",
    }[display.relation]
    if display.relation == "reciprocal" and classes is None:
        reading += " The darker, the stronger."
    note = f" Shown: {display.note}." if display.note else ""
    caption = (
        f"What was learned, in the two coordinates that explain most of it ({100 * display.share:.0f} % of the "
        f"scores). {reading}{note}"
    )
    return tag("figure", _scatter(display, names), tag("figcaption", caption))


def _scatter(display: CoordinatesDisplay, names: np.ndarray) -> Markup:
    width, height, room = 440, 330, 16
    objects = display.object_points
    every = display.points if objects is None else np.vstack([display.points, objects])
    every = np.vstack([every, [[0.0, 0.0]]])
    low, high = every.min(axis=0), every.max(axis=0)
    stretch = min((width - 2 * room) / ((high[0] - low[0]) or 1), (height - 2 * room) / ((high[1] - low[1]) or 1))
    centre = (low + high) / 2

    def place(points: np.ndarray) -> list[tuple[float, float]]:
        moved = (points - centre) * stretch
        return [(width / 2 + x, height / 2 - y) for x, y in moved.tolist()]

    kinds, legend = _kinds(display)
    (cross,) = place(np.zeros((1, 2)))
    parts = [
        charts.line(cross[0] - 5, cross[1], cross[0] + 5, cross[1], "axis"),
        charts.line(cross[0], cross[1] - 5, cross[0], cross[1] + 5, "axis"),
    ]
    if objects is not None:
        parts += [charts.dot(x, y, 2.6, "hollow") for x, y in place(objects)]
    spots = place(display.points)
    for (x, y), kind, name in zip(spots, kinds, names, strict=True):
        parts.append(charts.dot(x, y, 3.6, f"point {kind}", str(name)))
    far = np.argsort(-np.sum(display.points**2, axis=1), kind="stable")[: 3 * NAMED]
    texts = charts.short_names([str(names[one]) for one in far])
    found = charts.place_names([spots[one] for one in far], texts, width, height)
    for number, x, y, anchor in found[:NAMED]:
        parts.append(charts.label(x, y, texts[number], anchor, "halo"))
    picture = charts.chart("Nodes in two coordinates", width, height, *parts)
    keys = (tag("span", tag("i", class_=f"class-{k}"), clipped(one), class_="key") for k, one in enumerate(legend))
    return join([picture, tag("p", *keys, class_="keys") if legend else ""])


def _kinds(display: CoordinatesDisplay) -> tuple[list[str], list[str]]:
    """The style of each point, and the names of the classes if there are few enough of them."""
    n = len(display.points)
    if display.groups is not None:
        classes, number = np.unique(display.groups, return_inverse=True)
        if len(classes) <= CLASSES:
            return [f"class-{one}" for one in number], [str(one) for one in classes]
        return ["class-0"] * n, []
    if display.values is None:
        return ["class-0"] * n, []
    place = np.argsort(np.argsort(display.values, kind="stable"))
    return [f"shade-{one}" for one in place * SHADES // max(n, 1)], []


def order_and_cycles(found: Diagnosis, words: Words) -> Markup | None:
    """How much of a contest one strength for each node explains, and how much is cyclic; None if that is not known."""
    split = found.hodge
    if split is None or split.gradient_share is None:
        return None
    order = float(split.gradient_share)
    parts = [
        tag("rect", x="0", y="0", height="100%", width=f"{100 * order:.2f}%", class_="fill"),
        tag("rect", x=f"{100 * order:.2f}%", y="0", height="100%", width=f"{100 * (1 - order):.2f}%", class_="rest"),
    ]
    title = f"one order explains {100 * order:.0f} %, cycles {100 * (1 - order):.0f} %"
    caption = (
        f"One strength for each of the {words.queries} explains {100 * order:.0f} % of what was observed. The other "
        f"{100 * (1 - order):.0f} % are cycles (a beats b, b beats c, c beats a) and chance."
    )
    if split.noise_floor is not None:
        caption += f" Results drawn by lot would have {100 * split.noise_floor:.0f} % of cycles."
    strip = tag("svg", *parts, class_="split", role="img", aria_label=title)
    ends = tag("p", tag("span", "one order"), tag("span", "cycles and chance"), class_="ends")
    return tag("figure", strip, ends, tag("figcaption", caption), class_="wide")


def loss_curve(ranker: Any) -> Markup | None:
    """Loss against λ or against iterations; None for a ranker that varied neither."""
    if not (hasattr(ranker, "cv_losses_") or getattr(ranker, "history_", None)):
        return None
    display = LossCurveDisplay.from_estimator(ranker)
    order = np.argsort(display.values)
    values, losses = display.values[order], display.losses[order]
    known = ~np.isnan(losses)
    if known.sum() < 2:
        return None
    values, losses = values[known], losses[known]
    every = losses if display.folds is None else display.folds[~np.isnan(display.folds)]
    low, high = min(losses.min(), every.min()), max(losses.max(), every.max())
    room = 0.06 * (high - low) or 0.01
    log = display.label != "iteration"
    frame = charts.Frame((values[0], values[-1]), (low - room, high + room), height=240, log=log)
    if log:
        powers = np.arange(np.ceil(np.log10(values[0])), np.floor(np.log10(values[-1])) + 1)
        every_other = max(1, int(np.ceil(len(powers) / 6)))
        along = [(10.0**one, f"{10.0**one:g}") for one in powers[::every_other]]
    else:
        along = charts.ticks(values[0], values[-1])
    parts = [frame.axes(display.label, "rank loss", along, charts.ticks(*frame.y, 4))]
    if display.folds is not None and len(display.folds) > 1:
        for fold in display.folds[:, order][:, known]:
            if not np.isnan(fold).any():
                parts.append(charts.path(_points(frame, values, fold), "curve thin"))
    parts.append(charts.path(_points(frame, values, losses), "curve"))
    if display.chosen is not None:
        at = int(np.argmin(np.abs(values - display.chosen)))
        parts.append(charts.dot(frame.across(values[at]), frame.up(losses[at]), 6, "open", f"chosen: {values[at]:.4g}"))
    caption = f"Rank loss on held-out pairs against {display.label}; the chosen value is the open circle."
    picture = charts.chart(f"Rank loss against {display.label}", frame.width, frame.height, *parts)
    return tag("figure", picture, tag("figcaption", caption))


def _points(frame: charts.Frame, values: np.ndarray, losses: np.ndarray) -> list[tuple[float, float]]:
    return [(frame.across(x), frame.up(y)) for x, y in zip(values, losses, strict=True)]
