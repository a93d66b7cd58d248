"""Coordinates from the eigendecomposition of a kernel matrix, and the kernels that have none."""

import numpy as np
import pytest

import reference
from builders import KERNEL, LABELS, N_NODES, NODES, refused
from condrank import ConditionalRanker
from condrank.exceptions import KernelWarning
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
