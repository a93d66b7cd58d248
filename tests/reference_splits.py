"""Graphs of every form and groups of their nodes, for the tests of splits."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from condrank import RelationGraph

N, M = 12, 9
SIGNS = {"ordinary": 0, "symmetric": 1, "reciprocal": -1}
GROUPS = np.repeat(["a", "b", "c", "d"], 3)


def make_labels(n=N, m=N, relation="ordinary", holes=0.0, seed=0):
    rng = np.random.default_rng(seed)
    Y = rng.integers(-3, 4, (n, m)).astype(float)
    if SIGNS[relation]:
        Y = Y + SIGNS[relation] * Y.T
    Y[rng.random((n, m)) < holes] = np.nan
    return Y


def make_graph(form="complete", relation="ordinary", dtype=float):
    X = np.random.default_rng(1).standard_normal((N, 4)).astype(dtype)
    if form == "classes":
        return RelationGraph.from_classes(X, np.arange(N) % 3)
    if form == "sparse":
        return RelationGraph(X, sparse.csr_array(make_labels(relation=relation)), unstored="zero")
    if form == "two domains":
        objects = np.random.default_rng(2).standard_normal((M, 3)).astype(dtype)
        return RelationGraph(X, make_labels(N, M, holes=0.3).astype(dtype), objects=objects)
    if form == "precomputed":
        return RelationGraph(rbf_kernel(X), make_labels(relation=relation))
    holes = 0.4 if form == "holes" else 0.0
    return RelationGraph(X, make_labels(relation=relation, holes=holes).astype(dtype))
