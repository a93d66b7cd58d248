"""Ids of nodes: read from a column, checked to be different, and looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from condrank.frames.alike import spelled_alike
from condrank.frames.columns import Columns, as_objects, canonical

NANOSECONDS = {("D", 1): 86_400 * 10**9, ("s", 1): 10**9, ("ms", 1): 10**6, ("us", 1): 10**3, ("ns", 1): 1}


class Moment(NamedTuple):
    """A date or time as nanoseconds since 1970, from any unit."""

    nanoseconds: int


def read_ids(columns: Columns, name: str, hint: str = "") -> np.ndarray:
    """The ids of a column, unchanged; raises for a missing or repeated id, with its row."""
    columns.refuse_missing(name, hint)
    ids = columns.values[name]
    twice = find_twice(ids, columns.where)
    if twice is not None:
        first, row = twice
        raise ValueError(
            f"{columns.where(row)}: id {shown(ids, row)!r} occurs already in {columns.where(first)}; "
            f"every id in column {name!r} must be different{hint}"
        )
    return ids


def find_twice(ids: np.ndarray, where: Callable[[int], str]) -> tuple[int, int] | None:
    """Both positions of the first id that two nodes share; None if all ids are different."""
    seen: dict[Any, int] = {}
    for row, key in enumerate(keys(ids)):
        first = seen.setdefault(_hashable(key, where, row), row)
        if first != row:
            return first, row
    return None


class Ids:
    """Ids of some nodes and the position of each.

    If the nodes have strings as ids and the caller has numbers or dates, or the other way round, their texts are
    compared, because a text file, a command line and a URL have no types.

    Parameters
    ----------
    ids : ndarray of shape (n,)
        All different.
    hint : str, optional
        Advice in the error for an unknown id; by default one of the ids is shown as an example.
    """

    def __init__(self, ids: np.ndarray, hint: str = ""):
        self.ids = ids
        self._has_own_hint = bool(hint)
        self.hint = hint or (f"ids are like {shown(ids, 0)!r}" if len(ids) else "there are none")
        self._place = {key: position for position, key in enumerate(keys(ids))}
        self._strings = all(isinstance(key, str) for key in self._place)
        self._texts: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, given: Any, where: Callable[[int], str], what: str = "node") -> np.ndarray:
        """Positions of nodes; raises for an id that no node has, with its row."""
        given = as_id_array(given)
        found = self.places(given, where)
        if (found < 0).any():
            row = int(np.argmax(found < 0))
            different = len(set(keys(given[found < 0])))
            more = f" ({different} such ids in all)" if different > 1 else ""
            raise ValueError(
                f"{where(row)}: no {what} has the id {shown(given, row)!r}{more}; {self.advice(given, row)}"
            )
        return found

    def places(self, given: np.ndarray, where: Callable[[int], str] = str) -> np.ndarray:
        """Positions of nodes, -1 for an id that no node has."""
        wanted = [_hashable(key, where, row) for row, key in enumerate(keys(given))]
        found = np.fromiter((self._place.get(key, -1) for key in wanted), np.int64, len(wanted))
        if (found < 0).any() and all(isinstance(key, str) for key in wanted) != self._strings:
            texts = self._by_text()
            found = np.fromiter((texts.get(_text(key), -1) for key in wanted), np.int64, len(wanted))
        return found

    def advice(self, given: np.ndarray, row: int = 0) -> str:
        """What to say about an id that no node has: ids that are spelled alike, otherwise the hint."""
        if self._has_own_hint:
            return self.hint
        (key,) = keys(given[row : row + 1])
        known = self._place if self._strings else self._by_text()
        near = spelled_alike(_text(key), known)
        return f"did you mean {' or '.join(map(repr, near))}?" if near else self.hint

    def _by_text(self) -> dict[str, int]:
        if self._texts is None:
            self._texts = {_text(key): position for key, position in self._place.items()}
        return self._texts


def listed_ids(given: Any) -> Any:
    """Ids with a length: a list for one id alone, and for a set or a generator."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
        return [given]
    return given if hasattr(given, "__getitem__") else list(given)


def as_id_array(given: Any) -> np.ndarray:
    """Ids as an array; an array of objects if NumPy would change their types."""
    if isinstance(given, np.ndarray):
        return canonical(given, "ids")
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"ids must be a list or an array, got {given!r}")
    return canonical(as_objects(list(given)), "ids")


def keys(ids: np.ndarray) -> list[Any]:
    """Ids as hashable values; a date has the same value in every unit."""
    if ids.dtype.kind == "M":
        if np.datetime_data(ids.dtype) not in NANOSECONDS:
            ids = ids.astype("M8[us]")
        scale = NANOSECONDS[np.datetime_data(ids.dtype)]
        return [Moment(count * scale) for count in ids.astype(np.int64).tolist()]
    return ids.tolist()


def shown(ids: np.ndarray, row: int) -> Any:
    """One id as a plain value."""
    one = ids[row]
    return str(one) if isinstance(one, np.datetime64) else one.item() if isinstance(one, np.generic) else one


def _hashable(key: Any, where: Callable[[int], str], row: int) -> Any:
    try:
        hash(key)
    except TypeError:
        raise ValueError(f"{where(row)}: an id must be a string, a number or a date, got {key!r:.60}") from None
    return key


def _text(key: Any) -> str:
    if not isinstance(key, Moment):
        return str(int(key)) if isinstance(key, float) and key.is_integer() else str(key)
    date, _, time = str(np.datetime64(key.nanoseconds // 1000, "us")).partition("T")
    return date if time == "00:00:00.000000" else f"{date} {time.removesuffix('.000000')}"
