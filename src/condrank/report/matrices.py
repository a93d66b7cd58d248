"""A relation as an image with the names of its nodes: all of it if it is dense, otherwise what one can read of it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np

from condrank.explorer.markup import Markup, escape, tag
from condrank.report import charts

#: Side of an image, room for names beside it, and the least distance between two names.
SIDE, BESIDE, APART = 320, 118, 11.5
#: Colours from low to high, for values of one sign and around a middle; the style inverts them on a dark screen.
LOW_TO_HIGH = ((236, 243, 245), (119, 185, 201), (11, 110, 138), (6, 48, 61))
AROUND = ((150, 66, 5), (222, 165, 116), (243, 243, 241), (112, 180, 198), (9, 92, 116))
#: Colours are around zero if the shorter side of the values has this share of the longer one.
BALANCED = 0.3
#: Observed share of the pairs from which on a whole relation is drawn.
DENSE = 0.25


def matrix(
    title: str,
    values: np.ndarray,
    scale: tuple[float, float],
    rows: Sequence[Any],
    columns: Sequence[Any] | None = None,
    titles: np.ndarray | None = None,
) -> Markup:
    """A matrix as an image with names beside its rows, and below its columns if they are other nodes.

    Parameters
    ----------
    title : str
        What it shows.
    values : ndarray of shape (n, m)
        NaN is left open.
    scale : tuple of two float
        Values of the first and the last colour.
    rows, columns : sequence
        Names; without those of the columns, there are none below.
    titles : ndarray of str, shape (n, m), optional
        What each cell says when it is pointed at, for few cells.
    """
    n, m = values.shape
    longest = 0 if columns is None else max(map(len, short_lists(columns)), default=0)
    below = 8 + charts.LETTER * longest
    high = SIDE * min(max(n / m, 0.5), 1.4)
    parts = [
        tag("title", title),
        charts.bar(BESIDE, 0, SIDE, high, "frame"),
        _image(values, scale, BESIDE, 0, SIDE, high),
        *_names(rows, high / n, lambda at: {"x": f"{BESIDE - 6}", "y": f"{at + 3.2:.1f}", "text-anchor": "end"}),
    ]
    if columns is not None:
        parts += _names(
            columns,
            SIDE / m,
            lambda at: {
                "transform": f"translate({BESIDE + at + 3.2:.1f} {high + 6:.1f}) rotate(-90)",
                "text-anchor": "end",
            },
        )
    if titles is not None:
        for i in range(n):
            for j in range(m):
                if titles[i, j]:
                    place = (BESIDE + SIDE * j / m, high * i / n, SIDE / m, high / n)
                    parts.append(charts.bar(*place, "cell", titles[i, j]))
    return charts.chart(title, BESIDE + SIDE + 2, high + below, *parts)


def colours(scale: tuple[float, float]) -> Markup:
    """The colours with the values of their ends."""
    strip = np.linspace(0, 1, 64)[None, :]
    strip_image = _png_image(strip, (0, 1), is_around(scale), {"width": "100%", "height": "100%"})
    picture = tag("svg", strip_image, aria_hidden="true")
    ends = (tag("span", f"{one:.3g}") for one in scale)
    return tag("p", next(ends), picture, next(ends), class_="colours", aria_label="Colours of values")


def is_around(scale: tuple[float, float]) -> bool:
    """Whether a scale has colours around a middle: it reaches as far down as up."""
    return scale[0] == -scale[1]


def scale_of_values(values: np.ndarray) -> tuple[float, float]:
    """Ends of the colours; the same distance from zero if values reach about as far down as up."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if low < 0 < high and min(-low, high) > BALANCED * max(-low, high):
        most = max(-low, high)
        return -most, most
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def short_lists(names: Sequence[Any]) -> list[str]:
    """Names that fit beside an image."""
    return charts.short_names(names, int((BESIDE - 8) / charts.LETTER))


def _names(names: Sequence[Any], size: float, where: Any) -> list[Markup]:
    """As many names as there is room for, each in the middle of its row or column."""
    every = max(1, int(np.ceil(APART / size)))
    shown = list(range(0, len(names), every))
    texts = short_lists([names[one] for one in shown])
    pieces = []
    for place, text in zip(shown, texts, strict=True):
        given = "".join(f' {key}="{value}"' for key, value in where((place + 0.5) * size).items())
        full = str(names[place])
        inside = f"<title>{escape(full)}</title>" if full != text else ""
        pieces.append(Markup(f'<text class="tick"{given}>{inside}{escape(text)}</text>'))
    return pieces


def _image(values: np.ndarray, scale: tuple[float, float], *place: float) -> Markup:
    keys = ("x", "y", "width", "height")
    return _png_image(values, scale, is_around(scale), dict(zip(keys, (f"{one:.1f}" for one in place), strict=True)))


def _png_image(values: np.ndarray, scale: tuple[float, float], around: bool, place: dict[str, str]) -> Markup:
    data = base64.b64encode(png(values, scale, around)).decode()
    given = "".join(f' {key}="{value}"' for key, value in place.items())
    return Markup(
        f'<image class="cells" preserveAspectRatio="none"{given} href="data:image/png;base64,{data}"></image>'
    )


def png(values: np.ndarray, scale: tuple[float, float], around: bool) -> bytes:
    """An image with a pixel for each value; NaN is transparent."""
    from PIL import Image

    anchors = np.array(AROUND if around else LOW_TO_HIGH, dtype=float)
    at = np.linspace(0, len(anchors) - 1, 255)
    table = np.stack([np.interp(at, np.arange(len(anchors)), anchors[:, k]) for k in range(3)], axis=1)
    low, high = scale
    share = np.clip((values - low) / ((high - low) or 1.0), 0, 1)
    index = np.where(np.isnan(values), 0, 1 + np.round(254 * np.nan_to_num(share))).astype(np.uint8)
    with BytesIO() as packed:
        image = Image.fromarray(index, mode="P")
        image.putpalette(np.vstack([[[255, 255, 255]], table]).round().astype(np.uint8).tobytes())
        image.save(packed, format="png", transparency=0, optimize=True)
        return packed.getvalue()


def densest(pattern: np.ndarray, most: int, square: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a boolean matrix that have many entries among themselves, at most ``most`` of each.

    The emptiest row or column is taken away until few enough are left. If it is ``square``, rows and columns are the
    same nodes. O(n²) for n rows and columns.
    """
    if square:
        links = pattern | pattern.T
        keep = np.ones(len(links), dtype=bool)
        counts = links.sum(axis=1).astype(int)
        while keep.sum() > most:
            out = int(np.argmin(np.where(keep, counts, np.iinfo(int).max)))
            keep[out] = False
            counts -= links[out]
        return np.flatnonzero(keep), np.flatnonzero(keep)
    sides = [np.ones(pattern.shape[0], dtype=bool), np.ones(pattern.shape[1], dtype=bool)]
    counts = [pattern.sum(axis=1).astype(int), pattern.sum(axis=0).astype(int)]
    while max(side.sum() for side in sides) > most:
        one = int(np.argmax([side.sum() for side in sides]))
        out = int(np.argmin(np.where(sides[one], counts[one], np.iinfo(int).max)))
        sides[one][out] = False
        counts[1 - one] -= pattern[out] if one == 0 else pattern[:, out]
    return np.flatnonzero(sides[0]), np.flatnonzero(sides[1])
