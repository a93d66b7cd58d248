"""What a choice of λ cannot see: whole new classes, and new nodes on both sides of a pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.warn import warn
from condrank.exceptions import SelectionWarning
from condrank.graph import RelationGraph
from condrank.model_selection._splitter import Splitter
from condrank.model_selection.folds import is_count
from condrank.nodes import Nodes
from condrank.nodes.store import SameBase, recognise
from condrank.observations import Factored
from condrank.rankers.base import Ranker, fitted_of, read_pair


def warn_of_classes(cv: Any, graph: RelationGraph, described: str) -> None:
    """Warn if a graph was made from classes, but what is held out leaves their other members in training.

    The labels are then a function of the classes, and the loss is that of new members of known classes. Folds that are
    given as pairs are not judged.
    """
    observed = graph.relation
    of_classes = isinstance(observed, Factored) and observed.names is not None
    by_single_nodes = cv is None or isinstance(cv, str) or is_count(cv) or isinstance(cv, Splitter)
    if of_classes and by_single_nodes and getattr(cv, "groups", None) is None:
        warn(
            f"λ is chosen by {described}, but the graph was made from classes, whose other members stay in training: "
            "the choice does not see how new classes are ranked. If there will be new classes, hold whole classes out: "
            "cv=SettingSplit(4, groups=labels)",
            SelectionWarning,
        )


class SeenSetting(Ranker):
    """Scores of a ranker whose λ was chosen in a setting; a warning if new nodes are on both sides, and it was not."""

    chosen_by_: str
    cv_setting_: int | None

    def predict(self, queries: Any, objects: Any = None, return_std: bool = False) -> Any:
        """Scores of objects for conditioning nodes, as `ConditionalRanker.predict`."""
        self._warn_of_new(queries, objects)
        options: dict[str, Any] = {"return_std": True} if return_std else {}
        return super().predict(queries, objects, **options)

    def score(self, X: Any, Y: Any = None) -> float:
        """1 - rank loss on all pairs of the given nodes, as `ConditionalRanker.score`."""
        if isinstance(X, RelationGraph):
            self._warn_of_new(X, None)
        return super().score(X, Y)

    def _warn_of_new(self, queries: Any, objects: Any) -> None:
        if getattr(self, "cv_setting_", None) not in (1, 2, 3):
            return
        first, second = read_pair(self, queries, objects)
        model = fitted_of(self).model
        if second is None or not hasattr(model, "rows"):
            return
        if _any_new(first, model.rows.nodes) and _any_new(second, model.cols.nodes):
            warn(
                f"conditioning nodes and objects are both new, but λ was chosen by {self.chosen_by_}, which never has "
                "both; use cv='leave-node-out' or cv=SettingSplit(4)",
                SelectionWarning,
            )


def _any_new(nodes: Nodes, training: Nodes) -> bool:
    """Whether some nodes are new. Features without ids are known if the first of them are among those of training."""
    same = SameBase(training.base) if nodes.base.shape == training.base.shape else None
    if not np.any(recognise(nodes, training, same) < 0):
        return False
    named = nodes.ids is not None and training.ids is not None
    if named or not isinstance(nodes.base, np.ndarray) or not isinstance(training.base, np.ndarray):
        return True
    first, known = nodes.rows[:1], training.rows
    return not (known.shape[1] == first.shape[1] and (known == first).all(axis=1).any())
