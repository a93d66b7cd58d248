"""Which objects each conditioning node may get: all in the index without the excluded ones, or some candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.frames.ids import Ids, as_id_array, shown
from condrank.nodes import Nodes
from condrank.nodes.checking import positions

Places = np.ndarray
LookUp = Callable[[np.ndarray], Places]


@dataclass(frozen=True)
class Restriction:
    """What a search leaves out.

    Attributes
    ----------
    gone : ndarray of int
        Positions, ascending, that no conditioning node may get.
    rows, excluded : ndarray of int
        Pairs of a conditioning node and a position that it may not get, by ascending position.
    columns : ndarray of int or None
        Positions, ascending, of the only objects to rank; None means all.
    """

    gone: np.ndarray
    rows: np.ndarray
    excluded: np.ndarray
    columns: np.ndarray | None = None

    @classmethod
    def of(cls, gone: np.ndarray, common: Places | None, each: list[Places] | None) -> Restriction:
        """A restriction that leaves out removed objects, and those excluded for all conditioning nodes or for each."""
        if common is not None:
            gone = np.union1d(gone, common)
        each = each or []
        rows = np.repeat(np.arange(len(each)), [len(one) for one in each])
        excluded = np.concatenate([np.zeros(0, dtype=np.intp), *each])
        order = np.argsort(excluded, kind="stable")
        return cls(gone, rows[order], excluded[order])

    def among(self, columns: Places) -> Restriction:
        """The same with only some objects to rank; positions become places among these."""
        columns = np.setdiff1d(columns, self.gone)
        places = np.searchsorted(columns, self.excluded)
        there = np.flatnonzero(places < len(columns))
        there = there[columns[places[there]] == self.excluded[there]]
        return Restriction(np.zeros(0, dtype=np.intp), self.rows[there], places[there], columns)

    def take(self, rows: np.ndarray) -> Restriction:
        """The restriction of some conditioning nodes, without repeats, which get new numbers."""
        number = np.full(1 + max(int(self.rows.max(initial=0)), int(rows.max(initial=0))), -1)
        number[rows] = np.arange(len(rows))
        kept = number[self.rows] >= 0
        return Restriction(self.gone, number[self.rows[kept]], self.excluded[kept], self.columns)

    def most_excluded(self) -> int:
        """Largest number of objects excluded for one conditioning node."""
        return int(np.bincount(self.rows).max(initial=0))

    def allows(self, places: np.ndarray) -> np.ndarray:
        """Which of the found places (n, k) their conditioning nodes may get; -1 is no object."""
        allowed = (places >= 0) & ~np.isin(places, self.gone)
        if len(self.rows):
            span = 1 + max(int(self.excluded.max()), int(places.max(initial=0)))
            pairs = np.arange(len(places))[:, None] * span + places
            allowed &= ~np.isin(pairs, self.rows * span + self.excluded)
        return allowed

    def exclude(self, rows: slice, start: int, scores: np.ndarray) -> None:
        """Write -∞ into a block of scores for the objects left out."""
        stop = start + scores.shape[1]
        low, high = np.searchsorted(self.gone, (start, stop))
        if high > low:
            scores[:, self.gone[low:high] - start] = -np.inf
        low, high = np.searchsorted(self.excluded, (start, stop))
        if high > low:
            row, column = self.rows[low:high], self.excluded[low:high]
            mine = (row >= rows.start) & (row < rows.stop)
            scores[row[mine] - rows.start, column[mine] - start] = -np.inf


def find_objects(ids: Ids | None, n: int, name: str, strict: bool) -> LookUp:
    """A function from ids (or, if n objects have none, from their positions) to positions.

    If ``strict``, an unknown id raises a ValueError, otherwise it is left out.
    """

    def places(named: np.ndarray) -> Places:
        if ids is None:
            return positions(named, Nodes(np.empty((n, 0))), name)
        given = as_id_array(named)
        found = ids.places(given)
        if strict and (found < 0).any():
            one = shown(given, int(np.argmax(found < 0)))
            raise ValueError(f"{name} has {int((found < 0).sum())} object(s) that are unknown: {one!r}; {ids.hint}")
        return found[found >= 0]

    return places


def read_restriction(
    exclude: Any, candidates: Any, ids: Ids | None, n: int, n_queries: int, also: list[Places] | None = None
) -> tuple[Restriction, list[Places] | None]:
    """What a ranking of n objects leaves out, and the candidates of each conditioning node if they are given for each.

    ``also`` has further positions to leave out for each conditioning node, such as its own or what it knows.
    """
    common, each = read_choice(exclude, n_queries, "exclude", find_objects(ids, n, "exclude", strict=False))
    if also is not None:
        each = also if each is None else joined(each, also)
    restriction = Restriction.of(np.zeros(0, dtype=np.intp), common, each)
    among = read_choice(candidates, n_queries, "candidates", find_objects(ids, n, "candidates", strict=True))
    return (restriction if among[0] is None else restriction.among(among[0])), among[1]


def joined(one: list[Places], other: list[Places]) -> list[Places]:
    """Positions that are in one or the other list, for each conditioning node."""
    return [np.union1d(*both).astype(np.intp) for both in zip(one, other, strict=True)]


def read_choice(given: Any, n_queries: int, name: str, look_up: LookUp) -> tuple[Places | None, list[Places] | None]:
    """Positions of objects that are given for all conditioning nodes together, or for each of them.

    A flat sequence is for all. A sequence of sequences, or a matrix, has one entry per conditioning node.
    """
    if given is None:
        return None, None
    if isinstance(given, str | bytes) or not np.iterable(given):
        raise ValueError(f"{name} must be a sequence of objects, or one for each conditioning node, got {given!r}")
    given = given if isinstance(given, np.ndarray) else list(given)
    nested = [isinstance(one, list | tuple | set | frozenset | np.ndarray) for one in given]
    if not any(nested):
        return _places(given, name, look_up), None
    if not all(nested):
        raise ValueError(f"{name} must have single objects, or one sequence for each conditioning node, not both")
    if len(given) != n_queries:
        raise ValueError(f"{name} must have one sequence for each of the {n_queries} queries, got {len(given)}")
    return None, [_places(one, name, look_up) for one in given]


def _places(given: Any, name: str, look_up: LookUp) -> Places:
    given = given if isinstance(given, np.ndarray) else list(given)
    named = np.asarray(given, dtype=object) if _mixed(given) else np.asarray(given)
    if named.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional for a conditioning node, got shape {named.shape}")
    return np.unique(look_up(named)) if len(named) else np.zeros(0, dtype=np.intp)


def _mixed(given: Any) -> bool:
    """Whether ids have several types, which NumPy would turn into strings."""
    return not isinstance(given, np.ndarray) and len({type(one) for one in given}) > 1
