"""Objects that are excluded, and those that are candidates."""

import numpy as np
import pytest

from builders import FIVE_QUERIES, SIXTY_NODES, index_of_classes, ranker_of_classes


def test_removed_and_unknown_ids_may_be_excluded_and_unknown_positions_may_not():
    index = index_of_classes("exact", ids=np.arange(60))
    index.remove([3])
    np.testing.assert_array_equal(index.top(FIVE_QUERIES, exclude=[3, 1000]).indices, index.top(FIVE_QUERIES).indices)
    index = ranker_of_classes().index(SIXTY_NODES)
    index.remove([3])
    np.testing.assert_array_equal(index.top(FIVE_QUERIES, exclude=[3]).indices, index.top(FIVE_QUERIES).indices)
    with pytest.raises(ValueError, match=r"exclude must lie within 0\.\.59, got 1000"):
        index.top(FIVE_QUERIES, exclude=[1000])
