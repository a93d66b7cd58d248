"""Indexes at their limits: of distributed rankers, emptied, of many names, pickled, and in a ranker's place."""

import copy
import itertools
import pickle
import tracemalloc

import numpy as np
import pytest

from condrank import ConditionalRanker, ObjectIndex, RelationGraph
from condrank.index.approximate import scores_at
from condrank.index.names import Names

RNG = np.random.default_rng(0)
N, D = 60, 4
X = RNG.normal(size=(N, D))
LABELS = np.arange(N) % 3
NAMES = np.array([f"n{i}" for i in range(N)])
QUERIES = RNG.normal(size=(5, D))


def ranker(**params):
    return ConditionalRanker("symmetric", **params).fit(RelationGraph.from_classes(X, LABELS, ids=NAMES))


def make(kind, **options):
    if kind == "approximate":
        pytest.importorskip("usearch")
    return ranker().index(kind=kind, **options)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"kernel": "cosine"},
        {"kernel": "cosine", "prior": "similarity", "constant": True},
        {"kernel": "rbf", "n_components": 8, "random_state": 0},
        {"kernel": "rbf", "n_components": 8, "random_state": 0, "prior": "similarity"},
    ],
    ids=str,
)
def test_index_of_a_distributed_ranker(params, tmp_path):
    da = pytest.importorskip("dask.array")
    graph = RelationGraph.from_classes(da.from_array(X, chunks=(17, D)), LABELS)
    distributed = ConditionalRanker("symmetric", **params).fit(graph)
    index = distributed.index()
    found = index.top(QUERIES, 4)
    np.testing.assert_array_equal(found.indices, distributed.rank(QUERIES, X, 4).indices)
    np.testing.assert_array_equal(index.top(ids=[7, 2], k=3).indices, index.top(X[[7, 2]], 3).indices)
    index.save(tmp_path / "index")
    loaded = ObjectIndex.load(tmp_path / "index")
    np.testing.assert_array_equal(loaded.top(QUERIES, 4).indices, found.indices)


@pytest.mark.parametrize("kind", ["exact", "approximate"])
def test_an_emptied_index_has_empty_answers(kind):
    index = make(kind)
    index.remove(NAMES)
    assert len(index) == 0
    for options in ({}, {"exclude": ["n1"]}, {"candidates": []}, {"candidates": [[]] * 5}):
        found = index.top(QUERIES, **options)
        assert found.indices.shape == found.scores.shape == found.ids.shape == (5, 0)
    assert index.recall(QUERIES) in (0.0, 1.0)
    index.add(X[:2], ["n1", "n0"])
    assert set(index.top(QUERIES).ids.ravel()) == {"n0", "n1"}


@pytest.mark.parametrize("kind", ["exact", "approximate"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_copies_answer_alike_and_change_apart(kind, copied):
    index = make(kind)
    index.remove(["n3"])
    other = copied(index)
    np.testing.assert_array_equal(other.top(QUERIES, 7).ids, index.top(QUERIES, 7).ids)
    other.add(X[:1], ["n3"])
    other.remove(["n5"])
    assert (len(other), len(index)) == (59, 59)
    assert "n3" in other.top(QUERIES, N).ids
    assert "n3" not in index.top(QUERIES, N).ids


def test_scores_of_found_objects_take_little_memory():
    Q, objects = RNG.normal(size=(500, 64)), RNG.normal(size=(300, 64))
    places = RNG.integers(0, 300, size=(500, 200))
    tracemalloc.start()
    found = scores_at(Q, objects, places)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6  # all vectors at once are 51 MB
    np.testing.assert_allclose(found, np.take_along_axis(Q @ objects.T, places, axis=1), rtol=1e-10, atol=1e-10)


def test_names_grow_without_a_copy_each_time_and_older_ones_stay():
    names = Names(np.array(["a", "b"]), np.zeros(0, dtype=np.intp))
    seen = []
    for number in range(200):
        names.add(names.check_new([f"name {number}"], 1))
        seen.append(names.ids)
    assert names.ids.tolist() == ["a", "b", *(f"name {number}" for number in range(200))]
    for number, before in enumerate(seen):
        assert before.tolist() == names.ids.tolist()[: number + 3]
    assert sum(not np.shares_memory(one, other) for one, other in itertools.pairwise(seen)) < 20


def test_ids_of_conditioning_nodes_are_looked_through_once(monkeypatch):
    index = make("exact")
    first = index.top(ids=["n3", "n1"])
    monkeypatch.setattr("condrank.nodes.checking.Ids", None)
    np.testing.assert_array_equal(index.top(ids=["n3", "n1"]).indices, first.indices)


def test_what_may_be_excluded():
    index = make("exact", ids=np.arange(N))
    index.remove([3])
    np.testing.assert_array_equal(index.top(QUERIES, exclude=[3, 1000]).indices, index.top(QUERIES).indices)
    index = ranker().index(X)
    index.remove([3])
    np.testing.assert_array_equal(index.top(QUERIES, exclude=[3]).indices, index.top(QUERIES).indices)
    with pytest.raises(ValueError, match=r"exclude must lie within 0\.\.59, got 1000"):
        index.top(QUERIES, exclude=[1000])


def test_a_file_of_an_index_is_told_from_that_of_a_ranker(tmp_path):
    make("exact").save(tmp_path / "index")
    with pytest.raises(ValueError, match=r"ObjectIndex\.load"):
        ConditionalRanker.load(tmp_path / "index")
