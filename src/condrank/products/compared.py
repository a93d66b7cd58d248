"""Compared features of nodes (who has more matters), and the signs of their differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.base.dense import dense
from condrank.base.measured import CACHED_ENTRIES
from condrank.nodes import Nodes


def compared_values(nodes: Nodes, compared: Sequence[int], dtype: Any = None) -> np.ndarray:
    """The compared features of nodes, (n_compared, n_nodes), in a floating type, by default that of the nodes."""
    X = nodes.view(None).rows
    columns = X[:, list(compared)]
    return np.ascontiguousarray(dense(columns).T, dtype=dtype)


def multiply_by_signs(F: np.ndarray, values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """F (n, m) times sign(values_i - others_j), in place. The signs are made one block of rows at a time."""
    for block in row_blocks(*F.shape, budget=CACHED_ENTRIES):
        F[block] *= np.sign(values[block, None] - others)
    return F
