"""Indexes of objects with several views: exact and approximate, grown, and in files."""

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph
from condrank.index import ObjectIndex
from condrank.kernels import RBF, Constant, Cosine, Identity, Linear, Precomputed, Unit

RNG = np.random.default_rng(0)
N = 20
VIEWS = {"x": RNG.normal(size=(N, 3)), "y": RNG.normal(size=(N, 2))}
NEW = {"x": RNG.normal(size=(7, 3)), "y": RNG.normal(size=(7, 2))}
LABELS = RNG.normal(size=(N, N))
LABELS = LABELS + LABELS.T
NAMES = [f"node-{i}" for i in range(N)]
GRAPH = RelationGraph(VIEWS, LABELS, ids=NAMES)
EXPRESSIONS = {
    "exact": {"kernel": RBF("median", view="x") * Unit(Linear(view="y") + Constant()) + 0.2 * Identity()},
    "explicit": {"kernel": 0.5 * Linear(view="x") + Cosine(view="y") + 2 * Constant()},
    "one view": {"kernel": Linear(view="x") + Constant()},
    "prior": {"kernel": RBF(0.3, view="x") + Linear(view="y"), "prior": "similarity"},
    "pairwise": {"kernel": RBF(0.3, view="x"), "pairwise_kernel": "poly2D"},
}


def rankers(name):
    given = EXPRESSIONS[name]
    relation = "ordinary" if "pairwise_kernel" in given else "symmetric"
    return ConditionalRanker(relation, **given).fit(GRAPH)


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("kind", ["exact", "approximate"])
def test_objects_with_views_are_ranked_as_the_ranker_ranks_them(name, kind, tmp_path):
    if kind == "approximate":
        pytest.importorskip("faiss")
    ranker = rankers(name)
    joined = {view: np.vstack([NEW[view], VIEWS[view][:4]]) for view in VIEWS}
    index = ranker.index(NEW, kind=kind, recall=1.0)
    index.add({view: rows[:4] for view, rows in VIEWS.items()})
    expected = ranker.rank(NEW, joined, top=5)
    index.save(tmp_path / "index")
    loaded = [ObjectIndex.load(tmp_path / "index", mmap=mmap) for mmap in (False, True)]
    for one in (index, *loaded):
        found = one.top(NEW, 5)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9)


def test_kernel_matrices_of_objects_are_saved_with_the_index(tmp_path):
    K = VIEWS["x"] @ VIEWS["x"].T
    graph = RelationGraph({"k": K, "y": VIEWS["y"]}, LABELS)
    train, objects, queries = np.arange(12), {"k": K[12:, :12], "y": VIEWS["y"][12:]}, {"k": K[:2, :12]}
    queries["y"] = VIEWS["y"][:2]
    for given in ({}, {"pairwise_kernel": "poly2D"}):
        ranker = ConditionalRanker(kernel=Precomputed(view="k") + RBF(0.2, view="y"), **given).fit(graph[train])
        scores = ranker.predict(graph)[:2, 12:]
        ranker.index(objects).save(tmp_path / "index")
        found = ObjectIndex.load(tmp_path / "index").top(queries, 3)
        np.testing.assert_array_equal(found.indices, np.argsort(-scores, axis=1)[:, :3])


def test_objects_without_a_view_are_refused():
    with pytest.raises(ValueError, match="uses the view 'y', which the nodes do not have"):
        rankers("explicit").index({"x": NEW["x"]})
