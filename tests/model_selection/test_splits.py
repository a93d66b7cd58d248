"""Splits of the four settings against their definition on the dense relation, in which NaN is not observed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import NearestNeighbours
from condrank.metrics import rank_loss
from condrank.model_selection import SettingShuffleSplit, SettingSplit
from condrank.observations import Complete, Factored
from reference_splits import GROUPS, M, N, make_graph, make_labels

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


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
def test_nodes_of_two_domains_are_held_out(setting, rank_by):
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
def test_rankers_score_the_test_graphs_of_every_setting(setting, relation, rank_by, dtype):
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


# Numbers of folds, order and errors


@pytest.mark.parametrize("setting", [1, 2, 3])
def test_leave_one_out_holds_out_each_node_or_pair_once(setting):
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


def test_repeats_differ_and_seeds_repeat_them():
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
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_edges_are_listed_once(monkeypatch):
    graph, times, to_dense = make_graph("complete"), [], Complete.to_dense
    monkeypatch.setattr(Complete, "to_dense", lambda self, *rows: times.append(1) or to_dense(self, *rows))
    splitter = SettingSplit(1, 3, n_repeats=2, both_directions=True)
    assert splitter.get_n_splits(graph) == len(list(splitter.split(graph))) == 6
    assert len(times) == 1
