"""Who is strongest, in a contest; or which objects match best, in any other relation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from condrank.explorer.embedded import clipped
from condrank.explorer.markup import Markup, join, tag
from condrank.graph import RelationGraph
from condrank.metrics.games import probabilities_of
from condrank.observations.edges import all_edges
from condrank.plots.axes import draw_nodes
from condrank.plots.predictions import query_names, ranks_incoming
from condrank.rankers.base import fitted_of
from condrank.rankers.contests import strengths_of
from condrank.report.headline import percent
from condrank.report.markup import table
from condrank.report.rankings import Rankings
from condrank.report.words import Words

#: Rows that are shown at once, rows at most, and opponents that stand for all others.
SHOWN, MOST, OPPONENTS = 15, 300, 300
#: Conditioning nodes and objects of each in the list of best matches.
MATCHED, MATCHES = 12, 3


@dataclass(frozen=True)
class Leaders:
    """Nodes of a contest, the strongest first.

    Attributes
    ----------
    nodes : ndarray of int, shape (n,)
        Positions in the graph of the nodes that have an edge.
    strengths : ndarray of shape (n,)
        Strength of each: what one order of the nodes explains, or the mean score against the others.
    chances : ndarray of shape (n,) or None
        Mean probability of winning against another node; None if scores have no such scale.
    met, beaten : ndarray of int, shape (n,)
        Opponents, and how many of them were beaten more often than not.
    is_order : bool
        Whether the strengths are a part of the model and not a mean of its scores.
    """

    nodes: np.ndarray
    strengths: np.ndarray
    chances: np.ndarray | None
    met: np.ndarray
    beaten: np.ndarray
    is_order: bool


def is_contest(ranker: Any, graph: RelationGraph) -> bool:
    """Whether a ranker's relation is reciprocal, so that nodes have strengths."""
    return getattr(ranker, "relation", None) == "reciprocal" and not graph.is_two_domain


def find_leaders(ranker: Any, graph: RelationGraph, scale: str | None) -> Leaders:
    """Strengths of the nodes with edges, from an encoded graph. O(n) beside n × `OPPONENTS` scores."""
    met, beaten = records(graph)
    some = np.flatnonzero(met) if met.any() else np.arange(len(met))
    opponents = some[draw_nodes(len(some), OPPONENTS)]
    # With incoming edges a score says how well the object does against the conditioning node.
    incoming = ranks_incoming(ranker)
    sign = -1.0 if incoming else 1.0
    part = graph.cut(opponents, some) if incoming else graph.cut(some, opponents)
    scores = np.array(ranker.predict(part), dtype=float)
    others = some[:, None] != opponents[None, :]
    counts = np.maximum(others.sum(axis=1), 1)
    chances = None
    if scale is not None:
        won = probabilities_of(scores, scale)
        chances = ((1 - won if incoming else won) * others).sum(axis=1) / counts
    state = fitted_of(ranker)
    is_order = bool(state.settings.kernel.constant) and hasattr(state.model, "strengths")
    if is_order:
        strengths = strengths_of(ranker, graph.nodes.take(some))
    else:
        strengths = sign * (scores * others).sum(axis=1) / counts
    order = np.argsort(-strengths, kind="stable")
    shown = None if chances is None else chances[order]
    return Leaders(some[order], strengths[order], shown, met[some][order], beaten[some][order], is_order)


def records(graph: RelationGraph) -> tuple[np.ndarray, np.ndarray]:
    """Number of opponents of each node, and of those that it beat more often than not. O(edges)."""
    edges = all_edges(graph.relation, graph.centre)
    n = len(graph)
    start, end, value = edges.sources, edges.indices, edges.values
    apart = start != end
    start, end, value = start[apart], end[apart], value[apart]
    both = (np.r_[start, end], np.r_[end, start])
    balance = sparse.coo_array((np.r_[value, -value], both), shape=(n, n)).tocsr()
    met = np.diff(balance.indptr)
    beaten = np.bincount(np.repeat(np.arange(n), met)[balance.data > 0], minlength=n)
    return met, beaten


def leaderboard(found: Leaders, ranker: Any, graph: RelationGraph, words: Words) -> Markup:
    """The strongest nodes as a table with bars; the rest opens on request."""
    names = query_names(ranker, graph)[found.nodes]
    low, high = float(found.strengths.min()), float(found.strengths.max())
    width = (high - low) or 1.0
    head = ["place", words.queries, "strength", ""]
    head += [] if found.chances is None else ["wins against another"]
    head += ["opponents beaten"]
    rows = []
    for place in range(min(len(names), MOST)):
        share = 3 + 97 * (found.strengths[place] - low) / width
        one = [
            f"{place + 1:,}",
            tag("button", clipped(names[place]), type="button", class_="go", data_node="1"),
            f"{found.strengths[place]:+.2f}",
            tag("svg", tag("rect", width=f"{share:.1f}%", height="100%"), class_="meter", aria_hidden="true"),
        ]
        one += [] if found.chances is None else [percent(float(found.chances[place]))]
        rows.append([*one, f"{found.beaten[place]:,} of {found.met[place]:,}"])
    numeric = (0, 2, *range(4, len(head)))
    what = "the part of a score that one order of all nodes explains" if found.is_order else "the mean score"
    text = f"Strength is {what}: of two {words.queries}, the one with the higher strength is expected to win."
    if found.chances is not None:
        text += " Beside it, the expected share of wins against the others."
    left = len(graph) - len(found.nodes)
    if left:
        text += f" {left:,} {words.queries} without edges are left out."
    pieces = [tag("p", text), table("Leaderboard", head, rows[:SHOWN], numeric=numeric, class_="leaders")]
    if len(rows) > SHOWN:
        rest = f"Places {SHOWN + 1} to {len(rows):,}" + (f" of {len(names):,}" if len(names) > len(rows) else "")
        more = table("The other places", head, rows[SHOWN:], numeric=numeric, class_="leaders")
        pieces.append(tag("details", tag("summary", rest), more))
    return join(pieces)


def best_matches(rankings: Rankings, words: Words) -> Markup:
    """The first objects of the conditioning nodes with most edges, and whether they were observed."""
    order = np.argsort(-rankings.observed, kind="stable")[:MATCHED]
    rows = []
    for row in order:
        cells: list[Any] = [clipped(rankings.query_ids[rankings.queries[row]])]
        for place in range(min(MATCHES, rankings.indices.shape[1])):
            value = rankings.truth[row, place]
            seen = "not observed" if np.isnan(value) else f"observed {value:.3g}"
            name = clipped(rankings.object_ids[rankings.indices[row, place]])
            kind = "new" if np.isnan(value) else "seen"
            cells.append(join([name, tag("small", seen, class_=kind)]))
        rows.append(cells)
    head = [words.queries, *("first", "second", "third")[: min(MATCHES, rankings.indices.shape[1])]]
    text = (
        f"The {words.objects} that the model ranks first, for the {len(rows)} {words.queries} with most edges. "
        "What was not observed is a suggestion."
    )
    return join([tag("p", text), table("Best matches", head, rows, class_="matches")])
