"""The sections of the page that consist of text and tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from condrank.diagnosis import Diagnosis
from condrank.diagnosis.summary import measurements
from condrank.explorer.embedded import clipped
from condrank.explorer.markup import Markup, join, tag
from condrank.graph import RelationGraph
from condrank.report.markup import facts, table
from condrank.report.measured import SETTINGS, Measured, held_out_losses
from condrank.report.rankings import Rankings, rank_rows

#: Conditioning nodes with the highest and with the lowest loss that are shown, and objects shown for each.
EXTREMES, SHOWN_OBJECTS = 6, 5
EXTREMES_TEXT = (
    "Ordered by the loss of this model. The truth is the observed relation value. An object without one says nothing "
    "for or against the ranking."
)


def summary(graph: RelationGraph, rankings: Rankings, measured: list[Measured], known: str) -> Markup:
    """The few numbers that matter most."""
    rows, columns = graph.shape
    nodes = f"{rows:,} × {columns:,}" if graph.is_two_domain else f"{rows:,}"
    data = [_tile(nodes, "nodes"), _tile(f"{graph.n_edges:,}", f"edges, {100 * graph.density:.3g} % of all pairs")]
    data.append(_tile(loss(rankings.pooled_loss), "rank loss of the model on these data"))
    losses = []
    for one in measured:
        if one.model is not None:
            beside = "" if one.similarity is None else f"; similarity {loss(one.similarity.mean())}"
            losses.append(_tile(loss(one.model.mean()), f"setting {one.setting}: {SETTINGS[one.setting]}{beside}"))
    sampled = _of(len(rankings), rankings.n_queries, "conditioning nodes")
    drawn = f" This loss is over {sampled}, drawn at random." if len(rankings) < rankings.n_queries else ""
    text = (
        "The rank loss is the share of pairs of objects that are ordered wrongly for a conditioning node (the node "
        f"that objects are ranked for): 0 is perfect, 0.5 is chance. {known}{drawn}"
    )
    return join(
        [tag("div", *data, class_="tiles"), tag("div", *losses, class_="tiles") if losses else "", tag("p", text)]
    )


def diagnosis(found: Diagnosis, relation: str | None, loss_name: str | None) -> Markup:
    """What the labels alone show."""
    advice = f"relation “{found.recommended_relation}” and loss “{found.recommended_loss}”"
    asked = [(relation, found.recommended_relation, "relation"), (loss_name, found.recommended_loss, "loss")]
    other = [f"{what} “{has}”" for has, wanted, what in asked if has is not None and has != wanted]
    remark = f" The model has {' and '.join(other)}." if other else " The model has both." if relation else ""
    return join(
        [
            tag("p", "Measured on the labels alone: no features, no fit."),
            facts(measurements(found)),
            tag("p", tag("strong", "Recommended: "), advice, ".", remark),
            tag("ul", *(tag("li", reason) for reason in found.reasons)),
        ]
    )


def settings(
    measured: list[Measured], warned: list[str], folds: int, graph: RelationGraph, part: RelationGraph, kernel: Any
) -> Markup:
    """The table of cross-validated losses."""
    if not measured:
        return tag("p", "Not measured: no settings were asked for.")
    head = ("setting", "what is new", "this model", "", "similarity", "model − similarity", "folds")
    rows = [_setting_row(one) for one in measured]
    sample = ""
    if part is not graph:
        sizes = (" × ".join(f"{n:,}" for n in dict.fromkeys(one.shape)) for one in (part, graph))
        sample = " Measured on {} of {} nodes, drawn at random.".format(*sizes)
    notes = [f"setting {one.setting}: {one.why_not}" for one in measured if one.why_not]
    notes += [f"warning while fitting: {message}" for message in warned]
    text = (
        f"Held-out rank loss, mean over folds ± standard error, {folds} folds per side. In each fold everything, "
        "also the encoding of the columns, was learned again from the data that were not held out. Folds share "
        "training data, so the standard error is somewhat too small."
    )
    if any(one.similarity is not None for one in measured):
        text += (
            f" Similarity learns nothing: it ranks by the {kernel} kernel. Beside the difference is its 95 % bootstrap "
            "interval over conditioning nodes."
        )
    return join(
        [
            tag("p", text, sample),
            table("Rank loss in the four settings", head, rows, numeric=(2, 4, 5, 6)),
            tag("ul", *(tag("li", note) for note in notes), class_="notes") if notes else "",
        ]
    )


def extremes(ranker: Any, graph: RelationGraph, rankings: Rankings, measured: list[Measured]) -> Markup:
    """Worst and best conditioning nodes, with what was ranked first and what should have been."""
    held_out = _by_node(measured)
    pieces: list[Markup] = []
    for title, rows in zip(("Worst", "Best"), rankings.extremes(EXTREMES), strict=True):
        cards = []
        for row in rows:
            query = int(rankings.queries[row])
            name = rankings.query_ids[query]
            said = f"loss {loss(float(rankings.losses[row]))}"
            if held_out is not None and name in held_out[1]:
                said += f" · held out (setting {held_out[0]}) {loss(held_out[1][name])}"
            ranked = tag("div", tag("h5", "ranked first (truth)"), _first(rankings, row))
            highest = tag("div", tag("h5", "truly highest (truth, place)"), _truly(ranker, graph, query))
            cards.append(tag("article", tag("h4", clipped(name)), tag("p", said), ranked, highest, class_="query"))
        if cards:
            pieces += [tag("h3", f"{title} {len(cards)}"), tag("div", *cards, class_="queries")]
    if not pieces:
        pieces = [tag("p", "No conditioning node has two objects with different relation values: nothing to rank.")]
    return join([tag("p", EXTREMES_TEXT), *pieces])


def loss(value: float) -> str:
    """A rank loss, or a dash if there is none."""
    return "–" if np.isnan(value) else f"{value:.4f}"


def _tile(number: str, what: str) -> Markup:
    return tag("div", tag("b", number), tag("span", what), class_="tile")


def _of(few: int, many: int, what: str) -> str:
    return f"{few:,} of {many:,} {what}" if few < many else f"all {many:,} {what}"


def _setting_row(one: Measured) -> list[Any]:
    what = SETTINGS[one.setting]
    if one.model is None:
        return [one.setting, what, "not measured", "", "–", "–", "–"]
    model = one.model
    bars = [_bar(model.mean(), "model")]
    if one.similarity is not None:
        bars.append(_bar(one.similarity.mean(), "similarity"))
    beside = "–" if one.similarity is None else _with_error(one.similarity)
    gap = "–"
    if one.comparison is not None:
        found = one.comparison
        gap = join([f"{found.difference:+.4f} ", tag("small", f"[{found.low:+.4f}, {found.high:+.4f}]")])
    picture = tag("div", *bars, class_="bars", aria_hidden="true")
    return [one.setting, what, _with_error(model), picture, beside, gap, len(model.fit_times)]


def _with_error(result: Any) -> Markup:
    error = result.standard_error()
    return join([loss(result.mean()), tag("small", "" if np.isnan(error) else f" ± {error:.4f}")])


def _bar(value: float, kind: str) -> Markup:
    # Not an element with a style of its own: the page's policy allows none.
    return tag("svg", tag("rect", width=f"{100 * min(value, 1.0):.1f}%", height="100%"), class_=kind)


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
