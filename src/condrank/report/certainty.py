"""How sure one can be: the spread over conditioning nodes, and what few edges cost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from condrank.explorer.markup import Markup, join, tag
from condrank.report import charts
from condrank.report.headline import hardest, percent
from condrank.report.measured import Measured, held_out_losses
from condrank.report.rankings import Rankings
from condrank.report.words import Words

#: Width of a bin of the histogram, and groups of nodes by their number of edges.
BIN, GROUPS = 0.05, 4


def certainty(measured: list[Measured], rankings: Rankings, words: Words, known: str) -> Markup:
    """Share of pairs ordered right for each conditioning node, on held-out data if there are any."""
    one = hardest(measured)
    names, losses, source = rankings.query_ids[rankings.queries], rankings.losses, f"By this model. {known}"
    if one is not None:
        names, losses = held_out_losses([one])[one.setting]
        source = f"By models that had not seen these pairs (setting {one.setting})."
    names, right = names[~np.isnan(losses)], 1 - losses[~np.isnan(losses)]
    if not len(right):
        return tag("p", f"No two {words.objects} can be compared for any of the {words.queries}: nothing to say.")
    low, middle = np.quantile(right, [0.1, 0.5])
    text = (
        f"For half of the {words.queries} at least {percent(float(middle))} of pairs are ordered right; for nine in "
        f"ten at least {percent(float(low))}. {source}"
    )
    figures = [
        tag(
            "figure",
            _histogram(right),
            tag("figcaption", f"{words.queries.capitalize()}, by their pairs ordered right."),
        )
    ]
    grouped = _by_edges(names, right, rankings)
    if grouped is not None:
        caption = (
            f"The same, by how many edges the {words.queries} have in these data, with twice the standard error of "
            "the mean."
        )
        figures.append(tag("figure", grouped, tag("figcaption", caption)))
    return join([tag("p", text), tag("div", *figures, class_="figures")])


def _histogram(right: np.ndarray) -> Markup:
    edges = np.arange(0, 1 + BIN, BIN)
    counts, _ = np.histogram(np.minimum(right, 1 - 1e-9), bins=edges)
    first = min(int(np.flatnonzero(counts)[0]), 9)
    frame = charts.Frame((edges[first], 1.0), (0, counts.max() * 1.05), height=240)
    marks = [one for one in charts.ticks(0, counts.max(), 4) if float(one[0]).is_integer()]
    step = 0.1 if edges[first] >= 0.3 else 0.2
    parts = [frame.axes("pairs ordered right", "how many", charts.percents(edges[first], 1, step), marks)]
    for start, count in zip(edges[first:-1], counts[first:], strict=True):
        x, top = frame.across(start), frame.up(count)
        wide = frame.across(start + BIN) - x
        title = f"{percent(start)} to {percent(start + BIN)}: {count:,}"
        parts.append(charts.bar(x + 1, top, wide - 2, frame.up(0) - top, "fill", title))
    x = frame.across(0.5)
    parts.append(charts.line(x, frame.top, x, frame.up(0), "chance"))
    parts.append(charts.label(x + 5, frame.top + 10, "chance"))
    return charts.chart("Pairs ordered right, for each conditioning node", frame.width, frame.height, *parts)


def _by_edges(names: np.ndarray, right: np.ndarray, rankings: Rankings) -> Markup | None:
    """Mean share of pairs ordered right in groups by number of edges; None if all have about the same number."""
    by_name = dict(zip(rankings.query_ids[rankings.queries].tolist(), rankings.observed.tolist(), strict=True))
    edges = np.array([by_name.get(name, -1) for name in names.tolist()])
    right, edges = right[edges >= 0], edges[edges >= 0]
    if len(edges) < 5 * GROUPS:
        return None
    bounds = np.unique(np.quantile(edges, np.linspace(0, 1, GROUPS + 1)).round().astype(int))
    if len(bounds) < 3:
        return None
    groups = []
    for place, (low, high) in enumerate(pairwise(bounds)):
        last = place == len(bounds) - 2
        inside = (edges >= low) & ((edges <= high) if last else (edges < high))
        if inside.sum() > 1:
            error = 2 * right[inside].std(ddof=1) / np.sqrt(inside.sum())
            groups.append((low, high if last else high - 1, right[inside].mean(), error, int(inside.sum())))
    if len(groups) < 2:
        return None
    lowest = min(0.4, float(np.floor(10 * min(mean - error for _, _, mean, error, _ in groups)) / 10))
    frame = charts.Frame((-0.5, len(groups) - 0.5), (max(lowest, 0.0), 1.0), height=240)
    texts = [f"{low:,}–{high:,}" if high > low else f"{low:,}" for low, high, *_ in groups]
    parts = [frame.axes("edges", "pairs ordered right", enumerate(texts), charts.percents(frame.y[0], 1))]
    parts.append(charts.line(frame.left, frame.up(0.5), frame.width - frame.right, frame.up(0.5), "chance"))
    for place, (_, _, mean, error, n) in enumerate(groups):
        x = frame.across(place)
        high, low = frame.up(min(mean + error, 1.0)), frame.up(max(mean - error, frame.y[0]))
        parts.append(charts.line(x, high, x, low, "error"))
        parts.append(charts.dot(x, frame.up(mean), 6, "model", f"{texts[place]} edges, {n:,} nodes: {percent(mean)}"))
    return charts.chart("Pairs ordered right, by number of edges", frame.width, frame.height, *parts)
