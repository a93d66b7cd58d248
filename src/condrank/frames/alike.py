"""Ids that are spelled like an unknown one, at a cost that does not grow with the number of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

COMPARED = 2_000  # ids that are compared letter by letter
LETTERS = 64  # different letters that may be put into an id
LONGEST = 60  # longer texts are not looked up: there are too many that differ in one letter


def spelled_alike(text: str, known: Mapping[str, Any], most: int = 3) -> list[str]:
    """Up to ``most`` known texts that are like a text, the likeliest first.

    All texts that differ in one letter, in two letters exchanged or in their case are found by look-up, among any
    number of known ones; other similar texts among the first 2,000 only. So a million ids take no longer than these.
    """
    if len(text) > LONGEST:
        return []
    first = list(islice(known, COMPARED))
    found = dict.fromkeys(one for one in _one_change(text, _letters(first, text)) if one in known)
    found |= dict.fromkeys(one for one in first if one.casefold() == text.casefold())
    found |= dict.fromkeys(get_close_matches(text, first, n=most))
    found.pop(text, None)
    return list(found)[:most]


def _letters(known: Iterable[str], text: str) -> list[str]:
    """Letters that occur in some known texts."""
    letters = dict.fromkeys(letter for one in islice(known, 200) for letter in one)
    return list(dict.fromkeys(text) | letters)[:LETTERS]


def _one_change(text: str, letters: list[str]) -> Iterable[str]:
    """The text in other cases, without a letter, with two exchanged, with another letter, and with one more."""
    yield from (text.lower(), text.upper(), text.title(), text.capitalize(), text.strip())
    for place in range(len(text) + 1):
        before, after = text[:place], text[place:]
        if after:
            yield before + after[1:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        for letter in letters:
            yield before + letter + after
            if after:
                yield before + letter + after[1:]
