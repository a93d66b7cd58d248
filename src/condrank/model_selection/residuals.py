"""Residuals of pairs by models from which they were left out: exact shortcuts where there are any, folds elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from condrank.exceptions import RelationWarning
from condrank.fitting.judging import edge_scores
from condrank.fitting.reading import read_settings
from condrank.fitting.residuals import Residuals, residuals_of
from condrank.graph import RelationGraph
from condrank.graph.relation_graph import Conditioned
from condrank.model_selection.left_out import has_closed_form, left_out_scores
from condrank.model_selection.splits import SettingSplit
from condrank.observations.edges import all_edges
from condrank.problem.problem import Problem

#: The largest slope of recalibrated log-odds, for games that are all predicted.
STEEPEST = 50.0


class Pairs(NamedTuple):
    """Left-out pairs of a setting: numbers of their nodes in the whole graph, labels, weights and scores."""

    setting: int
    queries: np.ndarray
    objects: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    scores: np.ndarray


def left_out_residuals(
    ranker: Any, graph: RelationGraph, settings: Sequence[int], n_splits: int, random_state: Any
) -> dict[int, Residuals]:
    """Residuals of the observed pairs of a graph in some settings, each by a model that was fitted without the pair.

    On complete graphs with the regression loss, one edge (setting 1) or one node (settings 2 and 3) is left out at a
    time, by exact shortcuts that cost a few fits in all. Otherwise, and for setting 4 always, ``n_splits`` folds are
    left out, one fit each: folds of edges for setting 1, folds of nodes (of both domains at once, if there are two)
    for the other settings together. Loops are not counted.

    Parameters
    ----------
    ranker : ConditionalRanker
        Its parameters are used; it is not fitted itself.
    graph : RelationGraph
        The graph that it learned from.
    settings : sequence of {1, 2, 3, 4}
        What is new in a pair.
    n_splits : int
        Number of folds; fewer if there are fewer nodes.
    random_state : int, RandomState instance or None
        Seed of the folds.
    """
    made: dict[int, Residuals] = {}
    if ranker.loss == "regression" and has_closed_form(Problem(graph, read_settings(ranker, graph, draw=False))):
        for setting in set(settings) - {4}:
            made[setting] = _by_shortcut(ranker, graph, setting)
        shortcuts = {1, 2, 3}
    else:
        shortcuts = set()
    left = set(settings) - set(made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)  # the fit to the whole graph has warned
        if 1 in left:
            folds = _edges_out(ranker, graph, n_splits, random_state)
            made |= _gathered(folds, graph, f"{n_splits} folds of edges")
        if left - {1}:
            n_folds = min(n_splits, *graph.shape)
            # The fits for one of these settings serve all of them.
            folds = _nodes_out(ranker, graph, {2, 3, 4} - shortcuts, n_folds, random_state)
            made |= _gathered(folds, graph, f"{n_folds} folds of nodes")
    missing = sorted(set(settings) - set(made))
    if missing:
        raise ValueError(
            f"no observed pair can be left out for setting {missing[0]}: the graph has too few edges among "
            f"{n_splits} folds of its nodes; use fewer n_splits, or calibrate with a graph of other nodes"
        )
    return made


def _by_shortcut(ranker: Any, graph: RelationGraph, setting: int) -> Residuals:
    """Residuals of a complete graph, one edge or one node left out at a time."""
    one_node = "leave-query-out" if graph.is_two_domain else "leave-node-out"
    cv = "leave-edge-out" if setting == 1 else one_node
    if setting == 3:
        # A new object is a new conditioning node of the reversed relation, and regression is the same for both.
        turned = "incoming" if ranker.rank_by == "outgoing" else "outgoing"
        scores = left_out_scores(ranker.__class__(**ranker.get_params(deep=False) | {"rank_by": turned}), graph, cv).T
    else:
        scores = left_out_scores(ranker, graph, cv)
    labels = graph.conditioned(ranker.rank_by).observed.to_dense()
    counted = np.ones(labels.shape, dtype=bool)
    if not graph.is_two_domain:
        np.fill_diagonal(counted, False)
    queries, objects = np.nonzero(counted)
    pairs = Pairs(setting, queries, objects, labels[counted], np.ones(len(queries)), scores[counted])
    return _gathered([pairs], graph, cv)[setting]


def _edges_out(ranker: Any, graph: RelationGraph, n_splits: int, random_state: Any) -> Iterator[Pairs]:
    """Folds of observed edges; both directions of a pair together, if one tells the other."""
    together = None if ranker.relation == "ordinary" else True
    split = SettingSplit(1, n_splits, both_directions=together, rank_by=ranker.rank_by, random_state=random_state)
    whole = (np.arange(graph.shape[0]), np.arange(graph.shape[1]))
    for train, test in split.split(graph):
        yield _judged(ranker.fit(train), test, 1, whole)


def _nodes_out(
    ranker: Any, graph: RelationGraph, settings: set[int], n_folds: int, random_state: Any
) -> Iterator[Pairs]:
    """Folds of nodes. One fit without a fold's rows and columns serves settings 2, 3 and 4."""
    if n_folds < 2:
        raise ValueError(f"left-out residuals need at least 2 nodes on each side, got {graph!r}")
    random = np.random.default_rng(random_state if random_state is None or isinstance(random_state, int) else None)
    orders = [random.permutation(n) for n in graph.shape[: 1 + graph.is_two_domain]]
    for fold in range(n_folds):
        sides = [(np.sort(np.delete(o, np.s_[fold::n_folds])), np.sort(o[fold::n_folds])) for o in orders]
        rows, cols = sides[0], sides[-1]
        train = graph.cut(rows[0], rows[0] if cols is rows else cols[0])
        if train.n_edges == 0:
            raise ValueError(
                f"no observed edge is left without fold {fold} of {n_folds} folds of the nodes: calibrate with a graph "
                "of other nodes, or use more n_splits"
            )
        fitted = ranker.fit(train)
        for setting in sorted(settings):
            new_query, new_object = setting in (2, 4), setting in (3, 4)
            new = (new_query, new_object) if ranker.rank_by == "outgoing" else (new_object, new_query)
            chosen = rows[int(new[0])], cols[int(new[1])]
            yield _judged(fitted, graph.cut(*chosen), setting, chosen)


def _judged(fitted: Any, test: RelationGraph, setting: int, chosen: tuple[np.ndarray, np.ndarray]) -> Pairs:
    """Residuals of the edges of a test graph, whose rows and columns are those that were chosen."""
    queries, objects, observed = test.conditioned(fitted.rank_by)
    first, second = chosen if fitted.rank_by == "outgoing" else chosen[::-1]
    edges = all_edges(observed)
    if edges.n_pairs == 0:
        return Pairs(setting, first[:0], second[:0], *[np.empty(0)] * 3)
    scores = edge_scores(fitted.fitted_.model, Conditioned(queries, objects, edges))
    return Pairs(setting, first[edges.sources], second[edges.indices], edges.values, edges.weights, scores)


def _gathered(parts: Any, graph: RelationGraph, made_by: str) -> dict[int, Residuals]:
    """The distributions of the pairs of all folds, by setting, without loops."""
    one_domain, found = not graph.is_two_domain, {}
    listed = list(parts)
    for setting in sorted({part.setting for part in listed}):
        of_setting = [part[1:] for part in listed if part.setting == setting]
        queries, objects, labels, _, scores = (np.concatenate(one) for one in zip(*of_setting, strict=True))
        residuals = np.abs(labels - scores)
        if one_domain:
            counted = queries != objects
            queries, objects, residuals = queries[counted], objects[counted], residuals[counted]
        if len(residuals):
            found[setting] = residuals_of(setting, queries, objects, residuals, one_domain, made_by)
    return found


def left_out_slopes(
    ranker: Any, graph: RelationGraph, settings: Sequence[int], n_splits: int, random_state: Any
) -> dict[int, float]:
    """The slopes a of probabilities sigmoid(a h) that suit left-out games best, by setting.

    The folds are those of `left_out_residuals`. A constant would break P(v beats v') = 1 - P(v' beats v), so only a
    slope is fitted; and settings 2 and 3, which are the two directions of the same games, have one slope.
    """
    parts: list[Pairs] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)
        if 1 in settings:
            parts += _edges_out(ranker, graph, n_splits, random_state)
        if set(settings) - {1}:
            parts += _nodes_out(ranker, graph, {2, 3, 4}, min(n_splits, *graph.shape), random_state)
    return _slopes(parts, read_settings(ranker, graph, draw=False).centre)


def _slopes(parts: Sequence[Pairs], centre: float) -> dict[int, float]:
    """The slope of each setting that has games."""
    slopes: dict[int, float] = {}
    for settings in ((1,), (2, 3), (4,)):
        games = [part for part in parts if part.setting in settings and len(part.labels)]
        if games:
            labels, weights, scores = (np.concatenate([part[place] for part in games]) for place in (3, 4, 5))
            slope = best_slope(labels if centre else (1 + labels) / 2, scores, weights)
            slopes |= dict.fromkeys(settings, slope)
    return slopes


def best_slope(won: np.ndarray, log_odds: np.ndarray, weights: np.ndarray) -> float:
    """The a from 0 to `STEEPEST` with the lowest weighted log loss of sigmoid(a h). The loss is convex in a."""
    lost, h, weights = 1.0 - won, log_odds.astype(np.float64), weights / weights.sum()

    def loss(a: float) -> float:
        return float(weights @ (won * np.logaddexp(0, -a * h) + lost * np.logaddexp(0, a * h)))

    found = minimize_scalar(loss, bounds=(0.0, STEEPEST), method="bounded", options={"xatol": 1e-6})
    return float(found.x)


def given_residuals(ranker: Any, graph: RelationGraph, known: Any) -> dict[int, Residuals]:
    """Residuals of a fitted ranker on a graph with nodes that it did not learn from, by setting (2 to 4)."""
    return _gathered(_given(ranker, graph, known), graph, "given nodes")


def given_slopes(ranker: Any, graph: RelationGraph, known: Any) -> dict[int, float]:
    """The slopes of `left_out_slopes`, for games of nodes that a fitted ranker did not learn from."""
    return _slopes(_given(ranker, graph, known), ranker.fitted_.settings.centre)


def _given(ranker: Any, graph: RelationGraph, known: Any) -> list[Pairs]:
    """Pairs with a new node, by setting.

    ``known(queries, objects)`` tells which conditioning nodes and which objects the ranker learned from. Pairs of two
    known nodes are not counted, because it may have learned from their labels.
    """
    queries, objects, _ = graph.conditioned(ranker.rank_by)
    of_queries, of_objects = known(queries, objects)
    pairs = _judged(ranker, graph, 0, (np.arange(graph.shape[0]), np.arange(graph.shape[1])))
    new_query, new_object = ~of_queries[pairs.queries], ~of_objects[pairs.objects]
    setting = np.select([new_query & new_object, new_query, new_object], [4, 2, 3], 1)
    parts = [Pairs(one, *(each[setting == one] for each in pairs[1:])) for one in (2, 3, 4)]
    return [part for part in parts if len(part.labels)]
