"""Objects that come and go while a service answers: all of a change is seen, or nothing of it."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from condrank.base.checks import OUT_OF_SCALE
from condrank.frames.ids import as_id_array
from condrank.index.objects import ObjectIndex
from condrank.index.turns import Turns
from condrank.service.new_nodes import read_new, stack
from condrank.service.objects import NodeNames, as_json
from condrank.service.refusals import Refusal
from condrank.tables.known import KnownNodes
from condrank.tables.known_views import KnownViews

NodeId = str | int | float
Node = dict[str, Any]


class ChangingObjects:
    """The part of a served model that adds and removes objects. Requests that read take turns with those that write."""

    sides: dict[str, KnownNodes]
    names: dict[str, NodeNames]
    index: ObjectIndex
    _records: dict[int, Node]
    _turns: Turns
    _changing: threading.Lock

    @abstractmethod
    def _known(self, given: Sequence[NodeId], role: str, where: str, rows: list[int] | None = None) -> np.ndarray:
        """Positions of nodes by id; an unknown id is refused."""

    def add(self, objects: Sequence[Node], most: int) -> int:
        """Add objects with ids, which every request that begins afterwards can get; all or none.

        They are ranked and scored, but are no conditioning nodes: nothing is learned of them.

        Parameters
        ----------
        objects : sequence of dicts
            Their columns, with their ids.
        most : int
            Most objects that a service may have beside those of its model.

        Returns
        -------
        int
            How many objects there are now.
        """
        side, names, parts, ids, records = self.sides["objects"], self.names["objects"], [], [], []
        for row, one in enumerate(objects):
            nodes, found = read_new(one, side, f"objects.{row}")
            if found is None:
                raise Refusal(422, f"objects.{row} must have an id: {self.id_name!r} is missing")
            parts.append(nodes.rows)
            ids += as_json(found)
            records.append({name: value for name, value in one.items() if name != self.id_name})
        with self._changing:
            there = names.places(ids)
            row = next((row for row in range(len(ids)) if there[row] >= 0 or ids.index(ids[row]) < row), None)
            if row is not None:
                raise Refusal(
                    409, f"objects.{row}: {ids[row]!r:.80} is there already; remove it first", "already_there"
                )
            if names.n_added + len(ids) > most:
                raise Refusal(
                    422, f"at most {most} objects can be added, and {names.n_added} were; add them to the model"
                )
            first = len(names.ids)
            nodes = stack(parts, side, side.names.places(as_id_array(ids)))
            with computing(objects), self._turns.alone():
                self.index.add(nodes, ids=np.arange(first, first + len(ids)))
                self._records.update(zip(names.add(ids), records, strict=True))
            return len(names)

    def remove(self, ids: Sequence[NodeId]) -> int:
        """Remove objects: no request that begins afterwards gets them. If one is unknown, none is removed."""
        names = self.names["objects"]
        with self._changing:
            places = sorted(set(self._known(ids, "objects", "ids").tolist()))
            if len(places) == len(names):
                raise Refusal(422, "the last object cannot be removed: nothing would be left to rank")
            with self._turns.alone():
                self.index.remove(places)
                names.remove(places)
                for place in places:
                    self._records.pop(place, None)
            return len(names)

    @property
    def id_name(self) -> str:
        """The name under which an object has its id."""
        side = self.sides["objects"]
        return "id" if isinstance(side, KnownViews) else side.id_name or "id"


@contextmanager
def computing(given: Sequence[Any]) -> Iterator[None]:
    """Refuse scores that overflow; a model that takes known nodes only refuses new ones here too."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except ValueError as error:
        if not any(isinstance(one, dict) for one in given) and OUT_OF_SCALE not in str(error):
            raise
        raise Refusal(422, f"{error!s:.300}") from None
