"""Coordinates of nodes: z(v)ᵀz(v') is the kernel, ZᵀZ is diagonal, and what the solvers read from them is true."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from builders import NEW_TALL, NEW_WIDE, TALL, WIDE
from condrank.kernels import read_kernel
from condrank.nodes import ExactKernel, ExplicitFeatures, Nodes
from condrank.nodes.exact import residual_energy

SINGULAR = TALL[[0, 1, 2, 2, 4, 1, 6]]


def fitted(kind):
    """Coordinates, their training features and features of new nodes."""
    made = {
        "exact linear": (ExactKernel, read_kernel("linear"), WIDE, NEW_WIDE),
        "exact rbf": (ExactKernel, read_kernel("rbf", gamma=0.5), TALL, NEW_TALL),
        "exact rbf, duplicated": (ExactKernel, read_kernel("rbf", gamma=0.5), SINGULAR, NEW_TALL),
        "exact linear, singular": (ExactKernel, read_kernel("linear"), TALL, NEW_TALL),
        "exact poly and constant": (ExactKernel, read_kernel("poly", constant=True), TALL, NEW_TALL),
        "explicit": (ExplicitFeatures, read_kernel("linear"), TALL, NEW_TALL),
        "explicit, duplicated": (ExplicitFeatures, read_kernel("linear"), SINGULAR, NEW_TALL),
        "explicit cosine": (ExplicitFeatures, read_kernel("cosine"), TALL, NEW_TALL),
        "explicit and constant": (ExplicitFeatures, read_kernel("linear", constant=True), TALL, NEW_TALL),
        "explicit cosine and constant": (ExplicitFeatures, read_kernel("cosine", constant=True), TALL, NEW_TALL),
        "explicit, sparse": (ExplicitFeatures, read_kernel("linear"), sparse.csr_array(TALL), NEW_TALL),
        "explicit, sparse and constant": (
            ExplicitFeatures,
            read_kernel("cosine", constant=True),
            sparse.csr_array(TALL),
            sparse.csr_array(NEW_TALL),
        ),
        "explicit, a zero feature": (ExplicitFeatures, read_kernel("linear"), TALL * [1, 0, 1], NEW_TALL * [1, 0, 1]),
        "explicit, dependent features": (
            ExplicitFeatures,
            read_kernel("linear"),
            np.hstack([TALL, TALL[:, :2] - TALL[:, 1:]]),
            np.hstack([NEW_TALL, NEW_TALL[:, :2] - NEW_TALL[:, 1:]]),
        ),
    }
    cls, kernel, X, X_new = made[kind]
    return cls(kernel, Nodes(X)), kernel, X, X_new


KINDS = [
    "exact linear",
    "exact rbf",
    "exact rbf, duplicated",
    "exact linear, singular",
    "exact poly and constant",
    "explicit",
    "explicit, duplicated",
    "explicit cosine",
    "explicit and constant",
    "explicit cosine and constant",
    "explicit, sparse",
    "explicit, sparse and constant",
    "explicit, a zero feature",
    "explicit, dependent features",
]
kinds = pytest.mark.parametrize("kind", KINDS)


def values(kernel, X, X_other):
    leaf = kernel.body
    settings = {name: getattr(leaf, name) for name in ("gamma", "degree", "coef0") if hasattr(leaf, name)}
    return pairwise_kernels(X, X_other, metric=leaf.name, filter_params=True, **settings) + kernel.constant


@kinds
def test_coordinates_are_the_kernel(kind):
    z, kernel, X, X_new = fitted(kind)
    Z, Z_new = z.training(), z.transform(Nodes(X_new))
    assert z.n_nodes == len(Z) == X.shape[0]
    assert Z.shape[1] == Z_new.shape[1] == len(z.sigma)
    np.testing.assert_allclose(Z @ Z.T, values(kernel, X, X), atol=1e-10)
    np.testing.assert_allclose(Z_new @ Z.T, values(kernel, X_new, X), atol=1e-8)
    np.testing.assert_allclose(z.transform(Nodes(X)), Z, atol=1e-8)


@kinds
def test_the_sums_that_solvers_read_are_those_of_the_coordinates(kind):
    z, *_ = fitted(kind)
    Z, n, r = z.training(), z.n_nodes, len(z.sigma)
    np.testing.assert_allclose(Z.T @ Z, np.diag(z.sigma), atol=1e-10 * z.sigma.max())
    assert (z.sigma > 0).all()
    assert (np.diff(z.sigma) >= 0).all()
    np.testing.assert_allclose(z.ones, Z.sum(axis=0), atol=1e-10)
    left = np.ones(n) - Z @ np.linalg.lstsq(Z, np.ones(n), rcond=1e-7)[0]
    np.testing.assert_allclose(z.outside, left @ left, atol=1e-9)
    for G in (np.random.default_rng(1).normal(size=(n, 2)), np.ones(n)):
        np.testing.assert_allclose(z.rotate(z.basis.T @ G), Z.T @ G, atol=1e-10)
        assert z.rotate(z.basis.T @ G).shape == (r, *G.shape[1:])


@kinds
def test_the_similarity_is_the_kernel_itself(kind):
    z, kernel, X, X_new = fitted(kind)
    nodes, new = Nodes(X), Nodes(X_new)
    np.testing.assert_allclose(z.similarity(new, new), values(kernel, X_new, X_new), atol=1e-10)
    np.testing.assert_allclose(z.similarity(new, None), values(kernel, X_new, X), atol=1e-10)
    np.testing.assert_allclose(z.similarity(None, new), values(kernel, X, X_new), atol=1e-10)
    np.testing.assert_allclose(z.similarity(None, None), values(kernel, X, X), atol=1e-10)
    np.testing.assert_allclose(z.similarity(nodes, new), values(kernel, X, X_new), atol=1e-10)


@pytest.mark.parametrize(
    ("kind", "rank"),
    [
        ("explicit", 3),
        ("explicit and constant", 4),
        ("explicit, a zero feature", 2),
        ("explicit, dependent features", 3),
        ("exact linear", 6),
        ("exact rbf", 9),
    ],
)
def test_the_number_of_coordinates_is_the_rank(kind, rank):
    assert len(fitted(kind)[0].sigma) == rank


def test_a_constant_or_a_full_rank_spans_the_vector_of_ones():
    """A constant feature, or a full-rank kernel, has the vector of ones in its span: nothing is left outside."""
    for kind in ("explicit and constant", "exact linear", "exact rbf", "explicit cosine and constant"):
        assert fitted(kind)[0].outside == 0
    assert fitted("explicit")[0].outside > 0.1
    assert residual_energy(np.full(10, 1e-15)) == 0
    assert residual_energy(np.full(10, 1e-3)) == pytest.approx(1e-5)
