"""Fits of large graphs: memory, memory maps and precision."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import check_random_state

from builders import peak_mib
from condrank import ConditionalRanker, RelationGraph, sampled_rank_loss

rng = np.random.default_rng(0)


X = rng.normal(size=(80, 4)) + 1
LABELS = rng.integers(5, size=80)


def large(kind, n=30_000, d=8):
    """A graph of which an n×n array would take 3.4 GiB."""
    data = rng.standard_normal((n, d), dtype=np.float32)
    if kind == "classes":
        return RelationGraph.from_classes(data, rng.integers(20, size=n))
    if kind == "taxonomy":
        return RelationGraph.from_classes(data, rng.integers(4, size=(n, 3)))
    if kind == "factors":
        return RelationGraph.from_factors(data, rng.normal(size=(n, 3)), np.eye(3))
    source, target = rng.integers(n, size=(2, 5 * n))
    Y = sparse.csr_array((np.ones(5 * n, dtype=np.float32), (source, target)), shape=(n, n))
    return RelationGraph(data, Y, unstored="zero")


@pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
@pytest.mark.parametrize("kind", ["classes", "taxonomy", "factors", "zeros"])
@pytest.mark.parametrize("kernel", ["linear", "cosine"])
def test_a_fit_makes_nothing_of_size_n_by_n(kind, kernel):
    graph = large(kind)
    ranker = ConditionalRanker("symmetric", kernel=kernel, constant=kernel == "cosine")
    assert peak_mib(lambda: ranker.fit(graph)) < 60
    assert peak_mib(lambda: sampled_rank_loss(ranker, graph, 3, random_state=0)) < 400
    assert ranker.coef_.dtype == np.float32


def test_features_in_a_memory_map_are_fitted_as_those_in_memory(tmp_path):
    data = rng.normal(size=(5000, 6)).astype(np.float32)
    data.tofile(tmp_path / "features")
    mapped = np.memmap(tmp_path / "features", dtype=np.float32, mode="r", shape=data.shape)
    labels = rng.integers(4, size=len(data))
    one, other = (ConditionalRanker("symmetric").fit(RelationGraph.from_classes(X, labels)) for X in (mapped, data))
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("offset", [10.0, 300.0])
def test_single_precision_keeps_the_constant_of_features_far_from_zero(offset):
    """A large mean must not make noise of everything else."""
    draw = np.random.default_rng(3)
    data = (draw.standard_normal((2000, 4)) + offset).astype(np.float32)
    labels = (data[:, 0] + draw.standard_normal(2000) > offset).astype(int)
    single, double = (
        ConditionalRanker("symmetric", constant=True).fit(RelationGraph.from_classes(nodes, labels))
        for nodes in (data, data.astype(np.float64))
    )
    assert single.coef_.shape == double.coef_.shape == (5, 5)
    scores = [ranker.predict(data[:20], data[:50]) for ranker in (single, double)]
    found, expected = (score - score.mean(axis=1, keepdims=True) for score in scores)
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())


def test_only_a_fit_draws_from_a_generator(tmp_path):
    graph = RelationGraph.from_classes(X, LABELS)

    def fitted(planned, more=0):
        random = np.random.RandomState(3)
        ranker = ConditionalRanker(kernel="rbf", n_components=5, random_state=random)
        if planned:
            ranker.plan(graph)
        ranker.fit(graph)
        for _ in range(more):
            ranker.partial_fit(graph)
        return ranker.predict(X, X), random.randint(1000)

    scores, following = fitted(planned=False)
    again, after = fitted(planned=True)
    np.testing.assert_array_equal(again, scores)
    assert after == following == fitted(planned=False, more=2)[1]
    ranker = ConditionalRanker(kernel="rbf", n_components=5).fit(graph)
    common = check_random_state(None)
    before = common.get_state(legacy=False)["state"]
    ranker.save(tmp_path / "ranker")
    ConditionalRanker.load(tmp_path / "ranker")
    np.testing.assert_equal(common.get_state(legacy=False)["state"], before)
