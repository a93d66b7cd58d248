"""Coordinates from explicit features."""

import numpy as np

from builders import LABELS, N_NODES, refused
from condrank import ConditionalRanker


def test_features_that_are_all_zero_are_refused_without_a_constant():
    refused("all features of the nodes are zero", ConditionalRanker().fit, np.zeros((N_NODES, 2)), LABELS)
    refused(
        "the linear kernel of the nodes has no positive eigenvalue",
        ConditionalRanker().fit,
        np.zeros((N_NODES, 9)),
        LABELS,
    )
    ConditionalRanker(constant=True).fit(np.zeros((N_NODES, 2)), LABELS)  # the constant coordinate is left
