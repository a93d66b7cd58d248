"""ObjectIndex against plain rankings: every ranker, objects that come and go, copies, threads and bad input."""

import copy
import itertools
import pickle
import threading

import numpy as np
import pytest
from scipy import sparse

from builders import FIVE_QUERIES, SIXTY_CLASSES, SIXTY_NAMES, SIXTY_NODES, index_of_classes
from condrank import ConditionalRanker, ObjectIndex, RelationGraph
from condrank.baselines import NearestNeighbours, SimilarityRanker
from condrank.models.inner_products import InnerProducts
from reference_index import (
    BY_MODEL,
    FITTED,
    KINDS,
    NAMES,
    OBJECTS,
    QUERIES,
    RNG,
    D,
    N,
    X,
    Y,
    assert_same,
    fitted,
    linear,
    make,
)

BAD = {
    "k": (lambda index: index.top(QUERIES, 0), "k must be"),
    "nothing": (lambda index: index.top(), "pass either queries, or ids"),
    "both": (lambda index: index.top(QUERIES, ids=["n1"]), "pass either queries, or ids"),
    "node": (lambda index: index.top(ids=["m"]), "ids has 1 id"),
    "columns": (lambda index: index.top(QUERIES[:, :2]), "features"),
    "nan": (lambda index: index.top(QUERIES * np.nan), "finite"),
    "flat": (lambda index: index.top(QUERIES[0]), "two-dimensional"),
    "one name": (lambda index: index.top(QUERIES, exclude="o1"), "exclude must be a sequence"),
    "number": (lambda index: index.top(QUERIES, candidates=3), "candidates must be a sequence"),
    "few": (lambda index: index.top(QUERIES, exclude=[["o1"]]), "each of the 9 queries"),
    "mixed": (lambda index: index.top(QUERIES, exclude=[["o1"], "o2"]), "not both"),
    "deep": (lambda index: index.top(QUERIES[:1], exclude=[[["o1"]]]), "one-dimensional"),
    "unknown candidate": (lambda index: index.top(QUERIES, candidates=["o1", "p"]), "not in the index: 'p'"),
    "unknown": (lambda index: index.remove(["o1", "p"]), "not in the index: 'p'"),
    "nested": (lambda index: index.remove([["o1"]]), "ids must"),
    "taken": (lambda index: index.add(QUERIES, [*NAMES[:8], "z"]), "'o0' is in the index already"),
    "no names": (lambda index: index.add(QUERIES), "have ids"),
    "other names": (lambda index: index.add(QUERIES, np.arange(9)), "same type"),
    "too few names": (lambda index: index.add(QUERIES, ["a"]), "9 nodes"),
    "other features": (lambda index: index.add(QUERIES[:, :2], list("abcdefghi")), "features"),
}


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
def test_the_index_of_a_distributed_ranker_answers_as_its_rankings(params, tmp_path):
    da = pytest.importorskip("dask.array")
    graph = RelationGraph.from_classes(da.from_array(SIXTY_NODES, chunks=(17, 4)), SIXTY_CLASSES)
    distributed = ConditionalRanker("symmetric", **params).fit(graph)
    index = distributed.index()
    found = index.top(FIVE_QUERIES, 4)
    np.testing.assert_array_equal(found.indices, distributed.rank(FIVE_QUERIES, SIXTY_NODES, 4).indices)
    np.testing.assert_array_equal(index.top(ids=[7, 2], k=3).indices, index.top(SIXTY_NODES[[7, 2]], 3).indices)
    index.save(tmp_path / "index")
    loaded = ObjectIndex.load(tmp_path / "index")
    np.testing.assert_array_equal(loaded.top(FIVE_QUERIES, 4).indices, found.indices)


@pytest.mark.parametrize("kind", ["exact", "approximate"])
def test_an_emptied_index_has_empty_answers(kind):
    index = index_of_classes(kind)
    index.remove(SIXTY_NAMES)
    assert len(index) == 0
    for options in ({}, {"exclude": ["n1"]}, {"candidates": []}, {"candidates": [[]] * 5}):
        found = index.top(FIVE_QUERIES, **options)
        assert found.indices.shape == found.scores.shape == found.ids.shape == (5, 0)
    assert index.recall(FIVE_QUERIES) in (0.0, 1.0)
    index.add(SIXTY_NODES[:2], ["n1", "n0"])
    assert set(index.top(FIVE_QUERIES).ids.ravel()) == {"n0", "n1"}


@pytest.mark.parametrize("kind", ["exact", "approximate"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_copies_answer_alike_and_change_apart(kind, copied):
    index = index_of_classes(kind)
    index.remove(["n3"])
    other = copied(index)
    np.testing.assert_array_equal(other.top(FIVE_QUERIES, 7).ids, index.top(FIVE_QUERIES, 7).ids)
    other.add(SIXTY_NODES[:1], ["n3"])
    other.remove(["n5"])
    assert (len(other), len(index)) == (59, 59)
    assert "n3" in other.top(FIVE_QUERIES, 60).ids
    assert "n3" not in index.top(FIVE_QUERIES, 60).ids


def test_ids_of_conditioning_nodes_are_looked_through_once(monkeypatch):
    index = index_of_classes("exact")
    first = index.top(ids=["n3", "n1"])
    monkeypatch.setattr("condrank.nodes.checking.Ids", None)
    np.testing.assert_array_equal(index.top(ids=["n3", "n1"]).indices, first.indices)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FITTED)
def test_the_answers_are_those_of_rank(name, small_blocks):
    ranker = fitted(name)
    assert InnerProducts.applies(ranker.fitted_.model) == (name not in BY_MODEL)
    for k in (1, 5, 1000):
        assert_same(ranker.index(OBJECTS).top(QUERIES, k), ranker.rank(QUERIES, OBJECTS, k))
        assert_same(ranker.index().top(QUERIES, k), ranker.rank(QUERIES, top=k))
    nodes = ranker.index(OBJECTS).top(ids=["n3", "n0"], k=5)
    assert nodes.query_ids.tolist() == ["n3", "n0"]
    np.testing.assert_array_equal(nodes.indices, ranker.rank(X[[3, 0]], OBJECTS, 5).indices)


def test_indexes_of_two_domains_answer_as_rank(small_blocks):
    labels = RNG.normal(size=(N, 30))
    others = RNG.normal(size=(30, 6))
    graph = RelationGraph(X, labels, objects=others, object_ids=np.arange(30) * 10)
    new_objects = RNG.normal(size=(20, 6))
    for kernel, rank_by in itertools.product(("linear", "rbf"), ("outgoing", "incoming")):
        ranker = ConditionalRanker(kernel=kernel, rank_by=rank_by).fit(graph)
        queries, objects = (QUERIES, new_objects) if rank_by == "outgoing" else (new_objects, OBJECTS)
        assert_same(ranker.index(objects).top(queries, 4), ranker.rank(queries, objects, 4))
        assert_same(ranker.index(graph).top(graph, 4), ranker.rank(graph, top=4))
    with pytest.raises(ValueError, match="features"):
        ranker.index(new_objects)


def test_precomputed_and_cartesian_kernels_answer_as_rank(small_blocks):
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    rows, objects = K[:5] * 0.9, K[3:20] * 0.8
    ranker = ConditionalRanker(kernel="precomputed").fit(K, Y)
    assert_same(ranker.index().top(rows, 4), ranker.rank(rows, top=4))
    assert_same(ranker.index(objects).top(rows, 4), ranker.rank(rows, objects, 4))
    graph = RelationGraph(K, Y)
    ranker = ConditionalRanker(kernel="precomputed", prior="similarity").fit(graph[:12])
    assert_same(ranker.index(graph[12:]).top(graph[12:], 4), ranker.rank(graph[12:], top=4))
    with pytest.raises(ValueError, match="kernel between the given nodes"):
        ranker.index(K[:5, :12]).top(K[:5, :12])
    ranker = ConditionalRanker(pairwise_kernel="cartesian", kernel="rbf").fit(X, Y)
    index = ranker.index()
    assert_same(index.top(X, 4), ranker.rank(X, top=4))
    chosen = index.top(X, 4, candidates=[1, 5, 6, 20, 23], exclude=[5])
    assert set(chosen.indices.ravel()) == {1, 6, 20, 23}
    with pytest.raises(ValueError, match=r"(?i)cartesian"):
        index.add(OBJECTS)


def test_sparse_features_and_approximate_kernels_answer_as_rank(small_blocks):
    for kernel, prior, constant in itertools.product(("linear", "cosine"), (None, "similarity"), (False, True)):
        options = {"kernel": kernel, "prior": prior, "constant": constant}
        ranker = ConditionalRanker(**options).fit(sparse.csr_array(np.abs(X)), Y)
        objects, queries = sparse.csr_array(np.abs(OBJECTS)), sparse.csr_array(np.abs(QUERIES))
        index = ranker.index(objects[:40])
        index.add(objects[40:])
        assert_same(index.top(queries, 6), ranker.rank(queries, objects, 6))
    for prior in (None, "similarity"):
        ranker = ConditionalRanker(kernel="rbf", n_components=8, random_state=0, prior=prior).fit(X, Y)
        assert_same(ranker.index(OBJECTS).top(QUERIES, 6), ranker.rank(QUERIES, OBJECTS, 6))


def test_baselines_have_indexes_too(tmp_path):
    for ranker in (SimilarityRanker("rbf"), NearestNeighbours(kernel="rbf")):
        ranker.fit(X, Y)
        assert_same(ranker.index(OBJECTS).top(QUERIES, 4), ranker.rank(QUERIES, OBJECTS, 4))
    ranker.index(OBJECTS).save(tmp_path / "index")
    assert_same(ObjectIndex.load(tmp_path / "index").top(QUERIES, 4), ranker.rank(QUERIES, OBJECTS, 4))
    with pytest.raises(ValueError, match="saved with its training graph"):
        SimilarityRanker("rbf").fit(X).index(OBJECTS).save(tmp_path / "nowhere")


def test_ties_are_ordered_by_position(small_blocks):
    ranker = ConditionalRanker("symmetric").fit(np.eye(3)[RNG.integers(0, 3, 20)], np.ones((20, 20)))
    objects = np.repeat(np.eye(3), 20, axis=0)[RNG.permutation(60)]
    for k in (1, 10, 25, 59):
        scores = ranker.predict(np.eye(3), objects)
        np.testing.assert_array_equal(
            ranker.index(objects).top(np.eye(3), k).indices, np.argsort(-scores, axis=1, kind="stable")[:, :k]
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("named", [True, False])
def test_adding_and_removing_equal_a_new_index(kind, named):
    ranker = linear()
    rng = np.random.default_rng(5)
    index = make(ranker, OBJECTS[:20], kind, ids=NAMES[:20] if named else None)
    there = list(range(20))
    for start in range(20, 57, 6):
        more = np.arange(start, min(start + 6, 57))
        before = index.top(QUERIES, 5)
        assert_same(index.top(QUERIES, 5), before)
        np.testing.assert_array_equal(index.add(OBJECTS[more], NAMES[more] if named else None), more)
        there += more.tolist()
        leaving = rng.choice(there, 4, replace=False)
        index.remove(NAMES[leaving] if named else leaving)
        there = [one for one in there if one not in leaving]
        assert len(index) == len(there)
        fresh = ranker.index(OBJECTS[there], ids=NAMES[there]).top(QUERIES, 7)
        found = index.top(QUERIES, 7)
        np.testing.assert_array_equal(found.indices, np.array(there)[fresh.indices])
        np.testing.assert_allclose(found.scores, fresh.scores, rtol=1e-6)
        if named:
            np.testing.assert_array_equal(found.ids, fresh.ids)
    if named:
        gone = next(name for name in NAMES if name not in NAMES[there])
        assert index.add(OBJECTS[:1] * 100, [gone]) == [57]
        assert (index.top(QUERIES, len(index)).ids == gone).sum() == len(QUERIES)


def test_adding_leaves_the_callers_array_alone():
    objects = OBJECTS.copy()
    index = linear().index(objects)
    for _ in range(5):
        index.add(QUERIES)
    np.testing.assert_array_equal(objects, OBJECTS)
    assert len(index) == 57 + 45


@pytest.mark.parametrize("kind", KINDS)
def test_a_ranker_of_sums_needs_the_objects_of_its_index(kind):
    labels = np.arange(N) % 3
    ranker = ConditionalRanker("symmetric")
    for part in (slice(0, 10), slice(10, N)):
        ranker.partial_fit(RelationGraph.from_classes(X[part], labels[part]))
    assert_same(make(ranker, OBJECTS, kind).top(QUERIES, 4), ranker.rank(QUERIES, OBJECTS, 4))
    with pytest.raises(ValueError, match="objects must be given"):
        ranker.index()


def test_fitting_the_ranker_again_leaves_the_index_alone():
    ranker = linear()
    index = ranker.index(OBJECTS)
    before = index.top(QUERIES)
    ranker.fit(X, -Y)
    assert_same(index.top(QUERIES), before)


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_and_changes_nothing(name):
    index = linear().index(OBJECTS, ids=NAMES)
    before = index.top(QUERIES)
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call(index)
    assert_same(index.top(QUERIES), before)
    assert len(index) == 57


def test_bad_positions_and_bad_indexes_are_refused():
    ranker = linear()
    index = ranker.index(OBJECTS)
    for bad in ([57], [-1], [0.5], ["o1"]):
        with pytest.raises(ValueError, match="exclude must"):
            index.top(QUERIES, exclude=bad)
    index.remove([3])
    with pytest.raises(ValueError, match="not in the index: 3"):
        index.remove([2, 3])
    with pytest.raises(ValueError, match="have no ids"):
        index.add(QUERIES, list("abcdefghi"))
    with pytest.raises(ValueError, match="kind must be"):
        ranker.index(OBJECTS, kind="fast")
    with pytest.raises(ValueError, match="unique"):
        ranker.index(OBJECTS, ids=np.zeros(57))
    for bad in (0, -0.5, 1.01, np.nan, "all", None, True):
        with pytest.raises(ValueError, match="recall must"):
            ranker.index(OBJECTS, kind="approximate", recall=bad)
    with pytest.raises(ValueError, match="fitted"):
        ConditionalRanker().index(OBJECTS)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_get_right_answers_while_objects_come_and_go(kind):
    ranker = linear()
    objects = np.random.default_rng(4).normal(size=(3000, D))
    # What comes and goes is better than all others for nobody: the answers stay the same.
    index = make(ranker, objects, kind, ids=np.arange(3000))
    asked = [np.random.default_rng(seed).normal(size=(4, D)) for seed in range(2)]
    expected = [index.top(one, 5) for one in asked]
    wrong, stop = [], threading.Event()

    def ask(number):
        while not stop.is_set():
            found = index.top(asked[number], 5, exclude=[-1])
            if not np.array_equal(found.ids, expected[number].ids):
                wrong.append(found)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        for step in range(12):
            index.add(np.zeros((3, D)), [3000 + 3 * step + i for i in range(3)])
            index.remove([3000 + 3 * step])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert len(index) == 3000 + 24
