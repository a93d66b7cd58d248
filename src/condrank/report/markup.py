"""Tables and lists of facts of the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from condrank.explorer.markup import Markup, join, tag


def table(
    label: str, head: Sequence[Any], rows: Iterable[Sequence[Any]], numeric: Sequence[int] = (), class_: str = ""
) -> Markup:
    """A table that scrolls if it is too wide for the page; the first cell of a row is its header."""

    def aligned(column: int) -> str:
        return "number" if column in numeric else ""

    titles = join(tag("th", title, scope="col", class_=aligned(column)) for column, title in enumerate(head))
    lines = []
    for row in rows:
        first, *rest = row
        cells = [tag("th", first, scope="row")]
        cells += [tag("td", cell, class_=aligned(column)) for column, cell in enumerate(rest, 1)]
        lines.append(tag("tr", *cells))
    whole = tag("table", tag("thead", tag("tr", titles)), tag("tbody", *lines), class_=class_)
    return tag("div", whole, class_="scroll", role="region", aria_label=label, tabindex="0")


def facts(pairs: Iterable[tuple[Any, Any]]) -> Markup:
    """Names and what they are, as a list of definitions."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs), class_="facts")
