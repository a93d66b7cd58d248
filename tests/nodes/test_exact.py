"""Coordinates from the eigendecomposition of a kernel matrix, and the kernels that have none."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

import reference
from builders import KERNEL, LABELS, N_NODES, NEW_TALL, NODES, TALL, refused
from condrank import ConditionalRanker
from condrank.exceptions import KernelWarning
from condrank.kernels import read_kernel
from condrank.nodes import ExactKernel, Nodes
from condrank.nodes.exact import spectrum
from reference import error
from reference_cases import models

# Labels of no particular form: only their symmetric or skew part can be learned, and a ranker warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


def test_features_that_overflow_in_the_kernel_are_refused():
    with np.errstate(over="ignore"):
        refused("kernel values of the nodes overflow; scale", ConditionalRanker().fit, 1e200 * NODES, LABELS)
        refused(
            "kernel values of the nodes overflow; scale", ConditionalRanker(kernel="poly").fit, 1e120 * NODES, LABELS
        )


def test_a_kernel_matrix_that_is_not_positive_semi_definite_is_refused():
    refused(
        r"the precomputed kernel matrix is not positive semi-definite: \d of 6 eigenvalues are negative, the smallest "
        r"-0\.\d+ against a largest of .*; set clip=True to drop the negative part, or choose another kernel",
        ConditionalRanker(kernel="precomputed").fit,
        KERNEL - 0.5 * np.eye(N_NODES),
        LABELS,
    )
    refused(
        "has no positive eigenvalue", ConditionalRanker(kernel="precomputed", clip=True).fit, -np.eye(N_NODES), LABELS
    )
    refused(
        "sigmoid kernel matrix is not positive", ConditionalRanker(kernel="sigmoid", coef0=-5).fit, 9 * NODES, LABELS
    )


def indefinite(smallest):
    """A kernel matrix with eigenvalues 5, 4, 3, 2, 1 and ``smallest``, and its part without the last."""
    Q = np.linalg.qr(np.random.default_rng(9).normal(size=(6, 6)))[0]
    clipped = (Q[:, :5] * [5, 4, 3, 2, 1]) @ Q[:, :5].T
    K = clipped + smallest * np.outer(Q[:, 5], Q[:, 5])
    return (K + K.T) / 2, (clipped + clipped.T) / 2


@models
def test_a_slightly_indefinite_kernel_is_clipped_with_a_warning(relation, loss):
    K, clipped = indefinite(-1e-6)
    Y = np.random.default_rng(10).normal(size=(6, 6))
    with pytest.warns(KernelWarning, match=r"1 of 6 eigenvalues are negative, the smallest -1e-06.*largest of 5 "):
        ranker = ConditionalRanker(relation, loss, 0.3, "precomputed").fit(K, Y)
    expected = reference.naive_complete(clipped, Y, 0.3, relation=relation, loss=loss)
    assert error(ranker.predict(clipped), expected) < 1e-8
    assert error(ranker.predict(K), expected) < 1e-8  # the coordinates have no negative part


@models
def test_a_clearly_indefinite_kernel_is_refused_unless_clipped(relation, loss, recwarn):
    K, clipped = indefinite(-0.5)
    Y = np.random.default_rng(11).normal(size=(6, 6))
    with pytest.raises(
        ValueError, match=r"smallest -0\.5 against a largest of 5 \(3\.23% of the spectrum\); set clip=True"
    ):
        ConditionalRanker(relation, loss, 0.3, "precomputed").fit(K, Y)
    recwarn.clear()
    ranker = ConditionalRanker(relation, loss, 0.3, "precomputed", clip=True).fit(K, Y)
    assert not [w for w in recwarn if w.category is KernelWarning]
    assert error(ranker.predict(K), reference.naive_complete(clipped, Y, 0.3, relation=relation, loss=loss)) < 1e-8


@pytest.mark.parametrize("constant", [False, True])
def test_a_precomputed_kernel_may_be_given_by_rows_and_by_subsets(constant):
    everyone = np.vstack([TALL, NEW_TALL])
    K = pairwise_kernels(everyone, metric="rbf", gamma=0.5)
    base = Nodes(K)
    chosen, others = np.array([8, 0, 3, 5, 12]), np.array([1, 2, 10])
    z = ExactKernel(read_kernel("precomputed", constant=constant), base.take(chosen))
    twin = ExactKernel(read_kernel("rbf", gamma=0.5, constant=constant), Nodes(everyone[chosen]))
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
    ExactKernel(read_kernel("precomputed", constant=True), Nodes(K))
    np.testing.assert_array_equal(K, before)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("copied", [0, 500])
def test_either_lapack_gives_the_same_spectrum(dtype, copied, monkeypatch):
    monkeypatch.setattr("condrank.nodes.exact.NUMPY_EIGH_MOST_NODES", copied)
    A = np.random.default_rng(0).normal(size=(40, 7)).astype(dtype)
    K = A @ A.T
    sigma, Q = spectrum(K.copy())
    assert sigma.dtype == Q.dtype == dtype
    assert (np.diff(sigma) >= 0).all()
    np.testing.assert_allclose((Q * sigma) @ Q.T, K, atol=200 * np.finfo(dtype).eps)
    with pytest.raises(ValueError, match="overflow"):
        spectrum(np.full((3, 3), np.nan, dtype=dtype))
