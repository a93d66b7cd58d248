"""The objects that a service ranks, by id: those of its model, and those that were added and not removed since."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any

import numpy as np

from condrank.frames.ids import Ids, as_id_array, shown


class NodeNames:
    """Ids of nodes as in JSON, by position. A position is never used again.

    Parameters
    ----------
    names : Ids
        Ids of the nodes of training, which have the first positions.
    """

    def __init__(self, names: Ids):
        self.names, self.ids = names, as_json(names.ids)
        self._added: dict[str, int] = {}  # by their text, as ids of an address have no type
        self._gone: set[int] = set()
        self._order = list(range(len(self.ids)))
        texts = [str(one).casefold() for one in self.ids]
        self._sorted = sorted(zip(texts, self._order, strict=True))

    def __len__(self) -> int:
        return len(self._order)

    @property
    def n_added(self) -> int:
        """Nodes that are there and were not in training, or were removed and added again."""
        return len(self._added)

    @property
    def n_removed(self) -> int:
        """Nodes of training that are no longer there."""
        return len(self.names) - sum(1 for place in self._order if place < len(self.names))

    def places(self, given: Sequence[Any]) -> np.ndarray:
        """Positions of nodes, -1 for an unknown id. Each type is found by itself, because a request may mix them."""
        places = np.full(len(given), -1, dtype=np.intp)
        for kind in (str, int, float):
            rows = [row for row, one in enumerate(given) if type(one) is kind]
            if rows:
                places[rows] = self.names.places(as_id_array([given[row] for row in rows]))
        if self._gone or self._added:
            for row in [row for row in range(len(given)) if places[row] < 0 or int(places[row]) in self._gone]:
                places[row] = self._added.get(_text(given[row]), -1)
        return places

    def now_at(self, places: np.ndarray) -> np.ndarray:
        """Positions of nodes of training that may have been removed (left out) or added again."""
        if not self._gone:
            return places
        found = [self._added.get(_text(self.ids[one]), -1) if one in self._gone else one for one in places.tolist()]
        return np.array([one for one in found if one >= 0], dtype=np.intp)

    def advice(self, one: Any) -> str:
        """What to say about an unknown id."""
        return self.names.advice(as_id_array([one]))

    def add(self, ids: Sequence[Any]) -> range:
        """Give new nodes, with ids that are not there, the next positions."""
        first = len(self.ids)
        places = range(first, first + len(ids))
        self.ids.extend(ids)
        self._order.extend(places)
        for place, one in zip(places, ids, strict=True):
            self._added[_text(one)] = place
            insort(self._sorted, (str(one).casefold(), place))
        return places

    def remove(self, places: Sequence[int]) -> None:
        """Forget the nodes at some positions."""
        for place in places:
            self._gone.add(place)
            self._added.pop(_text(self.ids[place]), None)
            self._sorted.pop(bisect_left(self._sorted, (str(self.ids[place]).casefold(), place)))
        gone = set(places)
        self._order = [place for place in self._order if place not in gone]

    def find(self, prefix: str, start: int, limit: int) -> tuple[int, list[Any]]:
        """How many ids begin with a prefix (in any case), and a page of them; without a prefix in their own order."""
        if not prefix:
            return len(self._order), [self.ids[place] for place in self._order[start : start + limit]]
        prefix = prefix.casefold()
        first = bisect_left(self._sorted, (prefix,))
        last = bisect_left(self._sorted, (prefix + chr(0x10FFFF),), lo=first)
        page = self._sorted[first + start : min(last, first + start + limit)]  # not all: they can be a million
        return last - first, [self.ids[place] for _, place in page]

    def find_part(self, prefix: str, part: str, start: int, limit: int) -> tuple[int, list[Any]]:
        """How many ids begin with a prefix and contain a text, and a page, those that begin with it first. O(n)."""
        prefix, part = prefix.casefold(), part.casefold()
        matching = [
            (text.find(part) > 0, place) for text, place in self._sorted if part in text and text.startswith(prefix)
        ]
        ordered = [place for later in (False, True) for is_later, place in matching if is_later is later]
        return len(ordered), [self.ids[place] for place in ordered[start : start + limit]]


def as_json(ids: np.ndarray) -> list[Any]:
    """Ids as in JSON: dates, and numbers that are not finite, as strings."""
    plain = (shown(ids, row) for row in range(len(ids)))
    return [str(one) if not isinstance(one, str | int | float) or _is_odd(one) else one for one in plain]


def _is_odd(one: Any) -> bool:
    return isinstance(one, float) and not math.isfinite(one)


def _text(one: Any) -> str:
    return str(int(one)) if isinstance(one, float) and one.is_integer() else str(one)
