"""Kernel values as coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from condrank.kernels import read_kernel
from condrank.nodes import Nodes
from condrank.nodes.values import KernelValues


def test_kernel_values_check_their_kernel():
    with pytest.raises(ValueError, match="not symmetric"):
        KernelValues(read_kernel("precomputed"), Nodes(np.arange(9.0).reshape(3, 3)))
    values = KernelValues(read_kernel("precomputed", constant=True), Nodes(np.eye(3)))
    assert_allclose(values.training(), np.eye(3) + 1)
    assert_allclose(values.transform(Nodes(np.ones((2, 3)))), 2)
