"""Rankings: the top objects of each conditioning node against a full sort of all scores."""

import dataclasses
import sys

import numpy as np
import pytest
from scipy import sparse

from builders import LABELS, NODES, TWELVE_LABELS, TWELVE_NODES, ranker_of_games, refused
from condrank import ConditionalRanker, RelationGraph
from condrank.base.blocks import row_blocks
from condrank.rankers.ranking import Ranking, top_indices

N = 12
X = np.random.default_rng(0).normal(size=(N, 3))
Y = np.random.default_rng(1).normal(size=(N, N))
NEW = np.random.default_rng(2).normal(size=(7, 3))
K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
IDS = np.array([f"n{i}" for i in range(N)])


def split(monkeypatch, entries):
    """Blocks of one or of a few conditioning nodes, where there would be a single one."""

    def few(n_rows, row_size, budget=entries):
        return row_blocks(n_rows, row_size, budget)

    monkeypatch.setattr("condrank.models.model.row_blocks", few)


def full_sort(scores, top):
    return np.argsort(-scores, axis=1, kind="stable")[:, :top]


@pytest.mark.parametrize("kind", ["distinct", "few values", "all equal", "infinite", "float32"])
@pytest.mark.parametrize("top", [1, 2, 5, 29, 30, 31, 1000])
def test_top_indices_are_the_first_of_a_stable_sort(kind, top):
    rng = np.random.default_rng(3)
    scores = {
        "distinct": lambda: rng.normal(size=(40, 30)),
        "few values": lambda: rng.integers(0, 4, size=(40, 30)).astype(float),
        "all equal": lambda: np.zeros((4, 30)),
        "infinite": lambda: rng.choice([-np.inf, 0.0, np.inf], size=(40, 30)),
        "float32": lambda: rng.integers(0, 9, size=(40, 30)).astype(np.float32),
    }[kind]()
    before = scores.copy()
    np.testing.assert_array_equal(top_indices(scores, top), full_sort(scores, top))
    np.testing.assert_array_equal(scores, before)


def test_rank_is_the_sorted_prediction():
    ranker = ConditionalRanker(alpha=0.1).fit(X, Y)
    for objects in (None, X, NEW, X[3:9]):
        scores = ranker.predict(NEW, objects)
        for top in (1, 3, 100):
            ranking = ranker.rank(NEW, objects, top=top)
            expected = full_sort(scores, top)
            assert ranking.indices.shape == ranking.scores.shape == (7, min(top, scores.shape[1]))
            assert len(ranking) == 7
            np.testing.assert_array_equal(ranking.indices, expected)
            np.testing.assert_array_equal(ranking.scores, np.take_along_axis(scores, expected, axis=1))
            assert ranking.ids is None
            assert ranking.query_ids is None
    assert ranker.rank(NEW).indices.shape == (7, 10)


def test_ties_are_ordered_by_position():
    ranker = ConditionalRanker(alpha=0.1).fit(X, Y)
    objects = np.repeat(X[:4], 3, axis=0)
    for top in (2, 5, 12):
        indices = ranker.rank(NEW, objects, top=top).indices
        for row in indices:
            for group in range(4):
                members = row[row // 3 == group]
                assert members.tolist() == sorted(members)
                assert members.tolist() == list(range(3 * group, 3 * group + len(members)))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"kernel": "rbf"},
        {"kernel": "rbf", "prior": "similarity"},
        {"prior": "similarity", "constant": True},
        {"rank_by": "incoming"},
    ],
    ids=str,
)
@pytest.mark.parametrize("entries", [1, 20, 50])
def test_blocks_change_no_ranking(params, entries, monkeypatch):
    ranker = ConditionalRanker(alpha=0.1, **params).fit(X, Y)
    graph = RelationGraph(NEW, Y[:7, :7])

    def everything():
        yield ranker.predict(NEW)
        yield ranker.predict(NEW, NEW)
        yield ranker.predict(NEW, X[:3])
        yield ranker.predict(X, NEW)
        yield ranker.predict(X)
        yield ranker.predict(graph)
        yield ranker.predict(graph[[3, 1, 6]])
        yield ranker.predict_edges(NEW, X[:7])
        yield ranker.predict(sparse.csr_array(NEW), sparse.csr_array(X))
        yield ranker.rank(NEW, top=4).indices
        yield ranker.rank(NEW, top=4).scores
        yield np.array(ranker.score(graph))
        yield np.array(ranker.score(X, Y))

    whole = list(everything())
    split(monkeypatch, entries)
    for before, after in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("params", [{}, {"prior": "similarity"}, {"constant": True}], ids=str)
@pytest.mark.parametrize("entries", [1, 20, 50])
def test_blocks_of_a_precomputed_kernel_change_no_ranking(params, entries, monkeypatch):
    graph = RelationGraph(K, Y)
    ranker = ConditionalRanker(kernel="precomputed", alpha=0.1, **params).fit(graph[:8])

    def everything():
        yield ranker.predict(graph)
        yield ranker.predict(graph[8:])
        yield ranker.predict(graph[[9, 2, 11]])
        yield ranker.predict(K[8:, :8].copy())
        yield ranker.rank(graph, top=3).indices
        yield np.array(ranker.score(graph))

    whole = list(everything())
    split(monkeypatch, entries)
    for before, after in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-10, atol=1e-12)


def test_many_queries_and_objects_are_ranked_in_blocks():
    """Large enough for several blocks of the usual size."""
    rng = np.random.default_rng(5)
    queries, objects = rng.normal(size=(2500, 3)), rng.normal(size=(2000, 3))
    ranker = ConditionalRanker(alpha=0.1).fit(X, Y)
    ranking = ranker.rank(queries, objects, top=4)
    scores = ranker.predict(queries, objects)
    assert scores.shape == (2500, 2000)
    assert len(list(row_blocks(2500, 2000))) > 1
    np.testing.assert_array_equal(ranking.indices, full_sort(scores, 4))
    pairs = ranker.predict_edges(queries[:2000], objects)
    np.testing.assert_allclose(pairs, np.diagonal(scores[:2000]), rtol=1e-9, atol=1e-10)


def test_ids_are_given_back():
    graph = RelationGraph(X, Y, ids=IDS)
    ranker = ConditionalRanker(alpha=0.1).fit(graph)
    ranking = ranker.rank(NEW, top=3)
    np.testing.assert_array_equal(ranking.ids, IDS[ranking.indices])
    assert ranking.query_ids is None
    part = graph[["n7", "n2", "n5"]]
    ranking = ranker.rank(part, top=2)
    assert ranking.query_ids.tolist() == ["n7", "n2", "n5"]
    np.testing.assert_array_equal(ranking.ids, np.array(["n7", "n2", "n5"])[ranking.indices])
    assert ranker.rank(NEW, X[:2]).ids is None  # objects without names
    some = ConditionalRanker(alpha=0.1).fit(part).rank(NEW, top=3)
    np.testing.assert_array_equal(some.ids, np.array(["n7", "n2", "n5"])[some.indices])


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_ids_of_two_domains_are_given_back(rank_by):
    letters = np.array(list("vwxyz"))
    graph = RelationGraph(X, Y[:, :5], objects=NEW[:5], ids=IDS, object_ids=letters)
    ranker = ConditionalRanker(alpha=0.1, rank_by=rank_by).fit(graph)
    ranking = ranker.rank(graph, top=2)
    queries, objects = (IDS, letters) if rank_by == "outgoing" else (letters, IDS)
    np.testing.assert_array_equal(ranking.query_ids, queries)
    np.testing.assert_array_equal(ranking.ids, objects[ranking.indices])
    np.testing.assert_array_equal(ranking.indices, full_sort(ranker.predict(graph), 2))
    np.testing.assert_array_equal(ranker.rank(NEW, top=2).ids, objects[ranker.rank(NEW, top=2).indices])


def test_a_ranking_becomes_a_frame():
    pd = pytest.importorskip("pandas")
    graph = RelationGraph(X, Y, ids=IDS)
    ranker = ConditionalRanker(alpha=0.1).fit(graph)
    ranking = ranker.rank(graph[:3], top=2)
    frame = ranking.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == ["query", "rank", "object", "score"]
    assert frame["query"].tolist() == ["n0", "n0", "n1", "n1", "n2", "n2"]
    assert frame["rank"].tolist() == [1, 2] * 3
    assert frame["object"].tolist() == ranking.ids.ravel().tolist()
    assert frame["score"].tolist() == ranking.scores.ravel().tolist()
    bare = ConditionalRanker(alpha=0.1).fit(X, Y).rank(NEW[:2], top=3)
    assert bare.to_frame()["query"].tolist() == [0, 0, 0, 1, 1, 1]
    assert bare.to_frame()["object"].tolist() == bare.indices.ravel().tolist()


def test_a_frame_needs_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    ranking = Ranking(np.array([[0, 1]]), np.array([[2.0, 1.0]]))
    with pytest.raises(ImportError, match=r"to_frame needs pandas: pip install 'condrank\[frames\]'"):
        ranking.to_frame()


def test_a_ranking_is_shown_as_text():
    ranking = Ranking(np.array([[2, 0]] * 7), np.array([[1.5, -0.25]] * 7), None, IDS[:7])
    lines = str(ranking).splitlines()
    assert lines[0] == "n0: 2 (1.5), 0 (-0.25)"
    assert lines[-1] == "… and 2 more"
    assert len(lines) == 6
    named = Ranking(np.array([[1]]), np.array([[3.0]]), np.array([["bob"]]))
    assert str(named) == "0: bob (3)"


def test_rankings_can_be_compared_and_not_changed():
    ranking = Ranking(np.zeros((2, 2), dtype=int), np.zeros((2, 2)))
    assert ranking == ranking  # as an object, not entry by entry
    assert ranking != Ranking(np.zeros((2, 2), dtype=int), np.zeros((2, 2)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        ranking.scores = None


@pytest.mark.parametrize("top", [0, -1, 2.5, "3", None])
def test_a_top_that_is_no_whole_number_is_refused(top):
    refused(
        "top must be a whole number of at least 1, got", ConditionalRanker().fit(NODES, LABELS).rank, NODES, top=top
    )


def test_rankings_are_indexed_and_iterated():
    ranking = ranker_of_games().rank(["ann", "bob"], top=2)
    assert ranking[0] == list(zip(ranking.ids[0].tolist(), ranking.scores[0].tolist(), strict=True))
    assert [row[0][0] for row in ranking] == ranking.ids[:, 0].tolist()
    assert ranking[-1] == list(ranking)[1]
    short = Ranking(np.array([[2, -1]]), np.array([[1.0, -np.inf]]))
    assert list(short) == [[(2, 1.0)]]
    with pytest.raises(IndexError):
        ranking[2]


def test_rankings_of_no_one_are_empty():
    graph = RelationGraph(TWELVE_NODES, TWELVE_LABELS)
    ranking = ConditionalRanker().fit(graph).rank(graph[[]], top=3)
    assert len(ranking) == 0


def test_objects_are_excluded_or_chosen_by_id_and_the_worst_may_come_first():
    ranker = ConditionalRanker().fit(RelationGraph(X, Y, ids=IDS))
    scores = ranker.predict(NEW)
    worst = ranker.rank(NEW, top=4, order="worst")
    np.testing.assert_array_equal(worst.indices, full_sort(-scores, 4))
    assert (np.diff(worst.scores, axis=1) >= 0).all()
    found = ranker.rank(NEW, top=4, exclude=["n3", "n5", "nobody"])
    scores[:, [3, 5]] = -np.inf
    np.testing.assert_array_equal(found.ids, IDS[full_sort(scores, 4)])
    found = ranker.rank(NEW[:2], top=4, candidates=[["n1", "n2"], ["n7"]], exclude=["n2"])
    assert found.ids.tolist() == [["n1"], ["n7"]]
    found = ranker.rank(NEW[:2], top=4, candidates=[["n1", "n2"], ["n7"]])
    assert found.ids[1].tolist() == ["n7", None]
    assert found[1] == [("n7", pytest.approx(float(ranker.predict(NEW[1:2])[0, 7])))]
    graph = RelationGraph(X, Y, ids=IDS)
    assert "n4" not in ranker.rank(graph, top=N, exclude=["n4"]).ids
    refused("unknown: 'm'", ranker.rank, NEW, candidates=["n1", "m"])
    refused("order must be", ranker.rank, NEW, order="up")
    refused("each of the 7 queries", ranker.rank, NEW, exclude=[["n1"]])
