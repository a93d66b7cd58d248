"""Node kernels."""

import numpy as np
import pytest

from builders import TALL
from condrank.kernels import read_kernel


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "laplacian", lambda x, y: float(x @ y)])
def test_kernels_keep_float32(kernel):
    assert read_kernel(kernel)(TALL.astype(np.float32)).dtype == np.float32
