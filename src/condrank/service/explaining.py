"""Why the served model ranks as it does: explanations of single pairs, with ids as in JSON."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from condrank.nodes import Nodes
from condrank.rankers.explained import NEW, explanation
from condrank.service.changing import ChangingObjects, Node, NodeId, computing
from condrank.service.refusals import Refusal
from condrank.tables import TableRanker
from condrank.tables.explained import columns_of, flat_row


class ExplainingModel(ChangingObjects):
    """The part of a served model that explains its scores."""

    ranker: TableRanker

    @abstractmethod
    def _read(self, given: Sequence[Any], role: str) -> tuple[Nodes, list[Any], np.ndarray]:
        """Nodes, ids (None for a new node without one) and places (-1 for a new node)."""

    def explain(
        self, query: NodeId | Node, objects: Sequence[NodeId | Node], by: str | None = None, top: int = 10
    ) -> dict[str, Any]:
        """Why the first object has its score for a node, or is ranked above the second one; plain values.

        Parameters
        ----------
        query : id or dict
            The conditioning node, known or new.
        objects : sequence of one or two ids or dicts
            The object, and one to compare it with.
        by : {"labels", "nodes", "features", "parts"}, optional
            What the score is a sum over; by default what suits the model.
        top : int
            Largest number of contributions.
        """
        with self._turns.together():  # an object that is known now may be removed meanwhile
            first, one, at = self._read([query], "queries")
            second, others, places = self._read(objects, "objects")
            known = [("queries", query, int(at[0]))]
            known += [("objects", given, place) for given, place in zip(objects, places.tolist(), strict=True)]
            values = [self._columns(*node) for node in known]
        names = [NEW[what] if name is None else name for what, name in zip(NEW, [*one, *others], strict=False)]
        nodes = [first, *(second.block(slice(row, row + 1)) for row in range(len(objects)))]
        sides = columns_of(self.sides["queries"], values[:1]), columns_of(self.sides["objects"], values[1:])
        try:
            with computing([query, *objects]):
                return explanation(self.ranker.ranker_, nodes, [*names, None][:3], sides).to_dict(by, top)
        except ValueError as error:
            raise Refusal(422, f"{error!s:.300}") from None

    def _columns(self, role: str, given: Any, place: int) -> dict[str, Any]:
        """The columns of a node: as they were given, or as they are known."""
        if isinstance(given, dict):
            return flat_row({**given.get("views", {}), **{name: one for name, one in given.items() if name != "views"}})
        side = self.sides[role]
        return flat_row(side.row_at(place) if place < len(side.nodes) else self._records[place])
