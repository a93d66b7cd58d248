"""Nodes and their subsets."""

import numpy as np

from builders import TALL
from condrank.nodes import Nodes


def test_subsets_of_nodes_share_their_base():
    nodes = Nodes(TALL, None, np.array(list("abcdefghi")))
    part = nodes.take(np.array([7, 3, 4, 5])).take(np.array([1, 2, 3]))
    assert part.base is TALL
    np.testing.assert_array_equal(part.rows, TALL[3:6])
    assert np.shares_memory(part.rows, TALL)  # a contiguous run is a view
    assert part.ids.tolist() == ["d", "e", "f"]
    assert nodes.block(slice(2, 4)).base is TALL
    np.testing.assert_array_equal(nodes.block(slice(2, 4)).rows, TALL[2:4])
    np.testing.assert_array_equal(part.block(slice(1, 3)).rows, TALL[4:6])
    assert part.block(slice(1, 3)).ids.tolist() == ["e", "f"]
    np.testing.assert_array_equal(nodes.take(np.array([5, 4])).rows, TALL[[5, 4]])
    assert len(nodes.take(np.array([], dtype=int)).rows) == 0
