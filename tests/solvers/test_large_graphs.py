"""Relations of which nothing of size n×n is made: memory of a fit and of an evaluation, and what a sample tells."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, RelationGraph, sampled_rank_loss
from condrank.nodes import ExplicitFeatures, NodeKernel, Nodes
from condrank.nodes.feature_maps import FeatureRows, own_features

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4)) + 1
LABELS = rng.integers(5, size=80)


def peak(job):
    """MiB allocated at most."""
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


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
def test_nothing_of_size_n_by_n(kind, kernel):
    graph = large(kind)
    ranker = ConditionalRanker("symmetric", kernel=kernel, constant=kernel == "cosine")
    assert peak(lambda: ranker.fit(graph)) < 60
    assert peak(lambda: sampled_rank_loss(ranker, graph, 3, random_state=0)) < 400
    assert ranker.coef_.dtype == np.float32


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
@pytest.mark.parametrize("constant", [False, True])
def test_features_are_not_copied(kernel, constant):
    data = rng.standard_normal((200_000, 16), dtype=np.float32)
    made = peak(lambda: ExplicitFeatures(NodeKernel(kernel, constant=constant), Nodes(data)))
    assert made < data.nbytes / 2**20  # a copy alone would take as much


def test_a_memory_map_is_read_in_blocks(tmp_path):
    data = rng.normal(size=(5000, 6)).astype(np.float32)
    data.tofile(tmp_path / "features")
    mapped = np.memmap(tmp_path / "features", dtype=np.float32, mode="r", shape=data.shape)
    labels = rng.integers(4, size=len(data))
    one, other = (ConditionalRanker("symmetric").fit(RelationGraph.from_classes(X, labels)) for X in (mapped, data))
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize(
    "data", [X, sparse.csr_array(np.where(X > 1, X, 0)), X.astype(np.float32)], ids=["dense", "sparse", "float32"]
)
@pytest.mark.parametrize(
    "kernel", [NodeKernel("cosine", constant=True), NodeKernel("linear", weights=(1.0, 2.0, 0.5, 3.0))], ids=str
)
def test_products_of_rows_that_are_not_held(data, kernel, monkeypatch):
    monkeypatch.setattr("condrank.nodes.feature_maps.DENSE_BLOCK", 32)
    monkeypatch.setattr("condrank.nodes.feature_maps.SPARSE_BLOCK", 7)
    rows = FeatureRows(own_features(kernel, 4), Nodes(data), kernel.constant)
    whole = rows.part(slice(None))
    whole = whole.toarray() if sparse.issparse(whole) else whole
    p = whole.shape[1]
    assert len(list(rows.blocks())) > 1
    M, Y = rng.normal(size=(p, 3)), np.where(rng.random((6, 80)) < 0.3, 1.0, 0.0)
    tolerance = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(rows @ M, whole @ M, **tolerance)
    np.testing.assert_allclose(rows @ M[:, 0], whole @ M[:, 0], **tolerance)
    for given in (Y, sparse.csr_array(Y)):
        np.testing.assert_allclose(given @ rows, Y @ whole, **tolerance)
        np.testing.assert_allclose(rows.T @ given.T, whole.T @ Y.T, **tolerance)
    np.testing.assert_allclose(M.T @ rows.T, M.T @ whole.T, **tolerance)


def test_a_sample_of_all_nodes_is_the_score():
    graph = RelationGraph.from_classes(X, LABELS)
    for rank_by in ("outgoing", "incoming"):
        ranker = ConditionalRanker("symmetric", rank_by=rank_by).fit(graph)
        whole = sampled_rank_loss(ranker, graph, 1000)
        assert whole.n_queries == 80
        assert whole.standard_error == 0
        assert whole.loss == pytest.approx(1 - ranker.score(graph), rel=1e-12)


@pytest.mark.parametrize("form", ["classes", "matrix", "zeros", "holes"])
@pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
def test_the_standard_error_is_that_of_many_samples(form):
    Y = np.add.outer(LABELS, 2 * LABELS) + rng.normal(size=(80, 80))
    graph = {
        "classes": lambda: RelationGraph.from_classes(X, LABELS, rng.normal(size=(5, 5))),
        "matrix": lambda: RelationGraph(X, Y),
        "zeros": lambda: RelationGraph(X, sparse.csr_array(np.where(Y > 8, Y, 0)), unstored="zero"),
        "holes": lambda: RelationGraph(X, np.where(rng.random(Y.shape) < 0.7, Y, np.nan)),
    }[form]()
    ranker = ConditionalRanker(kernel="rbf").fit(graph)
    exact = 1 - ranker.score(graph)
    samples = [sampled_rank_loss(ranker, graph, 30, random_state=seed) for seed in range(300)]
    losses, errors = np.array([one.loss for one in samples]), np.array([one.standard_error for one in samples])
    assert abs(losses.mean() - exact) < 0.3 * losses.std()
    assert losses.std() == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.2)


def test_bad_samples():
    graph = RelationGraph.from_classes(X, LABELS)
    ranker = ConditionalRanker().fit(graph)
    with pytest.raises(ValueError, match="n_queries"):
        sampled_rank_loss(ranker, graph, 0)
    with pytest.raises(ValueError, match="graph must be a RelationGraph"):
        sampled_rank_loss(ranker, X)
    with pytest.raises(ValueError, match="nothing to rank"):
        sampled_rank_loss(ranker, RelationGraph.from_classes(X, np.zeros(80)))
    assert np.isnan(sampled_rank_loss(ranker, graph, 1).standard_error)
    assert "conditioning nodes" in str(sampled_rank_loss(ranker, graph, 5))


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
