"""Corners of kernel expressions in rankers: weights of zero, only a constant, views that are not used, precisions."""

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, RelationGraph
from condrank.kernels import RBF, Constant, Custom, Identity, Linear, Precomputed
from condrank.kernels.combining import combine

RNG = np.random.default_rng(0)
N = 14
VIEWS = {"x": RNG.normal(size=(N, 3)), "y": RNG.normal(size=(N, 2))}
X = VIEWS["x"]
LABELS = RNG.normal(size=(N, N))
GRAPH = RelationGraph(VIEWS, LABELS)


def scores(graph=GRAPH, **given):
    return ConditionalRanker(**given).fit(graph).predict(graph)


@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_only_a_constant_needs_no_approximation(weight):
    given = {"kernel": weight * Constant(), "loss": "regression"}
    np.testing.assert_allclose(scores(**given, n_components=3), scores(**given), rtol=1e-12)


def test_parts_of_weight_zero_do_not_hinder_fourier_features():
    kernel = RBF(0.2, view="x")
    given = {"approximation": "fourier", "n_components": 6, "random_state": 0}
    expected = scores(kernel=kernel, **given)
    for more in (0.0 * Constant(), 0.0 * Linear(view="y")):
        np.testing.assert_array_equal(scores(kernel=kernel + more, **given), expected)


def test_a_power_of_two_needs_no_second_array():
    K = RNG.normal(size=(4, 4))
    expected = K**8
    found = combine(Linear() ** 8, lambda leaf: K, lambda leaf, side: np.ones(4))
    assert found is K
    np.testing.assert_allclose(found, expected)


def product(x, y):
    return float(x @ y)


def test_feature_weights_are_for_functions_too():
    graph = RelationGraph(X, LABELS)
    expected = scores(graph, kernel="linear", feature_weights=[0.0, 2.0, 1.0])
    np.testing.assert_allclose(scores(graph, kernel=product, feature_weights=[0.0, 2.0, 1.0]), expected, atol=1e-10)
    kernel = Custom(lambda A, B: A @ B.T, on="matrices", feature_weights=(0.0, 2.0, 1.0))
    np.testing.assert_allclose(scores(graph, kernel=kernel), expected, atol=1e-10)


def test_feature_weights_and_compared_features_must_say_which_features_they_mean():
    plain, matrix = RelationGraph(X, LABELS), RelationGraph(X @ X.T, LABELS)
    with pytest.raises(ValueError, match=r"which of the views \['x', 'y'\] .* RBF\(view='x', feature_weights=...\)"):
        scores(kernel=RBF(view="x"), feature_weights=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="a precomputed kernel has no features"):
        scores(matrix, kernel=Precomputed(), feature_weights=np.ones(N))
    with pytest.raises(ValueError, match="the kernel identity takes none"):
        scores(plain, kernel=Identity(), feature_weights=np.ones(3))
    games = {"relation": "reciprocal", "compared": [0]}
    with pytest.raises(ValueError, match=r"columns of the nodes, but the nodes have several views: \['x', 'y'\]"):
        scores(kernel=RBF(view="x"), **games)
    with pytest.raises(ValueError, match="compared needs features, but a precomputed kernel has none"):
        scores(matrix, kernel=Precomputed() + Constant(), **games)
    one = RelationGraph({"x": X}, LABELS)
    expected = scores(plain, kernel=RBF(0.3), feature_weights=[1.0, 2.0, 3.0])
    np.testing.assert_array_equal(scores(one, kernel=RBF(0.3), feature_weights=[1.0, 2.0, 3.0]), expected)


def test_a_sparse_view_that_is_not_used_changes_nothing():
    unused = sparse.random_array((N, 20), density=0.3, rng=RNG)
    graph = RelationGraph(VIEWS | {"s": unused}, LABELS)
    for kernel in (Linear(view="x"), Linear(view="x") + 2 * Constant(), RBF(0.3, view="x")):
        expected = scores(kernel=kernel)
        np.testing.assert_array_equal(scores(graph, kernel=kernel), expected)
        np.testing.assert_array_equal(scores(graph, kernel=kernel + 0.0 * Linear(view="s")), expected)


def test_views_of_different_precision_get_the_finer_one():
    mixed = {"a": X.astype(np.float32), "b": VIEWS["y"]}
    fine = {"a": X.astype(np.float32).astype(np.float64), "b": VIEWS["y"]}
    first, second = RBF(0.3, view="a"), RBF(0.5, view="b")
    for kernel in (first + second, second + first, first * second, Linear(view="a"), Linear(view="a") + second):
        found = scores(RelationGraph(mixed, LABELS), kernel=kernel, alpha=1e-3)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, scores(RelationGraph(fine, LABELS), kernel=kernel, alpha=1e-3))
    single = {"a": X.astype(np.float32), "b": VIEWS["y"].astype(np.float32)}
    assert RelationGraph(single, LABELS).nodes.dtype == np.float32


def test_a_distributed_view_is_refused_before_it_is_read():
    array = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="view 'x' of X must be in memory, got a Dask array"):
        RelationGraph({"x": array.from_array(X)}, LABELS)
