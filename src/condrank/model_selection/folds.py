"""Reads ``cv=``, in the same way for every function that needs folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from condrank.fitting.judging import NOTHING_TO_RANK
from condrank.graph import RelationGraph
from condrank.model_selection._splitter import Graphs, Splitter
from condrank.model_selection.splits import SettingSplit
from condrank.rankers.base import Ranker, fitted_of


class Folds(NamedTuple):
    """Training and test graphs, their number, and their setting; None if that is not known."""

    graphs: Iterable[Graphs]
    n_folds: int | None
    setting: int | None


def read_folds(
    cv: Any, graph: RelationGraph, ranker: Any, setting: int = 4, random_state: Any = 0, *, by_rank: bool = True
) -> Folds:
    """Training and test graphs, made one at a time. Errors that can be found before are raised at once.

    Parameters
    ----------
    cv : int, splitter, iterable of pairs, or None
        A number of folds (None means 5) of the setting; a splitter of this package or of scikit-learn; or pairs of
        training and test graphs, or of positions of nodes.
    graph : RelationGraph
        The graph to split.
    ranker : object
        Its ``rank_by`` says which nodes are conditioning nodes, its ``relation`` whether one direction of a pair
        determines the other.
    setting, random_state
        Setting and seed of the folds, if ``cv`` is a number.
    by_rank : bool
        Whether the order of objects is measured. Folds with single objects are then useless.
    """
    rank_by = rank_by_of(ranker)
    if cv is None or is_count(cv):
        cv = SettingSplit(setting, 5 if cv is None else cv, rank_by=rank_by, random_state=random_state)
    if isinstance(cv, Splitter):
        return _of_splitter(cv, graph, rank_by, ties_directions(ranker), by_rank)
    given: Any = cv
    pairs = given.split(graph) if hasattr(given, "split") and not isinstance(given, str) else given
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        raise ValueError(f"cv must be a number of folds, a splitter, or pairs of graphs or of positions, got {cv!r}")
    if not isinstance(pairs, Sequence):
        return Folds((_as_graphs(graph, *_as_pair(pair)) for pair in pairs), None, None)
    checked = [_as_pair(pair) for pair in pairs]
    return Folds((_as_graphs(graph, *pair) for pair in checked), len(checked), None)


def is_count(cv: Any) -> bool:
    """Whether ``cv`` is a number of folds."""
    return isinstance(cv, Integral) and not isinstance(cv, bool)


def innermost(ranker: Any, held_as: Sequence[str] = ("estimator", "ranker")) -> Any:
    """The ranker inside pipelines, searches and other estimators that have one as an attribute."""
    while True:
        if hasattr(ranker, "steps"):
            ranker = ranker.steps[-1][1]
        elif held := [name for name in held_as if hasattr(ranker, name)]:
            ranker = getattr(ranker, held[0])
        else:
            return ranker


def scorer_of(ranker: Any, graph: RelationGraph) -> tuple[Any, RelationGraph] | None:
    """The fitted model inside pipelines, tables and searches, and the graph that it gets; None for other rankers."""
    while not isinstance(ranker, Ranker):
        if hasattr(ranker, "steps"):
            graph, ranker = ranker[:-1].transform(graph), ranker[-1]
        elif hasattr(ranker, "encode") and hasattr(ranker, "ranker_"):
            graph, ranker = ranker.encode(graph), ranker.ranker_
        elif hasattr(ranker, "prepared") and hasattr(ranker, "best_ranker_"):
            graph, ranker = ranker.prepared(graph), ranker.best_ranker_
        elif hasattr(ranker, "best_estimator_"):
            ranker = ranker.best_estimator_
        else:
            return None
    return fitted_of(ranker).model, graph


def rank_by_of(ranker: Any) -> str:
    """``rank_by`` of a ranker, also inside pipelines and searches."""
    return getattr(innermost(ranker), "rank_by", "outgoing")


def ties_directions(ranker: Any) -> bool:
    """Whether one direction of a pair determines the other for this ranker."""
    return getattr(innermost(ranker), "relation", "ordinary") in ("symmetric", "reciprocal")


def _of_splitter(cv: Splitter, graph: RelationGraph, rank_by: str, tied: bool, by_rank: bool) -> Folds:
    if cv.setting in (2, 3) and cv.rank_by != rank_by:
        raise ValueError(f"cv has rank_by={cv.rank_by!r}, but the ranker {rank_by!r}: give both the same")
    if by_rank and cv.tests_single_objects(graph):
        raise ValueError(
            f"{NOTHING_TO_RANK} in any fold, because cv leaves one out in setting {cv.setting}; use a number of folds, "
            "groups, or setting 2, where a conditioning node that is left out has all objects to rank"
        )
    if cv.setting == 1 and cv.both_directions is None and tied:
        cv = replace(cv, both_directions=True)
    return Folds(cv.split(graph), cv.get_n_splits(graph), cv.setting)


def _as_pair(given: Any) -> tuple[Any, Any]:
    """A training and a test part: two graphs, or two sets of positions of nodes."""
    try:
        train, test = given
    except (TypeError, ValueError):
        raise ValueError(f"cv must have pairs, of graphs or of positions of nodes, got {given!r}") from None
    graphs = [isinstance(part, RelationGraph) for part in (train, test)]
    if not all(graphs) and (any(graphs) or not all(isinstance(part, slice) or np.ndim(part) == 1 for part in given)):
        kinds = " and ".join(type(part).__name__ for part in (train, test))
        raise ValueError(f"cv must have pairs of two graphs, or of two arrays of positions of nodes, got {kinds}")
    return train, test


def _as_graphs(graph: RelationGraph, train: Any, test: Any) -> Graphs:
    return (train, test) if isinstance(train, RelationGraph) else (graph[train], graph[test])
