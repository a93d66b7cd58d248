"""Strings and tables as plain arrays, as a model file holds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from condrank.base.checks import check_choice
from condrank.frames.columns import as_objects
from condrank.frames.kinds import KINDS
from condrank.frames.table import Table


def pack(strings: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    """All bytes of the strings (UTF-8) and the position at which each string ends, for a model file."""
    encoded = [one.encode("utf-8", "surrogatepass") for one in strings]
    ends = np.cumsum([len(one) for one in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def unpack(data: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The strings that were packed; raises ValueError if the ends do not fit the bytes."""
    if data.dtype != np.uint8 or ends.dtype != np.int64 or data.ndim != 1 or ends.ndim != 1:
        raise ValueError("packed strings must be one-dimensional arrays of bytes (uint8) and ends (int64)")
    bounds = np.concatenate([[0], ends])
    if (np.diff(bounds) < 0).any() or bounds[-1] != len(data):
        raise ValueError("ends of packed strings must not decrease, and the last must be the number of bytes")
    whole = data.tobytes()
    places = pairwise(bounds.tolist())
    return as_objects([whole[start:end].decode("utf-8", "surrogatepass") for start, end in places])


def pack_table(table: Table) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Names and kinds of the columns, and their values as arrays."""
    arrays = {}
    for number, (name, kind) in enumerate(table.kinds.items()):
        column = table.columns[name]
        if kind == "numeric":
            arrays[f"{number}"] = column
        elif kind == "date":
            arrays[f"{number}"] = column.astype("M8[us]").astype(np.int64)
        else:
            arrays[f"{number}.bytes"], arrays[f"{number}.ends"] = pack(column)
    return {"columns": [list(item) for item in table.kinds.items()]}, arrays


def unpack_table(state: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Table:
    """The table that was packed; raises ValueError if parts do not fit together."""
    kinds = check_kinds(state["columns"])
    columns: dict[str, np.ndarray] = {}
    for number, (name, kind) in enumerate(kinds.items()):
        if kind in ("numeric", "date"):
            column = arrays[f"{number}"]
            if column.ndim != 1 or column.dtype != (np.float64 if kind == "numeric" else np.int64):
                raise ValueError(f"column {name!r} must be numbers, got {column.dtype} of shape {column.shape}")
            columns[name] = column if kind == "numeric" else column.view("M8[us]")
        else:
            columns[name] = unpack(arrays[f"{number}.bytes"], arrays[f"{number}.ends"])
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError("the columns of the table must have the same length")
    return Table(columns, kinds)


def check_kinds(given: Any) -> dict[str, str]:
    """Names and kinds of columns from a manifest."""
    kinds: dict[str, str] = {}
    for name, kind in given:
        check_choice("kind of a column", kind, KINDS)
        if not isinstance(name, str) or name in kinds:
            raise ValueError(f"names of columns must be different strings, got {name!r}")
        kinds[name] = kind
    return kinds
