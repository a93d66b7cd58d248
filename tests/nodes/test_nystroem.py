"""Nyström's features: the kernel at the landmarks, singular, indefinite and asymmetric kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condrank import RelationGraph
from condrank.exceptions import KernelWarning
from condrank.kernels import read_kernel
from condrank.nodes import Nodes
from condrank.nodes.nystroem import NystroemFeatures
from reference_approximate import LABELS, NEW, RNG, D, N, X, ranker


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear", "cosine"])
def test_as_many_landmarks_as_nodes_give_the_kernel_itself(kernel):
    node_kernel = read_kernel(kernel, 0.4)
    phi = NystroemFeatures.fit(node_kernel, Nodes(X), N, "uniform", 0)(Nodes(X))
    K = node_kernel(X)
    np.testing.assert_allclose(phi @ phi.T, K, atol=1e-9 * np.abs(K).max())


@given(
    n=st.integers(3, 12),
    share=st.floats(0.1, 0.9),
    landmarks=st.sampled_from(["uniform", "pivoted"]),
    repeated=st.booleans(),
    seed=st.integers(0, 2**31 - 1),
)
@settings(max_examples=40, deadline=None)
def test_the_kernel_is_exact_at_landmarks_and_never_larger(n, share, landmarks, repeated, seed):
    nodes = np.random.default_rng(seed).standard_normal((n, 2))
    if repeated:
        nodes = np.concatenate([nodes, nodes])
    kernel, m = read_kernel("rbf", 0.5), max(1, int(share * len(nodes)))
    phi = NystroemFeatures.fit(kernel, Nodes(nodes), m, landmarks, seed)
    assert phi.n_features <= m
    K = kernel(nodes)
    features = phi(Nodes(nodes))
    left = K - features @ features.T
    np.testing.assert_allclose(kernel(nodes, phi.landmarks.base), features @ phi(phi.landmarks).T, atol=1e-6)
    assert np.linalg.eigvalsh(left).min() > -1e-6  # what is left of a kernel is one


def test_repeated_nodes_make_a_singular_kernel_of_landmarks():
    twice = np.concatenate([X[:5]] * 4)
    Y = RNG.standard_normal((20, 20))
    fitted = ranker(n_components=15).fit(twice, Y)
    assert fitted.coef_.shape == (5, 5)
    exact = ranker(n_components=None).fit(twice, Y)
    np.testing.assert_allclose(fitted.predict(NEW), exact.predict(NEW), atol=1e-7)
    pivoted = ranker(n_components=15, landmarks="pivoted").fit(twice, Y)
    assert len(pivoted.fitted_.model.rows.features.landmarks) == 5
    np.testing.assert_allclose(pivoted.predict(NEW), exact.predict(NEW), atol=1e-7)


def test_indefinite_kernels_are_refused_warned_of_or_clipped():
    Q = np.linalg.qr(RNG.standard_normal((N, N)))[0]
    K = (Q * np.linspace(-1, 1, N)) @ Q.T
    K = (K + K.T) / 2
    with pytest.raises(ValueError, match=r"not positive semi-definite.*clip=True"):
        ranker(kernel="precomputed", n_components=N - 1).fit(K, LABELS)
    clipped = ranker(kernel="precomputed", n_components=N - 1, clip=True).fit(K, LABELS)
    assert len(clipped.coef_) <= (np.linalg.eigvalsh(K) > 0).sum()
    slightly = (Q * np.r_[-1e-7, np.ones(N - 1)]) @ Q.T
    with pytest.warns(KernelWarning, match="not positive semi-definite"):
        NystroemFeatures.fit(read_kernel("precomputed"), Nodes((slightly + slightly.T) / 2), N, "uniform", 0)


def test_asymmetric_kernels_are_refused():
    with pytest.raises(ValueError, match="not symmetric"):
        ranker(kernel=lambda x, y: float(x[0] - 2 * y[1])).fit(X, LABELS)
    with pytest.raises(ValueError, match="not symmetric"):
        ranker(kernel="precomputed").fit(X @ RNG.standard_normal((D, N)), LABELS)


def test_a_callable_is_the_kernel_that_it_computes():
    def rbf(x, y):
        return float(np.exp(-0.4 * np.sum((x - y) ** 2)))

    for landmarks in ("uniform", "kmeans", "pivoted"):
        one, other = (ranker(kernel=kernel, landmarks=landmarks).fit(X, LABELS) for kernel in (rbf, "rbf"))
        np.testing.assert_allclose(one.predict(NEW, NEW), other.predict(NEW, NEW), atol=1e-8)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("landmarks", ["uniform", "pivoted"])
def test_precomputed_kernels_are_distinguished_from_columns_of_training_nodes(landmarks, constant):
    params = {"landmarks": landmarks, "constant": constant, "n_components": 4}
    train, test = np.array([12, 3, 5, 0, 9, 7, 2, 1]), np.array([4, 6, 13])
    K = read_kernel("rbf", 0.4)(X)
    by_features = ranker(**params).fit(RelationGraph(X, LABELS)[train])
    graph = RelationGraph(K, LABELS)
    fitted = ranker(kernel="precomputed", **params).fit(graph[train])
    expected = by_features.predict(X[test], X[test])
    rows = K[np.ix_(test, train)]
    np.testing.assert_allclose(fitted.predict(graph[test]), expected, atol=1e-10)
    np.testing.assert_allclose(fitted.predict(rows, rows), expected, atol=1e-10)
    with pytest.raises(ValueError, match="8 columns, kernel values against the training nodes, got 9"):
        fitted.predict(np.ones((2, 9)))
