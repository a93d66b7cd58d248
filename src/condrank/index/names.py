"""Objects of an index by name: ids where they have some, otherwise positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank.base.checks import check_ids
from condrank.index.growing import GrowingRows
from condrank.nodes import Nodes
from condrank.nodes.checking import positions


class Names:
    """Where the objects of an index are by id, those that were removed left out.

    Parameters
    ----------
    ids : ndarray of shape (n,)
        Ids by position; that of a removed object may have been given again.
    gone : ndarray of int
        Removed positions.
    """

    def __init__(self, ids: np.ndarray, gone: np.ndarray):
        self.ids = ids
        removed = set(gone.tolist())
        self._places = {one: place for place, one in enumerate(ids.tolist()) if place not in removed}
        self._rows = GrowingRows()

    def check_new(self, ids: Any, n: int) -> np.ndarray:
        """Ids for n more objects, none of which may be there already."""
        names, before = check_ids(ids, n, "ids"), self.ids.dtype
        if names.dtype.kind != before.kind:
            raise ValueError(f"ids must be of the same type as those before, {before}, got {names.dtype}")
        for one in names.tolist():
            if one in self._places:
                raise ValueError(f"ids must be new, {one!r} is in the index already; remove it first")
        return names

    def add(self, names: np.ndarray) -> None:
        """Take in new ids, which `check_new` gave, at the next positions; O(1) for each of them, on the whole."""
        first = len(self.ids)
        longest = np.promote_types(self.ids.dtype, names.dtype)  # strings may be longer than those before
        self.ids = self._rows.joined(self.ids.astype(longest, copy=False), names)
        self._places.update(zip(names.tolist(), range(first, len(self.ids)), strict=True))

    def remove(self, places: np.ndarray) -> None:
        """Forget what the objects at some positions were called."""
        for one in self.ids[places].tolist():
            del self._places[one]

    def places(self, ids: np.ndarray, n: int) -> np.ndarray:
        """Positions among the first n, -1 where there is none."""
        found = np.fromiter((self._places.get(one, -1) for one in ids.tolist()), dtype=np.intp, count=len(ids))
        found[found >= n] = -1  # added a moment ago
        return found


def look_up(
    names: Names | None, n: int, gone: np.ndarray, name: str, strict: bool
) -> Callable[[np.ndarray], np.ndarray]:
    """From ids (where there are names) or positions within 0..n - 1 to positions of objects that are there.

    An object that is not there is refused, or left out; a position that no object ever had is always refused.
    """

    def places(named: np.ndarray) -> np.ndarray:
        found = positions(named, Nodes(np.empty((n, 0))), name) if names is None else names.places(named, n)
        missing = (found < 0) | np.isin(found, gone)
        if strict and missing.any():
            one = named.tolist()[int(np.argmax(missing))]
            raise ValueError(f"{name} has {int(missing.sum())} object(s) that are not in the index: {one!r}")
        return found[~missing]

    return places
