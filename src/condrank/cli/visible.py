"""Texts of users on a terminal and in a spreadsheet: nothing in an id or a name of a column acts as a command there."""

from __future__ import annotations

import unicodedata
from typing import Any

# Control and format characters (among them escape sequences and changes of the direction of text), halves of
# surrogate pairs, and separators of lines and paragraphs.
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
JOINERS = "\u200c\u200d"  # of letters and of emojis: harmless, and words need them
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def visible(text: str, keep: str = "") -> str:
    r"""The text with every character that a terminal would act on written as in Python, such as ``\x1b``.

    Parameters
    ----------
    text : str
        Any text.
    keep : str
        Characters that stay, such as a line feed.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escaped, text)) if not keep else "".join(one if one in keep else _escaped(one) for one in text)


def _escaped(one: str) -> str:
    if one.isprintable() or one in JOINERS or unicodedata.category(one) not in HIDDEN:
        return one
    return repr(one)[1:-1]


def guarded_cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: a text that begins like one gets an apostrophe before it.

    Numbers stay as they are.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value
