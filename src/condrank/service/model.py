"""A loaded model as the service uses it: ids as in JSON, an index of its objects, the fingerprint of its file."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from condrank.base.checks import OUT_OF_SCALE
from condrank.fitting.known import known_places
from condrank.index.turns import Turns
from condrank.nodes import Nodes
from condrank.rankers.base import fitted_of
from condrank.rankers.ranking import Ranking
from condrank.rankers.restrictions import joined, read_restriction
from condrank.rankers.uncertain import with_std
from condrank.service.changing import Node, NodeId, computing
from condrank.service.columns import kinds_of
from condrank.service.explaining import ExplainingModel
from condrank.service.new_nodes import known_rows, read_new, stack
from condrank.service.objects import NodeNames, as_json
from condrank.service.refusals import Refusal
from condrank.tables import TableRanker
from condrank.tables.known import KnownNodes
from condrank.tables.pairs import judge_pairs
from condrank.tables.state import load_with_fingerprint


@dataclass(frozen=True)
class Answer:
    """The ranking of one conditioning node, best first: its id (None for a new node without one), ids and scores.

    For contests, also the probability that the conditioning node beats each object. If asked, ``sure`` has ``std`` and
    ``top_probability``.
    """

    query: Any
    ids: list[Any]
    scores: list[float]
    probabilities: list[float] | None = None
    sure: dict[str, list[float]] = field(default_factory=dict)


class ServedModel(ExplainingModel):
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
        self.names = {role: NodeNames(side.names) for role, side in self.sides.items()}
        self._records: dict[int, Node] = {}  # of added objects, as they were given
        self._turns, self._changing = Turns(), threading.Lock()
        self.gives_probabilities = str(getattr(ranker.ranker_, "loss", "")) == "logistic"
        # A model that cannot rank is refused now, and the first request is not slower than others.
        self.rank([self.names["queries"].ids[0]], 1)

    @classmethod
    def load(cls, path: Any, kind: str = "exact") -> ServedModel:
        """The model of a file or folder; a ValueError or OSError says why there is none."""
        ranker, fingerprint = load_with_fingerprint(TableRanker, path)
        return cls(ranker, kind, fingerprint)

    def __len__(self) -> int:
        return len(self.names["objects"])

    def rank(
        self,
        queries: Sequence[NodeId | Node],
        k: int,
        exclude: Sequence[Any] | None = None,
        candidates: Sequence[Any] | None = None,
        exclude_self: bool = True,
        order: str = "best",
        exclude_known: bool = False,
        std: bool = False,
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
        std : bool
            Add how sure each place is. Only for the objects of the model's file.
        """
        nodes, names, _ = self._read(queries, "queries")
        with self._turns.together():
            return self._ranked(nodes, names, queries, k, exclude, candidates, exclude_self, order, exclude_known, std)

    def _ranked(
        self,
        nodes: Nodes,
        names: list[Any],
        queries: Sequence[Any],
        k: int,
        exclude: Sequence[Any] | None,
        candidates: Sequence[Any] | None,
        exclude_self: bool,
        order: str,
        exclude_known: bool,
        std: bool,
    ) -> list[Answer]:
        """`rank`, while no object comes or goes."""
        left_out = self._choice(exclude, len(queries), "exclude")
        among = self._choice(candidates, len(queries), "candidates")
        if exclude_self and self.is_one_domain:
            places = self.names["objects"].places([one if one is not None else [] for one in names])
            left_out = joined(left_out, [place[place >= 0] for place in places[:, None]])
        if exclude_known:
            left_out = joined(left_out, self._known_objects(nodes))
        given: dict[str, Any] = {"exclude": left_out if any(map(len, left_out)) else None}
        if candidates is not None:
            # One list for all is checked once, not again for each conditioning node.
            given["candidates"] = among if any(isinstance(one, list) for one in candidates) else among[0]
        with computing(queries):
            try:
                found = self.index.top(nodes, k, order=order, **given)
            except ValueError as error:
                if OUT_OF_SCALE not in str(error):
                    raise
                raise self._first_too_large(nodes, k, left_out, among if candidates is not None else None) from None
        if std:
            found = self._with_std(found, nodes, order, given)
        answers = []
        ids = self.names["objects"].ids
        for row, name in enumerate(names):
            there = found.indices[row] >= 0
            indices, scores = found.indices[row][there], found.scores[row][there]
            chances = expit(scores).tolist() if self.gives_probabilities else None
            sure = {one: values[row][there].tolist() for one, values in found.sure().items()}
            answers.append(Answer(name, [ids[place] for place in indices.tolist()], scores.tolist(), chances, sure))
        return answers

    def _with_std(self, found: Ranking, nodes: Nodes, order: str, given: dict[str, Any]) -> Ranking:
        """A ranking with standard deviations; refused if objects came or went, or if the model has none."""
        names = self.names["objects"]
        if names.n_added or names.n_removed:
            raise Refusal(
                422, "std: standard deviations are for the objects of the model's file, but some came or went"
            )
        limits = None, None
        if any(one is not None for one in given.values()):
            chosen = given.get("exclude"), given.get("candidates")
            limits = read_restriction(*chosen, None, len(self), len(nodes))
        try:
            second = self.ranker.read_objects()[0]
            return with_std(fitted_of(self.ranker.ranker_), found, nodes, second, order, *limits)
        except ValueError as error:
            raise Refusal(422, f"std: {error!s:.400}") from None

    def _known_objects(self, nodes: Nodes) -> list[np.ndarray]:
        """Positions of the objects that each conditioning node has an edge with in training."""
        try:
            found = known_places(fitted_of(self.ranker.ranker_), nodes, self.ranker.objects_.nodes)
            return [self.names["objects"].now_at(one) for one in found]
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
        with self._turns.together():  # an object that is known now may be removed meanwhile
            first, second = self._read(queries, "queries")[0], self._read(objects, "objects")[0]
        with computing([*queries, *objects]):
            scores = self.ranker.ranker_.predict_edges(first, second)
        return scores.tolist()

    def predict(
        self,
        queries: Sequence[NodeId | Node],
        objects: Sequence[NodeId | Node],
        coverage: float | None,
        std: bool = False,
    ) -> list[dict[str, float | None]]:
        """Score of aligned pairs, with probability, standard deviation and interval as far as the model has them."""
        with self._turns.together():
            first, second = self._read(queries, "queries")[0], self._read(objects, "objects")[0]
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                # Infinite ends are null in the answer.
                columns = judge_pairs(self.ranker.ranker_, first, second, coverage=coverage, std=std, warns=False)
        except ValueError as error:
            raise Refusal(422, f"{error!s:.400}") from None
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [
            {name: value if math.isfinite(value) else None for name, value in zip(columns, row, strict=True)}
            for row in rows
        ]

    def find(self, role: str, prefix: str, start: int, limit: int) -> tuple[int, list[Any]]:
        """How many ids begin with a prefix (in any case), and a page of them; without a prefix in their own order."""
        with self._turns.together():
            return self.names[role].find(prefix, start, limit)

    def find_part(self, role: str, prefix: str, part: str, start: int, limit: int) -> tuple[int, list[Any]]:
        """How many ids begin with a prefix and contain a text, and a page, those that begin with it first. O(n)."""
        with self._turns.together():
            return self.names[role].find_part(prefix, part, start, limit)

    def node(self, one: NodeId, role: str) -> tuple[Any, int, dict[str, Any]]:
        """Id, position and columns of a known node."""
        with self._turns.together():
            place = int(self._known([one], role, role)[0])
            known = place < len(self.sides[role].nodes)
            columns = self.sides[role].row_at(place) if known else self._records[place]
            return self.names[role].ids[place], place, columns

    def about(self) -> dict[str, Any]:
        """Facts about the model, as /health shows them."""
        ranker = self.ranker.ranker_
        return {
            "file_fingerprint": self.file_fingerprint,
            "queries": len(self.names["queries"].ids),
            "objects": len(self),
            "added": self.names["objects"].n_added,
            "removed": self.names["objects"].n_removed,
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
            names[row] = self.names[role].ids[int(places[row])]
        added = places >= len(side.nodes)
        if not is_new.any() and not added.any():
            return side.nodes.take(places), names, places
        parts: list[Any] = []
        for row, one in enumerate(given):
            if not is_new[row] and not added[row]:
                parts.append(known_rows(side, int(places[row])))
                continue
            nodes, ids = read_new(self._records[int(places[row])] if added[row] else one, side, f"{role}.{row}")
            parts.append(nodes.rows)
            if ids is not None:
                names[row], places[row] = as_json(ids)[0], side.names.places(ids)[0]
        return stack(parts, side, np.where(added, -1, places)), names, places

    def _known(self, given: Sequence[NodeId], role: str, where: str, rows: list[int] | None = None) -> np.ndarray:
        """Positions of nodes by id; an unknown id is refused."""
        places = self.names[role].places(given)
        if (places < 0).any():
            first = int(np.argmax(places < 0))
            row = first if rows is None else rows[first]
            what = "node" if self.is_one_domain else {"queries": "conditioning node", "objects": "object"}[role]
            place = f" ({where}.{row})" if len(given) > 1 else ""
            advice = self.names[role].advice(given[first])
            raise Refusal(404, f"no {what} has the id {given[first]!r:.80}{place}; {advice:.300}", "unknown_id")
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
        places = self._known(given, "objects", where) if strict else self.names["objects"].places(given)
        return np.unique(places[places >= 0])


def _too_large(where: str) -> Refusal:
    return Refusal(422, f"{where}: its scores are not finite; some value is too far from the training values")
