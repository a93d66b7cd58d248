"""The sections of the page that consist of text and tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.diagnosis import Diagnosis
from condrank.diagnosis.summary import measurements
from condrank.explorer.markup import Markup, join, tag
from condrank.graph import RelationGraph
from condrank.report.markup import facts, table
from condrank.report.measured import SETTINGS, Measured


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
    head = ("setting", "what is new", "this model", "similarity", "model − similarity", "folds")
    rows = [_setting_row(one) for one in measured]
    sample = ""
    if part is not graph:
        sizes = (" × ".join(f"{n:,}" for n in dict.fromkeys(one.shape)) for one in (part, graph))
        sample = " Measured on {} of {} nodes, drawn at random.".format(*sizes)
    notes = [f"setting {one.setting}: {one.why_not}" for one in measured if one.why_not]
    notes += [f"warning while fitting: {message}" for message in warned]
    text = (
        "Rank loss: the share of pairs ordered wrongly, 0 is perfect, 0.5 is chance. Held out, mean over folds ± "
        f"standard error; each fold holds out one part in {folds}. In each fold everything, also the encoding of the "
        "columns, was learned again from the data that were not held out. Folds share training data, so the standard "
        "error is somewhat too small."
    )
    if any(one.similarity is not None for one in measured):
        text += (
            f" Similarity learns nothing: it ranks by the {kernel} kernel. Beside the difference is its 95 % bootstrap "
            "interval over conditioning nodes."
        )
    return join(
        [
            tag("p", text, sample),
            table("Rank loss in the four settings", head, rows, numeric=(2, 3, 4, 5)),
            tag("ul", *(tag("li", note) for note in notes), class_="notes") if notes else "",
        ]
    )


def loss(value: float) -> str:
    """A rank loss, or a dash if there is none."""
    return "–" if np.isnan(value) else f"{value:.4f}"


def _setting_row(one: Measured) -> list[Any]:
    what = SETTINGS[one.setting]
    if one.model is None:
        return [one.setting, what, "not measured", "–", "–", "–"]
    model = one.model
    beside = "–" if one.similarity is None else _with_error(one.similarity)
    gap = "–"
    if one.comparison is not None:
        found = one.comparison
        gap = join([f"{found.difference:+.4f} ", tag("small", f"[{found.low:+.4f}, {found.high:+.4f}]")])
    return [one.setting, what, _with_error(model), beside, gap, len(model.fit_times)]


def _with_error(result: Any) -> Markup:
    error = result.standard_error()
    return join([loss(result.mean()), tag("small", "" if np.isnan(error) else f" ± {error:.4f}")])
