"""Checks of the nodes and lists of objects in a request. They stop at the first error, so they are quick.

Unions of pydantic would check the same. But for a body full of wrong values they make an error for each value and
alternative. That takes seconds, and all other requests wait.
"""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

ID = "an id (text or number)"
WHOLE_PATTERN = re.compile(r"[+-]?[0-9]+(\.0*)?")
MOST_NUMBER = sys.float_info.max
NUMBER_SCHEMA: dict[str, Any] = {"type": "number", "minimum": -MOST_NUMBER, "maximum": MOST_NUMBER}
ID_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "string"}, NUMBER_SCHEMA],
    "title": "Id of a training node. Dates as text; numbers may be text too.",
}
SCALAR_SCHEMA: dict[str, Any] = {"anyOf": [{"type": "string"}, NUMBER_SCHEMA, {"type": "boolean"}]}
LIST_SCHEMA: dict[str, Any] = {"type": "array", "items": ID_SCHEMA}
# The document of a service names the columns of its model instead.
RECORD_SCHEMA: dict[str, Any] = {"type": "object", "additionalProperties": SCALAR_SCHEMA}
NODE_SCHEMA: dict[str, Any] = {"anyOf": [ID_SCHEMA, RECORD_SCHEMA]}


def wrong(message: str) -> PydanticCustomError:
    """The error that a check raises."""
    return PydanticCustomError("wrong", "{message}", {"message": message})


def check_node(given: Any) -> Any:
    """An id, or the columns of a new node, perhaps by view: ``{"views": {name: columns}}``."""
    if not isinstance(given, dict):
        if _is_id(given):
            return given
        raise wrong(f"expected {ID} or an object of columns, got {_shown(given)}")
    views = given.get("views")
    if not isinstance(views, dict):
        _check_record(given)
        return given
    _check_record({name: value for name, value in given.items() if name != "views"})
    for view, record in views.items():
        if not isinstance(record, dict):
            raise wrong(f"view {view!r:.60} must be an object of columns, got {_shown(record)}")
        _check_record(record)
    return given


def _check_record(given: dict[str, Any]) -> None:
    """Refuse columns that are no plain values."""
    for name, value in given.items():
        if value is None:
            raise wrong(f"column {name!r:.60} has no value (null); give a text, a finite number or a boolean")
        if not _is_text(name) or not (isinstance(value, bool) or _is_id(value)):
            raise wrong(f"column {name!r:.60} must be a text, a finite number or a boolean, got {_shown(value)}")


def check_chosen(given: Any) -> list[Any]:
    """Ids of objects, or one list of ids for each conditioning node."""
    if not isinstance(given, list):
        raise wrong(f"expected a list of ids or a list of such lists, got {_shown(given)}")
    nested = len(given) > 0 and all(isinstance(one, list) for one in given)
    for place, one in enumerate(given):
        for inner in one if nested else [one]:
            if not _is_id(inner):
                raise wrong(f"expected {ID} at place {place}, got {_shown(inner)}")
    return given


def _is_id(one: Any) -> bool:
    if isinstance(one, str):
        return _is_text(one)
    return not isinstance(one, bool) and isinstance(one, int | float) and -MOST_NUMBER <= one <= MOST_NUMBER


def _is_text(one: str) -> bool:
    """Whether a string can be encoded: JSON can contain half of a character."""
    try:
        one.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(one: Any) -> str:
    if one is None or isinstance(one, bool):
        return {None: "null", True: "true", False: "false"}[one]
    return {list: "a list", dict: "an object", str: "text that is not Unicode"}.get(type(one), f"{one!r:.60}")


def check_whole(given: Any) -> Any:
    """A whole number of a body: 3 and 3.0 are the same in JSON, but true is no number."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


def check_whole_text(given: Any) -> Any:
    """A whole number of an address; pydantic would read 1_0 as well."""
    if isinstance(given, str) and not WHOLE_PATTERN.fullmatch(given):
        raise wrong(f"expected a whole number, got {given!r:.60}")
    return given


def check_id(given: Any) -> Any:
    """An id."""
    if not _is_id(given):
        raise wrong(f"expected {ID}, got {_shown(given)}")
    return given


AnyId = Annotated[Any, PlainValidator(check_id), WithJsonSchema(ID_SCHEMA)]
AnyNode = Annotated[Any, PlainValidator(check_node), WithJsonSchema(NODE_SCHEMA)]
# After the bounds of a number in its annotation: before them it would hide them from the document.
WHOLE, WHOLE_TEXT = BeforeValidator(check_whole), BeforeValidator(check_whole_text)
Chosen = Annotated[
    Any,
    PlainValidator(check_chosen),
    WithJsonSchema({"anyOf": [LIST_SCHEMA, {"type": "array", "items": LIST_SCHEMA}]}),
]
