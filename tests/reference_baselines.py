"""Labels and edges for the tests of several baselines."""

from __future__ import annotations

import numpy as np

from condrank.observations import Edges

RELATIONS = ("ordinary", "symmetric", "reciprocal")
LOSSES = ("regression", "ranking")
SIGNS = {"ordinary": 0, "symmetric": 1, "reciprocal": -1}


def make_labels(n, m, rng, relation="ordinary", holes=0.0):
    """Whole numbers, so that there are ties; with holes, one of them a whole row."""
    Y = rng.integers(-2, 3, (n, m)).astype(float)
    if SIGNS[relation]:
        Y = Y + SIGNS[relation] * Y.T
    if holes:
        Y[rng.random((n, m)) < holes] = np.nan
        Y[n // 2] = np.nan
    return Y


def some_edges(seed=7, n=8, m=6, n_edges=40):
    rng = np.random.default_rng(seed)
    sources, targets = rng.integers(0, n, n_edges), rng.integers(0, m, n_edges)
    values, weights = rng.integers(0, 4, n_edges).astype(float), rng.integers(1, 3, n_edges).astype(float)
    return Edges(sources, targets, values, weights, (n, m))
