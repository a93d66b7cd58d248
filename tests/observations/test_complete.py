"""Complete relations."""

import numpy as np

from condrank.observations import Complete


def test_a_disagreement_is_found_over_many_blocks():
    """More rows than a block of the blocked comparison has, with one gap in the last and one in the first block."""
    n = 1100
    Y = np.zeros((n, n), dtype=np.float32)
    Y[1090, 30] = 3
    assert Complete(Y).disagreement(1) == 3
    Y[30, 1090] = 3
    assert Complete(Y).disagreement(1) == 0
    assert Complete(Y).disagreement(-1) == 6
    Y[:] = 0.5
    assert Complete(Y).disagreement(-1, 0.5) == 0
