"""Every kind of warning points at the line of the caller's own code."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrank import (
    ConditionalRanker,
    ConditionalRankerCV,
    KernelWarning,
    NodeTransformer,
    RelationGraph,
    RelationWarning,
    TableRanker,
    metrics,
)
from condrank.model_selection import cross_validate
from mixed_tables import EDGES, NEW, NODES, RANKER

RNG = np.random.default_rng(0)
N = 24
X = RNG.normal(size=(N, 3))
Y = RNG.normal(size=(N, N))
SKEW = Y - Y.T
HOLES = np.where(RNG.random((N, N)) < 0.5, Y, np.nan)
ONE_WAY = np.where(np.triu(np.ones((N, N)), 1) > 0, (X[:, :1] > X[:, 0]).astype(float), np.nan)


def nearly_positive(x, y):
    """A kernel whose smallest eigenvalue is negative, but tiny beside the largest."""
    return x[1:] @ y[1:] - 1e-7 * x[0] * y[0]


class Case(NamedTuple):
    """A ranker and a graph that make it warn."""

    ranker: Any
    graph: RelationGraph
    category: type[Warning]
    message: str


CASES = {
    "indefinite kernel": Case(
        ConditionalRanker(kernel=nearly_positive), RelationGraph(X, Y), KernelWarning, "not positive semi-definite"
    ),
    "disagreement of the two directions": Case(
        ConditionalRanker("symmetric"), RelationGraph(X, Y), RelationWarning, "the symmetric part is learned"
    ),
    "nothing to rank": Case(
        ConditionalRanker(loss="ranking"), RelationGraph(X, np.ones((N, N))), RelationWarning, "nothing to rank"
    ),
    "no scores of a single linear feature": Case(
        ConditionalRanker("reciprocal"), RelationGraph(X[:, :1], SKEW), RelationWarning, "a single linear feature"
    ),
    "no convergence of the primal": Case(
        ConditionalRanker(kernel="rbf", alpha=1e-3, solver="primal", max_iter=1, tol=1e-12),
        RelationGraph(X, HOLES),
        ConvergenceWarning,
        "no convergence to tol=1e-12 in 1 iterations",
    ),
    "no convergence of the dual": Case(
        ConditionalRanker(kernel="rbf", alpha=1e-3, solver="dual", max_iter=1, tol=1e-12),
        RelationGraph(X, HOLES),
        ConvergenceWarning,
        "no convergence to tol=1e-12 in 1 iterations",
    ),
    "zero read as a tie": Case(
        ConditionalRanker("reciprocal", "logistic", constant=True),
        RelationGraph(X, ONE_WAY),
        RelationWarning,
        "0 is read as a tie",
    ),
    "best λ at the end of the grid": Case(
        ConditionalRankerCV(alphas=[1.0, 10.0], cv="leave-query-out"), RelationGraph(X, Y), UserWarning, "the best λ"
    ),
}


def fit_directly(ranker, graph):
    ranker.fit(graph)


def fit_a_pipeline(ranker, graph):
    make_pipeline(NodeTransformer(StandardScaler(with_mean=False)), ranker).fit(graph)


def fit_a_grid_search(ranker, graph):
    GridSearchCV(ranker, {"constant": [ranker.constant]}, cv=2).fit(graph)


def fit_a_grid_search_over_pipelines(ranker, graph):
    steps = make_pipeline(NodeTransformer(StandardScaler(with_mean=False)), ranker)
    GridSearchCV(steps, {"nodetransformer__transformer__with_std": [True]}, cv=2).fit(graph)


def lines_of(warn: Callable[[], Any], category: type[Warning], message: str) -> list[tuple[str, int]]:
    """File and line of every warning of a kind."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn()
    return [
        (one.filename, one.lineno)
        for one in found
        if issubclass(one.category, category) and message in str(one.message)
    ]


def assert_inside(lines: list[tuple[str, int]], caller: Callable[..., Any]) -> None:
    """All warnings, and there are some, point into a function of this file."""
    source, first = inspect.getsourcelines(caller)
    assert lines
    assert {file for file, _ in lines} == {__file__}
    assert all(first <= line < first + len(source) for _, line in lines)


@pytest.mark.parametrize("fit", [fit_directly, fit_a_pipeline, fit_a_grid_search, fit_a_grid_search_over_pipelines])
@pytest.mark.parametrize("name", CASES)
def test_a_warning_of_a_fit_points_at_the_line_that_fits(name, fit):
    ranker, graph, category, message = CASES[name]
    assert_inside(lines_of(lambda: fit(ranker, graph), category, message), fit)


def judge_in_folds(ranker, graph):
    cross_validate(ranker, graph, setting=4, cv=2)


@pytest.mark.parametrize("name", ["indefinite kernel", "disagreement of the two directions", "zero read as a tie"])
def test_a_warning_of_a_cross_validation_points_at_the_line_that_validates(name):
    ranker, graph, category, message = CASES[name]
    assert_inside(lines_of(lambda: judge_in_folds(ranker, graph), category, message), judge_in_folds)


def next_on_a_path(ranker, graph):
    list(ranker.fit(graph).path([1e-3]))


def fit_a_block(ranker, graph):
    ranker.partial_fit(graph)


def test_a_warning_of_a_path_points_at_the_line_that_follows_it():
    ranker, graph, category, message = CASES["no convergence of the primal"]
    lines = lines_of(lambda: next_on_a_path(ranker, graph), category, message)
    assert len(lines) == 2  # of the fit and of the path
    assert_inside(lines, next_on_a_path)


def test_a_warning_of_a_partial_fit_points_at_the_line_that_fits():
    graph = RelationGraph.from_classes(X, np.arange(N) % 2, [[1.0, 0.5], [0.2, 1.0]])
    lines = lines_of(lambda: fit_a_block(ConditionalRanker("symmetric"), graph), RelationWarning, "symmetric part")
    assert_inside(lines, fit_a_block)


def measure(name, Y_true, Y_score):
    metrics.MEASURES[name](Y_true, Y_score)


@pytest.mark.parametrize("name", sorted(metrics.OF_ORDER | {"rm_squared", "pooled_concordance_index"}))
def test_a_warning_of_an_undefined_measure_points_at_the_line_that_measures(name):
    lines = lines_of(lambda: measure(name, np.zeros((2, 3)), np.ones((2, 3))), UndefinedMetricWarning, name)
    assert_inside(lines, measure)


def rank_new_nodes(ranker, new):
    ranker.rank(new)


def test_a_warning_of_nodes_far_outside_points_at_the_line_that_ranks():
    ranker = TableRanker(RANKER).fit(NODES, EDGES)
    new = {**NEW, "born": NEW["born"] + np.array([200_000] * 3)}
    assert_inside(lines_of(lambda: rank_new_nodes(ranker, new), UserWarning, "standard deviations"), rank_new_nodes)
