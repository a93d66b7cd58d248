"""Blocks of nodes in Dask that are refused."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

import dask.array as da

from condrank import ConditionalRanker, RelationGraph
from reference_distributed import N, columns_in_dask, in_dask, table


def test_features_that_are_not_finite_are_refused_with_their_place():
    X, columns = table()
    X[40, 3] = np.nan
    graph = RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))
    with pytest.raises(ValueError, match=r"1 entries of block 2 \(from row 34 on\).*row 40, column 3"):
        ConditionalRanker().fit(graph)


def test_wrong_node_data_is_refused():
    X, columns = table()
    with pytest.raises(ValueError, match="X must be two-dimensional"):
        RelationGraph.from_edges(in_dask(X[:, 0], (17,)), *columns)
    with pytest.raises(ValueError, match="Y must have shape"):
        RelationGraph(in_dask(X), da.zeros((N, N + 1), chunks=30))
    with pytest.raises(ValueError, match="X must be numeric"):
        RelationGraph.from_edges(da.from_array(np.full((N, 2), "a"), chunks=20), *columns)
    with pytest.raises(ValueError, match="no subgraphs"):
        RelationGraph.from_edges(in_dask(X), *columns)[:10]
