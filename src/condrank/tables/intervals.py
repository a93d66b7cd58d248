"""Intervals and suggestions of a ranker of tables, by id or by columns."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from condrank.graph import RelationGraph
from condrank.rankers.checks import LEARN
from condrank.rankers.intervals import Intervals, interval, known_nodes
from condrank.rankers.suggesting import Suggestions, suggest
from condrank.tables.known_tables import KnownTables


class TableIntervals(KnownTables):
    """The intervals of a `condrank.TableRanker`."""

    def predict_interval(
        self, queries: Any, objects: Any = None, coverage: float = 0.9
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends of intervals for the labels of pairs, two arrays (n_queries, n_objects); given as for `predict`.

        As `ConditionalRanker.predict_interval`. A node with the id of a training node counts as known. Nodes are left
        out of the ranker, not of the encoders, which have seen the columns of all training nodes (no labels).
        """
        ranker = self._with_intervals()
        read: Any = self
        if isinstance(queries, RelationGraph):
            return ranker.predict_interval(read.encode(queries), objects, coverage)
        first, _ = self.queries_.read(queries, "queries")
        known = known_nodes(ranker, first, read.read_objects(objects)[0])
        return interval(ranker, read.predict(queries, objects), known[0][:, None], known[1][None, :], coverage)

    def calibrate(self, graph: RelationGraph | None = None, **options: Any) -> Self:
        """Make the left-out residuals of `predict_interval` now, as `ConditionalRanker.calibrate` does.

        They are saved with the model. A graph with other nodes is encoded like the training nodes.
        """
        ranker = self._with_intervals()
        ranker.calibrate(None if graph is None else self.encode(graph), **options)  # type: ignore[attr-defined]
        return self

    def suggest_edges(
        self,
        n: int = 10,
        *,
        by: str = "variance",
        queries: Any = None,
        objects: Any = None,
        cost: Any = None,
        max_pairs: int = 1000,
        random_state: Any = None,
    ) -> Suggestions:
        """Pairs to measure next, by id, as `ConditionalRanker.suggest_edges`; nodes are given as for `predict`."""
        ranker = self._with_intervals("suggestions")
        first = self.queries_.nodes if queries is None else self.queries_.read(queries, "queries")[0]
        second = self.objects_.nodes if objects is None else self.objects_.read(objects, "objects")[0]
        return suggest(ranker, n, by, first, second, cost, max_pairs, random_state)

    def _with_intervals(self, what: str = "intervals") -> Intervals:
        check_is_fitted(self, "ranker_")
        ranker = getattr(self.ranker_, "best_ranker_", self.ranker_)  # what a search has chosen
        if not isinstance(ranker, Intervals):
            raise ValueError(f"{what} need a ConditionalRanker, got {type(ranker).__name__}; {LEARN}")
        return ranker
