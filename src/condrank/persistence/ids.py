"""Ids of nodes in a file: numbers and dates are stored as an array, strings and mixed ids in the manifest."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np

from condrank.base.checks import check_choice, check_ids
from condrank.persistence.arrays import Arrays, Held

NUMBERS = re.compile(r"[<>|=]([iufbmM])\d+(\[\w+\])?")  # dtypes of ids that are stored as an array
NAMES = str | int | float | bool  # ids that JSON can hold
MOST_ROOM, MOST_PADDING = 1 << 26, 64  # bytes, and bytes a character, of strings in an array


def ids_to(ids: np.ndarray | None, arrays: Arrays) -> dict[str, Any] | None:
    """Type of the ids, and their names if they are not numbers. Numbers and dates go to the array ``ids``.

    Returns None for nodes without ids. Raises a ValueError for ids that JSON cannot hold.
    """
    if ids is None:
        return None
    kind = ids.dtype.kind
    if kind in "iufbmM":
        numbers = ids.view(np.int64) if kind in "mM" else ids if kind == "b" else ids.astype(f"{kind}8", copy=False)
        arrays.put("ids", numbers.view(np.int64) if kind == "u" else numbers)
        return {"dtype": ids.dtype.str}
    names = ids.tolist()
    for one in names:
        if not isinstance(one, NAMES):
            hint = "; make dates an array of numpy.datetime64" if isinstance(one, date) else ""
            raise ValueError(f"ids must be strings, numbers or numpy.datetime64 to be saved, got {one!r}{hint}")
    return {"dtype": "object" if kind == "O" else "str", "names": names}


def ids_from(given: dict[str, Any] | None, n: int, held: Held) -> np.ndarray | None:
    """Ids of n nodes from what `ids_to` returned; raises if they are not all different."""
    if given is None:
        return None
    name, kind = f"ids of {held.name}", given["dtype"]
    if "names" in given:
        check_choice(f"type of {name}", kind, ("str", "object"))
        allowed = str if kind == "str" else NAMES
        if not isinstance(given["names"], list) or not all(isinstance(one, allowed) for one in given["names"]):
            raise ValueError(f"{name} must be strings (or numbers, of type object), got {given['names']!r:.100}")
        return check_ids(np.array(given["names"], dtype=object if _is_padded(given["names"]) else kind), n, name)
    match = NUMBERS.fullmatch(kind)
    if match is None:
        raise ValueError(f"{name} must be numbers or dates, got type {kind!r}")
    dtype = np.dtype(kind)
    numbers = held.take("ids", match[1] if match[1] in "fb" else "i", n)
    if dtype.kind in "mM":
        return check_ids(numbers.view(dtype), n, name)
    return check_ids((numbers.view(np.uint64) if dtype.kind == "u" else numbers).astype(dtype), n, name)


def _is_padded(names: list[Any]) -> bool:
    """Whether an array of strings would be mostly padding: NumPy gives every string the room of the longest.

    One long id among many would take much more memory than the file.
    """
    lengths = [len(one) for one in names if isinstance(one, str)]
    room = 4 * len(lengths) * max(lengths, default=0)
    return room > max(MOST_ROOM, MOST_PADDING * sum(lengths))
