"""What all splitters share: indices for scikit-learn, and folds as small as can be."""

from __future__ import annotations

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_val_score

from builders import ALPHAS, mean_scores, noisy_graph
from condrank import ConditionalRanker, RelationGraph
from condrank.model_selection import SettingShuffleSplit, SettingSplit
from reference_splits import GROUPS, M, N, make_graph, make_labels

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


def test_the_indices_of_a_splitter_are_folds_for_scikit_learn():
    graph, groups = noisy_graph(), np.arange(40) // 4
    folds = SettingSplit(4, 5, groups=groups, random_state=0).indices(graph)
    search = GridSearchCV(ConditionalRanker(), ALPHAS, cv=folds, error_score="raise").fit(graph)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], mean_scores(ConditionalRanker(), graph, folds))


@pytest.mark.parametrize(
    "cv", [SettingSplit(4, random_state=0), SettingSplit(2, 3, random_state=0), SettingShuffleSplit(random_state=0)]
)
def test_a_splitter_itself_is_refused_with_advice(cv):
    graph, ranker = noisy_graph(), ConditionalRanker()
    calls = [
        lambda: GridSearchCV(ranker, ALPHAS, cv=cv).fit(graph),
        lambda: HalvingGridSearchCV(ranker, ALPHAS, cv=cv, min_resources=12).fit(graph),
        lambda: cross_val_score(ranker, graph, cv=cv),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"as scikit-learn does, .* the splitter's .indices\(graph\)"):
            call()


def groups_of(graph):
    return set(GROUPS[graph.nodes.positions])


@pytest.mark.parametrize("kind", ["array", "dict"])
@pytest.mark.parametrize("splitter", [SettingSplit, SettingShuffleSplit])
def test_groups_are_held_out_whole(splitter, kind):
    ids = [f"node {i}" for i in range(N)]
    whole = RelationGraph(np.eye(N), make_labels(), ids=ids)
    groups = GROUPS if kind == "array" else dict(zip(ids, GROUPS, strict=True))
    n_splits = 2
    for train, test in splitter(4, n_splits, groups=groups, random_state=0).split(whole):
        assert len(train) == len(test) == 6
        assert not groups_of(train) & groups_of(test)
        # nested: the same splitter on a training graph, whose nodes are a subset
        for inner, validation in splitter(4, n_splits, groups=groups, random_state=0).split(train):
            assert not groups_of(inner) & groups_of(validation)
            assert groups_of(inner) | groups_of(validation) == groups_of(train)


def test_an_array_as_long_as_a_subgraph_is_its_own():
    part = make_graph()[[11, 2, 5, 7, 3, 8]]
    folds = list(SettingSplit(4, "leave-one-out", groups=[0, 0, 1, 1, 2, 2]).split(part))
    assert [test.nodes.positions.tolist() for _, test in folds] == [[11, 2], [5, 7], [3, 8]]


@pytest.mark.parametrize("name", ["groups", "stratify"])
def test_a_dict_follows_any_order_where_an_array_is_refused(name):
    ids = [f"node {i}" for i in range(N)]
    whole = RelationGraph(np.eye(N), make_labels(), ids=ids)
    order = np.random.default_rng(0).permutation(N)
    for graph in (whole, whole[order], whole[order[:9]]):
        splitter = SettingSplit(4, 2, **{name: dict(zip(ids, GROUPS, strict=True))}, random_state=0)
        for train, test in splitter.split(graph):
            if name == "groups":
                assert not groups_of(train) & groups_of(test)
            else:
                sizes = [Counter(GROUPS[part.nodes.positions]) for part in (train, test)]
                assert all(abs(sizes[0][one] - sizes[1][one]) <= 1 for one in groups_of(graph))
    with pytest.raises(ValueError, match=f"{name} as an array is ambiguous .* as a dict from id to value"):
        SettingSplit(4, 2, **{name: GROUPS}).split(whole[order])
    with pytest.raises(ValueError, match="is ambiguous"):  # as long as the graph, a node drawn twice
        SettingSplit(4, 2, **{name: GROUPS}).split(whole[[0, *range(N - 1)]])


def test_groups_of_a_subset_are_for_that_subset_alone():
    part = make_graph()[np.arange(N) % 3 > 0]
    groups = np.repeat([0, 1, 2, 3], 2)
    own = dict(zip(part.nodes.positions.tolist(), groups.tolist(), strict=True))
    for train, test in SettingSplit(4, 2, groups=groups, random_state=0).split(part):
        assert not {own[i] for i in train.nodes.positions} & {own[i] for i in test.nodes.positions}
        with pytest.raises(ValueError, match="inside nested cross-validation give a dict from id to value, or an arr"):
            SettingSplit(4, 2, groups=groups).split(train)


def test_classes_are_spread_evenly():
    graph = make_graph()
    for splitter in (
        SettingSplit(4, 3, stratify=GROUPS, random_state=0),
        SettingShuffleSplit(4, 3, stratify=GROUPS, test_size=4),
    ):
        for _, test in splitter.split(graph):
            assert sorted(GROUPS[test.nodes.positions]) == ["a", "b", "c", "d"]
    couples = np.arange(N) // 2
    classes = couples % 2
    for _, test in SettingSplit(4, 3, stratify=classes, groups=couples, random_state=0).split(graph):
        assert sorted(classes[test.nodes.positions]) == [0, 0, 1, 1]
        assert set(Counter(couples[test.nodes.positions]).values()) == {2}


@given(st.lists(st.integers(0, 3), min_size=4, max_size=20), st.integers(2, 4), st.integers(0, 99))
def test_groups_of_a_class_are_dealt_out_evenly(class_of_group, n_folds, seed):
    sizes = 1 + np.arange(len(class_of_group)) % 3
    groups, classes = (np.repeat(of, sizes) for of in (np.arange(len(sizes)), class_of_group))
    graph = RelationGraph(np.eye(len(groups)), np.zeros((len(groups), len(groups))))
    splitter = SettingSplit(4, n_folds, groups=groups, stratify=classes, random_state=seed)
    tested = [np.unique(groups[test]) for _, test in splitter.indices(graph)]
    assert sorted(np.concatenate(tested)) == list(range(len(sizes)))
    for cls in np.unique(class_of_group):
        counts = [np.sum(np.take(class_of_group, test) == cls) for test in tested]
        assert max(counts) - min(counts) <= 1
    assert np.ptp([len(test) for test in tested]) <= 1


def test_repeats_deal_the_groups_of_a_class_anew():
    # Of unequal sizes: taken by size they would fall into the same folds every time.
    groups = np.repeat(np.arange(8), np.arange(1, 9))
    graph = RelationGraph(np.eye(len(groups)), np.zeros((len(groups), len(groups))))
    splitter = SettingSplit(4, 2, groups=groups, stratify=groups % 2, n_repeats=10, random_state=0)
    assert len({tuple(np.unique(groups[test])) for _, test in splitter.indices(graph)}) > 10


def test_groups_of_several_classes_are_spread_by_their_nodes():
    groups, classes = np.repeat(np.arange(6), 4), np.tile([0, 0, 0, 1], 6)
    graph = RelationGraph(np.eye(24), np.zeros((24, 24)))
    for _, test in SettingSplit(4, 3, groups=groups, stratify=classes, random_state=0).indices(graph):
        assert sorted(classes[test]) == [0] * 6 + [1] * 2


def test_groups_of_two_domains_are_held_out_whole():
    graph = make_graph("two domains")
    object_groups = np.arange(M) // 3
    for train, test in SettingSplit(4, 2, groups=(GROUPS, object_groups)).split(graph):
        assert not groups_of(train) & groups_of(test)
        assert not set(object_groups[train.objects.positions]) & set(object_groups[test.objects.positions])
    for train, test in SettingSplit(3, 3, groups=object_groups).split(graph):
        assert not set(object_groups[train.objects.positions]) & set(object_groups[test.objects.positions])
        assert len(test) == N
    with pytest.raises(ValueError, match="groups must be a pair"):
        next(SettingSplit(4, 3, groups=GROUPS).split(graph))
    both = SettingSplit(4, "leave-one-out", groups=(GROUPS, object_groups))
    assert both.get_n_splits(graph) == len(list(both.split(graph))) == 12


def test_indices_are_those_of_the_graphs():
    graph = make_graph()[::-1]
    splitter = SettingSplit(4, 3, random_state=0)
    for (train, test), (its_train, its_test) in zip(splitter.indices(graph), splitter.split(graph), strict=True):
        np.testing.assert_array_equal(graph[train].to_dense(), its_train.to_dense())
        np.testing.assert_array_equal(graph[test].nodes.positions, its_test.nodes.positions)
    with pytest.raises(ValueError, match="indices are for setting 4"):
        SettingSplit(2).indices(graph)


def test_splitters_can_be_copied():
    splitter = SettingSplit(2, 3, groups=GROUPS, random_state=0)
    for twin in (copy.deepcopy(splitter), pickle.loads(pickle.dumps(splitter))):
        assert repr(twin) == repr(splitter)
    assert "setting=2" in repr(splitter)


@pytest.mark.parametrize(
    ("splitter", "message"),
    [
        (SettingSplit(4, 13), "n_splits=13 needs at least 13 nodes, got 12"),
        (SettingSplit(4, 5, groups=GROUPS), "n_splits=5 needs at least 5 groups, got 4"),
        (SettingSplit(4, 3, groups=GROUPS[:5]), r"one entry for each of the 12 nodes, got \(5,\)"),
        (SettingSplit(4, 3, groups={"a": 1}), "needs nodes with ids"),
        (SettingSplit(4, 3, groups=[None, *GROUPS[1:]]), "groups must not be None or NaN, 1 are, .* of node 0"),
        (SettingSplit(4, 3, stratify=[0.0, np.nan] * 6), "stratify must not be None or NaN, 6 are, .* of node 1"),
        (SettingSplit(4, 3, groups=["a", "b", "c", np.nan] * 3), "groups must not be None or NaN, 3 are, .* of node 3"),
        (SettingSplit(4, 3, groups=np.array([1, "a"] * 6, dtype=object)), "groups must be of one type"),
        (SettingSplit(4, 2, stratify=[1, "1"] * 6), "stratify must be of one type"),
        (SettingSplit(1, 200), "n_splits=200 needs at least 200 observed pairs, got 144"),
        (SettingShuffleSplit(4, test_size=12), "test_size=12"),
    ],
)
def test_graphs_that_do_not_fit_the_splitter_are_refused(splitter, message):
    with pytest.raises(ValueError, match=message):
        next(splitter.split(make_graph()))


@pytest.mark.parametrize("as_dict", [False, True])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["a", "a", "b", "b", "c", np.nan], "groups must not be None or NaN, 1 are, the first is that of node 5"),
        (["1", "1", 1, 1, "2", "2"], "groups must be of one type"),
    ],
)
def test_numpy_does_not_make_strings_of_groups(given, message, as_dict):
    ids = list("uvwxyz")
    graph = RelationGraph(np.eye(6), np.arange(36.0).reshape(6, 6), ids=ids)
    groups = dict(zip(ids, given, strict=True)) if as_dict else given
    with pytest.raises(ValueError, match=message):
        SettingSplit(4, 2, groups=groups).split(graph)


def test_missing_groups_of_pandas_are_refused():
    pd = pytest.importorskip("pandas")
    ids = list("uvwxyz")
    graph = RelationGraph(np.eye(6), np.arange(36.0).reshape(6, 6), ids=ids)
    column = pd.Series(["a", "a", "b", "b", "c", None], dtype="string", index=ids)
    for groups in (column, column.to_dict(), column.astype(object)):
        with pytest.raises(ValueError, match="groups must not be None or NaN, 1 are, the first is that of node 5"):
            SettingSplit(4, 2, groups=groups).split(graph)
    assert len(list(SettingSplit(4, 2, groups=column.fillna("d")).split(graph))) == 2


def test_folds_without_edges_and_other_bad_graphs_are_refused():
    Y = np.full((6, 6), np.nan)
    Y[0, 1:] = np.arange(5)
    with pytest.raises(ValueError, match=r"of fold . has no observed edge"):
        list(SettingSplit(4, 3).split(RelationGraph(np.eye(6), Y)))
    named = RelationGraph(np.eye(3), np.eye(3), ids=["x", "y", "z"])
    with pytest.raises(ValueError, match="every node's id, 2 are missing, the first is 'y'"):
        next(SettingSplit(4, 2, groups={"x": 1}).split(named))
    with pytest.raises(ValueError, match="must have one number or string for each id"):
        SettingSplit(4, 2, groups={"x": (1, 2), "y": (1, 2), "z": (2, 2)}).split(named)
    with pytest.raises(ValueError, match="graph must be a RelationGraph, got ndarray"):
        SettingSplit().split(np.eye(3))
    for ask in (SettingSplit(4).indices, SettingSplit(4).get_n_splits):
        with pytest.raises(ValueError, match="graph must be a RelationGraph, got str"):
            ask("x")
