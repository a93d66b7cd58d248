"""Random Fourier features."""

import numpy as np
import pytest

from condrank.kernels import read_kernel
from condrank.nodes import Nodes
from condrank.nodes.fourier import FourierFeatures
from reference_approximate import N, X


@pytest.mark.parametrize("m", [4000, 4001])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_many_fourier_features_come_near_the_kernel(kernel, m):
    node_kernel = read_kernel(kernel, 0.4)
    phi = FourierFeatures.fit(node_kernel, Nodes(X), m, 0)(Nodes(X))
    assert phi.shape == (N, m)
    np.testing.assert_allclose(phi @ phi.T, node_kernel(X), atol=0.1)  # four standard deviations of √(1/2000)


def test_an_odd_number_of_fourier_features_is_not_biased():
    node_kernel = read_kernel("rbf", 0.4)
    some = [FourierFeatures.fit(node_kernel, Nodes(X), 1, seed)(Nodes(X)) for seed in range(4000)]
    np.testing.assert_allclose(np.mean([phi @ phi.T for phi in some], axis=0), node_kernel(X), atol=0.1)
