"""Kernel matrices read from frames and files."""

import numpy as np
import pytest

from builders import SMALL_KERNEL
from condrank.tables import read_kernel


def test_the_index_of_a_kernel_frame_is_followed():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(SMALL_KERNEL, index=list("abc"), columns=list("abc"))
    read, ids = read_kernel(frame.loc[["c", "a", "b"]])
    np.testing.assert_array_equal(read, SMALL_KERNEL)
    assert ids.tolist() == list("abc")
    np.testing.assert_array_equal(read_kernel(pd.DataFrame(SMALL_KERNEL, columns=list("abc")))[0], SMALL_KERNEL)
    with pytest.raises(ValueError, match="same ids in its index as in its columns"):
        read_kernel(pd.DataFrame(SMALL_KERNEL, index=list("abd"), columns=list("abc")))
