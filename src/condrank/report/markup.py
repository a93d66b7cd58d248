"""HTML by small pieces: text is escaped unless it is `Markup` already."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(thing: Any) -> Markup:
    """Text as HTML, safe as content and within quotes."""
    return thing if isinstance(thing, Markup) else Markup(html.escape(str(thing), quote=True))


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element; ``class_`` stands for class, ``aria_label`` for aria-label."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value != ""
    )
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(parts: Iterable[Any], between: str = "") -> Markup:
    """Pieces one after the other."""
    return Markup(escape(between).join(escape(part) for part in parts))


def table(label: str, head: Sequence[Any], rows: Iterable[Sequence[Any]], numeric: Sequence[int] = ()) -> Markup:
    """A table that scrolls within itself where it is too wide; the first cell of a row is its header."""

    def aligned(column: int) -> str:
        return "number" if column in numeric else ""

    titles = join(tag("th", title, scope="col", class_=aligned(column)) for column, title in enumerate(head))
    lines = []
    for row in rows:
        first, *rest = row
        cells = [tag("th", first, scope="row")]
        cells += [tag("td", cell, class_=aligned(column)) for column, cell in enumerate(rest, 1)]
        lines.append(tag("tr", *cells))
    whole = tag("table", tag("thead", tag("tr", titles)), tag("tbody", *lines))
    return tag("div", whole, class_="scroll", role="region", aria_label=label, tabindex="0")


def facts(pairs: Iterable[tuple[Any, Any]]) -> Markup:
    """Names and what they are, as a list of definitions."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs), class_="facts")


def script_data(data: Any) -> str:
    """JSON that cannot end the script element it stands in, nor begin a comment there."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
