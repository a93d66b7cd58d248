"""Graphs to draw pictures of, and what an image shows."""

from __future__ import annotations

import numpy as np

from condrank import RelationGraph

CLASSES = np.array([1, 0, 1, 2, 0])

Y = np.equal.outer(CLASSES, CLASSES).astype(float)

ROCK_PAPER_SCISSORS = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])

POINTS = np.array([[0.6, 0.2, 0.2], [0.1, 0.8, 0.1], [1 / 3, 1 / 3, 1 / 3]])


def image(ax):
    """What an image shows, holes as NaN."""
    return np.ma.filled(ax.images[0].get_array().astype(float), np.nan)


def two_domains(seed=0, n=7, m=5):
    rng = np.random.default_rng(seed)
    return RelationGraph(rng.standard_normal((n, 3)), rng.random((n, m)), objects=rng.standard_normal((m, 2)))


def reciprocal(n=12, holes=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    skew = X @ np.array([[0, 1, 0], [-1, 0, 2], [0, -2, 0]]) @ X.T
    hidden = np.triu(rng.random((n, n)) < holes, 1)
    skew[hidden | hidden.T] = np.nan
    return RelationGraph(X, skew, ids=[f"n{i}" for i in range(n)])
