"""Messages of the library with its arguments written as options of a command: ``drop=`` becomes ``--drop``."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Collection
from typing import Any

STRING = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
STRINGS = rf"{STRING}(?:, {STRING})*"
VALUE = rf"{STRING}|\[{STRINGS}\]|\({STRINGS}\)|True|False|None|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
# An argument, perhaps with its value, but not inside quotes and not in the name of a file, such as day=3/games.csv.
ARGUMENT = re.compile(
    rf"(?<!\w){STRING}(?!\w)|(?<![^\s(])(?P<name>[a-z_]+)=(?P<value>{VALUE})?(?=[\s;,:)]|\.?(?:\s|$))"
)
CALL = re.compile(r"RelationGraph\(\.\.\., ([^()]*)\)")
# Arguments that are options to be repeated.
LISTED = {"views": "view", "object_views": "object_view"}
# Arguments at the start of a message: "winner and loser must …".
SUBJECT = re.compile(r"(?P<names>[a-z_]+(?:(?:, | and )[a-z_]+)*)(?= (?:must|needs|has) )")


def as_typed(message: str, names: Collection[str]) -> str:
    """The message with arguments of these names written as options, and their values as a shell takes them."""

    def option(found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        name = LISTED.get(name, name)
        if name is None or name not in names:
            return found[0]
        try:
            return _option(name, None if value is None else ast.literal_eval(value), value is None)
        except (ValueError, SyntaxError):  # text from a file that looks like Python
            return found[0]

    message = ARGUMENT.sub(option, CALL.sub(r"\1", message))
    subject = SUBJECT.match(message)
    if subject is None:
        return message
    words = re.split(r"(, | and )", subject["names"])
    words[::2] = [LISTED.get(word, word) for word in words[::2]]
    if not set(names) >= set(words[::2]):
        return message
    words[::2] = [_option(word, None, True) for word in words[::2]]
    return "".join(words) + message[subject.end() :]


def _option(name: str, value: Any, is_bare: bool) -> str:
    if name in ("kernel", "object_kernel") and (is_bare or value == "precomputed"):
        return f"--{name.replace('_', '-')}-matrix"
    option = f"--{name.replace('_', '-')}"
    if is_bare or value is True:
        return option
    if value is False:
        return f"--no-{option[2:]}"
    if isinstance(value, list):
        return " ".join(f"{option} {_shell(one)}" for one in value)
    if isinstance(value, tuple):
        return f"{option} {' '.join(map(_shell, value))}"
    return f"{option} {_shell(value)}"


def _shell(value: Any) -> str:
    text = "none" if value is None else str(value)
    return shlex.quote(text) if text.isprintable() else repr(text)
