"""Cross-validation against a plain loop over the splits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV

from builders import ALPHAS, noisy_graph
from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
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


@pytest.mark.filterwarnings("ignore:the best λ")
@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
@pytest.mark.parametrize("splitter", [SettingSplit(1, 4, random_state=0), SettingShuffleSplit(1, 2, random_state=0)])
def test_a_splitter_does_not_leak_the_other_direction(splitter, relation):
    """The labels are only nearly symmetric, so the graph does not tell that the ranker ties the directions."""
    Y = make_graph(relation).to_dense()
    graph = RelationGraph(make_graph().nodes.base, Y + np.random.default_rng(0).normal(0, 0.01, Y.shape))
    assert not graph.is_symmetric
    assert not graph.is_reciprocal
    ranker = ConditionalRanker(relation=relation)
    tied = cross_validate(ConditionalRanker(), graph, cv=replace(splitter, both_directions=True)).fold_keys
    apart = cross_validate(ConditionalRanker(), graph, cv=splitter).fold_keys
    for wrapped in (ranker, GridSearchCV(ranker, {"alpha": [1.0]}, cv=2)):
        np.testing.assert_array_equal(cross_validate(wrapped, graph, cv=splitter).fold_keys, tied)
    np.testing.assert_array_equal(cross_validate_settings(ranker, graph, [1], cv=splitter)[1].fold_keys, tied)
    asked_for = cross_validate(ranker, graph, cv=replace(splitter, both_directions=False)).fold_keys
    np.testing.assert_array_equal(asked_for, apart)
    chosen = ConditionalRankerCV([0.1, 1.0, 10.0], splitter, relation=relation).fit(graph)
    by_hand = ConditionalRankerCV([0.1, 1.0, 10.0], replace(splitter, both_directions=True), relation=relation)
    np.testing.assert_array_equal(chosen.fold_losses_, by_hand.fit(graph).fold_losses_)


def test_measures_may_be_several_names_and_callables():
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
    for library in ("pandas", "polars", "pyarrow"):
        frame = result.to_frame(library)
        assert type(frame).__module__.partition(".")[0] == library
        np.testing.assert_array_equal(np.asarray(frame["tau"]), columns["tau"])
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


def test_every_measure_can_be_cross_validated():
    rng = np.random.default_rng(0)
    graph = RelationGraph.from_classes(rng.standard_normal((N, 3)), np.arange(N) % 2)
    scoring = [*MEASURES]
    result = cross_validate(ConditionalRanker(), graph, 2, cv=3, scoring=scoring)
    assert all(np.isfinite(values).all() for values in result.scores.values())
    first = cross_validate(ConditionalRanker(), graph, 2, cv=3, scoring={"first": partial(ndcg, k=1)})
    assert np.isfinite(first.queries["first"]).all()


@pytest.mark.parametrize("baseline", [NearestNeighbours(n_neighbors=2), TwoStepRidge()])
def test_baselines_can_be_cross_validated(baseline):
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


def test_all_settings_are_cross_validated_as_one_by_one():
    graph = make_graph("symmetric", 0.2)
    ranker = ConditionalRanker(relation="symmetric")
    table = cross_validate_settings(ranker, graph, cv=3, scoring=["rank_loss", "kendall_tau"])
    for setting in (1, 2, 3, 4):
        expected = cross_validate(ranker, graph, setting, cv=3)
        np.testing.assert_array_equal(table[setting].scores["rank_loss"], expected.scores["rank_loss"])
    assert len(str(table).splitlines()) == 9
    assert np.asarray(table.to_frame()["setting"]).tolist() == table.to_dict()["setting"].tolist()
    assert table.to_dict()["setting"].tolist() == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
    groups = np.arange(N) // 5
    table = cross_validate_settings(ranker, graph, (1, 4), cv=SettingSplit(4, 4, groups=groups, random_state=0))
    for fold in range(4):
        tested = table[4].queries["query"][table[4].queries["fold"] == fold]
        assert len(set(groups[tested])) == 1


def test_folds_may_be_given_graphs_and_holdouts():
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


def test_results_are_shown_as_their_tables():
    result, both = (ask(ConditionalRanker(), make_graph()) for ask in (cross_validate, cross_validate_settings))
    assert repr(result) == str(result)
    assert repr(both) == str(both)
    assert len(repr(both)) < 500


def test_a_frame_of_a_library_that_is_not_installed_is_refused(monkeypatch):
    result = cross_validate(ConditionalRanker(), make_graph(), cv=2)
    with pytest.raises(ValueError, match=r"library must be one of .*, got 'arrow'"):
        result.to_frame("arrow")
    monkeypatch.setattr("condrank.frames.dataframes.find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match="to_frame needs pandas, polars or pyarrow: pip install pandas, or use to_dict"
    ):
        result.to_frame()
    with pytest.raises(ImportError, match="to_frame needs polars: pip install polars"):
        result.to_frame("polars")


def test_folds_with_nothing_to_rank_do_not_count():
    Y = np.zeros((8, 8))
    Y[:4, :4] = np.arange(16).reshape(4, 4)
    graph = RelationGraph(np.eye(8), Y)
    folds = [(graph[4:], graph[:4]), (graph[:4], graph[4:])]
    with pytest.warns(UndefinedMetricWarning, match=r"1 of 2 folds have nothing to rank .*KFold\(5, shuffle=True\)"):
        result = cross_validate(ConditionalRanker(), graph, cv=folds)
    assert np.isnan(result.scores["rank_loss"]).tolist() == [False, True]
    assert result.mean() == result.scores["rank_loss"][0]
    tied = RelationGraph(np.eye(8), np.zeros((8, 8)) + np.arange(8)[:, None])
    with pytest.raises(ValueError, match=r"nothing to rank in any fold; use fewer folds"):
        cross_validate(ConditionalRanker(loss="regression"), tied)


def test_auc_of_ratings_that_are_all_relevant_says_so():
    Y = np.random.default_rng(0).integers(1, 6, (12, 12)).astype(float)
    with pytest.warns(UndefinedMetricWarning), pytest.raises(ValueError, match=r"auc is not defined: .* in any fold"):
        cross_validate(ConditionalRanker(), RelationGraph(np.eye(12), Y), 4, cv=3, scoring=["auc"])


def mean_error(Y_true, Y_score):
    return np.nanmean(np.abs(Y_true - Y_score))


def test_callables_are_called_where_there_is_nothing_to_rank():
    Y = np.arange(64.0).reshape(8, 8)
    Y[4:, 4:] = 1.0
    graph = RelationGraph(np.eye(8), Y)
    folds = [(graph[4:], graph[:4]), (graph[:4], graph[4:])]
    scoring = {"loss": "rank_loss", "first": partial(ndcg, k=1), "error": mean_error}
    with pytest.warns(UndefinedMetricWarning, match="1 of 2 folds have nothing to rank"):
        result = cross_validate(ConditionalRanker(loss="regression"), graph, cv=folds, scoring=scoring)
    assert np.isnan(result.scores["loss"]).tolist() == np.isnan(result.scores["first"]).tolist() == [False, True]
    model = ConditionalRanker(loss="regression")
    expected = [mean_error(test.to_dense(), model.fit(train).predict(test)) for train, test in folds]
    np.testing.assert_allclose(result.scores["error"], expected)


class NeverFitted(ConditionalRanker):
    def fit(self, X, Y=None):
        raise AssertionError("fitted before the folds were checked")


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_single_objects_are_refused_before_any_fit(rank_by):
    ranker = NeverFitted(rank_by=rank_by)
    groups = np.arange(N) // 5
    # Groups of the conditioning nodes alone: each object is still left out by itself.
    one_side = (groups, None) if rank_by == "outgoing" else (None, np.arange(15) // 5)
    cases = [(make_graph(), setting, None) for setting in (1, 3, 4)]
    cases += [(two_domains(), setting, None) for setting in (1, 3, 4)] + [(two_domains(), 4, one_side)]
    for graph, setting, its_groups in cases:
        cv = SettingSplit(setting, "leave-one-out", groups=its_groups, rank_by=rank_by)
        with pytest.raises(ValueError, match=rf"nothing to rank in any fold, .* setting {setting}; use a number of f"):
            cross_validate(ranker, graph, cv=cv, scoring=[mean_error, "auc"])
    with pytest.raises(ValueError, match="nothing to rank in any fold"):
        cross_validate_settings(ranker, make_graph(), (2, 4), cv=SettingSplit(2, "leave-one-out", rank_by=rank_by))
    # What can be measured is.
    ranker = ConditionalRanker(rank_by=rank_by)
    cv = SettingSplit(4, "leave-one-out", rank_by=rank_by)
    assert cross_validate(ranker, make_graph(), cv=cv, scoring=mean_error).mean() > 0
    for changes in ({"setting": 2}, {"groups": groups}, {"setting": 3, "groups": groups}):
        assert 0 <= cross_validate(ranker, make_graph(), cv=replace(cv, **changes)).mean() <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"setting": 0}, "setting must be one of"),
        ({"scoring": "mse"}, "scoring must be one of"),
        ({"scoring": []}, "at least one measure"),
        ({"cv": 1}, "n_splits must be a whole number of at least 2"),
        ({"cv": 2.5}, "cv must be a number of folds"),
        ({"cv": True}, "cv must be a number of folds"),
        ({"cv": "x"}, "cv must be a number of folds"),
        ({"cv": []}, "cv has no folds"),
        ({"cv": [1, 2]}, "cv must have pairs, of graphs or of positions of nodes, got 1"),
        ({"cv": [(make_graph(), make_graph()), (make_graph(), None)]}, "two graphs, .* got RelationGraph and NoneType"),
        ({"cv": [([0, 1], [2, 3]), ([1, 2], 3)]}, "two arrays of positions of nodes, got list and int"),
        ({"cv": iter([([1, 2], None)])}, "got list and NoneType"),
        ({"scoring": None}, "scoring must be a measure's name, a callable"),
        ({"scoring": {}}, "at least one measure"),
        ({"scoring": [lambda a, b: 0.0, lambda a, b: 1.0]}, "two measures named '<lambda>': give a dict"),
        ({"scoring": ["auc", "auc"]}, "two measures named 'auc'"),
    ],
)
def test_wrong_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        cross_validate(NeverFitted(), make_graph(), **options)


def test_a_number_of_folds_may_be_numpy_s():
    expected = cross_validate(ConditionalRanker(), make_graph(), cv=3).fold_keys
    np.testing.assert_array_equal(cross_validate(ConditionalRanker(), make_graph(), cv=np.int64(3)).fold_keys, expected)
    table = cross_validate_settings(ConditionalRanker(), make_graph(), [4], cv=np.int64(3))
    np.testing.assert_array_equal(table[4].fold_keys, expected)


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        (4, {}, "settings must be a sequence of one or more of"),
        ([], {}, "settings must be a sequence of one or more of"),
        ((1, 2), {"cv": SettingSplit(1, rank_by="incoming")}, "cv has rank_by='incoming', but the ranker 'outgoing'"),
        ((1, 4), {"cv": SettingSplit(4, groups=[1, 2])}, "groups must have one entry"),
        ((1, 4), {"cv": SettingSplit(4, stratify=[1, 2])}, "stratify must have one entry"),
        ((1, 4), {"scoring": None}, "scoring must be"),
    ],
)
def test_settings_are_checked_before_any_fit(settings, options, message):
    with pytest.raises(ValueError, match=message):
        cross_validate_settings(NeverFitted(), make_graph(), settings, **options)


def test_other_wrong_input_is_refused():
    with pytest.raises(ValueError, match="graph must be a RelationGraph"):
        cross_validate(ConditionalRanker(), np.eye(3))
    with pytest.raises(ValueError, match="cv must be a number of folds or a splitter"):
        cross_validate_settings(ConditionalRanker(), make_graph(), cv=[])
    with pytest.raises(ValueError, match="settings must be one of"):
        cross_validate_settings(ConditionalRanker(), make_graph(), (4, 5))


@pytest.mark.parametrize("setting", [1, 2, 3, 4])
def test_cross_validation_of_a_search_is_nested(setting):
    search = GridSearchCV(ConditionalRanker(), ALPHAS, cv=3, error_score="raise")
    result = cross_validate(search, noisy_graph(), setting, cv=3)
    expected = [
        1 - clone(search).fit(train).best_estimator_.score(test)
        for train, test in SettingSplit(setting, 3, random_state=0).split(noisy_graph())
    ]
    np.testing.assert_allclose(result.scores["rank_loss"], expected)
