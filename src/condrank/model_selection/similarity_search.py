"""The former name of `RankerSearch`, for one more release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.base import MetaEstimatorMixin

from condrank.base.warn import warn
from condrank.model_selection.holdouts import FEWEST_HOLDOUTS
from condrank.model_selection.leaderboard import LeaderboardRow
from condrank.model_selection.prepared import PreparedRanker
from condrank.model_selection.ranker_search import RankerSearch


class SimilaritySearch(MetaEstimatorMixin, RankerSearch):
    """Deprecated: `RankerSearch` without baselines, for setting 4.

    Parameters
    ----------
    ranker : ConditionalRanker
        As for `RankerSearch`.
    n_splits : int
        ``n_holdouts`` of `RankerSearch`; fewer than three count as three.
    max_nodes, callback, random_state
        As for `RankerSearch`; the callback gets rows of the leaderboard.
    preprocessing, kernels, max_compared, n_steps, margin, tol
        Without effect: what is tried does not depend on them any more.

    Attributes
    ----------
    history_ : list of LeaderboardRow
        The leaderboard.
    transformer_ : PreparedRanker or None
        The best ranker if it prepares features, otherwise None.
    """

    setting, time_limit, baselines, verbose = 4, None, False, False  # pyright: ignore

    def __init__(
        self,
        ranker: Any,
        *,
        preprocessing: Sequence[str] = ("raw", "standard", "quantile"),
        kernels: Sequence[str] = ("rbf", "laplacian", "linear"),
        max_compared: int = 2,
        n_steps: int = 30,
        n_splits: int = 3,
        max_nodes: int = 300,
        margin: float = 1.0,
        tol: float = 1e-4,
        callback: Callable[[Any], None] | None = None,
        random_state: Any = None,
    ):
        self.ranker = ranker
        self.preprocessing = preprocessing
        self.kernels = kernels
        self.max_compared = max_compared
        self.n_steps = n_steps
        self.n_splits = n_splits
        self.max_nodes = max_nodes
        self.margin = margin
        self.tol = tol
        self.callback = callback
        self.random_state = random_state

    @property
    def n_holdouts(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of holdouts: ``n_splits``, at least three."""
        return max(FEWEST_HOLDOUTS, self.n_splits)

    def fit(self, X: Any, Y: Any = None, groups: Any = None) -> SimilaritySearch:
        """Search, as `RankerSearch.fit`."""
        warn("SimilaritySearch is now RankerSearch, and will be removed in the next release", FutureWarning)
        super().fit(X, Y, groups)
        return self

    @property
    def history_(self) -> list[LeaderboardRow]:
        """The rows of the leaderboard."""
        return list(self.leaderboard_)

    @property
    def transformer_(self) -> PreparedRanker | None:
        """The best ranker if it prepares features, otherwise None."""
        return self.best_ranker_ if isinstance(self.best_ranker_, PreparedRanker) else None
