"""Measures of a fitted ranker on a graph, and scorers for scikit-learn. Only observed edges are scored and compared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from condrank.base.checks import check_choice
from condrank.fitting.judging import edge_scores
from condrank.graph import RelationGraph
from condrank.metrics import LOWER_IS_BETTER, MEASURES, OF_ORDER
from condrank.metrics.games import accuracy, brier_score, log_loss
from condrank.model_selection.folds import innermost, rank_by_of, scorer_of
from condrank.observations import Edges
from condrank.rankers.base import Ranker
from condrank.rankers.checks import as_graph

Measure = Callable[..., Any]
GAMES = (log_loss, brier_score, accuracy)


def make_scorer(measure: str, **options: Any) -> GraphScorer:
    """A measure as a scorer of rankers on graphs, for ``scoring=`` of scikit-learn and of `cross_validate`.

    Parameters
    ----------
    measure : str
        A name of `condrank.metrics.MEASURES`.
    **options
        Options of the measure, such as ``k=10`` or ``average="macro"``, but not None for ``average``.

    Returns
    -------
    GraphScorer
        Called as ``scorer(ranker, graph)``, or ``scorer(ranker, X, Y)``. Higher is better: losses are negated, as in
        scikit-learn. On an edge list it scores the observed edges only. NaN, with a warning, if the measure is not
        defined on the graph.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV, KFold
    >>> from condrank import ConditionalRanker
    >>> from condrank.datasets import make_digits_task
    >>> from condrank.metrics import make_scorer
    >>> train, test = make_digits_task(n_train=60, n_test=30, random_state=0)
    >>> folds = KFold(3, shuffle=True, random_state=0)
    >>> search = GridSearchCV(
    ...     ConditionalRanker(relation="symmetric"), {"alpha": [0.1, 10.0]}, cv=folds, scoring=make_scorer("ndcg", k=10)
    ... ).fit(train)
    >>> 0.5 < make_scorer("ndcg", k=10)(search, test) <= 1
    True
    """
    check_choice("measure", measure, tuple(MEASURES))
    known = [name for name in signature(MEASURES[measure]).parameters if name not in ("Y_true", "Y_score", "groups")]
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"{measure} has no option {name!r}; its options are {', '.join(known) or 'none'}")
        if name == "average" and value is None:
            raise ValueError("average must combine queries for a scorer, which gives one number, got None")
    return GraphScorer(measure, options)


class GraphScorer:
    """A measure, negated if it is a loss, of a ranker on a graph; `make_scorer` makes it.

    Attributes
    ----------
    measure : callable
        The measure with its options, of ``(Y_true, Y_score)``.
    """

    def __init__(self, name: str, options: dict[str, Any]):
        self.__name__ = name
        self.options = options

    @property
    def measure(self) -> Measure:
        """The measure with its options."""
        return partial(MEASURES[self.__name__], **self.options) if self.options else MEASURES[self.__name__]

    def __call__(self, ranker: Any, X: Any, Y: Any = None) -> float:
        """The score of a fitted ranker on a graph, or on features and relation values."""
        graph = as_graph(X, Y)
        truth, scores = judged(ranker, graph)
        value = float(suited(self.measure, ranker, truth)(truth, scores))
        return -value if self.__name__ in LOWER_IS_BETTER else value

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"make_scorer({self.__name__!r}{options})"


def judged(ranker: Any, graph: RelationGraph) -> tuple[Any, Any]:
    """Labels and scores of a graph, with conditioning nodes as rows, in a form that every measure takes.

    Sparse arrays of the observed edges, if the graph is an edge list and the ranker is one of the library's, in
    pipelines, tables and searches too: O(n_pairs). Otherwise matrices of all pairs.
    """
    rank_by = rank_by_of(ranker)
    found = scorer_of(ranker, graph) if isinstance(graph.relation, Edges) else None
    if found is None:
        return graph.conditioned(rank_by).observed.to_dense(), ranker.predict(graph)
    scorer, encoded = found
    given: Any = encoded.conditioned(rank_by)
    observed = given.observed
    return observed.matrix(observed.values), observed.matrix(edge_scores(scorer, given))


def suited(measure: Measure, ranker: Any, truth: Any) -> Measure:
    """The measure, on the scale of the ranker's scores if it is a measure of games and no scale is given."""
    func, given = (measure.func, measure.keywords) if isinstance(measure, partial) else (measure, {})
    if func not in GAMES or "scale" in given:
        return measure
    return partial(measure, scale=_scale(ranker, truth))


def _scale(ranker: Any, truth: Any) -> str:
    """What the scores of a fitted ranker are, for measures of games with these outcomes."""
    # A search may have found another loss than it was given, or a baseline; tables may have been given no ranker.
    fitted: Any = _fitted_inside(ranker)
    inner: Any = fitted if isinstance(fitted, Ranker) else innermost(ranker)
    if getattr(inner, "loss", None) == "logistic":
        return "log-odds"
    model = getattr(getattr(fitted, "fitted_", None), "model", None)
    if getattr(model, "offset", 0.0):
        return "probability"
    labels = truth.data if sparse.issparse(truth) else truth
    negative = np.fmin.reduce(labels, axis=None, initial=0.0) < 0
    return "outcome" if negative or getattr(inner, "relation", None) == "reciprocal" else "probability"


def _fitted_inside(ranker: Any) -> BaseEstimator | None:
    return innermost(ranker, ("ranker_", "best_ranker_", "best_estimator_"))


def of_queries(measure: Measure, truth: Any, scores: Any) -> np.ndarray:
    """The measure of each conditioning node; NaN for one that has no ``average``."""
    if "average" in signature(measure).parameters:
        return np.asarray(measure(truth, scores, average=None), dtype=np.float64)
    return np.full(truth.shape[0], np.nan)


def is_ours(measure: Measure) -> bool:
    """Whether a measure is one of the library's, or a `functools.partial` of one."""
    return _name(measure) is not None


def measures_order(measure: Measure) -> bool:
    """Whether it is one of the library's that are not defined if no conditioning node has anything to rank."""
    return _name(measure) in OF_ORDER


def _name(measure: Measure) -> str | None:
    func = measure.func if isinstance(measure, partial) else measure
    return next((name for name, one in MEASURES.items() if one is func), None)
