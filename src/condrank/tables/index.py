"""`TableIndex`: objects of tables that are kept ready, by id, and ranked for nodes given by id or by columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from condrank.fitting.known import is_known
from condrank.frames.ids import Ids, as_id_array, listed_ids
from condrank.index import ObjectIndex
from condrank.index.storing import FILE_NAME, index_from, index_state
from condrank.persistence.arrays import Held
from condrank.persistence.damage import damage_named
from condrank.persistence.layout import model_file, read_file, write_file
from condrank.rankers.ranking import Ranking
from condrank.tables.state import ranker_from, ranker_state

if TYPE_CHECKING:
    from condrank.tables.ranker import TableRanker


class TableIndex:
    """Objects prepared for many rankings with a `TableRanker`, made by ``ranker.index()``; ranks as ``ranker.rank``.

    Any number of threads may call `top` at a time, also while another adds or removes objects.

    Parameters
    ----------
    ranker : TableRanker
        The fitted ranker.
    index : ObjectIndex
        The encoded objects with their ids.

    Examples
    --------
    >>> from condrank import ConditionalRanker, TableRanker
    >>> players = {"id": ["ann", "bob", "cyd"], "age": [31, 25, 40], "hand": ["left", "right", "right"]}
    >>> games = {"winner": ["ann", "bob", "ann"], "loser": ["bob", "cyd", "cyd"]}
    >>> index = TableRanker(ConditionalRanker(relation="reciprocal", loss="regression")).fit(players, games).index()
    >>> index.add({"id": ["dan"], "age": [22], "hand": ["left"]})
    >>> index.remove(["cyd"])
    >>> index.top(["bob"]).ids
    array([['ann', 'dan']], dtype=object)
    """

    def __init__(self, ranker: TableRanker, index: ObjectIndex):
        self.ranker, self.objects = ranker, index
        self._named: tuple[tuple[int, int], Ids] | None = None

    @property
    def kind(self) -> str:
        """How objects are found: "exact" or "approximate"."""
        return self.objects.kind

    @property
    def ids(self) -> np.ndarray:
        """Ids of the objects in the index, in the order of adding."""
        return self.objects.ids

    def __len__(self) -> int:
        return len(self.objects)

    def __repr__(self) -> str:
        return f"TableIndex({len(self):,} objects, {self.kind})"

    def top(
        self,
        queries: Any,
        k: int = 10,
        *,
        exclude_self: bool = True,
        exclude: Any = None,
        candidates: Any = None,
        order: str = "best",
    ) -> Ranking:
        """The k best objects for each conditioning node, best first, by id. Equal scores are ordered by position.

        Parameters
        ----------
        queries, exclude_self, exclude, candidates, order
            As for `TableRanker.rank`.
        k : int
            Length of a ranking.
        """
        nodes, names = self.ranker.queries_.read(queries, "queries")
        left_out = self._left_out(queries, names, exclude, exclude_self, len(nodes))
        among = None if candidates is None else self._each(candidates, "candidates", strict=True)
        found = self.objects.top(nodes, k, exclude=left_out, candidates=among, order=order)
        return Ranking(found.indices, found.scores, found.ids, names)

    def recall(self, queries: Any, k: int = 10) -> float:
        """Share of the exact k best objects that an approximate index finds, over all given conditioning nodes."""
        return self.objects.recall(self.ranker.queries_.read(queries, "queries")[0], k)

    def add(self, objects: Any) -> None:
        """Add objects: a table with their ids and the columns of training, or ids of known objects.

        Every `top` that begins afterwards finds them. If one cannot be added, none is.
        """
        nodes, ids = self.ranker.objects_.read(objects, "objects")
        if ids is None:
            name = self.ranker.objects_.id_name or "id"
            raise ValueError(f"objects must have ids to be added: give them in a column named {name!r}")
        self.objects.add(nodes, ids=ids_like(ids, self.objects.ids))

    def remove(self, ids: Any) -> None:
        """Remove objects by id. If one of them is not in the index, none is removed."""
        self.objects.remove(self._known(listed_ids(ids), "ids", strict=True))

    def save(self, path: Any, *, columns: bool = True) -> None:
        """Write ranker, encoders and objects to one file of plain arrays. If that fails, an older file stays as it was.

        Parameters
        ----------
        path : path-like
            The file; or a folder (an existing one, or a path with a trailing slash), for ``index.safetensors`` in it.
        columns : bool
            As for `TableRanker.save`. Columns of added objects are not kept, only what the ranker makes of them.
        """
        manifest, named = ranker_state(self.ranker, columns)
        write_file(model_file(path, FILE_NAME), manifest | index_state(self.objects, named), named)

    @classmethod
    def load(cls, path: Any, mmap: bool = False) -> TableIndex:
        """Load a saved index. A truncated, damaged or newer file raises a ValueError.

        Parameters
        ----------
        path, mmap
            As for `ObjectIndex.load`.
        """
        from condrank.tables.ranker import TableRanker

        file = model_file(path, FILE_NAME)
        manifest, arrays = read_file(file, mmap)
        with damage_named(file, "index"):
            held = Held(arrays, mmap)
            ranker = ranker_from(TableRanker, manifest, held)
            index = index_from(ObjectIndex, manifest, held, ranker.ranker_)
            held.check_all_taken("index")
        if index.ids is None:
            raise ValueError(f"{file} has objects without ids; load it with ObjectIndex.load")
        return cls(ranker, index)

    def _left_out(self, queries: Any, names: np.ndarray | None, exclude: Any, exclude_self: bool, n: int) -> Any:
        """Ids of the objects to leave out, for all conditioning nodes or for each."""
        if is_known(exclude):
            each = [self._known(one, "exclude") for one in self.ranker.known_objects(queries)]
        elif exclude is None:
            each = None
        else:
            each = self._each(exclude, "exclude")
        if not exclude_self or names is None or self.ranker.queries_ is not self.ranker.objects_:
            return each
        if each is None or (len(each) and not isinstance(each[0], np.ndarray)):
            each = [as_id_array([] if each is None else each)] * n
        if len(each) != n:
            raise ValueError(f"exclude must have one sequence for each of the {n} queries, got {len(each)}")
        own = [self._known(names[row : row + 1], "exclude") for row in range(n)]
        return [[*one.tolist(), *two.tolist()] for one, two in zip(each, own, strict=True)]

    def _each(self, given: Any, name: str, strict: bool = False) -> Any:
        """Ids as the index has them: a list for all conditioning nodes, or an array for each."""
        if isinstance(given, str | bytes) or not np.iterable(given):
            raise ValueError(f"{name} must be a sequence of objects, or one for each conditioning node, got {given!r}")
        given = list(given)
        if any(isinstance(one, Sequence | set | frozenset | np.ndarray) and not isinstance(one, str) for one in given):
            return [self._known(list(one), name, strict) for one in given]
        return self._known(given, name, strict).tolist()

    def _known(self, given: Any, name: str, strict: bool = False) -> np.ndarray:
        """Ids as the index has them, of those that are in it; if ``strict``, a ValueError for one that is not."""
        names = self._names()
        asked = as_id_array(given) if len(given) else np.empty(0, dtype=object)
        if strict:
            places = names.find(asked, lambda row: f"{name}, position {row}", "object of the index")
        else:
            places = names.places(asked)
        return names.ids[places[places >= 0]]

    def _names(self) -> Ids:
        """Ids of the objects, prepared once for each state of the index."""
        version, named = self.objects.version, self._named
        if named is None or named[0] != version:
            self._named = named = version, Ids(self.objects.ids)
        return named[1]


def ids_like(ids: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Ids in the type of others: a text file has numbers as text, and texts may look like numbers."""
    if ids.dtype.kind == before.dtype.kind or not len(before):
        return ids
    try:
        if before.dtype.kind in "iuf" and ids.dtype.kind in "OU":
            return np.array([before.dtype.type(one) for one in ids.tolist()], dtype=before.dtype)
        if before.dtype.kind in "OU" and all(isinstance(one, str) for one in before.tolist()):
            return np.array([str(one) for one in ids.tolist()], dtype=object)
        return ids.astype(before.dtype)
    except (TypeError, ValueError):
        raise ValueError(
            f"ids must be like those of the index, such as {before.tolist()[0]!r}, got {ids.tolist()[0]!r}"
        ) from None
