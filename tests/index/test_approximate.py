"""Approximate indexes: exact scores of the objects they find, and most of the best ones found."""

import copy
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, ObjectIndex
from condrank.index.approximate import scores_at
from condrank.index.coordinates import balance
from condrank.index.vectors import VectorScores
from reference_index import BY_MODEL, LABELS, OBJECTS, D, X, Y, assert_same, fitted, linear

RNG = np.random.default_rng(0)
SOLUTIONS = ("ordinary ranking linear outgoing", "symmetric ranking rbf incoming", "logistic", *BY_MODEL)


def test_scores_of_found_objects_take_little_memory():
    Q, objects = RNG.normal(size=(500, 64)), RNG.normal(size=(300, 64))
    places = RNG.integers(0, 300, size=(500, 200))
    tracemalloc.start()
    found = scores_at(VectorScores(Q, np.zeros(500), objects), places)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12e6  # all vectors at once are 51 MB
    np.testing.assert_allclose(found, np.take_along_axis(Q @ objects.T, places, axis=1), rtol=1e-10, atol=1e-10)


def test_an_approximate_index_needs_faiss_and_a_model_of_new_nodes(monkeypatch):
    pytest.importorskip("faiss")
    cartesian = ConditionalRanker(pairwise_kernel="cartesian", kernel="rbf").fit(X, Y)
    with pytest.raises(ValueError, match="scores new nodes"):
        cartesian.index(kind="approximate")
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"condrank\[index\]"):
        linear().index(OBJECTS, kind="approximate")


@pytest.mark.parametrize("relation", LABELS)
def test_approximate_answers_have_exact_scores_and_good_recall(relation):
    pytest.importorskip("faiss")
    rng = np.random.default_rng(1)
    scale = np.arange(1, 17) ** -1.0
    nodes, objects = rng.normal(size=(300, 16)) * scale, rng.normal(size=(2500, 16)) * scale + 1
    A = rng.normal(size=(16, 16))
    A = {"ordinary": A, "symmetric": A + A.T, "reciprocal": A - A.T}[relation]
    ranker = ConditionalRanker(relation).fit(nodes, nodes @ A @ nodes.T)
    index = ranker.index(objects, kind="approximate")
    assert index.kind == "approximate"
    assert index.recall(nodes[:100]) >= 0.95
    found = index.top(nodes[:50], 10, exclude=[5])
    taken = np.take_along_axis(ranker.predict(nodes[:50], objects), found.indices, axis=1)
    np.testing.assert_allclose(found.scores, taken, rtol=1e-6, atol=1e-9)
    assert (np.diff(found.scores, axis=1) <= 0).all()
    assert_same(index.top(nodes[:3], 2500), ranker.index(objects).top(nodes[:3], 2500))
    assert ranker.index(objects).recall(nodes[:3]) == 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", SOLUTIONS)
def test_every_solution_has_an_approximate_index(name, tmp_path):
    pytest.importorskip("faiss")
    ranker = fitted(name)
    rng = np.random.default_rng(3)
    objects, queries = rng.normal(size=(4000, D)), rng.normal(size=(60, D))
    index = ranker.index(objects[:3900], kind="approximate", recall=0.9)
    index.add(objects[3900:])
    index.remove([17, 3950])
    assert index.recall(queries) >= 0.85
    found = index.top(queries, 5)
    assert not np.isin(found.indices, [17, 3950]).any()
    taken = np.take_along_axis(ranker.predict(queries, objects), found.indices, axis=1)
    np.testing.assert_allclose(found.scores, taken, rtol=1e-9, atol=1e-9)
    index.save(tmp_path / "index")
    assert_same(ObjectIndex.load(tmp_path / "index").top(queries, 5), found)
    assert_same(copy.deepcopy(index).top(queries, 5), found)


def test_training_objects_and_sparse_features_have_approximate_indexes():
    pytest.importorskip("faiss")
    rng = np.random.default_rng(4)
    nodes = rng.normal(size=(1200, D))
    labels = np.where(rng.random((1200, 1200)) < 0.002, nodes @ nodes.T, np.nan)
    for ranker in (
        ConditionalRanker(kernel="rbf", solver="dual").fit(nodes, labels),
        ConditionalRanker().fit(sparse.csr_array(np.where(nodes > 0, nodes, 0)), labels),
    ):
        index = ranker.index(kind="approximate", recall=0.9)
        assert index.recall(ids=np.arange(100), k=5) >= 0.85
        exact, found = ranker.index().top(ids=np.arange(100), k=3), index.top(ids=np.arange(100), k=3)
        same = exact.indices == found.indices
        assert same.mean() > 0.7
        np.testing.assert_allclose(found.scores[same], exact.scores[same], rtol=1e-8, atol=1e-10)


def test_a_recall_that_search_coordinates_cannot_reach_is_refused(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr("condrank.index.approximate.SCORE_SAMPLE", 2)
    objects = np.random.default_rng(5).normal(size=(5000, D))
    with pytest.raises(ValueError, match=r"recall=1 cannot be reached.*kind='exact'"):
        fitted("dual").index(objects, kind="approximate", recall=1.0)


def test_more_recall_scans_more_lists_and_is_reached():
    pytest.importorskip("faiss")
    rng = np.random.default_rng(6)
    scale = np.arange(1, 13) ** -0.5
    nodes, objects, queries = (rng.normal(size=(n, 12)) * scale for n in (400, 5000, 300))
    ranker = ConditionalRanker().fit(nodes, nodes @ rng.normal(size=(12, 12)) @ nodes.T)
    probes = []
    for recall in (0.5, 0.9, 0.99):
        index = ranker.index(objects, kind="approximate", recall=recall)
        probes.append(index._near.probes)
        assert index.recall(queries) >= recall - 0.03
    assert probes[0] < probes[1] < probes[2] < len(index._near.lists.centroids)


@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_large_and_small_features_fit_into_the_lists(factor):
    pytest.importorskip("faiss")
    rng = np.random.default_rng(7)
    nodes, objects = rng.normal(size=(300, 5)), rng.normal(size=(3000, 5))
    ranker = ConditionalRanker().fit(nodes, nodes @ rng.normal(size=(5, 5)) @ nodes.T)
    plain = ranker.index(objects, kind="approximate")
    scaled = ranker.index(objects * factor, kind="approximate")
    np.testing.assert_array_equal(scaled.top(nodes[:20]).indices, plain.top(nodes[:20]).indices)


def test_balancing_changes_no_ranking_and_equalises_second_moments():
    rng = np.random.default_rng(2)
    objects, queries = rng.normal(size=(500, 6)) @ rng.normal(size=(6, 6)) + 3, rng.normal(size=(6, 6))
    mean, to_object, to_query = balance(objects, queries)
    scores = (queries @ to_query) @ ((objects - mean) @ to_object).T
    np.testing.assert_allclose(scores, queries @ (objects - mean).T, atol=1e-8)
    there, asked = (objects - mean) @ to_object, queries @ to_query
    moments = there.T @ there / 500
    np.testing.assert_allclose(moments * (asked.T @ asked)[0, 0] / moments[0, 0], asked.T @ asked, atol=1e-8)
    assert np.isclose(moments.max(), 1.0, rtol=1e-6)
    for nothing in (np.zeros((5, 6)), queries[:5] * 0):
        assert np.isfinite(np.concatenate(balance(nothing, nothing)[1:])).all()


def test_an_interrupted_addition_leaves_the_index_as_it_was(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr("condrank.index.approximate.LIST_ADDED_OBJECTS", 4)
    monkeypatch.setattr("condrank.index.approximate.LIST_LEAST_OBJECTS_PER_FETCHED", 1)
    index = linear().index(OBJECTS, kind="approximate", recall=1.0)
    before, real, calls = index.top(OBJECTS[:5], 3), index._near.coordinates.of_objects, []

    def interrupted(objects, places):
        calls.append(places)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(objects, places)

    with monkeypatch.context() as patched:
        patched.setattr(index._near.coordinates, "of_objects", interrupted)
        with pytest.raises(KeyboardInterrupt):
            index.add(10 * OBJECTS[:20])
    assert len(index) == len(index._near.lists) == len(OBJECTS)
    assert_same(index.top(OBJECTS[:5], 3), before)
    more = OBJECTS[::-1] * 5
    index.add(more)
    assert_same(index.top(OBJECTS[:5], 3), linear().index(np.vstack([OBJECTS, more])).top(OBJECTS[:5], 3))
