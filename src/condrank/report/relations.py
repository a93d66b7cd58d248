"""Pictures of the relation: whole if it is dense; groups of nodes, a dense corner and numbers of edges otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.explorer.markup import Markup, join, tag
from condrank.graph import RelationGraph
from condrank.model_selection.scoring import judged
from condrank.observations.edges import all_edges
from condrank.plots.axes import sample_note
from condrank.plots.predictions import predict_sample, query_names, ranks_incoming
from condrank.plots.relation import deal_out
from condrank.report import charts
from condrank.report.matrices import DENSE, colours, densest, matrix, scale_of_values
from condrank.report.rankings import observed_pairs
from condrank.report.words import Words

#: Nodes along the side of an image, of a corner, and groups of nodes.
MAX_NODES, CORNER, GROUPS = 300, 24, 10
#: Nodes with most edges among which a dense corner is looked for.
CANDIDATES = 400


def with_edges(graph: RelationGraph) -> tuple[RelationGraph, np.ndarray, np.ndarray]:
    """The graph without nodes that have no edge, and the positions of those that are left on each side."""
    rows, columns = graph.relation.degrees()
    if not graph.is_two_domain:
        kept = np.flatnonzero(rows + columns)
        return (graph if len(kept) in (0, len(rows)) else graph[kept]), kept, kept
    kept, others = np.flatnonzero(rows), np.flatnonzero(columns)
    if len(kept) in (0, len(rows)) and len(others) in (0, len(columns)):
        return graph, np.arange(len(rows)), np.arange(len(columns))
    return graph.cut(kept, others), kept, others


def relation_figures(ranker: Any, graph: RelationGraph, groups: np.ndarray | None, words: Words, seen: str) -> Markup:
    """True relation and the model's order side by side, in a form that suits how much of it was observed.

    Parameters
    ----------
    ranker : fitted ranker
        It orders the objects of each row.
    graph : RelationGraph
        Encoded for the ranker.
    groups : ndarray of str or None
        Class of each node of a single domain.
    words : Words
        Nouns of the nodes.
    seen : str
        Whether the model has seen these nodes.
    """
    part, kept, _ = with_edges(graph)
    classes = None if groups is None else groups[kept]
    left = graph.n_nodes - part.n_nodes
    without = f" {left:,} nodes without edges are left out." if left else ""
    if part.density >= DENSE:
        return _whole(ranker, part, classes, words, seen + without)
    grouped = _grouped(ranker, part, classes, words, seen)
    corner = _corner(ranker, part, words)
    return join([grouped, corner, _degrees(graph, words, without)])


def _whole(ranker: Any, graph: RelationGraph, groups: np.ndarray | None, words: Words, seen: str) -> Markup:
    shown = predict_sample(ranker, graph, MAX_NODES)
    dealt = deal_out(shown.truth, shown.scores)
    names, objects = (both[at] for both, at in zip(_both_names(ranker, graph), _places(shown), strict=True))
    by_row = _best_first(shown.truth)
    order = "by the mean of their values, highest first"
    if groups is not None:
        own = groups[shown.queries]
        by_row, order = by_row[np.argsort(own[by_row], kind="stable")], "by class"
        names = np.array([f"{group} · {name}" for group, name in zip(own, names, strict=True)])
    by_column = _best_first(shown.truth.T) if graph.is_two_domain else by_row
    note = sample_note(shown.truth.shape, shown.total)
    caption = (
        f"A row for each of the {words.queries}, ordered {order}. In the model's order each row has its true values "
        f"where the model puts them: where both images agree, the order is right. Grey: not observed. {seen}"
        + (f" Shown: {note}." if note else "")
    )
    columns = objects[by_column] if graph.is_two_domain else None
    place = np.ix_(by_row, by_column)
    return _pair(shown.truth[place], dealt[place], names[by_row], columns, caption)


def _corner(ranker: Any, graph: RelationGraph, words: Words) -> Markup:
    """The part of a sparse relation where most is known, with all names."""
    incoming = ranks_incoming(ranker)
    edges = all_edges(graph.relation)
    degrees = list(edges.degrees())
    if not graph.is_two_domain:
        degrees = [degrees[0] + degrees[1]] * 2
    rows, columns = (np.sort(np.argsort(-one, kind="stable")[:CANDIDATES]) for one in degrees)
    pattern = edges.take(rows, columns)
    known = np.zeros(pattern.shape, dtype=bool)
    known[pattern.sources, pattern.indices] = True
    first, second = densest(known, CORNER, not graph.is_two_domain)
    part = graph[rows[first]] if not graph.is_two_domain else graph.cut(rows[first], columns[second])
    truth, scores = part.to_dense(), np.asarray(ranker.predict(part), dtype=float)
    truth = truth.T if incoming else truth
    names, objects = _both_names(ranker, part)
    if np.isnan(truth).all():
        return Markup("")
    by_row = _best_first(truth)
    by_column = _best_first(truth.T) if graph.is_two_domain else by_row
    place = np.ix_(by_row, by_column)
    dealt = deal_out(truth, scores)
    share = float(np.mean(~np.isnan(truth)))
    caption = (
        f"The {len(names)} {words.queries} with most edges among each other; {100 * share:.0f} % of these pairs are "
        "known, the rest is grey. Left the truth, right the true values where the model puts them."
    )
    columns_named = objects[by_column] if graph.is_two_domain else None
    return _pair(truth[place], dealt[place], names[by_row], columns_named, caption)


def _grouped(ranker: Any, graph: RelationGraph, classes: np.ndarray | None, words: Words, seen: str) -> Markup:
    """Means of true and predicted values between groups of nodes; every observed edge counts."""
    truth, scores = judged(ranker, graph)
    row, column, value, score = observed_pairs(truth, scores)
    dealt = np.empty_like(value)
    dealt[np.lexsort((-score, row))] = value[np.lexsort((-value, row))]
    if classes is not None and 1 < len(np.unique(classes)) <= 3 * GROUPS:
        names, first = np.unique(classes, return_inverse=True)
        second, labels = first, [str(one) for one in names]
        columns = None
        how = "by class"
    else:
        first = _tiers(row, value, truth.shape[0])
        second = _tiers(column, value, truth.shape[1]) if graph.is_two_domain else first
        labels = _tier_names(first, words.queries)
        columns = _tier_names(second, words.objects) if graph.is_two_domain else None
        how = "by the mean of their values, highest first"
    shape = (int(first.max()) + 1, int(second.max()) + 1)
    at = (first[row], second[column])
    counts = sparse.coo_array((np.ones(len(value)), at), shape=shape).toarray()
    sums = [sparse.coo_array((one, at), shape=shape).toarray() for one in (value, dealt)]
    true, model = (np.where(counts > 0, one / np.maximum(counts, 1), np.nan) for one in sums)
    caption = (
        f"All {len(value):,} observed values, as means between groups of {words.queries}, which are ordered {how}. "
        f"Right the same values where the model puts them. Point at a cell for its numbers. {seen}"
    )
    texts = [_cells(one, counts) for one in (true, model)]
    return _pair(true, model, labels, columns, caption, texts)


def _pair(
    truth: np.ndarray, model: np.ndarray, rows: Any, columns: Any, caption: str, titles: list[Any] | None = None
) -> Markup:
    scale = scale_of_values(truth)
    images = [
        tag("div", tag("h4", title), matrix(title, values, scale, rows, columns, None if titles is None else titles[k]))
        for k, (title, values) in enumerate((("True", truth), ("In the model's order", model)))
    ]
    return tag("figure", tag("div", *images, class_="pair"), colours(scale), tag("figcaption", caption), class_="wide")


def _degrees(graph: RelationGraph, words: Words, without: str) -> Markup:
    """How many nodes have at least so many edges."""
    rows, columns = graph.relation.degrees()
    sides = [(rows, "where edges start"), (columns, "where edges end")]
    if words.one_kind:  # both directions of a pair are one edge of each of its nodes
        sides = [(rows if np.array_equal(rows, columns) else rows + columns, words.queries)]
    sorted_sides = [(-np.sort(-degrees[degrees > 0]), what) for degrees, what in sides]
    most = max(int(one[0][0]) for one in sorted_sides)
    longest = max(len(one) for one, _ in sorted_sides)
    frame = charts.Frame((1, max(longest, 2)), (0, most * 1.05), height=240)
    marks = [one for one in charts.ticks(0, most, 4) if float(one[0]).is_integer()]
    along = [(1, "1"), *(one for one in charts.ticks(1, longest, 5) if float(one[0]).is_integer() and one[0] > 1)]
    parts = [frame.axes(f"{words.queries}, those with most edges first", "edges", along, marks)]
    for number, (degrees, what) in enumerate(sorted_sides):
        few = np.unique(np.linspace(0, len(degrees) - 1, 120).astype(int))
        points = [(frame.across(one + 1), frame.up(float(degrees[one]))) for one in few]
        parts.append(charts.path(points, "curve" if number == 0 else "curve second"))
        if not words.one_kind:
            parts.append(charts.label(points[-1][0], points[-1][1] - 6 - 12 * number, what, "end"))
    middle = int(np.median(sorted_sides[0][0]))
    caption = f"Edges of each node, sorted. Half of those with edges have at least {middle:,}.{without}"
    picture = charts.chart("Edges of each node, sorted", frame.width, frame.height, *parts)
    return tag("figure", picture, tag("figcaption", caption))


def _cells(means: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """What each cell says: its mean and its number of edges; nothing without edges."""
    texts = [f"{m:.3g}, {int(n):,} edges" if n else "" for m, n in zip(means.ravel(), counts.ravel(), strict=True)]
    return np.array(texts, dtype=object).reshape(means.shape)


def _tiers(side: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
    """The group of each node: nodes by the mean of their values, cut into groups of equal size."""
    count = np.bincount(side, minlength=n)
    mean = np.bincount(side, weights=value, minlength=n) / np.maximum(count, 1)
    order = np.argsort(-np.where(count > 0, mean, -np.inf), kind="stable")
    tier = np.empty(n, dtype=int)
    tier[order] = np.arange(n) * min(GROUPS, n) // max(n, 1)
    return tier


def _tier_names(tier: np.ndarray, noun: str) -> list[str]:
    counts = np.bincount(tier)
    before = f"{noun} " if len(noun) < 9 else ""
    ends = np.cumsum(counts)
    return [f"{before}{end - n + 1:,}–{end:,}" for n, end in zip(counts, ends, strict=True)]


def _both_names(ranker: Any, graph: RelationGraph) -> tuple[np.ndarray, np.ndarray]:
    """Names of the conditioning nodes and of the objects."""
    others = graph.nodes if ranks_incoming(ranker) else graph.objects
    objects = np.arange(len(others)) if others.ids is None else others.ids
    return query_names(ranker, graph), objects


def _places(shown: Any) -> tuple[np.ndarray, np.ndarray]:
    return shown.queries, shown.objects


def _best_first(Y: np.ndarray) -> np.ndarray:
    """Rows by the mean of their observed values, highest first; rows without any come last."""
    known = ~np.isnan(Y)
    count = known.sum(axis=1)
    mean = np.where(count > 0, np.where(known, Y, 0.0).sum(axis=1) / np.maximum(count, 1), -np.inf)
    return np.argsort(-mean, kind="stable")
