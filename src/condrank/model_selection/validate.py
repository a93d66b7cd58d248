"""Cross-validation of a ranker in one of the four settings, or in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning

from condrank.base.checks import check_choice
from condrank.base.warn import warn
from condrank.fitting.judging import NOTHING_TO_RANK, SORTED_NODES, rankable
from condrank.graph import RelationGraph
from condrank.metrics import MEASURES
from condrank.model_selection._splitter import SETTINGS, Splitter, check_graph
from condrank.model_selection.folds import Folds, is_count, rank_by_of, read_folds
from condrank.model_selection.results import CrossValidation, SettingsComparison
from condrank.model_selection.scoring import GraphScorer, is_ours, judged, measures_order, of_queries, suited
from condrank.observations import Edges

Progress = Callable[[int, int | None], None]
Measures = dict[str, Callable[..., Any]]


def cross_validate(
    ranker: Any,
    graph: RelationGraph,
    setting: int = 4,
    *,
    cv: Any = None,
    scoring: Any = "rank_loss",
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> CrossValidation:
    """Fit a clone of the ranker on the training graph of each fold, and measure it on the test graph.

    Parameters
    ----------
    ranker : estimator
        `ConditionalRanker`, a baseline, a pipeline or a search that ends in one: ``fit(graph)`` and
        ``predict(graph)`` are called.
    graph : RelationGraph
        The graph to split.
    setting : {1, 2, 3, 4}
        What is new in a test graph, with conditioning nodes by the ranker's ``rank_by``; see `SettingSplit`.
    cv : int, splitter, or iterable of (training graph, test graph), optional
        Number of folds, by default 5, always the same, so that two rankers are measured on the same folds; or a
        splitter, with its own setting.
    scoring : str, callable, or a list or dict of these
        Names of `condrank.metrics.MEASURES`, scorers of `condrank.metrics.make_scorer` (losses are not negated here),
        or callables of two matrices ``(Y_true, Y_score)``. A callable that takes ``average=None`` like the measures
        also gives values of single conditioning nodes. A callable is called for every fold, also if there is nothing
        to rank.
    n_jobs : int, optional
        Number of folds at a time, in threads. They share the node data, and the linear algebra runs outside the
        interpreter lock.
    progress : callable, optional
        Called as ``progress(n_done, n_folds)`` after each fold; n_folds is None if ``cv`` does not say how many.

    Returns
    -------
    CrossValidation
        ``print`` shows it as a table.

    Notes
    -----
    If the test graph is an edge list and all measures are the library's, only its edges are scored. Otherwise all
    scores of a fold, n_queries × n_objects of its test graph, are in memory while it is measured.

    Examples
    --------
    >>> from condrank import ConditionalRanker
    >>> from condrank.datasets import make_rock_paper_scissors
    >>> from condrank.model_selection import cross_validate
    >>> train, _ = make_rock_paper_scissors(1.0, n_players=40, n_games=400, random_state=0)
    >>> result = cross_validate(ConditionalRanker(relation="reciprocal", kernel="rbf"), train, setting=1)
    >>> result.scores["rank_loss"].shape
    (5,)
    """
    check_graph(graph)
    check_choice("setting", setting, SETTINGS)
    measures = read_scoring(scoring)
    folds = read_folds(cv, graph, ranker, setting, by_rank=any(map(measures_order, measures.values())))
    return measure_folds(ranker, folds, measures, n_jobs, progress)


def cross_validate_settings(
    ranker: Any,
    graph: RelationGraph,
    settings: Iterable[int] = SETTINGS,
    *,
    cv: Any = None,
    scoring: Any = "rank_loss",
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> SettingsComparison:
    """Cross-validate in several settings; ``print`` shows them as one table.

    Parameters are those of `cross_validate`. A splitter given as ``cv`` is used with each setting in turn. In setting 1
    its groups and classes are not used, because they are for nodes.
    """
    check_graph(graph)
    if cv is not None and not is_count(cv) and not isinstance(cv, Splitter):
        raise ValueError(f"cv must be a number of folds or a splitter, to be used in each setting, got {cv!r}")
    chosen = list(settings) if isinstance(settings, Iterable) else []
    if not chosen:
        raise ValueError(f"settings must be a sequence of one or more of {list(SETTINGS)}, got {settings!r}")
    for setting in chosen:
        check_choice("settings", setting, SETTINGS)
    measures = read_scoring(scoring)
    by_rank = any(map(measures_order, measures.values()))
    # All folds are read before any fit, so that errors in the last setting are raised at once.
    folds = {one: read_folds(_in_setting(cv, one), graph, ranker, one, by_rank=by_rank) for one in chosen}
    return SettingsComparison(
        {one: measure_folds(ranker, its_folds, measures, n_jobs, progress) for one, its_folds in folds.items()}
    )


def _in_setting(cv: Any, setting: int) -> Any:
    if not isinstance(cv, Splitter):
        return cv
    return replace(cv, setting=setting, **({"groups": None, "stratify": None} if setting == 1 else {}))


def read_scoring(scoring: Any) -> Measures:
    """The measures to use, by name."""
    if isinstance(scoring, str) or callable(scoring):
        scoring = [scoring]
    if not isinstance(scoring, Iterable):
        raise ValueError(f"scoring must be a measure's name, a callable, or a list or dict of these, got {scoring!r}")
    if isinstance(scoring, Mapping):
        names, chosen = list(scoring), list(scoring.values())
    else:
        chosen = list(scoring)
        names = [one if isinstance(one, str) else getattr(one, "__name__", repr(one)) for one in chosen]
    if not names:
        raise ValueError("scoring must name at least one measure, got none")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"scoring has two measures named {twice[0]!r}: give a dict from names to measures")
    return {name: _measure(one) for name, one in zip(names, chosen, strict=True)}


def _measure(given: Any) -> Callable[..., Any]:
    if isinstance(given, GraphScorer):
        return given.measure
    if callable(given):
        return given
    check_choice("scoring", given, tuple(MEASURES))
    return MEASURES[given]


def measure_folds(
    ranker: Any, folds: Folds, measures: Measures, n_jobs: int | None = None, progress: Progress | None = None
) -> CrossValidation:
    """Fit a clone of the ranker to the training graph of each fold, and measure it on the test graph."""
    rank_by = rank_by_of(ranker)
    run = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    parts = []
    for part in run(delayed(_one_fold)(clone(ranker), train, test, measures, rank_by) for train, test in folds.graphs):
        parts.append(part)
        if progress is not None:
            progress(len(parts), folds.n_folds)
    if not parts:
        raise ValueError("cv has no folds")
    return _put_together(parts, measures, folds.setting)


@dataclass(frozen=True)
class _Fold:
    """The result of one fold: for each measure its value and the values of single conditioning nodes."""

    values: list[float]
    by_query: list[np.ndarray]
    names: np.ndarray
    key: int
    fit_time: float
    score_time: float
    rankable: bool


def _one_fold(ranker: Any, train: RelationGraph, test: RelationGraph, measures: Measures, rank_by: str) -> _Fold:
    start = perf_counter()
    ranker.fit(train)
    fitted = perf_counter()
    queries, objects, relation = test.conditioned(rank_by)
    if all(map(is_ours, measures.values())):
        truth, scores = judged(ranker, test)
    else:  # a user's own measure takes matrices
        truth, scores = relation.to_dense(), ranker.predict(test)
    values, by_query = [], []
    anything = rankable(relation)
    for measure in measures.values():
        measure = suited(measure, ranker, truth)
        # If no query has anything to rank, measures of order are undefined. Others may be defined.
        values.append(float(measure(truth, scores)) if anything or not measures_order(measure) else np.nan)
        by_query.append(of_queries(measure, truth, scores))
    pattern = (relation.indptr, relation.indices) if isinstance(relation, Edges) else (relation.shape,)
    key = 0
    for numbers in (*pattern, queries.positions, objects.positions):
        key = crc32(np.ascontiguousarray(numbers, dtype=np.int64).tobytes(), key)
    names = queries.positions if queries.ids is None else queries.ids
    return _Fold(values, by_query, names, key, fitted - start, perf_counter() - fitted, anything)


def _put_together(parts: list[_Fold], measures: Measures, setting: int | None) -> CrossValidation:
    scores = {name: np.array([part.values[i] for part in parts]) for i, name in enumerate(measures)}
    undefined = all(np.isnan(values).all() for values in scores.values())
    if undefined and any(map(measures_order, measures.values())):
        why = NOTHING_TO_RANK
        if "auc" in measures:
            why = "auc is not defined: no conditioning node has both relevant (above 0) and other objects"
        raise ValueError(
            f"{why} in any fold; use fewer folds, so that each holds out more, or another measure{SORTED_NODES}"
        )
    empty = np.flatnonzero(~np.array([part.rankable for part in parts]))
    if len(empty) and any(map(measures_order, measures.values())):
        warn(
            f"{len(empty)} of {len(parts)} folds have nothing to rank (the first is fold {empty[0]}) and do not count"
            f"{SORTED_NODES}",
            UndefinedMetricWarning,
        )
    queries = {
        "fold": np.repeat(np.arange(len(parts)), [len(part.names) for part in parts]),
        "query": np.concatenate([part.names for part in parts]),
    }
    for i, name in enumerate(measures):
        queries[name] = np.concatenate([part.by_query[i] for part in parts])
    return CrossValidation(
        setting=setting,
        scores=scores,
        queries=queries,
        fit_times=np.array([part.fit_time for part in parts]),
        score_times=np.array([part.score_time for part in parts]),
        fold_keys=np.array([part.key for part in parts]),
    )
