"""Graphs in Dask beside the same graphs in memory, and a check that both give the same ranker."""

from __future__ import annotations

import warnings

import dask.array as da
import numpy as np

from condrank import ConditionalRanker, RelationGraph
from condrank.exceptions import RelationWarning

N, D, N_EDGES = 70, 5, 900
MODELS = [
    (relation, loss) for relation in ("ordinary", "symmetric", "reciprocal") for loss in ("ranking", "regression")
]


def table(seed=0, dtype=np.float64, n=N):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, D)) + 0.5).astype(dtype)
    sources = rng.integers(0, n, N_EDGES) * rng.integers(0, 2, N_EDGES)  # node 0 has half of the edges
    targets = rng.integers(0, n - 3, N_EDGES)
    weights = rng.integers(0, 4, N_EDGES).astype(dtype)  # repeated pairs, and some that are not observed
    return X, (sources, targets, rng.standard_normal(N_EDGES).astype(dtype), weights)


def in_dask(X, chunks=(17, 2)):
    return da.from_array(X, chunks=chunks)


def columns_in_dask(columns, chunks=200):
    return [da.from_array(column, chunks=chunks) for column in columns]


def pair_of_graphs(form, seed=0, dtype=np.float64):
    X, columns = table(seed, dtype)
    rng = np.random.default_rng(seed + 1)
    if form == "edges":
        return RelationGraph.from_edges(X, *columns), RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))
    if form == "classes":
        labels, S = rng.integers(0, 4, N), rng.standard_normal((4, 4))
        return RelationGraph.from_classes(X, labels, S), RelationGraph.from_classes(in_dask(X), labels, S)
    Y = rng.standard_normal((N, N)).astype(dtype)
    return RelationGraph(X, Y), RelationGraph(in_dask(X), da.from_array(Y, chunks=(20, 33)))


def check_equal(local, distributed, tol=1e-7, **parameters):
    ranker = ConditionalRanker(**{"alpha": 0.3, "tol": 1e-11, **parameters})
    queries = np.random.default_rng(9).standard_normal((6, D)).astype(local.nodes.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelationWarning)  # the parts of a relation that is none are compared too
        one, constant = ranker.fit(local).predict(queries), ranker.intercept_
        other = ranker.fit(distributed).predict(queries)
    assert abs(ranker.intercept_ - constant) <= tol * np.abs(one).max()
    assert np.abs(one - other).max() <= tol * np.abs(one).max()
    return ranker
