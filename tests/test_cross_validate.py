"""Cross-validation against a plain loop over the splits."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import NearestNeighbours, TwoStepRidge
from condrank.metrics import MEASURES, ndcg, rank_loss
from condrank.model_selection import (
    SettingShuffleSplit,
    SettingSplit,
    cross_validate,
    cross_validate_settings,
)

N = 20
SIGNS = {"ordinary": 0, "symmetric": 1, "reciprocal": -1}
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


def make_graph(relation="ordinary", holes=0.0, dtype=float, **options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 4)).astype(dtype)
    Y = np.rint(X @ rng.standard_normal((4, 4)) @ X.T)
    if SIGNS[relation]:
        Y = Y + SIGNS[relation] * Y.T
    Y[rng.random((N, N)) < holes] = np.nan
    return RelationGraph(X, Y.astype(dtype), **options)


def two_domains():
    rng = np.random.default_rng(0)
    X, objects = rng.standard_normal((N, 4)), rng.standard_normal((15, 3))
    return RelationGraph(X, np.rint(X @ rng.standard_normal((4, 3)) @ objects.T), objects=objects)


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("setting", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["ordinary", "symmetric", "reciprocal", "holes", "float32", "two domains"])
def test_scores_are_those_of_a_plain_loop(kind, setting, rank_by):
    relation = kind if kind in SIGNS else "ordinary"
    if kind == "two domains":
        graph = two_domains()
    else:
        dtype = np.float32 if kind == "float32" else float
        graph = make_graph(relation, 0.3 if kind == "holes" else 0.0, dtype)
    ranker = ConditionalRanker(relation=relation, rank_by=rank_by, alpha=0.5)
    splitter = SettingSplit(setting, 3, rank_by=rank_by, random_state=0)
    result = cross_validate(ranker, graph, cv=splitter)
    assert result.setting == setting
    fold_losses, by_query, names = [], [], []
    for train, test in splitter.split(graph):
        ranker.fit(train)
        fold_losses.append(1 - ranker.score(test))
        truth = test.to_dense() if rank_by == "outgoing" else test.to_dense().T
        by_query.append(rank_loss(truth, ranker.predict(test), average=None))
        names.append((test.nodes if rank_by == "outgoing" else test.objects).positions)
    np.testing.assert_allclose(result.scores["rank_loss"], fold_losses, atol=1e-12)
    np.testing.assert_array_equal(result.queries["query"], np.concatenate(names))
    np.testing.assert_allclose(result.queries["rank_loss"], np.concatenate(by_query), atol=1e-12)
    np.testing.assert_array_equal(np.bincount(result.queries["fold"]), [len(one) for one in names])
    assert result.mean() == pytest.approx(np.mean(fold_losses))
    assert result.standard_error() == pytest.approx(np.std(fold_losses, ddof=1) / np.sqrt(len(fold_losses)))
    assert (result.fit_times > 0).all()


def test_the_default_follows_the_ranker():
    graph = make_graph()
    for rank_by in ("outgoing", "incoming"):
        ranker = ConditionalRanker(rank_by=rank_by)
        expected = cross_validate(ranker, graph, cv=SettingSplit(2, 5, rank_by=rank_by, random_state=0))
        np.testing.assert_array_equal(cross_validate(ranker, graph, 2).fold_keys, expected.fold_keys)
    with pytest.raises(ValueError, match="cv has rank_by='outgoing', but the ranker 'incoming'"):
        cross_validate(ConditionalRanker(rank_by="incoming"), graph, cv=SettingSplit(3))
    # A ranker of a symmetric relation sees both directions, also where the labels disagree.
    tied = cross_validate(ConditionalRanker(relation="symmetric"), graph, 1, cv=4)
    expected = SettingSplit(1, 4, both_directions=True, random_state=0)
    np.testing.assert_array_equal(tied.fold_keys, cross_validate(ConditionalRanker(), graph, cv=expected).fold_keys)


def test_several_measures_names_callables_and_rows():
    graph = make_graph(ids=[f"node {i}" for i in range(N)])

    def absolute_error(Y_true, Y_score):
        return np.abs(Y_true - Y_score).mean()

    scoring = {"loss": "rank_loss", "tau": "kendall_tau", "error": absolute_error}
    result = cross_validate(ConditionalRanker(loss="regression"), graph, cv=4, scoring=scoring)
    assert list(result.scores) == ["loss", "tau", "error"]
    assert result.mean("tau") > 0.2
    assert np.isnan(result.queries["error"]).all()
    assert sorted(result.queries["query"]) == sorted(graph.nodes.ids)
    columns = result.to_dict()
    assert {len(column) for column in columns.values()} == {4}
    assert list(columns) == ["fold", "loss", "tau", "error", "fit_time", "score_time"]
    by_name = cross_validate(ConditionalRanker(loss="regression"), graph, cv=4, scoring=["rank_loss", absolute_error])
    assert list(by_name.scores) == ["rank_loss", "absolute_error"]
    np.testing.assert_array_equal(by_name.scores["rank_loss"], result.scores["loss"])
    lines = str(result).splitlines()
    assert len(lines) == 4
    assert lines[1].split()[:3] == ["4", "loss", f"{result.mean('loss'):.4f}"]
    with pytest.raises(ValueError, match="measure must be one of"):
        result.mean("auc")


def test_every_measure():
    rng = np.random.default_rng(0)
    graph = RelationGraph.from_classes(rng.standard_normal((N, 3)), np.arange(N) % 2)
    scoring = [*MEASURES]
    result = cross_validate(ConditionalRanker(), graph, 2, cv=3, scoring=scoring)
    assert all(np.isfinite(values).all() for values in result.scores.values())
    first = cross_validate(ConditionalRanker(), graph, 2, cv=3, scoring={"first": partial(ndcg, k=1)})
    assert np.isfinite(first.queries["first"]).all()


@pytest.mark.parametrize("baseline", [NearestNeighbours(n_neighbors=2), TwoStepRidge()])
def test_baselines(baseline):
    assert 0 <= cross_validate(baseline, make_graph(), 2).mean() <= 1


def test_jobs_do_not_change_the_result():
    graph, done = make_graph(), []
    ranker = ConditionalRanker(kernel="rbf")
    one = cross_validate(ranker, graph, cv=4, progress=lambda *state: done.append(state))
    two = cross_validate(ranker, graph, cv=4, n_jobs=2)
    np.testing.assert_array_equal(one.scores["rank_loss"], two.scores["rank_loss"])
    np.testing.assert_array_equal(one.queries["rank_loss"], two.queries["rank_loss"])
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert not hasattr(ranker, "alpha_")


def test_all_settings():
    graph = make_graph("symmetric", 0.2)
    ranker = ConditionalRanker(relation="symmetric")
    table = cross_validate_settings(ranker, graph, cv=3, scoring=["rank_loss", "kendall_tau"])
    for setting in (1, 2, 3, 4):
        expected = cross_validate(ranker, graph, setting, cv=3)
        np.testing.assert_array_equal(table[setting].scores["rank_loss"], expected.scores["rank_loss"])
    assert len(str(table).splitlines()) == 9
    assert table.to_dict()["setting"].tolist() == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
    groups = np.arange(N) // 5
    table = cross_validate_settings(ranker, graph, (1, 4), cv=SettingSplit(4, 4, groups=groups, random_state=0))
    for fold in range(4):
        tested = table[4].queries["query"][table[4].queries["fold"] == fold]
        assert len(set(groups[tested])) == 1


def test_given_graphs_and_holdouts():
    graph = make_graph()
    pairs = [(graph[:10], graph[10:])]
    result = cross_validate(ConditionalRanker(), graph, cv=pairs)
    assert result.mean() == pytest.approx(1 - ConditionalRanker().fit(graph[:10]).score(graph[10:]))
    assert result.setting is None
    assert np.isnan(result.standard_error())
    assert "nan" in str(result)
    holdout = cross_validate(ConditionalRanker(), graph, cv=SettingShuffleSplit(3, 2, random_state=0))
    assert len(holdout.fit_times) == 2
    assert holdout.setting == 3


def test_folds_with_nothing_to_rank():
    Y = np.zeros((8, 8))
    Y[:4, :4] = np.arange(16).reshape(4, 4)
    graph = RelationGraph(np.eye(8), Y)
    folds = [(graph[4:], graph[:4]), (graph[:4], graph[4:])]
    result = cross_validate(ConditionalRanker(), graph, cv=folds)
    assert np.isnan(result.scores["rank_loss"]).tolist() == [False, True]
    assert result.mean() == result.scores["rank_loss"][0]
    with pytest.raises(ValueError, match=r"nothing to rank in any fold"):
        cross_validate(ConditionalRanker(), graph, 3, cv=SettingSplit(3, "leave-one-out"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"setting": 0}, "setting must be one of"),
        ({"scoring": "mse"}, "scoring must be one of"),
        ({"scoring": []}, "at least one measure"),
        ({"cv": 1}, "n_splits must be a whole number of at least 2"),
        ({"cv": 2.5}, "cv must be a number of folds"),
        ({"cv": []}, "cv has no folds"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        cross_validate(ConditionalRanker(), make_graph(), **options)


def test_other_bad_input():
    with pytest.raises(ValueError, match="graph must be a RelationGraph"):
        cross_validate(ConditionalRanker(), np.eye(3))
    with pytest.raises(ValueError, match="cv must be a number of folds or a splitter"):
        cross_validate_settings(ConditionalRanker(), make_graph(), cv=[])
    with pytest.raises(ValueError, match="settings must be one of"):
        cross_validate_settings(ConditionalRanker(), make_graph(), (4, 5))
