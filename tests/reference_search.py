"""A relation with a compared feature, and a small search, for the tests of the similarity search."""

from __future__ import annotations

import numpy as np

from condrank import ConditionalRanker, RelationGraph

SMALL = {"preprocessing": ("raw",), "kernels": ("rbf",), "n_splits": 2, "n_steps": 4, "random_state": 0}


def faster_wins(n=120, seed=0, share=0.6):
    """Who has more of feature 1 wins against another kind (feature 0), and loses against its own."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    kind = X[:, 0] > 0.5
    Y = np.sign(X[:, [1]] - X[:, 1]) * np.where(kind[:, None] == kind, -1, 1)
    hidden = np.triu(rng.random(Y.shape) > share, 1)
    Y[hidden | hidden.T] = np.nan
    return RelationGraph(X, Y)


def ranker(**params):
    return ConditionalRanker("reciprocal", "regression", kernel="rbf", **params)
