"""`TableRanker.index`: it answers as `TableRanker.rank`, also after adding, removing, saving and loading."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condrank import ConditionalRanker, ObjectIndex, TableRanker
from condrank.tables import TableIndex

RNG = np.random.default_rng(0)
N = 14
PEOPLE = {
    "id": [f"p{i}" for i in range(N)],
    "age": RNG.integers(20, 60, N).tolist(),
    "hand": ["left" if i % 3 else "right" for i in range(N)],
}
PAIRS = np.argwhere(RNG.random((N, N)) < 0.4)
LIKES = {
    "source": [f"p{i}" for i, _ in PAIRS],
    "target": [f"p{j}" for _, j in PAIRS],
    "value": RNG.normal(size=len(PAIRS)).tolist(),
}
NEW = {"id": ["new a", "new b"], "age": [33, 51], "hand": ["left", "right"]}
SOLVERS = ["dual", "primal"]


def fitted(solver="auto", **params):
    return TableRanker(ConditionalRanker(loss="regression", kernel="rbf", solver=solver, **params)).fit(PEOPLE, LIKES)


def answer(ranking):
    return [[(one, round(score, 9)) for one, score in row] for row in ranking]


@pytest.mark.parametrize("solver", SOLVERS)
@given(
    st.integers(1, N - 1),  # `rank` gives all rows one object fewer if one of them is left out of its own
    st.sampled_from(["best", "worst"]),
    st.booleans(),
    st.sampled_from([None, "known", ["p1", "never"], [["p2"], [], ["p0", "p3"]]]),
    st.sampled_from([None, ["p1", "p2", "p5", "p7"], [["p1"], ["p2", "p3"], ["p9", "p8"]]]),
)
@settings(max_examples=25, deadline=None)
def test_it_ranks_as_the_ranker(solver, k, order, exclude_self, exclude, candidates):
    ranker = RANKERS[solver]
    limits = {"exclude": exclude, "candidates": candidates, "order": order, "exclude_self": exclude_self}
    for queries in (["p0", "p4", "p2"], {"id": ["p0", "x", "y"], "age": [30, 41, 25], "hand": ["left"] * 3}):
        found, expected = ranker.index().top(queries, k, **limits), ranker.rank(queries, top=k, **limits)
        assert answer(found) == answer(expected)
        assert found.query_ids.tolist() == expected.query_ids.tolist()


RANKERS = {solver: fitted(solver) for solver in SOLVERS}


def test_added_objects_rank_as_the_ranker_ranks_them_and_removed_ones_are_gone():
    ranker = fitted()
    index = ranker.index()
    index.add(NEW)
    index.remove(["p3", "new b"])
    kept = [one for one in PEOPLE["id"] if one != "p3"]
    both = {name: [PEOPLE[name][int(one[1:])] for one in kept] + NEW[name][:1] for name in NEW}
    assert answer(index.top(["p1"], 20)) == answer(ranker.rank(["p1"], both, top=20))
    assert len(index) == N
    assert "new a" in index.ids
    index.add(["p3"])  # a known object by its id
    assert "p3" in {one for one, _ in index.top(["p1"], 20)[0]}


@pytest.mark.parametrize("kind", ["exact", "approximate"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_loaded_index_answers_as_before(tmp_path, kind, solver):
    if kind == "approximate":
        pytest.importorskip("faiss")
    index = fitted(solver).index(kind=kind)
    index.add(NEW)
    index.remove(["p5"])
    index.save(tmp_path / "index.safetensors")
    loaded = TableIndex.load(tmp_path / "index.safetensors")
    assert loaded.kind == kind
    for queries in (["p2"], {"age": [40], "hand": ["left"]}):
        assert answer(loaded.top(queries, 5)) == answer(index.top(queries, 5))
    assert answer(loaded.top(["p2"], 20, exclude="known")) == answer(index.top(["p2"], 20, exclude="known"))
    loaded.add({"id": ["p5"], "age": [44], "hand": ["left"]})
    assert len(loaded) == N + 2
    for load in (TableRanker.load, ObjectIndex.load):
        with pytest.raises(ValueError, match=r"TableIndex\.load"):
            load(tmp_path / "index.safetensors")


def test_numbers_and_texts_of_ids_are_the_same_ids():
    films = {"id": [10, 11, 12], "year": [1990, 1995, 2001]}
    seen = {"source": [1, 1, 2], "target": [10, 11, 12], "value": [1.0, 2.0, 3.0]}
    users = {"id": [1, 2], "age": [20, 30]}
    ranker = TableRanker(ConditionalRanker(loss="regression")).fit(users, seen, objects=films)
    index = ranker.index()
    index.add({"id": ["13"], "year": ["2005"]})  # as a text file has them
    index.remove(["10"])
    assert index.ids.tolist() == [11, 12, 13]
    assert {one for one, _ in index.top(["1"], exclude="known")[0]} == {12, 13}


def test_errors_name_the_object_and_change_nothing():
    index = fitted().index()
    with pytest.raises(ValueError, match=r"no object of the index has the id 'p33'.*did you mean 'p3'"):
        index.remove(["p1", "p33"])
    with pytest.raises(ValueError, match="'p1' is in the index already"):
        index.add({"id": ["z", "p1"], "age": [30, 31], "hand": ["left", "left"]})
    with pytest.raises(ValueError, match="objects must have ids to be added"):
        index.add({"age": [30], "hand": ["left"]})
    with pytest.raises(ValueError, match="candidates, position 0: no object of the index"):
        index.top(["p1"], candidates=["nobody"])
    assert index.ids.tolist() == PEOPLE["id"]
    assert repr(index) == f"TableIndex({N} objects, exact)"


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("relation", "loss"),
    [(one, loss) for one in ("ordinary", "symmetric", "reciprocal") for loss in ("regression", "ranking")]
    + [("reciprocal", "logistic")],
)
def test_every_solution_that_auto_may_choose_has_an_approximate_index(relation, loss, solver):
    pytest.importorskip("faiss")
    rng, n = np.random.default_rng(1), 300
    people = {"id": [f"p{i}" for i in range(n)], "a": rng.normal(size=n), "b": rng.normal(size=n)}
    i, j = rng.integers(0, n, (2, 600))
    i, j = i[i != j], j[i != j]
    edges = {"winner": [f"p{one}" for one in i], "loser": [f"p{one}" for one in j]}
    if relation != "reciprocal":
        edges = {"source": edges["winner"], "target": edges["loser"], "value": people["a"][i] * people["b"][j]}
    mirror = {"symmetric": "same"}.get(relation, "auto")
    ranker = TableRanker(ConditionalRanker(relation, loss, kernel="rbf", solver=solver, tol=1e-3, max_iter=50))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rough fit will do
        index = ranker.fit(people, edges, mirror=mirror).index(kind="approximate", recall=0.9)
    assert index.kind == "approximate"
    assert index.recall(people["id"][:50]) > 0.8
