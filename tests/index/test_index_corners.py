"""Indexes at their limits: of distributed rankers, emptied, of many names, pickled, and in a ranker's place."""

import copy
import pickle

import numpy as np
import pytest

from condrank import ConditionalRanker, ObjectIndex, RelationGraph

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


def test_ids_of_conditioning_nodes_are_looked_through_once(monkeypatch):
    index = make("exact")
    first = index.top(ids=["n3", "n1"])
    monkeypatch.setattr("condrank.nodes.checking.Ids", None)
    np.testing.assert_array_equal(index.top(ids=["n3", "n1"]).indices, first.indices)
