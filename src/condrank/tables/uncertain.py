"""How sure a ranker of tables is: standard deviations, probabilities and draws, by ids or columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from condrank.rankers.base import fitted_of
from condrank.rankers.checks import LEARN
from condrank.rankers.uncertain import posterior_of, probability_above, sample
from condrank.tables.known_tables import KnownTables


class UncertainTables(KnownTables):
    """What `condrank.rankers.uncertain.Uncertain` has, for nodes given as for `TableRanker.rank`."""

    @property
    def posterior_(self) -> Any:
        """``posterior_`` of the ranker: noise and scale, and the way variances are computed."""
        check_is_fitted(self, "ranker_")
        return posterior_of(fitted_of(self.ranker_))

    def probability_above(self, queries: Any, first: Any, second: Any) -> np.ndarray:
        """Probability (n,) that ``first[i]`` has a higher score than ``second[i]`` for ``queries[i]``.

        Given as for `rank`; as `ConditionalRanker.probability_above` says.
        """
        check_is_fitted(self, "ranker_")
        nodes = [self.queries_.read(queries, "queries")[0]]
        nodes += [self.objects_.read(one, "objects")[0] for one in (first, second)]
        if len({len(one) for one in nodes}) > 1:
            raise ValueError(f"queries, first and second must be equally many, got {[len(one) for one in nodes]}")
        return probability_above(fitted_of(self.ranker_), *nodes)

    def sample(self, queries: Any, objects: Any = None, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Scores drawn from the posterior, (n_samples, n_queries, n_objects), given as for `rank`."""
        check_is_fitted(self, "ranker_")
        read: Any = self
        first, second = self.queries_.read(queries, "queries")[0], read.read_objects(objects)[0]
        return sample(fitted_of(self.ranker_), first, second, n_samples, random_state)

    def strengths(self, nodes: Any, return_std: bool = False) -> Any:
        """Strength of nodes, given as for `rank`; needs a reciprocal relation learned with ``constant=True``.

        With ``return_std`` also their standard deviations.
        """
        check_is_fitted(self, "ranker_")
        if not hasattr(self.ranker_, "strengths"):
            raise ValueError(f"strengths needs a ConditionalRanker, got {type(self.ranker_).__name__}; {LEARN}")
        return self.ranker_.strengths(self.queries_.read(nodes, "nodes")[0], return_std)
