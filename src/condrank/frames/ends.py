"""Ends of edges: the nodes that two columns name, and the error for ids that no node has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.frames.columns import Columns
from condrank.frames.ids import Ids, as_id_array, keys, shown

SHOWN = 3  # unknown ids in an error


@dataclass(frozen=True, eq=False)
class End:
    """The nodes at which the edges of a table start, or at which they end.

    Attributes
    ----------
    given : ndarray
        Ids as they are in the table.
    name : str
        Name of the column in errors.
    ids : Ids
        Ids of the nodes.
    what : str
        Name of the nodes in errors: "node" or "object".
    places : ndarray
        Positions of the nodes, -1 for an id that no node has.
    """

    given: np.ndarray
    name: str
    ids: Ids
    what: str
    places: np.ndarray


def find_end(columns: Columns, column: str, name: str, ids: Ids, what: str) -> End:
    """One end of the edges; ``name`` is the column's name in errors."""
    given = as_id_array(columns.values[column])
    return End(given, name, ids, what, ids.places(given, lambda row: f"{columns.where(row)}, {name}"))


def refuse_unknown(columns: Columns, ends: list[End], may_be_two: bool) -> None:
    """Raise if an id at either end belongs to no node, with a hint if there may be a second kind of nodes."""
    strange: dict[Any, str] = {}
    rows = np.zeros(len(columns), dtype=bool)
    for end in ends:
        unknown = end.places < 0
        rows |= unknown
        for key, row in zip(keys(end.given[unknown]), np.flatnonzero(unknown).tolist(), strict=True):
            strange.setdefault(key, repr(shown(end.given, row)))
    if not strange:
        return
    first = next(end for end in ends if (end.places < 0).any())
    row = int(np.argmax(first.places < 0))
    count = int(rows.sum())
    several = f" (in {count} rows)" if count > 1 else ""
    if len(strange) > 1:
        names = list(strange.values())
        more = ", …" if len(names) > SHOWN else ""
        what = " or ".join(dict.fromkeys(end.what for end in ends))
        in_rows = f"{count} rows" if count > 1 else "a row"
        several = f"; {len(names)} ids in {in_rows} belong to no {what}: {', '.join(names[:SHOWN])}{more}"
    advice, more = first.ids.advice(first.given, row), _second_kind(*ends) if may_be_two else ""
    end = "" if not more else " " if advice.endswith("?") else ". "
    raise ValueError(
        f"{columns.where(row)}, {first.name}: no {first.what} has the id {shown(first.given, row)!r}{several}; "
        f"{advice}{end}{more}"
    )


def _second_kind(sources: End, targets: End) -> str:
    """A hint if edges start at nodes but none ends at one: they may connect two kinds of nodes."""
    if sources.ids is not targets.ids or (targets.places >= 0).any() or (sources.places < 0).all():
        return ""
    if len(set(keys(targets.given))) == 1:  # more likely a typing error
        return ""
    return f"No id in {targets.name} belongs to a node: if they are of a second kind, pass their table as objects="
