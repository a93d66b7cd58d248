"""The first thing that the page says: one sentence, and a picture of the four settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.explorer.markup import Markup, join, tag
from condrank.graph import RelationGraph
from condrank.report.measured import Measured
from condrank.report.rankings import Rankings
from condrank.report.words import Words

#: What a setting is about, by whether conditioning nodes and objects are the same nodes.
NEW = {
    1: ("new pairs of known {objects}", "new pairs of known {queries} and {objects}"),
    2: ("new {queries} rank known ones", "new {queries}, known {objects}"),
    3: ("known {queries} rank new ones", "known {queries}, new {objects}"),
    4: ("new {queries} rank new ones", "new {queries}, new {objects}"),
}
SENTENCES = {
    1: ("{right} of new pairs of {objects} are ordered right", "{right} of new pairs of {objects} are ordered right"),
    2: (
        "For new {queries}, {right} of pairs of known ones are ordered right",
        "For new {queries}, {right} of pairs of known {objects} are ordered right",
    ),
    3: (
        "{right} of pairs of new {objects} are ordered right for known ones",
        "For known {queries}, {right} of pairs of new {objects} are ordered right",
    ),
    4: (
        "{right} of pairs of new {objects} are ordered right",
        "For new {queries}, {right} of pairs of new {objects} are ordered right",
    ),
}
#: The settings that the sentence may be about, the hardest first.
HARDEST = (4, 2, 3, 1)


def percent(share: float) -> str:
    """A share as a percentage, with a digit after the point only where it matters."""
    if np.isnan(share):
        return "–"
    return f"{100 * share:.{1 if 0.99 < share < 1 else 0}f}\N{NO-BREAK SPACE}%"


def hardest(measured: list[Measured]) -> Measured | None:
    """The hardest setting that was measured."""
    done = {one.setting: one for one in measured if one.model is not None and not np.isnan(one.model.mean())}
    return next((done[setting] for setting in HARDEST if setting in done), None)


def sentence(measured: list[Measured], rankings: Rankings, words: Words) -> str:
    """How many pairs are ordered right, in the words of the table, and how many by similarity alone."""
    one = hardest(measured)
    names: dict[str, Any] = {"queries": words.queries, "objects": words.objects}
    if one is None or one.model is None:
        right = percent(1 - rankings.pooled_loss)
        if right == "–":
            return f"No two {words.objects} can be compared in these data, so nothing was measured."
        return f"{right} of pairs of {words.objects} in these data are ordered right; new ones were not measured."
    text = SENTENCES[one.setting][not words.one_kind].format(right=percent(1 - one.model.mean()), **names)
    if one.similarity is not None and not np.isnan(one.similarity.mean()):
        text += f"; similarity alone: {percent(1 - one.similarity.mean())}"
    return text + "."


def verdict(measured: list[Measured]) -> tuple[str, str]:
    """Whether the model is shown to be better than similarity and than chance, and the kind of that answer."""
    one = hardest(measured)
    if one is None or one.model is None:
        return "Not measured on held-out data", "unknown"
    error = one.model.standard_error()
    if 1 - one.model.mean() - 2 * (0.0 if np.isnan(error) else error) <= 0.5:
        return "Not shown to be better than chance", "bad"
    if one.comparison is None:
        return "Better than chance", "good"
    if one.comparison.high >= 0:
        return "Not shown to be better than similarity alone", "bad"
    points = -100 * one.comparison.difference
    return f"Better than similarity by {points:.0f} points", "good"


def headline(
    graph: RelationGraph, rankings: Rankings, measured: list[Measured], words: Words, known: str, model: str
) -> Markup:
    """The sentence, the settings as a picture, and the sizes."""
    says, kind = verdict(measured)
    rows, columns = graph.shape
    first, second = (words.objects, words.queries) if rankings.incoming else (words.queries, words.objects)
    sizes = f"{rows:,} {first}" if words.one_kind else f"{rows:,} {first}, {columns:,} {second}"
    edges = f"{graph.n_edges:,} edges ({100 * graph.density:.2g} % of all pairs)"
    shown = [one for one in measured if one.model is not None and not np.isnan(one.model.mean())]
    pieces = [
        tag("p", sentence(measured, rankings, words), class_="lead"),
        tag("p", tag("span", says, class_=f"verdict {kind}"), " ", f"{sizes} · {edges} · {model}", class_="about"),
    ]
    if shown:
        pieces.append(_strips(shown, words))
    own = percent(1 - rankings.pooled_loss)
    drawn = ""
    if len(rankings) < rankings.n_queries:
        drawn = f" (over {len(rankings):,} of {rankings.n_queries:,} {words.queries}, drawn at random)"
    text = (
        "A pair is two objects with different values for one conditioning node; half of all pairs would be right by "
        f"chance. On the data of this page the model itself orders {own} of pairs right{drawn}. {known}"
    )
    return join([*pieces, tag("p", text, class_="muted")])


def _strips(shown: list[Measured], words: Words) -> Markup:
    """One line for each setting: the model with its error, and similarity, on a scale up to 100 %."""
    values = [1 - result.mean() for one in shown for result in (one.model, one.similarity) if result is not None]
    low = min(0.4, 0.1 * np.floor(10 * (min(values) - 0.03)))

    compares = any(one.similarity is not None for one in shown)

    def at(share: float) -> str:
        return f"{100 * (min(max(share, low), 1.0) - low) / (1 - low):.2f}%"

    lines = []
    for one in shown:
        assert one.model is not None
        right, error = 1 - one.model.mean(), one.model.standard_error()
        error = 0.0 if np.isnan(error) else error
        parts = [
            tag("line", x1="0%", x2="100%", y1="50%", y2="50%", class_="track"),
            tag("line", x1=at(0.5), x2=at(0.5), y1="10%", y2="90%", class_="chance"),
            tag("line", x1=at(right - 2 * error), x2=at(right + 2 * error), y1="50%", y2="50%", class_="error"),
        ]
        said = percent(right)
        beside = "–"
        if one.similarity is not None and not np.isnan(one.similarity.mean()):
            other = 1 - one.similarity.mean()
            parts.append(tag("circle", cx=at(other), cy="50%", r="5", class_="other"))
            beside = percent(other)
        parts.append(tag("circle", cx=at(right), cy="50%", r="7", class_="model"))
        what = NEW[one.setting][not words.one_kind].format(queries=words.queries, objects=words.objects)
        title = f"{what}: {said} of pairs ordered right, similarity {beside}"
        strip = tag("svg", *parts, class_="strip", role="img", aria_label=title)
        cells = [tag("span", what, class_="what"), strip, tag("b", said)]
        cells += [tag("span", beside, class_="beside")] if compares else []
        lines.append(tag("div", *cells, class_="row"))
    keys = [("model", "this model, ± 2 standard errors")]
    keys += [("other", "similarity alone")] if compares else []
    keys.append(("chance", "chance, 50 %"))
    legend = tag("p", *(tag("span", tag("i", class_=kind), text, class_="key") for kind, text in keys), class_="keys")
    head = tag(
        "div",
        tag("span", "pairs ordered right, held out", class_="what"),
        tag("span", tag("span", f"{100 * low:.0f} %"), tag("span", "100 %"), class_="scale"),
        class_="row head",
        aria_hidden="true",
    )
    return tag("div", head, *lines, legend, class_="strips")
