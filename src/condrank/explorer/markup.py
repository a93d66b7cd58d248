"""HTML in small pieces: text is escaped unless it is `Markup` already."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
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


def script_data(data: Any) -> str:
    """JSON that can neither end the script element that it stands in nor begin a comment there."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
