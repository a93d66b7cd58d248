"""Judges the candidates of a search on the same held-out nodes: losses, and paired differences with standard errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from condrank.base.arrays import check_features
from condrank.exceptions import RelationWarning
from condrank.fitting.judging import NOTHING_TO_RANK, rankable
from condrank.graph import RelationGraph
from condrank.graph.transformer import NodeTransformer
from condrank.model_selection._splitter import Graphs
from condrank.model_selection.fold import Fold
from condrank.model_selection.held_out import in_dtype
from condrank.model_selection.relevance import changed
from condrank.rankers.checks import as_graph
from condrank.rankers.ranking import Ranking

PREPROCESSING = ("raw", "standard", "quantile")
# Largest number of quantiles of a feature.
N_QUANTILES = 1000


@dataclass(frozen=True)
class Candidate:
    """A ranker that is not fitted, and how features are prepared for it, one of `PREPROCESSING`."""

    preprocessing: str
    ranker: Any

    def with_params(self, **params: Any) -> Candidate:
        """The same with some of the ranker's parameters changed."""
        return Candidate(self.preprocessing, changed(self.ranker, **params))


@dataclass(frozen=True)
class Judged:
    """A candidate, and its numbers of wrongly ordered and comparable pairs for each held-out conditioning node."""

    candidate: Candidate
    wrong: np.ndarray
    comparable: np.ndarray

    @property
    def loss(self) -> float:
        """Rank loss, pooled over conditioning nodes."""
        return float(self.wrong.sum() / self.comparable.sum())

    def against(self, other: Judged) -> tuple[float, float]:
        """Difference of the two losses and its standard error, from paired differences of conditioning nodes."""
        change, total = self.wrong - other.wrong, self.comparable.sum()
        difference = float(change.sum() / total)
        spread = change - difference * self.comparable
        return difference, float(np.sqrt(spread @ spread) / total)


@dataclass(frozen=True)
class Step:
    """A step of the search: the best candidate that was tried, and whether it was kept.

    Attributes
    ----------
    name : str
        What was searched; "check" for the final checks on reserved nodes.
    params : dict
        Parameters of the best candidate that differ from those of the candidate before.
    loss : float
        Its held-out rank loss.
    difference, standard_error : float
        Difference of its loss from that of the candidate before, paired by conditioning node.
    accepted : bool
        Whether it was kept.
    """

    name: str
    params: dict[str, Any]
    loss: float
    difference: float
    standard_error: float
    accepted: bool

    @classmethod
    def of(cls, name: str, found: Judged, before: Judged | None, given: Any, accepted: bool) -> Step:
        """A candidate that was found, compared with the one before or, if it is the first, with the given ranker."""
        difference, error = (0.0, 0.0) if before is None else found.against(before)
        old = given if before is None else before.candidate.ranker
        params = differing(old.get_params(deep=False), found.candidate.ranker.get_params(deep=False))
        if before is None or before.candidate.preprocessing != found.candidate.preprocessing:
            params = {"preprocessing": found.candidate.preprocessing} | params
        return cls(name, params, found.loss, difference, error, bool(accepted))


def differing(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Parameters that differ, except for the tolerance, which the search sets."""
    return {
        name: value
        for name, value in new.items()
        if name != "tol" and not np.array_equal(np.asarray(value, object), np.asarray(old[name], object))
    }


class Judge:
    """Training graphs and graphs of held-out nodes, prepared once for each preprocessing.

    Parameters
    ----------
    splits : iterable of (training graph, test graph)
        The holdouts. Those with nothing to rank are left out; a ValueError if none is left.
    rank_by : {"outgoing", "incoming"}
        ``rank_by`` of the rankers to judge.
    dtype : dtype, optional
        Floating type of the computation; by default that of the nodes.
    """

    def __init__(self, splits: Iterable[Graphs], rank_by: str = "outgoing", dtype: Any = None):
        self.splits = [
            pair if dtype is None else (in_dtype(pair[0], dtype), in_dtype(pair[1], dtype))
            for pair in splits
            if rankable(pair[1].relation if rank_by == "outgoing" else pair[1].relation.transpose())
        ]
        if not self.splits:
            raise ValueError(f"{NOTHING_TO_RANK} among held-out nodes; the search needs more nodes or edges")
        self._prepared: dict[str, list[Graphs]] = {}

    def prepared(self, preprocessing: str) -> list[Graphs]:
        """The splits with transformed features; each transformation is fitted to its training nodes."""
        if preprocessing not in self._prepared:
            self._prepared[preprocessing] = [prepare(preprocessing, *pair)[1:] for pair in self.splits]
        return self._prepared[preprocessing]

    def judge(self, candidate: Candidate, alphas: Sequence[float], n_splits: int | None = None) -> Judged:
        """The candidate with the λ that has the lowest loss on the first ``n_splits`` holdouts (all by default)."""
        alphas = sorted(alphas, reverse=True)
        ranker = changed(candidate.ranker, alpha=alphas[0])
        taus = [0.0 if ranker.prior is None else ranker.prior_weight]
        counts = np.concatenate(
            [
                Fold(ranker, train, test, taus, alphas).counts_by_query(np.array(alphas))[0]
                for train, test in self.prepared(candidate.preprocessing)[:n_splits]
            ],
            axis=1,
        )
        judged = [
            Judged(candidate.with_params(alpha=alpha), *of_alpha.T)
            for alpha, of_alpha in zip(alphas, counts, strict=True)
        ]
        return min(judged, key=lambda one: one.loss)


class PreparedRanker(MetaEstimatorMixin, BaseEstimator):
    """Predictions of a fitted search: by its best ranker, on features prepared by its transformer.

    Subclasses have the given ``ranker``, and fit ``best_ranker_``, ``transformer_`` and ``_dtype``, the floating type
    of the training nodes.
    """

    ranker: Any
    best_ranker_: Any
    transformer_: NodeTransformer | None
    _dtype: Any

    @property
    def relation(self) -> Any:
        """The relation of the ranker."""
        return self.ranker.relation

    @property
    def rank_by(self) -> Any:
        """The edges that the ranker ranks by."""
        return self.ranker.rank_by

    def predict(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Scores, as `ConditionalRanker.predict`."""
        return self._best().predict(*self._prepared(queries, objects))

    def predict_edges(self, queries: Any, objects: Any) -> np.ndarray:
        """Scores of aligned pairs, as `ConditionalRanker.predict_edges`."""
        return self._best().predict_edges(*self._prepared(queries, objects))

    @available_if(lambda self: self.ranker.loss == "logistic")
    def predict_proba(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Probabilities, as `ConditionalRanker.predict_proba`; loss="logistic" only."""
        return self._best().predict_proba(*self._prepared(queries, objects))

    def rank(self, queries: Any, objects: Any = None, top: int = 10) -> Ranking:
        """Rankings, as `ConditionalRanker.rank`."""
        return self._best().rank(*self._prepared(queries, objects), top=top)

    def score(self, X: Any, Y: Any = None) -> float:
        """1 - rank loss, as `ConditionalRanker.score`."""
        return self._best().score(self.prepared(as_graph(X, Y)))

    def prepared(self, graph: RelationGraph) -> RelationGraph:
        """The graph with its features prepared for the best ranker."""
        return self._prepared(graph, None)[0]

    def _best(self) -> Any:
        check_is_fitted(self, "best_ranker_")
        return self.best_ranker_

    def _prepared(self, queries: Any, objects: Any) -> tuple[Any, Any]:
        if self.transformer_ is None:
            return queries, objects
        first = self._transformed(queries, "queries")
        if objects is None or objects is queries:
            return first, None if objects is None else first
        return first, self._transformed(objects, "objects")

    def _transformed(self, given: Any, name: str) -> Any:
        """Features transformed in the floating type of training, so that equal features stay equal."""
        assert self.transformer_ is not None
        if isinstance(given, RelationGraph):
            return self.transformer_.transform(in_dtype(given, self._dtype))
        return self.transformer_.transform(check_features(given, name).astype(self._dtype, copy=False))


_lock, _searches, _filters = Lock(), 0, ExitStack()


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore ConvergenceWarning, as the fits of a search need not converge, and RelationWarning: the last fit warns.

    Warning filters apply to the whole process, and searches may run in threads. So the first search sets the filter and
    the last one removes it.
    """
    global _searches
    with _lock:
        if _searches == 0:
            _filters.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", RelationWarning)
        _searches += 1
    try:
        yield
    finally:
        with _lock:
            _searches -= 1
            if _searches == 0:
                _filters.close()


def ways_for(graph: RelationGraph, preprocessing: Sequence[str]) -> list[str]:
    """The preprocessing that suits a graph. scikit-learn has quantiles of sparse features only if none is negative."""
    return [way for way in preprocessing if way != "quantile" or not sparse.issparse(graph.nodes.base)]


def prepare(preprocessing: str, train: RelationGraph, *others: RelationGraph) -> tuple[Any, ...]:
    """A transformer fitted to the training nodes (None for raw features), and the transformed graphs."""
    if preprocessing == "raw":
        return None, train, *others
    if preprocessing == "standard":
        # Centring would fill the zeros of sparse features.
        scaler = StandardScaler(with_mean=not sparse.issparse(train.nodes.base))
    else:
        scaler = QuantileTransformer(n_quantiles=min(N_QUANTILES, len(train)), random_state=0)
    transformer = NodeTransformer(scaler).fit(train)
    return transformer, *(transformer.transform(graph) for graph in (train, *others))
