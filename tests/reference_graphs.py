"""Seven nodes with a relation between them, whole and with holes, for the tests of graphs."""

from __future__ import annotations

import numpy as np


def random(seed):
    return np.random.default_rng(seed)


N = 7
X = random(0).normal(size=(N, 3))
Y = random(1).normal(size=(N, N)).round(2)
IDS = np.array(["ann", "bob", "cyd", "dan", "eve", "fay", "gus"])
HOLES = np.where(random(2).random((N, N)) < 0.5, Y, np.nan)


def same(graph, expected):
    np.testing.assert_allclose(graph.to_dense(), expected, atol=1e-12)
