"""What ``cv=`` may be, read the same way wherever folds are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from condrank.graph import RelationGraph
from condrank.model_selection._splitter import Graphs, Splitter
from condrank.model_selection.splits import SettingSplit


def read_folds(
    cv: Any, graph: RelationGraph, ranker: Any, setting: int = 4, random_state: Any = 0
) -> tuple[Iterator[Graphs], int | None, int | None]:
    """Training and test graphs, how many, and the setting if it is known.

    Parameters
    ----------
    cv : int, splitter, iterable of pairs, or None
        A number of folds (None: 5) of the setting; a splitter of this package or of scikit-learn; or pairs of training
        and test graphs, or of positions of nodes.
    graph : RelationGraph
        What is split.
    ranker : object
        Its ``rank_by`` says what a conditioning node is, its ``relation`` what one direction tells of the other.
    setting, random_state
        Of the folds that a number stands for.
    """
    rank_by = getattr(ranker, "rank_by", "outgoing")
    if cv is None or (isinstance(cv, int) and not isinstance(cv, bool)):
        # A ranker that ties the two directions of a pair has seen one when it has seen the other.
        tied = True if getattr(ranker, "relation", "ordinary") in ("symmetric", "reciprocal") else None
        n_splits = 5 if cv is None else cv
        cv = SettingSplit(setting, n_splits, rank_by=rank_by, both_directions=tied, random_state=random_state)
    if isinstance(cv, Splitter):
        if cv.setting in (2, 3) and cv.rank_by != rank_by:
            raise ValueError(f"cv has rank_by={cv.rank_by!r}, but the ranker {rank_by!r}: give both the same")
        return cv.split(graph), cv.get_n_splits(graph), cv.setting
    given: Any = cv
    pairs = given.split(graph) if hasattr(given, "split") else given
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        raise ValueError(f"cv must be a number of folds, a splitter, or pairs of graphs or of positions, got {cv!r}")
    return (_as_graphs(graph, pair) for pair in pairs), None, None


def _as_graphs(graph: RelationGraph, pair: Any) -> Graphs:
    train, test = pair
    return (train, test) if isinstance(train, RelationGraph) else (graph[train], graph[test])
