"""A loaded model as the service uses it: ids as in JSON, an index of its objects, the fingerprint of its file."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.checks import OUT_OF_SCALE
from condrank.fitting.known import known_places
from condrank.frames.ids import as_id_array, shown
from condrank.nodes import Nodes
from condrank.rankers.base import fitted_of
from condrank.rankers.restrictions import joined
from condrank.service.columns import kinds_of
from condrank.service.new_nodes import known_rows, read_new, stack
from condrank.service.refusals import Refusal
from condrank.tables import TableRanker
from condrank.tables.known import KnownNodes
from condrank.tables.state import load_with_fingerprint

NodeId = str | int | float
Node = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """The ranking of one conditioning node, best first: its id (None for a new node without one), ids and scores."""

    query: Any
    ids: list[Any]
    scores: list[float]


class ServedModel:
    """A fitted ranker ready for requests; any number of threads may use it.

    Parameters
    ----------
    ranker : TableRanker
        The model.
    kind : {"exact", "approximate"}
        Kind of the index of its objects.
    file_fingerprint : str
        Identifies its file.
    """

    def __init__(self, ranker: TableRanker, kind: str = "exact", file_fingerprint: str = ""):
        self.ranker, self.file_fingerprint = ranker, file_fingerprint
        self.sides: dict[str, KnownNodes] = {"queries": ranker.queries_, "objects": ranker.objects_}
        self.is_one_domain = ranker.queries_ is ranker.objects_
        nodes, _ = ranker.read_objects()
        # The index knows objects by position, so ids can be of any type.
        self.index = ranker.ranker_.index(nodes, np.arange(len(ranker.objects_.nodes)), kind=kind)
        self._ids = {role: _as_json(side.names.ids) for role, side in self.sides.items()}
        self._sorted = {role: _searchable(self._ids[role]) for role in self.sides}
        # A model that cannot rank is refused now, and the first request is not slower than others.
        self.rank([self._ids["queries"][0]], 1)

    @classmethod
    def load(cls, path: Any, kind: str = "exact") -> ServedModel:
        """The model of a file or folder; a ValueError or OSError says why there is none."""
        ranker, fingerprint = load_with_fingerprint(TableRanker, path)
        return cls(ranker, kind, fingerprint)

    def __len__(self) -> int:
        return len(self._ids["objects"])

    def rank(
        self,
        queries: Sequence[NodeId | Node],
        k: int,
        exclude: Sequence[Any] | None = None,
        candidates: Sequence[Any] | None = None,
        exclude_self: bool = True,
        order: str = "best",
        exclude_known: bool = False,
    ) -> list[Answer]:
        """The k best objects for each conditioning node: known nodes by id, new ones by columns.

        Parameters
        ----------
        queries : sequence of ids and dicts
            Conditioning nodes.
        k : int
            Places of a ranking.
        exclude, candidates : sequence of ids, or a sequence of ids for each conditioning node
            Objects to leave out, and the only ones to rank. Leaving out an unknown object is no error.
        exclude_self : bool
            Leave a node out of its own ranking.
        order : {"best", "worst"}
            Whether the best objects come first, or the worst.
        exclude_known : bool
            Leave out what a node has an edge with in training.
        """
        nodes, names, places = self._read(queries, "queries")
        left_out = self._choice(exclude, len(queries), "exclude")
        among = self._choice(candidates, len(queries), "candidates")
        if exclude_self and self.is_one_domain:
            left_out = [
                np.union1d(one, place[place >= 0]) for one, place in zip(left_out, places[:, None], strict=True)
            ]
        if exclude_known:
            left_out = joined(left_out, self._known_objects(nodes))
        given: dict[str, Any] = {"exclude": left_out if any(map(len, left_out)) else None}
        if candidates is not None:
            # One list for all is checked once, not again for each conditioning node.
            given["candidates"] = among if any(isinstance(one, list) for one in candidates) else among[0]
        with _computing(queries):
            try:
                found = self.index.top(nodes, k, order=order, **given)
            except ValueError as error:
                if OUT_OF_SCALE not in str(error):
                    raise
                raise self._first_too_large(nodes, k, left_out, among if candidates is not None else None) from None
        answers = []
        ids = self._ids["objects"]
        for row, name in enumerate(names):
            there = found.indices[row] >= 0
            indices, scores = found.indices[row][there], found.scores[row][there]
            answers.append(Answer(name, [ids[place] for place in indices.tolist()], scores.tolist()))
        return answers

    def _known_objects(self, nodes: Nodes) -> list[np.ndarray]:
        """Positions of the objects that each conditioning node has an edge with in training."""
        try:
            return known_places(fitted_of(self.ranker.ranker_), nodes, self.ranker.objects_.nodes)
        except ValueError as error:
            raise Refusal(422, str(error).replace("exclude='known'", "exclude_known")) from None

    def _first_too_large(self, nodes: Nodes, k: int, left_out: Any, among: Any) -> Refusal:
        """A refusal that names the first conditioning node whose scores overflow: they are ranked one at a time."""
        for row in range(len(nodes)):
            try:
                only = None if among is None else among[row]
                self.index.top(nodes.block(slice(row, row + 1)), k, exclude=left_out[row], candidates=only)
            except ValueError:
                return _too_large(f"queries.{row}")
        return _too_large("queries")

    def score(self, queries: Sequence[NodeId | Node], objects: Sequence[NodeId | Node]) -> list[float]:
        """Scores of aligned pairs."""
        first, second = self._read(queries, "queries")[0], self._read(objects, "objects")[0]
        with _computing([*queries, *objects]):
            scores = self.ranker.ranker_.predict_edges(first, second)
        return scores.tolist()

    def find(self, role: str, prefix: str, start: int, limit: int) -> tuple[int, list[Any]]:
        """How many ids begin with a prefix (in any case), and a page of them; without a prefix in their own order."""
        ids = self._ids[role]
        if not prefix:
            return len(ids), ids[start : start + limit]
        texts, places = self._sorted[role]
        prefix = prefix.casefold()
        first = bisect_left(texts, prefix)
        last = bisect_left(texts, prefix + chr(0x10FFFF), lo=first)
        page = places[first + start : min(last, first + start + limit)]  # not all that match: they can be a million
        return last - first, [ids[place] for place in page]

    def node(self, one: NodeId, role: str) -> tuple[Any, int, dict[str, Any]]:
        """Id, position and columns of a known node."""
        place = int(self._known([one], role, role)[0])
        return self._ids[role][place], place, self.sides[role].row_at(place)

    def about(self) -> dict[str, Any]:
        """Facts about the model, as /health shows them."""
        ranker = self.ranker.ranker_
        return {
            "file_fingerprint": self.file_fingerprint,
            "queries": len(self._ids["queries"]),
            "objects": len(self),
            "one_domain": self.is_one_domain,
            "columns": {role: kinds_of(side) for role, side in self.sides.items()},
            "relation": str(ranker.relation),
            "loss": str(ranker.loss),
            "index": self.index.kind,
        }

    def _read(self, given: Sequence[Any], role: str) -> tuple[Nodes, list[Any], np.ndarray]:
        """Nodes, ids (None for a new node without one) and places (-1 for a new node)."""
        side = self.sides[role]
        is_new = np.array([isinstance(one, dict) for one in given], dtype=bool)
        names: list[Any] = [None] * len(given)
        places = np.full(len(given), -1, dtype=np.intp)
        known = np.flatnonzero(~is_new).tolist()
        places[known] = self._known([given[row] for row in known], role, role, known)
        for row in known:
            names[row] = self._ids[role][int(places[row])]
        if not is_new.any():
            return side.nodes.take(places), names, places
        parts: list[Any] = []
        for row, one in enumerate(given):
            if not is_new[row]:
                parts.append(known_rows(side, int(places[row])))
                continue
            nodes, ids = read_new(one, side, f"{role}.{row}")
            parts.append(nodes.rows)
            if ids is not None:
                names[row], places[row] = _as_json(ids)[0], side.names.places(ids)[0]
        return stack(parts, side, places), names, places

    def _known(self, given: Sequence[NodeId], role: str, where: str, rows: list[int] | None = None) -> np.ndarray:
        """Positions of nodes by id; an unknown id is refused."""
        places = self._places(given, role)
        if (places < 0).any():
            first = int(np.argmax(places < 0))
            row = first if rows is None else rows[first]
            what = "node" if self.is_one_domain else {"queries": "conditioning node", "objects": "object"}[role]
            place = f" ({where}.{row})" if len(given) > 1 else ""
            advice = self.sides[role].names.advice(as_id_array([given[first]]))
            raise Refusal(404, f"no {what} has the id {given[first]!r:.80}{place}; {advice:.300}", "unknown_id")
        return places

    def _places(self, given: Sequence[NodeId], role: str) -> np.ndarray:
        """Positions of nodes, -1 for an unknown id. Each type is found by itself, because a request may mix them."""
        places, names = np.full(len(given), -1, dtype=np.intp), self.sides[role].names
        for kind in (str, int, float):
            rows = [row for row, one in enumerate(given) if type(one) is kind]
            if rows:
                places[rows] = names.places(as_id_array([given[row] for row in rows]))
        return places

    def _choice(self, given: Sequence[Any] | None, n: int, what: str) -> list[np.ndarray]:
        """Different positions of objects for each of n conditioning nodes; an unknown candidate is refused."""
        given = [] if given is None else given
        if not any(isinstance(one, list) for one in given):
            return [self._chosen(given, what)] * n
        if len(given) != n:
            raise Refusal(422, f"{what} must have one list for each of the {n} queries, got {len(given)}")
        return [self._chosen(one, f"{what}.{row}") for row, one in enumerate(given)]

    def _chosen(self, given: Sequence[NodeId], where: str) -> np.ndarray:
        strict = where.startswith("candidates")
        places = self._known(given, "objects", where) if strict else self._places(given, "objects")
        return np.unique(places[places >= 0])


@contextmanager
def _computing(given: Sequence[Any]) -> Iterator[None]:
    """Refuse scores that overflow; a model that takes known nodes only refuses new ones here too."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except ValueError as error:
        if not any(isinstance(one, dict) for one in given) and OUT_OF_SCALE not in str(error):
            raise
        raise Refusal(422, f"{error!s:.300}") from None


def _too_large(where: str) -> Refusal:
    return Refusal(422, f"{where}: its scores are not finite; some value is too far from the training values")


def _as_json(ids: np.ndarray) -> list[Any]:
    """Ids as in JSON: dates, and numbers that are not finite, as strings."""
    plain = (shown(ids, row) for row in range(len(ids)))
    return [str(one) if not isinstance(one, str | int | float) or _is_odd(one) else one for one in plain]


def _is_odd(one: Any) -> bool:
    return isinstance(one, float) and not math.isfinite(one)


def _searchable(ids: list[Any]) -> tuple[list[str], list[int]]:
    """Texts of ids in alphabetical order, and the position of each."""
    texts = [str(one).casefold() for one in ids]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    return [texts[place] for place in order], order
