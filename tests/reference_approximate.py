"""Nodes, labels and a ranker with approximate coordinates, for the tests of several ways to approximate."""

from __future__ import annotations

import numpy as np

from condrank import ConditionalRanker

RNG = np.random.default_rng(0)
N, D = 14, 3
X, NEW = RNG.standard_normal((N, D)), RNG.standard_normal((4, D))
LABELS = RNG.standard_normal((N, N))
HOLES = RNG.random((N, N)) < 0.4
RELATIONS = {"ordinary": LABELS, "symmetric": LABELS + LABELS.T, "reciprocal": LABELS - LABELS.T}


def ranker(**params):
    return ConditionalRanker(**{"kernel": "rbf", "gamma": 0.4, "n_components": 6, "random_state": 0, **params})
