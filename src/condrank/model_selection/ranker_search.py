"""RankerSearch: chooses how to rank, judged on holdouts of the setting that is asked for, beside baselines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from condrank.base.checks import check_choice, check_count, check_number
from condrank.base.warn import warn
from condrank.graph import RelationGraph
from condrank.model_selection._splitter import SETTINGS
from condrank.model_selection.deciding import chosen_params
from condrank.model_selection.holdouts import AUTO, FEWEST_HOLDOUTS
from condrank.model_selection.judging import quiet
from condrank.model_selection.leaderboard import LeaderboardRow
from condrank.model_selection.prepared import PreparedRanker
from condrank.model_selection.search import ConditionalRankerCV
from condrank.model_selection.searching import Searching
from condrank.rankers.base import fitted_of
from condrank.rankers.checks import LEARN, as_graph
from condrank.rankers.conditional import ConditionalRanker
from condrank.rankers.explained import Explained
from condrank.rankers.saving import Saved
from condrank.rankers.suggesting import Suggesting
from condrank.rankers.uncertain import Uncertain


class RankerSearch(Saved, Uncertain, Explained, Suggesting):
    """Choose how to rank, step by step, by the rank loss on holdouts of the setting that is asked for.

    The steps: baselines; kernel and preparation of the features; similarity prior; means of known nodes; compared
    features; constant; loss; widths, or powers of kernels; weights of views; identities of known nodes; logistic loss
    of games; kernels of pairs; feature weights; two-step ridge with other kernels, on complete graphs. λ is chosen for
    every candidate. A step is taken if it lowers the loss by more than one standard error of the paired difference; of
    candidates that are not worse than the best by more than one standard error, the simplest is taken. Those that may
    be the best are judged on more holdouts before. If nothing that was learned is better than every baseline (by one
    standard error, if that is simpler) and surely better than guessing, the best baseline is returned, and
    ``summary_`` says so.

    A share of the nodes is reserved: no choice sees them, and ``loss_`` is measured on them. The chosen ranker is then
    fitted to the whole graph.

    Parameters
    ----------
    ranker : ConditionalRanker, optional
        Its relation, loss and ``rank_by`` are kept, and it is a candidate itself. By default relation and first loss
        are those that `condrank.diagnose` recommends, and other losses are tried.
    setting : {1, 2, 3, 4}
        What will be new when the ranker is used: only the edge, the conditioning node, the object, or both nodes.
    n_holdouts : int or "auto"
        Number of holdouts on which every candidate is judged, at least 3. "auto": from 3 to 16, more where candidates
        are cheap beside the time limit (beside a minute without one), by a count of operations. Each holds out a third
        of the nodes, or a quarter if there are at least 6.
    time_limit : float, optional
        Seconds for everything, also the last fit. The next candidate is tried only if there is time for it and for the
        last fits, by what the candidates before it took.
    baselines : bool
        Whether baselines are candidates.
    max_nodes : int
        A holdout is taken from at most so many nodes of each side, drawn at random for each holdout.
    callback : callable, optional
        Called with a `LeaderboardRow` whenever a candidate was judged.
    verbose : bool
        Print these rows to the standard error stream.
    random_state : int, RandomState instance or None
        Seed of all draws.

    Attributes
    ----------
    best_ranker_ : ConditionalRanker, PreparedRanker, TwoStepRidge or a baseline
        The chosen ranker, fitted to the whole graph.
    best_params_ : dict
        Its parameters that differ from the defaults, and the preparation of its features.
    leaderboard_ : Leaderboard
        All candidates that were judged, the best first.
    loss_, loss_error_ : float
        Rank loss on the reserved part, which no choice has seen, and its standard error over conditioning nodes (over
        groups if these were held out); NaN if nothing could be held out.
    summary_ : str
        One sentence: what was chosen, and what it gains over the best baseline.
    learned_ : bool
        False if a baseline is returned.
    held_out_by_ : {"nodes", "groups", "classes", "edges"}
        What was held out whole.
    n_holdouts_ : int
        Number of holdouts on which every candidate was judged; 0 if nothing could be held out.

    Examples
    --------
    >>> from condrank.datasets import make_digits_task
    >>> from condrank.model_selection import RankerSearch
    >>> train, test = make_digits_task(n_train=100, n_test=50, random_state=0)
    >>> search = RankerSearch(random_state=0).fit(train)
    >>> search.held_out_by_, search.score(test) > 0.5
    ('classes', True)
    """

    best_ranker_: Any

    def __init__(
        self,
        ranker: Any = None,
        *,
        setting: int = 4,
        n_holdouts: int | str = AUTO,
        time_limit: float | None = None,
        baselines: bool = True,
        max_nodes: int = 1500,
        callback: Callable[[LeaderboardRow], None] | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ):
        self.ranker = ranker
        self.setting = setting
        self.n_holdouts = n_holdouts
        self.time_limit = time_limit
        self.baselines = baselines
        self.max_nodes = max_nodes
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, Y: Any = None, groups: Any = None) -> RankerSearch:
        """Search, then fit the chosen ranker to the whole graph.

        Parameters
        ----------
        X : RelationGraph, or array-like or scipy sparse array of shape (n_nodes, n_features)
            A graph; or features.
        Y : array-like or scipy sparse array of shape (n_nodes, n_nodes), optional
            Relation values if X is features.
        groups : array-like with an entry for each node, or dict from id to group, optional
            Groups of nodes that are held out whole (settings 2 to 4); for two domains a pair, for the conditioning
            nodes and the objects, None for a side without groups. By default the classes of a graph that was made from
            classes, if there are enough of them.
        """
        graph = as_graph(X, Y)
        self._check(graph)
        state = Searching(self, graph, groups)
        with quiet():
            try:
                state.search()
            except KeyboardInterrupt:
                warn("the search was interrupted: the best candidate so far is fitted", UserWarning)
            chosen = state.chosen()
            self.loss_, self.loss_error_ = state.reserved_loss(chosen)
            last = state.final(chosen, graph)
        self.best_ranker_ = last.fit(graph)
        self.learned_, self.held_out_by_ = not chosen.is_baseline, state.holdouts.by
        self.n_holdouts_ = 0 if state.judge is None else len(state.judge)
        self.best_params_ = {"preparation": chosen.preparation} | chosen_params(chosen.ranker)
        self.leaderboard_ = state.decision.leaderboard(chosen)
        self.summary_ = state.decision.summary(chosen, self.loss_, state.holdouts.by)
        self._keep(fitted_of(self.best_ranker_))
        return self

    @property
    def rank_by(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The edges that the ranker ranks by."""
        return "outgoing" if self.ranker is None else self.ranker.rank_by

    @property
    def relation(self) -> str:
        """The relation of the chosen ranker; "ordinary" for a baseline and for two-step ridge, which have none."""
        return getattr(vars(self).get("best_ranker_", self.ranker), "relation", "ordinary")

    @property
    def loss(self) -> str | None:
        """The loss of the chosen ranker; None for a baseline and for two-step ridge."""
        return getattr(vars(self).get("best_ranker_", self.ranker), "loss", None)

    @available_if(lambda self: self.loss == "logistic")
    def predict_proba(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Probability that each conditioning node beats each object, if the chosen ranker has the logistic loss."""
        return self.best_ranker_.predict_proba(queries, objects)

    @available_if(lambda self: hasattr(vars(self).get("best_ranker_"), "strengths"))
    def strengths(self, nodes: Any, return_std: bool = False) -> Any:
        """Strengths of nodes, as `ConditionalRanker.strengths`."""
        return self.best_ranker_.strengths(nodes, return_std)

    def predict_interval(
        self, queries: Any, objects: Any = None, coverage: float = 0.9
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ends of intervals for labels, as `ConditionalRanker.predict_interval`, if the chosen ranker has them."""
        fitted_of(self)
        if not hasattr(self.best_ranker_, "predict_interval"):
            instead = LEARN
            if isinstance(self.best_ranker_, PreparedRanker):
                instead = "use predict(..., return_std=True), or prepare the features and fit one with best_params_"
            raise ValueError(
                f"intervals need a ConditionalRanker on features as they are given, but the search has chosen a "
                f"{type(self.best_ranker_).__name__}; {instead}"
            )
        return self.best_ranker_.predict_interval(queries, objects, coverage)

    def to_state(
        self, training: bool = False, uncertainty: bool | None = None
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The state of the chosen ranker; the leaderboard is not kept."""
        fitted_of(self)
        return self.best_ranker_.to_state(training, uncertainty)

    def _check(self, graph: RelationGraph) -> None:
        check_choice("setting", self.setting, SETTINGS)
        if self.n_holdouts != AUTO and check_count("n_holdouts", self.n_holdouts) < FEWEST_HOLDOUTS:
            raise ValueError(
                f"n_holdouts must be {AUTO!r} or at least {FEWEST_HOLDOUTS}, because one or two choose badly, got "
                f"{self.n_holdouts}"
            )
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0.0)
        check_count("max_nodes", self.max_nodes, 10)
        if self.ranker is not None and (
            not isinstance(self.ranker, ConditionalRanker) or isinstance(self.ranker, ConditionalRankerCV)
        ):
            raise ValueError(f"ranker must be a ConditionalRanker, whose parameters are searched, got {self.ranker!r}")
        if graph.n_edges == 0:
            raise ValueError("the graph has no observed edge: there is nothing to learn from")
