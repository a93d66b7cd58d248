"""Looks up the objects of an index by id, or by position if they have no ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank.base.checks import check_ids
from condrank.index.growing import GrowingRows
from condrank.nodes import Nodes
from condrank.nodes.checking import positions


class Names:
    """Positions of the objects of an index by id, without removed objects.

    Parameters
    ----------
    ids : ndarray of shape (n,)
        Ids by position; the id of a removed object may have been used again.
    gone : ndarray of int
        Removed positions.
    """

    def __init__(self, ids: np.ndarray, gone: np.ndarray):
        self.ids = ids
        removed = set(gone.tolist())
        self._places = {one: place for place, one in enumerate(ids.tolist()) if place not in removed}
        self._rows = GrowingRows()

    def check_new(self, ids: Any, n: int) -> np.ndarray:
        """Ids for n more objects, after checks; none may be in the index already."""
        names, before = check_ids(ids, n, "ids"), self.ids.dtype
        if names.dtype.kind != before.kind:
            raise ValueError(f"ids must be of type {before}, the same type as before, got {names.dtype}")
        for one in names.tolist():
            if one in self._places:
                raise ValueError(f"ids must be new, but {one!r} is in the index already; remove it first")
        return names

    def add(self, names: np.ndarray) -> None:
        """Add new ids, as returned by `check_new`, at the next positions; amortised O(1) for each."""
        first = len(self.ids)
        longest = np.promote_types(self.ids.dtype, names.dtype)  # new strings may be longer
        self.ids = self._rows.joined(self.ids.astype(longest, copy=False), names)
        self._places.update(zip(names.tolist(), range(first, len(self.ids)), strict=True))

    def remove(self, places: np.ndarray) -> None:
        """Remove the ids of the objects at some positions."""
        for one in self.ids[places].tolist():
            del self._places[one]

    def places(self, ids: np.ndarray, n: int) -> np.ndarray:
        """Positions of ids among the first n objects; -1 for an id that is not there."""
        found = np.fromiter((self._places.get(one, -1) for one in ids.tolist()), dtype=np.intp, count=len(ids))
        found[found >= n] = -1  # added after the snapshot
        return found


def look_up(
    names: Names | None, n: int, gone: np.ndarray, name: str, strict: bool
) -> Callable[[np.ndarray], np.ndarray]:
    """A function from ids (or, without names, from positions within 0..n - 1) to positions of objects in the index.

    If ``strict``, an object that is not in the index raises a ValueError, otherwise it is left out. A position that no
    object ever had always raises one.
    """

    def places(named: np.ndarray) -> np.ndarray:
        found = positions(named, Nodes(np.empty((n, 0))), name) if names is None else names.places(named, n)
        missing = (found < 0) | np.isin(found, gone)
        if strict and missing.any():
            one = named.tolist()[int(np.argmax(missing))]
            raise ValueError(f"{name} has {int(missing.sum())} object(s) that are not in the index: {one!r}")
        return found[~missing]

    return places
