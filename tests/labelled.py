"""Labels of relations to diagnose: random ones with holes and ties, orders, classes, players."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

RPS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])


def random_labels(seed, n, *, hole=0.0, levels=None):
    """Labels with holes; with ``levels`` they are few, so that there are ties."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(n, n)) if levels is None else rng.choice(levels, size=(n, n))
    Y = Y.astype(float)
    Y[rng.random((n, n)) < hole] = np.nan
    return Y


def order(n):
    """Crisp tournament without a cycle."""
    return np.sign(np.arange(n)[:, None] - np.arange(n)[None, :]).astype(float)


def classes(n, n_classes=3):
    labels = np.arange(n) % n_classes
    return (labels[:, None] == labels[None, :]).astype(float)


def players(seed=0, n=40):
    """Winning probabilities of players who mix rock, paper and scissors."""
    moves = np.random.default_rng(seed).dirichlet(np.full(3, 0.2), size=n)
    return (1 + moves @ RPS @ moves.T) / 2


relations = st.builds(
    random_labels,
    st.integers(0, 10_000),
    st.integers(1, 7),
    hole=st.sampled_from([0.0, 0.3, 0.8, 1.0]),
    levels=st.sampled_from([None, (-1, 1), (-1, 0, 1), (0, 1)]),
)
