"""Coordinates from explicit features."""

import numpy as np
import pytest

from builders import LABELS, N_NODES, TALL, WIDE, peak_mib, refused
from condrank import ConditionalRanker
from condrank.kernels import read_kernel
from condrank.nodes import ExplicitFeatures, Nodes

rng = np.random.default_rng(0)


def test_features_that_are_all_zero_are_refused_without_a_constant():
    refused("all features of the nodes are zero", ConditionalRanker().fit, np.zeros((N_NODES, 2)), LABELS)
    refused(
        "the linear kernel of the nodes has no positive eigenvalue",
        ConditionalRanker().fit,
        np.zeros((N_NODES, 9)),
        LABELS,
    )
    ConditionalRanker(constant=True).fit(np.zeros((N_NODES, 2)), LABELS)  # the constant coordinate is left


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
@pytest.mark.parametrize("constant", [False, True])
def test_explicit_features_are_not_copied(kernel, constant):
    data = rng.standard_normal((200_000, 16), dtype=np.float32)
    made = peak_mib(lambda: ExplicitFeatures(read_kernel(kernel, constant=constant), Nodes(data)))
    assert made < data.nbytes / 2**20  # a copy alone would take as much


def test_explicit_features_apply_where_they_are_fewer_than_nodes():
    assert ExplicitFeatures.applies(read_kernel("linear"), Nodes(TALL))
    assert ExplicitFeatures.applies(read_kernel("cosine"), Nodes(TALL))
    assert not ExplicitFeatures.applies(read_kernel("rbf"), Nodes(TALL))
    assert not ExplicitFeatures.applies(read_kernel("linear"), Nodes(WIDE))
    assert not ExplicitFeatures.applies(read_kernel("linear"), Nodes(TALL[:3]))
    assert not ExplicitFeatures.applies(read_kernel("linear", constant=True), Nodes(TALL[:4]))
    assert ExplicitFeatures.applies(read_kernel("linear"), Nodes(TALL[:4]))
    assert not ExplicitFeatures.applies(read_kernel("linear"), Nodes(TALL, np.arange(3)))
