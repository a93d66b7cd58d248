"""Baselines without features against their definitions, one object at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import NearestNeighbours, PopularityRanker, SimilarityRanker, StrengthRanker, TwoStepRidge


def drawn(seed, n=8, m=6, share=0.6):
    rng = np.random.default_rng(seed)
    Y = np.where(rng.random((n, m)) < share, rng.normal(size=(n, m)), np.nan)
    Y[0, 0] = 1.0
    return RelationGraph(rng.normal(size=(n, 2)), Y, objects=rng.normal(size=(m, 3)))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 1.0, 5.0]), st.sampled_from([0.5, 1.0]))
def test_popularity_is_the_shrunk_mean_of_an_object(seed, shrinkage, share):
    graph = drawn(seed, share=share)
    Y, mean = graph.to_dense(), np.nanmean(graph.to_dense())
    found = PopularityRanker(shrinkage).fit(graph).predict(graph)
    for j in range(Y.shape[1]):
        known = Y[~np.isnan(Y[:, j]), j]
        weight = len(known) + shrinkage
        expected = mean if weight == 0 else (known.sum() + shrinkage * mean) / weight
        np.testing.assert_allclose(found[:, j], expected)


def test_objects_that_are_not_known_have_the_mean():
    graph = drawn(0)
    ranker = PopularityRanker().fit(graph)
    new = ranker.predict(np.zeros((2, 2)), np.zeros((3, 3)))
    np.testing.assert_allclose(new, np.nanmean(graph.to_dense()))
    assert ranker.score(graph) > 0.5
    with pytest.raises(ValueError, match="shrinkage"):
        PopularityRanker(-1).fit(graph)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 1.0]), st.booleans())
def test_strengths_minimise_the_squared_error_of_games(seed, shrinkage, probabilities):
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, 7, size=(2, 12))
    i, j = i[i != j], j[i != j]
    wins = rng.choice([-1.0, 1.0], size=len(i))
    values, turned = ((wins + 1) / 2, (1 - wins) / 2) if probabilities else (wins, -wins)
    both = np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([values, turned])
    graph = RelationGraph.from_edges(rng.normal(size=(7, 2)), *both, probabilities=probabilities or None)
    ranker = StrengthRanker(shrinkage).fit(graph)
    edges = graph.relation
    A = np.zeros((edges.n_pairs + 7, 7))
    places = np.arange(edges.n_pairs)
    A[places, edges.sources] += 1
    A[places, edges.indices] -= 1
    A[:-7] *= np.sqrt(edges.weights)[:, None]
    A[-7:] = np.sqrt(shrinkage) * np.eye(7)
    b = np.append(np.sqrt(edges.weights) * (edges.values - graph.centre), np.zeros(7))
    expected = np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(ranker.strengths_, expected, atol=1e-8)
    scores = ranker.predict(graph)
    np.testing.assert_allclose(scores, expected[:, None] - expected, atol=1e-8)
    np.testing.assert_allclose(ranker.predict(np.zeros((1, 2))), -expected[None], atol=1e-8)


def test_strengths_need_a_single_domain():
    with pytest.raises(ValueError, match="single domain"):
        StrengthRanker().fit(drawn(0))


def test_each_side_has_its_own_kernel():
    graph = drawn(1, share=1.0)
    for ranker in (NearestNeighbours(3, "linear", object_kernel="rbf"), TwoStepRidge(0.1, object_kernel="rbf")):
        one, same = ranker.fit(graph).predict(graph), type(ranker)(kernel="linear").fit(graph).predict(graph)
        assert np.abs(one - same).max() > 1e-6
        assert ranker.fitted_.model.cols.kernel.label == "rbf"


def test_a_path_of_two_step_ridges_is_that_of_single_fits():
    graph = drawn(2, share=1.0)
    path = TwoStepRidge(fit_intercept=True).fit(graph).path([10.0, 0.1])
    for alpha, ranker in zip([10.0, 0.1], path, strict=True):
        expected = TwoStepRidge(alpha, fit_intercept=True).fit(graph)
        np.testing.assert_allclose(ranker.predict(graph), expected.predict(graph))
        assert ranker.alpha == alpha


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_baselines_are_saved_and_loaded(tmp_path, share):
    graph, new = drawn(3, share=share), (np.ones((2, 2)), np.ones((3, 3)))
    rankers = [NearestNeighbours(3), PopularityRanker(2.0)]
    for ranker in [*rankers, TwoStepRidge(0.3)] if share == 1 else rankers:
        ranker.fit(graph).save(tmp_path / "model")
        loaded = type(ranker).load(tmp_path / "model")
        assert type(loaded) is type(ranker)
        np.testing.assert_allclose(loaded.predict(*new), ranker.predict(*new))
        np.testing.assert_allclose(loaded.predict([0, 1]), ranker.predict([0, 1]))
    classes = RelationGraph.from_classes(np.random.default_rng(0).normal(size=(9, 2)), np.arange(9) % 3)
    ranker = NearestNeighbours(3, "rbf").fit(classes)
    ranker.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict(new[0]), ranker.predict(new[0]))
    with pytest.raises(ValueError, match="fit it to a RelationGraph"):
        SimilarityRanker().fit(np.eye(3)).save(tmp_path / "other")
