"""Coordinates from the eigendecomposition of a kernel matrix, and the kernels that have none."""

import numpy as np

from builders import KERNEL, LABELS, N_NODES, NODES, refused
from condrank import ConditionalRanker


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
