"""Small random graphs with ties, loops, repeated edges and singular kernels, for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


@st.composite
def graphs(draw):
    n = draw(st.integers(2, 7))
    nodes = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(nodes, nodes, st.integers(-2, 2), st.sampled_from([0.5, 1.0, 2.0])), min_size=1))
    sources, targets, values, weights = (np.array(column) for column in zip(*edges, strict=True))
    # Few features, small integers: nodes may coincide and the kernel be singular.
    X = np.array(draw(st.lists(st.tuples(nodes, nodes), min_size=n, max_size=n)), dtype=float)
    K = X @ X.T + draw(st.sampled_from([0.0, 1.0]))
    return K, sources, targets, values.astype(float), weights
