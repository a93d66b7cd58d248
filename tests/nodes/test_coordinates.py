"""Coordinates of nodes: z(v)ᵀz(v') is the kernel, ZᵀZ is diagonal, and what the solvers read from them is true."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from condrank.nodes import ExactKernel, ExplicitFeatures, NodeKernel, Nodes
from condrank.nodes.exact import residual_energy, spectrum
from condrank.nodes.similarity import NodeSimilarity

rng = np.random.default_rng(0)
WIDE, TALL, NEW_WIDE, NEW_TALL = (rng.normal(size=shape) for shape in ((6, 9), (9, 3), (4, 9), (4, 3)))
SINGULAR = TALL[[0, 1, 2, 2, 4, 1, 6]]


def fitted(kind):
    """Coordinates, their training features and features of new nodes."""
    made = {
        "exact linear": (ExactKernel, NodeKernel("linear"), WIDE, NEW_WIDE),
        "exact rbf": (ExactKernel, NodeKernel("rbf", gamma=0.5), TALL, NEW_TALL),
        "exact rbf, duplicated": (ExactKernel, NodeKernel("rbf", gamma=0.5), SINGULAR, NEW_TALL),
        "exact linear, singular": (ExactKernel, NodeKernel("linear"), TALL, NEW_TALL),
        "exact poly and constant": (ExactKernel, NodeKernel("poly", constant=True), TALL, NEW_TALL),
        "explicit": (ExplicitFeatures, NodeKernel("linear"), TALL, NEW_TALL),
        "explicit, duplicated": (ExplicitFeatures, NodeKernel("linear"), SINGULAR, NEW_TALL),
        "explicit cosine": (ExplicitFeatures, NodeKernel("cosine"), TALL, NEW_TALL),
        "explicit and constant": (ExplicitFeatures, NodeKernel("linear", constant=True), TALL, NEW_TALL),
        "explicit cosine and constant": (ExplicitFeatures, NodeKernel("cosine", constant=True), TALL, NEW_TALL),
        "explicit, sparse": (ExplicitFeatures, NodeKernel("linear"), sparse.csr_array(TALL), NEW_TALL),
        "explicit, sparse and constant": (
            ExplicitFeatures,
            NodeKernel("cosine", constant=True),
            sparse.csr_array(TALL),
            sparse.csr_array(NEW_TALL),
        ),
        "explicit, a zero feature": (ExplicitFeatures, NodeKernel("linear"), TALL * [1, 0, 1], NEW_TALL * [1, 0, 1]),
        "explicit, dependent features": (
            ExplicitFeatures,
            NodeKernel("linear"),
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
    settings = {"gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
    return pairwise_kernels(X, X_other, metric=kernel.name, filter_params=True, **settings) + int(kernel.constant)


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
def test_what_the_solvers_read(kind):
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
def test_similarity_is_the_kernel_itself(kind):
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
def test_number_of_coordinates_is_the_rank(kind, rank):
    assert len(fitted(kind)[0].sigma) == rank


def test_span_of_the_constant_vector():
    """A constant feature, or a full-rank kernel, has the vector of ones in its span: nothing is left outside."""
    for kind in ("explicit and constant", "exact linear", "exact rbf", "explicit cosine and constant"):
        assert fitted(kind)[0].outside == 0
    assert fitted("explicit")[0].outside > 0.1
    assert residual_energy(np.full(10, 1e-15)) == 0
    assert residual_energy(np.full(10, 1e-3)) == pytest.approx(1e-5)


def test_explicit_features_apply_where_they_are_fewer_than_nodes():
    assert ExplicitFeatures.applies(NodeKernel("linear"), Nodes(TALL))
    assert ExplicitFeatures.applies(NodeKernel("cosine"), Nodes(TALL))
    assert not ExplicitFeatures.applies(NodeKernel("rbf"), Nodes(TALL))
    assert not ExplicitFeatures.applies(NodeKernel("linear"), Nodes(WIDE))
    assert not ExplicitFeatures.applies(NodeKernel("linear"), Nodes(TALL[:3]))
    assert not ExplicitFeatures.applies(NodeKernel("linear", constant=True), Nodes(TALL[:4]))
    assert ExplicitFeatures.applies(NodeKernel("linear"), Nodes(TALL[:4]))
    assert not ExplicitFeatures.applies(NodeKernel("linear"), Nodes(TALL, np.arange(3)))


@pytest.mark.parametrize("constant", [False, True])
def test_precomputed_kernel_by_rows_and_by_subsets(constant):
    everyone = np.vstack([TALL, NEW_TALL])
    K = pairwise_kernels(everyone, metric="rbf", gamma=0.5)
    base = Nodes(K)
    chosen, others = np.array([8, 0, 3, 5, 12]), np.array([1, 2, 10])
    z = ExactKernel(NodeKernel("precomputed", constant=constant), base.take(chosen))
    twin = ExactKernel(NodeKernel("rbf", gamma=0.5, constant=constant), Nodes(everyone[chosen]))
    expected = twin.transform(Nodes(everyone[others])) @ twin.training().T
    by_subset = z.transform(base.take(others)) @ z.training().T
    by_rows = z.transform(Nodes(K[np.ix_(others, chosen)])) @ z.training().T
    np.testing.assert_allclose(by_subset, expected, atol=1e-10)
    np.testing.assert_allclose(by_rows, expected, atol=1e-10)
    similar = K[np.ix_(others, others)] + constant
    np.testing.assert_allclose(z.similarity(base.take(others), base.take(others)), similar)
    np.testing.assert_allclose(z.similarity(None, base.take(others)), K[np.ix_(chosen, others)] + constant)
    rows = Nodes(K[np.ix_(others, chosen)])
    np.testing.assert_allclose(z.similarity(None, rows), K[np.ix_(chosen, others)] + constant)
    with pytest.raises(ValueError, match=r"pass subgraphs of one RelationGraph"):
        z.similarity(rows, rows)
    assert K.min() > 0  # the constant was added to copies
    assert K.max() == 1


def test_kernel_values_are_not_written_into_the_given_matrix():
    K = pairwise_kernels(TALL, metric="rbf")
    before = K.copy()
    ExactKernel(NodeKernel("precomputed", constant=True), Nodes(K))
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "laplacian", lambda x, y: float(x @ y)])
def test_kernels_keep_float32(kernel):
    assert NodeKernel(kernel)(TALL.astype(np.float32)).dtype == np.float32


def test_subsets_of_nodes_share_their_base():
    nodes = Nodes(TALL, None, np.array(list("abcdefghi")))
    part = nodes.take(np.array([7, 3, 4, 5])).take(np.array([1, 2, 3]))
    assert part.base is TALL
    np.testing.assert_array_equal(part.rows, TALL[3:6])
    assert np.shares_memory(part.rows, TALL)  # a contiguous run is a view
    assert part.ids.tolist() == ["d", "e", "f"]
    assert nodes.block(slice(2, 4)).base is TALL
    np.testing.assert_array_equal(nodes.block(slice(2, 4)).rows, TALL[2:4])
    np.testing.assert_array_equal(part.block(slice(1, 3)).rows, TALL[4:6])
    assert part.block(slice(1, 3)).ids.tolist() == ["e", "f"]
    np.testing.assert_array_equal(nodes.take(np.array([5, 4])).rows, TALL[[5, 4]])
    assert len(nodes.take(np.array([], dtype=int)).rows) == 0


@pytest.mark.parametrize("name", ["linear", "rbf", "laplacian"])
def test_kernel_of_a_scattered_subset_in_blocks(name, monkeypatch):
    """Features of a subset are copied a few rows at a time; the kernel is the same."""
    X = np.random.default_rng(0).normal(size=(40, 5))
    nodes, others = Nodes(X).take(np.arange(0, 40, 2)), Nodes(X).take(np.arange(1, 40, 3))
    kernel = NodeKernel(name, gamma=0.3)
    monkeypatch.setattr("condrank.nodes.similarity.COPIED", 15)  # three rows
    one = NodeSimilarity(kernel, nodes)
    K = one.training_kernel()
    np.testing.assert_allclose(K, kernel(X[::2]), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(one.similarity(others, None), kernel(X[1::3], X[::2]), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("copied", [0, 500])
def test_spectrum_by_either_lapack(dtype, copied, monkeypatch):
    monkeypatch.setattr("condrank.nodes.exact.NUMPY_EIGH_MOST_NODES", copied)
    A = np.random.default_rng(0).normal(size=(40, 7)).astype(dtype)
    K = A @ A.T
    sigma, Q = spectrum(K.copy())
    assert sigma.dtype == Q.dtype == dtype
    assert (np.diff(sigma) >= 0).all()
    np.testing.assert_allclose((Q * sigma) @ Q.T, K, atol=200 * np.finfo(dtype).eps)
    with pytest.raises(ValueError, match="overflow"):
        spectrum(np.full((3, 3), np.nan, dtype=dtype))
