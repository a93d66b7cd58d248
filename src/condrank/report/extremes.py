"""The conditioning nodes that the model ranks worst and best, if they have enough edges to say so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from condrank.explorer.embedded import clipped
from condrank.explorer.markup import Markup, join, tag
from condrank.graph import RelationGraph
from condrank.report.headline import percent
from condrank.report.measured import Measured, held_out_losses
from condrank.report.rankings import Rankings, rank_rows
from condrank.report.words import Words

#: Conditioning nodes with the highest and with the lowest loss that are shown, and objects shown for each.
EXTREMES, SHOWN_OBJECTS = 6, 5
#: Fewest observed objects of a node that is called worst or best.
FEWEST = 10


def extremes(ranker: Any, graph: RelationGraph, rankings: Rankings, measured: list[Measured], words: Words) -> Markup:
    """Worst and best conditioning nodes, with what was ranked first and what should have been.

    Only nodes with at least `FEWEST` observed objects: with a few, the worst and the best are those with bad or good
    luck.
    """
    enough = ~np.isnan(rankings.losses) & (rankings.observed >= FEWEST)
    if enough.sum() < 2:
        few = f"{int(enough.sum())} of {len(rankings):,}" if enough.any() else f"none of the {len(rankings):,}"
        return tag(
            "p",
            f"Not shown: {few} {words.queries} have {FEWEST} observed {words.objects} or more to compare. With fewer, "
            "the worst and the best would be those with bad or good luck.",
        )
    held_out = _by_node(measured)
    pieces: list[Markup] = []
    for title, rows in zip(("Worst", "Best"), rankings.extremes(EXTREMES, FEWEST), strict=True):
        cards = []
        for row in rows:
            query = int(rankings.queries[row])
            name = rankings.query_ids[query]
            said = f"{percent(1 - float(rankings.losses[row]))} of pairs right"
            if held_out is not None and name in held_out[1]:
                said += f" · held out (setting {held_out[0]}) {percent(1 - held_out[1][name])}"
            said += f" · {int(rankings.observed[row]):,} observed"
            ranked = tag("div", tag("h5", "ranked first (truth)"), _first(rankings, row))
            highest = tag("div", tag("h5", "truly highest (truth, place)"), _truly(ranker, graph, query))
            cards.append(tag("article", tag("h4", clipped(name)), tag("p", said), ranked, highest, class_="query"))
        if cards:
            pieces += [tag("h3", f"{title} {len(cards)}"), tag("div", *cards, class_="queries")]
    text = (
        f"Ordered by the loss of this model, among the {int(enough.sum()):,} {words.queries} with at least {FEWEST} "
        "observed values. The truth is the observed value. An object without one says nothing for or against the "
        "ranking."
    )
    return join([tag("p", text), *pieces])


def _by_node(measured: list[Measured]) -> tuple[int, dict[Any, float]] | None:
    """A setting and its held-out losses by id: setting 2, where each node is new once, or else another one."""
    by_setting = held_out_losses(measured)
    setting = next((one for one in (2, 4, 3, 1) if one in by_setting), None)
    if setting is None:
        return None
    ids, losses = by_setting[setting]
    sums: dict[Any, list[float]] = {}
    for name, value in zip(ids.tolist(), losses.tolist(), strict=True):
        sums.setdefault(name, []).append(value)
    return setting, {name: sum(values) / len(values) for name, values in sums.items()}


def _first(rankings: Rankings, row: int) -> Markup:
    """The objects ranked first, with the truth."""
    ids = rankings.object_ids[rankings.indices[row, :SHOWN_OBJECTS]]
    return _listed(
        (clipped(name), "not observed" if np.isnan(value) else f"{value:.4g}")
        for name, value in zip(ids, rankings.truth[row], strict=False)
    )


def _truly(ranker: Any, graph: RelationGraph, query: int) -> Markup:
    """The objects with the highest observed values, and their places in the whole ranking."""
    n_objects = graph.shape[0] if getattr(ranker, "rank_by", "outgoing") == "incoming" else graph.shape[1]
    whole = rank_rows(ranker, graph, np.array([query]), n_objects)
    truth = whole.truth[0]
    places = np.argsort(-truth, kind="stable")[: min(SHOWN_OBJECTS, int((~np.isnan(truth)).sum()))]
    return _listed(
        (clipped(whole.object_ids[whole.indices[0, place]]), f"{truth[place]:.4g}, #{place + 1:,}") for place in places
    )


def _listed(pairs: Iterable[tuple[str, str]]) -> Markup:
    return tag("ol", *(tag("li", name, tag("small", f" ({what})")) for name, what in pairs), class_="short")
