"""Rows of methods that are judged on the same folds."""

import numpy as np
import pytest

from condrank import ConditionalRankerCV, RelationGraph
from condrank.baselines import SimilarityRanker
from experiment_modules import naive_rank_loss


@pytest.fixture
def table(experiments):
    return experiments.folds.Folds(
        experiments.results.Run(seed=3), "table", "data", "protocol", "similarity", across=True
    )


def graph_and_parts(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24, 3))
    graph = RelationGraph(X, X @ X.T + 0.1 * rng.normal(size=(24, 24)))
    return [(graph[:12], graph[12:]), (graph[12:], graph[:12])]


def test_rows_of_folds_have_means_errors_and_differences(experiments, table):
    losses = []
    for place, (train, test) in enumerate(graph_and_parts()):
        scores = table.judge("similarity", SimilarityRanker("linear").fit, train, test)
        truth = np.where(np.eye(12, dtype=bool), np.nan, test.to_dense())
        losses.append(naive_rank_loss(truth, scores))
        fit = ConditionalRankerCV([1e-2, 1.0, 1e9], cv=2, random_state=0).fit
        table.judge("ranker", fit, train, test)
        if place == 0:
            table.judge("first only", SimilarityRanker("rbf").fit, train, test)
    plain, ranker, first = table.rows({"ranker": 0.25})
    assert plain.measured == pytest.approx(np.mean(losses), abs=1e-12)
    assert (plain.seed, plain.table, plain.data, plain.protocol, plain.paper) == (3, "table", "data", "protocol", None)
    assert "against" not in plain.note
    difference = ranker.measured - plain.measured
    assert f"{difference:+.4f} ± " in ranker.note
    assert ranker.note.startswith("λ ")
    assert (ranker.paper, ranker.verdict != "") == (0.25, True)
    assert first.error is None
    assert "on the first 1 folds" in first.note
    assert next(table.rows({"similarity": 0.25}, experiments.folds.StandIn)).verdict == ""


def test_an_outermost_alpha_is_noted_without_a_warning(table, recwarn):
    train, test = graph_and_parts()[0]
    table.judge("ranker", ConditionalRankerCV([1e8, 1e9], cv=2, random_state=0).fit, train, test)
    assert "λ at an end of the grid in 1 of 1" in next(table.rows()).note
    assert not [warning for warning in recwarn if "λ" in str(warning.message)]


def test_choices_are_summed_up(experiments):
    chosen = [{"λ": 1.0, "": "lambdarank"}, {"λ": 4.0, "": "regression"}, {"λ": 2.0, "": "regression"}]
    assert experiments.folds.summary(chosen) == "λ 2 (1 to 4), regression"
    assert experiments.folds.summary([{"k": 3}, {"k": 3}]) == "k 3"
    assert experiments.folds.summary([{}]) == ""
