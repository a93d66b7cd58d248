"""Complete relations in Dask that are refused."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

import dask.array as da

from condrank import ConditionalRanker, RelationGraph
from reference_distributed import N, in_dask, table


def test_labels_that_are_not_finite_are_refused_with_their_place():
    X, _ = table()
    Y = np.zeros((N, N))
    Y[30, 65] = np.nan
    graph = RelationGraph(in_dask(X), da.from_array(Y, chunks=(20, 33)))
    with pytest.raises(ValueError, match=r"tile \(1, 1\) has 1 NaN.*from_edges"):
        ConditionalRanker(loss="regression").fit(graph)
    with pytest.raises(ValueError, match=r"NaN"):
        ConditionalRanker(relation="symmetric").fit(graph)
