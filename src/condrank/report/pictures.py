"""Pictures of the report as elements that contain their data: PNG with few colours, SVG if that is smaller."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import Any

import numpy as np

from condrank.explorer.markup import Markup, escape, tag
from condrank.graph import RelationGraph
from condrank.plots import CoordinatesDisplay, HodgeDisplay, LossCurveDisplay, QueryLossDisplay, RelationDisplay
from condrank.plots.axes import new_axes
from condrank.report.measured import Measured, held_out_losses
from condrank.report.rankings import Rankings

#: Nodes along the side of an image: each has at least one pixel.
MAX_NODES = 300
#: Nodes whose scores are decomposed for coordinates.
MAX_POINTS = 500
#: Colours of a PNG; more of them look the same in these pictures.
COLOURS = 96
DOTS = 120
# Letters as paths look the same everywhere.
STYLE: Any = {"svg.fonttype": "path", "svg.hashsalt": "condrank", "font.size": 9}
# Names of classes are no formulas, even with dollar signs.
NAMES: Any = STYLE | {"text.parse_math": False}


@dataclass(frozen=True)
class Picture:
    """A picture and what it shows.

    Attributes
    ----------
    image : Markup
        The element.
    caption : str
        What it shows, and how to read it.
    wide : bool
        Whether it shows several images side by side.
    """

    image: Markup
    caption: str
    wide: bool = False

    def figure(self) -> Markup:
        """The picture with its caption."""
        return tag("figure", self.image, tag("figcaption", self.caption), class_="wide" if self.wide else "")


def heat_maps(ranker: Any, graph: RelationGraph, groups: np.ndarray | None, seen: str) -> Picture:
    """True and predicted relation side by side."""
    options: dict[str, Any] = {"order": "score"} if groups is None else {"order": "groups", "groups": groups}
    display = RelationDisplay.from_estimator(ranker, graph, max_nodes=MAX_NODES, **options)
    order = "by the mean of their observed values, highest first" if groups is None else "by class"
    caption = (
        f"True relation (left) and the model's order (right), one row for each conditioning node. Nodes are ordered "
        f"{order}. On the right, each row has its true values in the predicted order: where both images agree, the "
        f"order is right. {seen}"
    )
    with _style(NAMES):
        display.plot(colourbar=True)
        return Picture(
            _png(display.figure_, "True and predicted relation"), caption + _sampled(display.note), wide=True
        )


def loss_histogram(rankings: Rankings, seen: str) -> Picture:
    """Losses of the model itself, one for each conditioning node."""
    with _style():
        display = QueryLossDisplay.from_values(rankings.losses).plot(worst=0)
        image = _svg(display.figure_, "Histogram of the rank loss of conditioning nodes")
    return Picture(image, f"Rank loss of each conditioning node, by this model. The dotted line is chance. {seen}")


def loss_shares(measured: list[Measured]) -> Picture | None:
    """Held-out losses in the settings, as shares of the conditioning nodes; None if no setting was measured."""
    by_setting = held_out_losses(measured)
    if not by_setting:
        return None
    with _style():
        ax = new_axes(1, 1, figsize=(5.4, 3.6))[0]
        for setting, (_, losses) in by_setting.items():
            QueryLossDisplay.from_values(losses).plot(ax, kind="ecdf", worst=0, name=f"setting {setting}")
        ax.set(xlabel="held-out rank loss (dashed: mean)", xlim=(0, 1))
        ax.legend(frameon=False, loc="lower right")
        image = _png(ax.get_figure(), "Held-out rank loss of conditioning nodes, by setting")
    caption = (
        "Share of conditioning nodes with at most this loss, by models that had not seen the pairs. These means are "
        "over conditioning nodes; the means in the table are over pairs of objects."
    )
    return Picture(image, caption)


def loss_curve(ranker: Any) -> Picture | None:
    """Loss against λ or against iterations; None for a ranker that varied neither."""
    if not (hasattr(ranker, "cv_losses_") or getattr(ranker, "history_", None)):
        return None
    with _style():
        display = LossCurveDisplay.from_estimator(ranker).plot()
        return Picture(
            _svg(display.figure_, f"Rank loss against {display.label}"),
            f"Rank loss on held-out pairs against {display.label}; the chosen value is the open circle.",
        )


def coordinates(ranker: Any, graph: RelationGraph, groups: np.ndarray | None) -> Picture:
    """Nodes in the two coordinates that explain most of the scores."""
    display = CoordinatesDisplay.from_estimator(ranker, graph, groups=groups, max_nodes=MAX_POINTS)
    reading = {
        "reciprocal": "A node beats the nodes counter-clockwise of it: a circle is a cycle, a line is one order.",
        "symmetric": "Nodes in the same direction from the cross are alike; nodes near it are unlike all others.",
        "ordinary": "Objects (hollow) rank high for the conditioning nodes (filled) in their direction.",
    }[display.relation]
    with _style(NAMES):
        display.plot()
        caption = f"What was learned, in the two coordinates that explain most of it. {reading}{_sampled(display.note)}"
        return Picture(_png(display.figure_, "Nodes in two coordinates"), caption)


def hodge(graph: RelationGraph) -> Picture:
    """A reciprocal relation split into one order and cycles."""
    display = HodgeDisplay.from_relation(graph, max_nodes=MAX_NODES)
    caption = (
        "The observed relation (left) is the sum of what one strength per node explains (middle) and the cyclic rest "
        "(right). The strongest node is first."
    )
    with _style():
        display.plot()
        return Picture(_png(display.figure_, "Order and cycles"), caption + _sampled(display.note), wide=True)


def _sampled(note: str) -> str:
    return f" Shown: {note}." if note else ""


def _style(settings: Any = STYLE) -> Any:
    from matplotlib import rc_context

    return rc_context(settings)


def _png(figure: Any, label: str) -> Markup:
    from PIL import Image

    with BytesIO() as drawn, BytesIO() as packed:
        figure.savefig(drawn, format="png", dpi=DOTS)
        with Image.open(drawn) as image:
            image.convert("RGB").quantize(COLOURS).save(packed, format="png", optimize=True)
        return _image("image/png", packed.getvalue(), label)


def _svg(figure: Any, label: str) -> Markup:
    with StringIO() as drawn:
        figure.savefig(drawn, format="svg", metadata={"Date": None})
        return _image("image/svg+xml", drawn.getvalue().encode(), label)


def _image(kind: str, data: bytes, label: str) -> Markup:
    return Markup(f'<img src="data:{kind};base64,{base64.b64encode(data).decode()}" alt="{escape(label)}">')
