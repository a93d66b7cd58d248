"""``exclude="known"``: what a node has an edge with in training is left out, in every way to rank."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.baselines import NearestNeighbours
from condrank.index import ObjectIndex

N, M = 12, 9


def drawn(seed, two_domains, with_ids, share=0.4):
    """Features of both sides, a mask of known pairs, and the graph."""
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(N, 3)), rng.normal(size=(M, 2))
    m = M if two_domains else N
    seen = rng.random((N, m)) < share
    sources, targets = np.nonzero(seen)
    ids = np.array([f"q{i}" for i in range(N)]) if with_ids else None
    object_ids = np.array([f"o{i}" for i in range(M)]) if with_ids else None
    extra = {"objects": Z, "object_ids": object_ids} if two_domains else {}
    ends = (ids[sources], (object_ids if two_domains else ids)[targets]) if with_ids else (sources, targets)
    values = rng.normal(size=len(sources))
    return X, Z, seen, RelationGraph.from_edges(X, *ends, values, ids=ids, **extra)


def expected(ranker, X, objects, seen, top):
    """The best unknown objects of each row, by sorting all scores: the naive twin."""
    scores = np.where(seen, -np.inf, ranker.predict(X, objects))
    return [[place for place in np.argsort(-row, kind="stable")[:top] if np.isfinite(row[place])] for row in scores]


def places(ranking):
    return [row[row >= 0].tolist() for row in ranking.indices]


CASES = st.tuples(st.integers(0, 10_000), st.booleans(), st.booleans(), st.sampled_from(["dual", "primal", "explicit"]))


@given(CASES, st.integers(1, 15))
@settings(max_examples=25, deadline=None)
def test_as_sorting_all_scores_without_the_known_ones(case, top):
    seed, two_domains, with_ids, solver = case
    X, Z, seen, graph = drawn(seed, two_domains, with_ids)
    kernel = "linear" if solver == "explicit" else "rbf"
    ranker = ConditionalRanker(loss="regression", kernel=kernel, gamma=0.5 if kernel == "rbf" else None, solver=solver)
    ranker.fit(graph)
    objects = Z if two_domains else X
    wanted = expected(ranker, X, objects, seen, top)
    queries = graph.ids if with_ids else np.arange(N)
    assert places(ranker.rank(queries, top=top, exclude="known")) == wanted
    assert places(ranker.index().top(queries, top, exclude="known")) == wanted
    worst = [one[::-1] for one in expected(ranker, X, objects, seen, 99)]
    assert places(ranker.rank(queries, top=99, exclude="known", order="worst")) == worst


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_a_saved_ranker_and_a_saved_index_know_the_same(tmp_path, rank_by, solver):
    _, _, seen, graph = drawn(3, True, True)
    seen = seen if rank_by == "outgoing" else seen.T
    queries = graph.ids if rank_by == "outgoing" else graph.object_ids
    ranker = ConditionalRanker(loss="regression", kernel="rbf", rank_by=rank_by, solver=solver).fit(graph)
    found = places(ranker.rank(queries, top=20, exclude="known"))
    assert [sorted(one) for one in found] == [np.flatnonzero(~row).tolist() for row in seen]
    ranker.save(tmp_path / "m.safetensors")
    loaded = ConditionalRanker.load(tmp_path / "m.safetensors")
    assert places(loaded.rank(queries, top=20, exclude="known")) == found
    ranker.index().save(tmp_path / "i.safetensors")
    index = ObjectIndex.load(tmp_path / "i.safetensors")
    assert places(index.top(queries, 20, exclude="known")) == found


def test_nothing_is_known_of_new_nodes_and_new_objects():
    X, _, seen, graph = drawn(1, False, False)
    ranker = ConditionalRanker(loss="regression").fit(graph)
    new = np.random.default_rng(5).normal(size=(2, 3))
    assert places(ranker.rank(new, top=5, exclude="known")) == places(ranker.rank(new, top=5))
    assert places(ranker.rank([0, 1], new, exclude="known")) == places(ranker.rank([0, 1], new))
    # The features of training are recognised, in any order of the objects.
    turned = np.arange(N)[::-1]
    found = ranker.rank(X, X[turned].copy(), top=N, exclude="known")
    assert found.indices.shape == (N, N)  # other values than in training: new objects
    found = ranker.rank(X, turned, top=N, exclude="known")
    for row, indices in enumerate(found.indices):
        assert set(turned[indices[indices >= 0]]) == set(np.flatnonzero(~seen[row]))


def test_new_nodes_with_a_known_id_are_recognised():
    players = {"id": ["ann", "bob", "cyd", "dan"], "age": [31, 25, 40, 28]}
    games = {"winner": ["ann", "bob"], "loser": ["bob", "cyd"]}
    ranker = TableRanker(ConditionalRanker("reciprocal", constant=True)).fit(players, games)
    assert set(ranker.rank(["ann"], exclude="known").ids[0]) == {"cyd", "dan"}
    found = ranker.rank({"id": ["bob", "eve"], "age": [26, 30]}, exclude="known")
    assert found[0] == [("dan", found.scores[0, 0])]
    assert {one for one, _ in found[1]} == {"ann", "bob", "cyd", "dan"}
    assert set(ranker.rank(["bob"], ["dan", "ann", "cyd"], exclude="known").ids[0]) == {"dan"}
    assert [set(one) for one in ranker.known_objects(["ann", "dan"])] == [{"bob"}, set()]


def test_objects_that_are_removed_and_added_again_stay_known():
    _, _, _, graph = drawn(2, False, True)
    ranker = ConditionalRanker(loss="regression").fit(graph)
    index = ranker.index()
    before = {one for one, _ in index.top(ids=["q0"], k=20, exclude="known")[0]}
    all_ids = {f"q{i}" for i in range(N)}
    known = sorted(all_ids - before)[0]
    place = int(known[1:])
    index.remove([known])
    index.add(graph.nodes.base[[place]], ids=[known])
    index.add(np.zeros((1, 3)), ids=["new"])
    assert {one for one, _ in index.top(ids=["q0"], k=20, exclude="known")[0]} == before | {"new"}


def test_an_index_with_other_ids_knows_by_position():
    _, _, seen, graph = drawn(2, False, True)
    ranker = ConditionalRanker(loss="regression").fit(graph)
    index = ranker.index(ids=np.arange(N) + 100)
    found = index.top(ids=["q3"], k=20, exclude="known")
    assert sorted(found.ids[0] - 100) == np.flatnonzero(~seen[3]).tolist()


def test_stored_values_of_a_relation_that_is_zero_elsewhere_are_the_known_ones():
    X = np.random.default_rng(0).normal(size=(6, 2))
    Y = sparse.csr_array((np.ones(3), ([0, 0, 1], [2, 4, 5])), shape=(6, 6))
    ranker = ConditionalRanker(loss="regression").fit(RelationGraph(X, Y, unstored="zero"))
    found = ranker.rank(np.arange(6), top=6, exclude="known")
    assert [sorted(one) for one in places(found)][:2] == [[0, 1, 3, 5], [0, 1, 2, 3, 4]]


def test_errors_say_what_to_do(tmp_path):
    X, _, _, graph = drawn(0, False, False)
    ranker = ConditionalRanker(loss="regression").fit(X, X @ X.T)
    with pytest.raises(ValueError, match="leaves nothing to rank"):
        ranker.rank([0], exclude="known")
    ranker.save(tmp_path)
    with pytest.raises(ValueError, match="leaves nothing to rank"):
        ConditionalRanker.load(tmp_path).rank([0], exclude="known")
    assert ranker.rank(np.ones((1, 3)), top=3, exclude="known").indices.shape == (1, 3)
    with pytest.raises(ValueError, match="exclude must be a sequence of objects, or 'known'"):
        ranker.rank([0], exclude="seen")
    with pytest.raises(ValueError, match="does not keep"):
        NearestNeighbours().fit(graph).rank(X, exclude="known")
