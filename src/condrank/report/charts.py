"""Charts as SVG inside the page: the style of the page gives their colours, in light and dark, and names are text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.explorer.markup import Markup, join, tag

#: Width of a character of a label, in units of a chart; that on a phone, where letters are larger; height of a line.
LETTER, WIDEST, LINE = 5.7, 7.6, 14.0
#: Longest name in a chart, in characters.
LONGEST = 20


@dataclass(frozen=True)
class Frame:
    """A rectangle with two scales: places of values, axes with ticks, and labels.

    Attributes
    ----------
    x, y : tuple of two float
        Smallest and largest value along each side.
    width, height : int
        Size of the whole chart.
    log : bool
        Whether the horizontal scale is logarithmic.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = 440
    height: int = 280
    log: bool = False
    left: int = 60
    right: int = 24
    top: int = 12
    bottom: int = 46

    def across(self, value: float) -> float:
        """Horizontal place of a value."""
        low, high, value = (float(np.log(one)) if self.log else float(one) for one in (*self.x, value))
        return self.left + (self.width - self.left - self.right) * (value - low) / ((high - low) or 1.0)

    def up(self, value: float) -> float:
        """Vertical place of a value."""
        low, high = self.y
        inside = self.height - self.top - self.bottom
        return self.height - self.bottom - inside * (float(value) - low) / ((high - low) or 1.0)

    def axes(self, across: str, up: str, across_ticks: Iterable[Any], up_ticks: Iterable[Any]) -> Markup:
        """Lines, ticks (value and text) and names of both axes."""
        floor, pieces = self.height - self.bottom, []
        for value, text in up_ticks:
            at = self.up(value)
            pieces.append(line(self.left, at, self.width - self.right, at, "grid"))
            pieces.append(label(self.left - 6, at + 4, text, "end"))
        pieces.append(line(self.left, floor, self.width - self.right, floor, "axis"))
        for value, text in across_ticks:
            at = self.across(value)
            pieces += [line(at, floor, at, floor + 4, "axis"), label(at, floor + 16, text, "middle")]
        middle = (self.left + self.width - self.right) / 2
        pieces.append(label(middle, self.height - 8, across, "middle", "name"))
        turned = f"rotate(-90 12 {(self.top + floor) / 2:.1f})"
        pieces.append(label(12, (self.top + floor) / 2, up, "middle", "name", transform=turned))
        return join(pieces)


def chart(title: str, width: float, height: float, *parts: Any, wide: bool = False) -> Markup:
    """A chart that is as wide as its place, with a description for those who cannot see it."""
    kind = "chart wide" if wide else "chart"
    return tag("svg", *parts, class_=kind, role="img", aria_label=title, viewBox=f"0 0 {width:g} {height:g}")


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line."""
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=kind)


def path(points: Iterable[tuple[float, float]], kind: str) -> Markup:
    """A line through points."""
    return tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=kind)


def dot(x: float, y: float, radius: float, kind: str, title: str = "") -> Markup:
    """A point; the title is shown when it is pointed at."""
    inside = [tag("title", title)] if title else []
    return tag("circle", *inside, cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radius:g}", class_=kind)


def bar(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> Markup:
    """A rectangle."""
    size = {"width": f"{max(width, 0):.1f}", "height": f"{max(height, 0):.1f}"}
    return tag("rect", *([tag("title", title)] if title else []), x=f"{x:.1f}", y=f"{y:.1f}", class_=kind, **size)


def label(x: float, y: float, text: Any, anchor: str = "start", kind: str = "", **more: Any) -> Markup:
    """A text."""
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=kind, **more)


def ticks(low: float, high: float, count: int = 5) -> list[tuple[float, str]]:
    """Round values between two, and their texts."""
    if not high > low:
        return [(low, f"{low:g}")]
    raw = (high - low) / count
    size = 10.0 ** np.floor(np.log10(raw))
    step = next((size * one for one in (1, 2, 2.5, 5) if size * one >= raw * 0.999), size * 10)
    values = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
    return [(float(one) + 0.0, f"{one + 0.0:.6g}") for one in values]  # no -0


def percents(low: float, high: float, step: float = 0.1) -> list[tuple[float, str]]:
    """Multiples of a step between two shares, as percentages."""
    steps = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
    return [(float(one * step), f"{100 * abs(one) * step:.0f} %") for one in steps]


def short_names(names: Sequence[Any], longest: int = LONGEST) -> list[str]:
    """Names that fit into a chart: what all of them begin with is left out before anything else is cut."""
    texts = [" ".join(str(one).split()) for one in names]
    if not texts or max(map(len, texts)) <= longest:
        return texts
    first, last = min(texts), max(texts)
    common = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    cut = common if common > 4 else 0
    return [_cut(("…" if cut else "") + one[cut:], longest) for one in texts]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def place_names(
    points: Sequence[tuple[float, float]], names: Sequence[str], width: float, height: float
) -> list[tuple[int, float, float, str]]:
    """Where names fit beside their points without covering each other: number, x, y and anchor; the first go first."""
    taken: list[tuple[float, float, float, float]] = []
    placed = []
    for number, ((x, y), name) in enumerate(zip(points, names, strict=True)):
        long = WIDEST * len(name)
        for start, anchor in ((x + 6, "start"), (x - 6 - long, "end")):
            box = (start, y - LINE / 2, start + long, y + LINE / 2)
            inside = box[0] >= 0 and box[2] <= width and box[1] >= 0 and box[3] <= height
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                placed.append((number, x + 6 if anchor == "start" else x - 6, y + 4, anchor))
                break
    return placed


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
