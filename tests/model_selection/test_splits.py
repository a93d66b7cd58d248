"""Splits of the four settings against their definition on the dense relation, in which NaN is not observed."""

from __future__ import annotations

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import NearestNeighbours
from condrank.metrics import rank_loss
from condrank.model_selection import SettingShuffleSplit, SettingSplit
from condrank.observations import Complete, Factored

N, M = 12, 9
SIGNS = {"ordinary": 0, "symmetric": 1, "reciprocal": -1}
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


def make_labels(n=N, m=N, relation="ordinary", holes=0.0, seed=0):
    rng = np.random.default_rng(seed)
    Y = rng.integers(-3, 4, (n, m)).astype(float)
    if SIGNS[relation]:
        Y = Y + SIGNS[relation] * Y.T
    Y[rng.random((n, m)) < holes] = np.nan
    return Y


def make_graph(form="complete", relation="ordinary", dtype=float):
    X = np.random.default_rng(1).standard_normal((N, 4)).astype(dtype)
    if form == "classes":
        return RelationGraph.from_classes(X, np.arange(N) % 3)
    if form == "sparse":
        return RelationGraph(X, sparse.csr_array(make_labels(relation=relation)), unstored="zero")
    if form == "two domains":
        objects = np.random.default_rng(2).standard_normal((M, 3)).astype(dtype)
        return RelationGraph(X, make_labels(N, M, holes=0.3).astype(dtype), objects=objects)
    if form == "precomputed":
        return RelationGraph(rbf_kernel(X), make_labels(relation=relation))
    holes = 0.4 if form == "holes" else 0.0
    return RelationGraph(X, make_labels(relation=relation, holes=holes).astype(dtype))


def spread(graph, shape):
    """A part's labels at their places in the whole relation; and which rows and columns it has."""
    whole = np.full(shape, np.nan)
    rows, cols = graph.nodes.positions, graph.objects.positions
    whole[np.ix_(rows, cols)] = graph.to_dense()
    return whole, set(rows.tolist()), set(cols.tolist())


FORMS = ("complete", "holes", "classes", "sparse", "precomputed")


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("setting", [2, 3, 4])
def test_nodes_are_held_out(setting, form, rank_by):
    graph = make_graph(form)
    Y, everyone = graph.to_dense(), set(range(N))
    splitter = SettingSplit(setting, 3, rank_by=rank_by, random_state=0)
    held_out_in_all = []
    for train, test in splitter.split(graph):
        known, rows, cols = spread(train, Y.shape)
        assert rows == cols
        assert not train.is_two_domain
        held_out = sorted(everyone - rows)
        held_out_in_all += held_out
        expected = Y.copy()
        expected[held_out], expected[:, held_out] = np.nan, np.nan
        np.testing.assert_array_equal(known, expected)
        asked, test_rows, test_cols = spread(test, Y.shape)
        conditioning, objects = (test_rows, test_cols) if rank_by == "outgoing" else (test_cols, test_rows)
        assert conditioning == (rows if setting == 3 else set(held_out))
        assert objects == (rows if setting == 2 else set(held_out))
        expected = np.full(Y.shape, np.nan)
        block = np.ix_(sorted(test_rows), sorted(test_cols))
        expected[block] = Y[block]
        np.testing.assert_array_equal(asked, expected)
        assert isinstance(test.relation, (type(graph.relation), Complete))
    assert sorted(held_out_in_all) == sorted(everyone)
    assert splitter.get_n_splits(graph) == splitter.get_n_splits() == 3


@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize("form", [*FORMS, "two domains"])
def test_edges_are_held_out(form, relation):
    graph = make_graph(form, relation)
    Y = graph.to_dense()
    tied = form != "two domains" and (graph.is_symmetric or graph.is_reciprocal)
    assert tied == (form == "classes" or (relation != "ordinary" and form != "two domains"))
    times = np.zeros(Y.shape)
    for train, test in SettingSplit(1, 4, random_state=0).split(graph):
        known, asked = train.to_dense(), test.to_dense()
        assert train.shape == test.shape == graph.shape
        assert not (~np.isnan(known) & ~np.isnan(asked)).any()
        np.testing.assert_array_equal(np.where(np.isnan(known), asked, known), Y)
        times += ~np.isnan(asked)
        if tied:
            assert not (~np.isnan(known) & ~np.isnan(asked).T & ~np.eye(N, dtype=bool)).any()
        assert train.nodes is graph.nodes
    np.testing.assert_array_equal(times, ~np.isnan(Y))


def test_both_directions_can_be_tied_or_not():
    graph = make_graph("complete", "symmetric")
    apart = [test.to_dense() for _, test in SettingSplit(1, 4, both_directions=False, random_state=0).split(graph)]
    assert any((~np.isnan(Y) & np.isnan(Y).T).any() for Y in apart)
    nearly = RelationGraph(np.eye(N), graph.to_dense() + np.random.default_rng(0).normal(0, 0.01, (N, N)))
    together = [test.to_dense() for _, test in SettingSplit(1, 4, both_directions=True).split(nearly)]
    assert not any((~np.isnan(Y) & np.isnan(Y).T).any() for Y in together)


def test_repeated_and_weighted_edges_stay_together():
    rng = np.random.default_rng(0)
    sources, targets = rng.integers(0, 5, 60), rng.integers(0, 5, 60)
    graph = RelationGraph.from_edges(np.eye(5), sources, targets, rng.normal(size=60), rng.integers(1, 4, 60))
    pairs = Counter(zip(sources.tolist(), targets.tolist(), strict=True))
    for train, test in SettingSplit(1, 3, random_state=0).split(graph):
        assert train.n_edges + test.n_edges == 60
        for source, target in zip(test.relation.sources, test.relation.indices, strict=True):
            place = test.relation.sources == source
            place &= test.relation.indices == target
            assert test.relation.repeats[place] == [pairs[source, target]]
        weight = train.relation.weights.sum() + test.relation.weights.sum()
        assert weight == graph.relation.weights.sum()


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("setting", [2, 3, 4])
def test_two_domains(setting, rank_by):
    graph = make_graph("two domains")
    Y = graph.to_dense()
    splitter = SettingSplit(setting, 3, rank_by=rank_by, random_state=0)
    n_folds, times = 0, np.zeros(Y.shape)
    of_rows = setting == 4 or (setting == 2) == (rank_by == "outgoing")
    of_cols = setting == 4 or not of_rows
    for train, test in splitter.split(graph):
        known, rows, cols = spread(train, Y.shape)
        asked, test_rows, test_cols = spread(test, Y.shape)
        assert test_rows == (set(range(N)) - rows if of_rows else rows)
        assert test_cols == (set(range(M)) - cols if of_cols else cols)
        for part, its_rows, its_cols in ((known, rows, cols), (asked, test_rows, test_cols)):
            block = np.ix_(sorted(its_rows), sorted(its_cols))
            np.testing.assert_array_equal(part[block], Y[block])
        times += ~np.isnan(asked)
        n_folds += 1
    assert n_folds == splitter.get_n_splits(graph) == (9 if setting == 4 else 3)
    np.testing.assert_array_equal(times, ~np.isnan(Y))


@pytest.mark.parametrize("setting", [2, 3, 4])
@pytest.mark.parametrize("form", ["complete", "precomputed"])
def test_node_data_is_not_copied(form, setting):
    graph = make_graph(form)
    for splitter in (SettingSplit(setting, 3), SettingShuffleSplit(setting, 2)):
        for pair in splitter.split(graph):
            for part in pair:
                assert np.shares_memory(part.nodes.base, graph.nodes.base)
                assert np.shares_memory(part.objects.base, graph.nodes.base)


def test_classes_stay_factored():
    for setting in (2, 3, 4):
        for pair in SettingSplit(setting, 3).split(make_graph("classes")):
            assert all(isinstance(part.relation, Factored) for part in pair)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize("setting", [1, 2, 3, 4])
def test_rankers_score_test_graphs(setting, relation, rank_by, dtype):
    graph = make_graph("complete", relation, dtype)
    kernels = RelationGraph(rbf_kernel(graph.nodes.base), graph.to_dense())
    ranker = ConditionalRanker(relation=relation, kernel="rbf", rank_by=rank_by, alpha=0.1)
    splitter = SettingSplit(setting, 3, rank_by=rank_by, random_state=0)
    for (train, test), (its_train, its_test) in zip(splitter.split(graph), splitter.split(kernels), strict=True):
        given = ranker.set_params(kernel="rbf", gamma=0.25).fit(train)
        first, second = (test.nodes.rows, test.objects.rows)[:: 1 if rank_by == "outgoing" else -1]
        truth = test.to_dense() if rank_by == "outgoing" else test.to_dense().T
        expected = 1 - rank_loss(truth, given.predict(first, second))
        assert given.score(test) == pytest.approx(expected, abs=1e-12)
        precomputed = ranker.set_params(kernel="precomputed").fit(its_train)
        assert precomputed.score(its_test) == pytest.approx(expected, abs=1e-6 if dtype == np.float64 else 0.02)
        assert NearestNeighbours(n_neighbors=2).fit(train).score(test) <= 1


def test_probabilities_keep_their_scale():
    p = 1 / (1 + np.exp(-make_labels(relation="reciprocal")))
    graph = RelationGraph(np.eye(N), p)
    assert graph.centre == 0.5
    for setting in (1, 2, 3, 4):
        for pair in SettingSplit(setting, 4, random_state=0).split(graph):
            assert [part.centre for part in pair] == [0.5, 0.5]


# Groups and classes

GROUPS = np.repeat(["a", "b", "c", "d"], 3)


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
    with pytest.raises(ValueError, match=f"{name} as an array are ambiguous .* as a dict from id to value"):
        SettingSplit(4, 2, **{name: GROUPS}).split(whole[order])
    with pytest.raises(ValueError, match="are ambiguous"):  # as long as the graph, a node drawn twice
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


def test_groups_of_two_domains():
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


# Number, order, errors


@pytest.mark.parametrize("setting", [1, 2, 3])
def test_leave_one_out(setting):
    graph = make_graph("holes", "symmetric")
    splitter = SettingSplit(setting, "leave-one-out")
    folds = list(splitter.split(graph))
    assert len(folds) == splitter.get_n_splits(graph)
    if setting == 1:
        present = ~np.isnan(graph.to_dense())
        assert len(folds) == np.triu(present | present.T).sum()
        assert all(test.n_edges in (1, 2) for _, test in folds)
    else:
        assert [test.shape[setting - 2] for _, test in folds] == [1] * N


def test_repeats_and_seeds():
    graph = make_graph()
    held_out = [
        [tuple(test.nodes.positions) for _, test in SettingSplit(4, 3, n_repeats=2, random_state=seed).split(graph)]
        for seed in (0, 0, 1)
    ]
    assert held_out[0] == held_out[1] != held_out[2]
    assert len(held_out[0]) == SettingSplit(4, 3, n_repeats=2).get_n_splits() == 6
    assert set(held_out[0][:3]) != set(held_out[0][3:])
    draws = SettingShuffleSplit(4, 5, test_size=4, random_state=0)
    tests = {tuple(test.nodes.positions) for _, test in draws.split(graph)}
    assert {len(one) for one in tests} == {4}
    assert len(tests) == draws.get_n_splits() == 5


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
    ("make", "message"),
    [
        (lambda: SettingSplit(5), "setting must be one of"),
        (lambda: SettingSplit(4, 1), "n_splits must be a whole number of at least 2"),
        (lambda: SettingSplit(4, "all"), "leave-one-out"),
        (lambda: SettingSplit(4, 2.5), "n_splits must be a whole number"),
        (lambda: SettingSplit(4, rank_by="rows"), "rank_by must be one of"),
        (lambda: SettingSplit(1, groups=GROUPS), "setting 1 holds out edges"),
        (lambda: SettingSplit(4, n_repeats=0), "n_repeats must be"),
        (lambda: SettingSplit(2, "leave-one-out", n_repeats=2), "n_repeats must be 1"),
        (lambda: SettingSplit(2, "leave-one-out", stratify=GROUPS), "stratify must be left out"),
        (lambda: SettingShuffleSplit(test_size=1.5), "test_size must be a share below 1"),
        (lambda: SettingShuffleSplit(test_size=0), "test_size must be"),
        (lambda: SettingShuffleSplit(groups=GROUPS, stratify=GROUPS), "SettingSplit takes both"),
        (lambda: SettingSplit(2, "leave-one-out").get_n_splits(), "graph is needed"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


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
def test_graphs_that_do_not_fit(splitter, message):
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


def test_missing_groups_of_pandas():
    pd = pytest.importorskip("pandas")
    ids = list("uvwxyz")
    graph = RelationGraph(np.eye(6), np.arange(36.0).reshape(6, 6), ids=ids)
    column = pd.Series(["a", "a", "b", "b", "c", None], dtype="string", index=ids)
    for groups in (column, column.to_dict(), column.astype(object)):
        with pytest.raises(ValueError, match="groups must not be None or NaN, 1 are, the first is that of node 5"):
            SettingSplit(4, 2, groups=groups).split(graph)
    assert len(list(SettingSplit(4, 2, groups=column.fillna("d")).split(graph))) == 2


def test_folds_without_edges_and_other_bad_graphs():
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


def test_edges_are_listed_once(monkeypatch):
    graph, times, to_dense = make_graph("complete"), [], Complete.to_dense
    monkeypatch.setattr(Complete, "to_dense", lambda self, *rows: times.append(1) or to_dense(self, *rows))
    splitter = SettingSplit(1, 3, n_repeats=2, both_directions=True)
    assert splitter.get_n_splits(graph) == len(list(splitter.split(graph))) == 6
    assert len(times) == 1
