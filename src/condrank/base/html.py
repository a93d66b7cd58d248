"""Small tables in HTML, as notebooks show them; all text is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any


def table_of(head: Sequence[Any], rows: Iterable[Sequence[Any]], below: str = "") -> str:
    """A table with a row of names, and a line of text below it."""
    names = "".join(f"<th>{_text(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    return table + (f"<p>{_text(below)}</p>" if below else "")


def facts_of(title: str, facts: dict[str, Any]) -> str:
    """A table of two columns, names and values, below a title."""
    body = "".join(f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in facts.items())
    return f"<table><caption>{_text(title)}</caption><tbody>{body}</tbody></table>"


def lines_of(text: str) -> str:
    """Lines as they are, in a font of one width."""
    return f"<pre>{_text(text)}</pre>"


def _text(value: Any) -> str:
    return html.escape(str(value), quote=True)
