"""Node kernels."""

import numpy as np
import pytest

from builders import TALL
from condrank.nodes import NodeKernel


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "laplacian", lambda x, y: float(x @ y)])
def test_kernels_keep_float32(kernel):
    assert NodeKernel(kernel)(TALL.astype(np.float32)).dtype == np.float32
