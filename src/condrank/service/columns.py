"""Columns of new nodes: which values a model takes, as a schema for the OpenAPI document, and what else is refused.

The schema says all that JSON Schema can say. It cannot say that a date exists (29 February), that a number written as
text is not too large, or that scores do not overflow.
"""

from __future__ import annotations

from typing import Any

from condrank.service.given import NUMBER_SCHEMA, SCALAR_SCHEMA
from condrank.service.refusals import Refusal
from condrank.tables.known import KnownNodes
from condrank.tables.known_views import KnownViews

MORE_COLUMNS = 100  # unknown columns that a new node may have; they are ignored
MOST_DAYS = 106_751_991  # since or before 1970 that a date can be away, in microseconds of 64 bits

# As Python reads numbers and strips words: the spaces around a number are not quite those around a word.
SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
ANY_SPACE = rf"\x1c-\x1f{SPACE}"
NUMERIC_TEXT = (
    rf"^(?:[{SPACE}]*[+-]?(?:\p{{Nd}}+\.?\p{{Nd}}*|\.\p{{Nd}}+)(?:[eE][+-]?\p{{Nd}}+)?[{SPACE}]*|"
    rf"(?:[tT][rR][uU][eE]|[fF][aA][lL][sS][eE])[{ANY_SPACE}]*)$"
)
DAY = r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|[12][0-9]))"
HOUR, SIXTY = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
DATE_TEXT = (
    rf"^[0-9]{{4}}-{DAY}"
    rf"(?:[T ]{HOUR}:{SIXTY}(?::{SIXTY}(?:\.[0-9]{{1,6}})?)?(?:Z|[+-]{HOUR}:?{SIXTY})?)?$"
)
BOOLEAN: dict[str, Any] = {"type": "boolean"}
NOT_EMPTY: dict[str, Any] = {"anyOf": [{"type": "string", "minLength": 1}, NUMBER_SCHEMA, BOOLEAN]}
NUMERIC: dict[str, Any] = {"anyOf": [NUMBER_SCHEMA, BOOLEAN, {"type": "string", "pattern": NUMERIC_TEXT}]}
DATE: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "pattern": DATE_TEXT},
        {"type": "number", "minimum": -MOST_DAYS, "maximum": MOST_DAYS, "title": "Days since 1970."},
    ]
}
KINDS = {"numeric": NUMERIC, "date": DATE, "categorical": NOT_EMPTY, "text": NOT_EMPTY}
NAMES = {"pattern": f"[^{ANY_SPACE}]"}


def columns_schema(side: KnownNodes) -> dict[str, Any]:
    """JSON Schema of a new node.

    Parameters
    ----------
    side : KnownNodes
        The training nodes of its domain.
    """
    if isinstance(side, KnownViews):
        views = {view: columns_schema(one) for view, one in side.views.items()}
        return {
            "type": "object",
            "title": "A new node: its columns, features or kernel values by view, optionally with its id.",
            "properties": {
                "id": NOT_EMPTY,
                "views": {"type": "object", "properties": views, "required": [*views], "additionalProperties": False},
            },
            "required": ["views"],
            "additionalProperties": False,
        }
    name = "id" if side.id_name is None else side.id_name
    about = {"type": "object", "propertyNames": NAMES}
    if side.encoder is not None:
        kinds = side.encoder.kinds_
        return about | {
            "title": "A new node: the columns of training, optionally with its id. Other columns are ignored.",
            "properties": {name: NOT_EMPTY} | {column: KINDS[kind] for column, kind in kinds.items()},
            "required": list(kinds),
            "additionalProperties": SCALAR_SCHEMA,
            "maxProperties": known_columns(side) + MORE_COLUMNS,
        }
    n = known_columns(side)
    what = "its kernel values under the ids of all training nodes" if side.is_kernel else "its features in their order"
    return about | {
        "title": f"A new node: {what}, optionally with its id.",
        "properties": {name: NOT_EMPTY},
        "additionalProperties": NUMERIC,
        "anyOf": [
            {"required": [name], "minProperties": n + 1, "maxProperties": n + 1},
            {"not": {"required": [name]}, "minProperties": n, "maxProperties": n},
        ],
    }


def known_columns(side: KnownNodes) -> int:
    """Columns that a model reads from a new node."""
    return side.nodes.base.shape[1] if side.encoder is None else len(side.encoder.kinds_)


def check_columns(one: dict[str, Any], side: KnownNodes, where: str) -> None:
    """Refuse a node with very many unknown columns, and dates that are out of range, before they are read."""
    if isinstance(side, KnownViews):
        _check_views(one, side, where)
        return
    if isinstance(one.get("views"), dict):
        raise Refusal(422, f"{where} has views, but the nodes of this model have none: give its columns themselves")
    known = known_columns(side)
    if len(one) > known + MORE_COLUMNS:
        raise Refusal(422, f"{where} has {len(one):,} columns, the model knows {known:,}")
    for name, kind in ({} if side.encoder is None else side.encoder.kinds_).items():
        given = one.get(name)
        if kind == "date" and isinstance(given, int | float) and abs(given) > MOST_DAYS:
            expected = f"must be a date, or at most {MOST_DAYS} days before or after 1970"
            raise Refusal(422, f"{where}: column {name!r} {expected}, got {given!r:.60}")


def _check_views(one: dict[str, Any], side: KnownViews, where: str) -> None:
    """Refuse a node that lacks a view, or has an unknown one."""
    views, expected = one.get("views"), [*side.views]
    if not isinstance(views, dict):
        raise Refusal(422, f"{where} must have its columns by view, as {{'views': …}} with {expected}")
    strange = next((name for name in one if name not in ("id", "views")), None)
    if strange is not None:
        raise Refusal(422, f"{where} has {strange!r:.60} beside its views; only its id can be there")
    for wrong, what in (
        (next((view for view in expected if view not in views), None), "lacks the view"),
        (next((view for view in views if view not in side.views), None), "has the unknown view"),
    ):
        if wrong is not None:
            raise Refusal(422, f"{where} {what} {wrong!r:.60}; the views are {expected}")
    for view, known in side.views.items():
        check_columns(views[view], known, f"{where}.views.{view}")


def kinds_of(side: KnownNodes) -> dict[str, str]:
    """Columns of new nodes with their kinds, those of views as view.column; empty for features and kernel values."""
    if isinstance(side, KnownViews):
        return {f"{view}.{name}": kind for view, known in side.views.items() for name, kind in kinds_of(known).items()}
    return {} if side.encoder is None else dict(side.encoder.kinds_)
