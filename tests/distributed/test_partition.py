"""Partitions of edges."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

import dask.array as da

from condrank import RelationGraph
from condrank.distributed.partition import EdgePartition
from reference_distributed import columns_in_dask, in_dask


def test_partitions_hold_every_edge_once_and_about_equally_many():
    rng = np.random.default_rng(0)
    n, n_edges = 5000, 40_000
    columns = rng.integers(0, n, n_edges), rng.integers(0, n, n_edges), rng.standard_normal(n_edges)
    graph = RelationGraph.from_edges(in_dask(rng.standard_normal((n, 2)), (700, 2)), *columns_in_dask(columns, 9000))
    partitions = da.compute(*graph.relation.partitions)
    sizes = [one.edges.n_edges for one in partitions]
    assert sum(sizes) == n_edges
    assert max(sizes) < 1.2 * n_edges / len(sizes)
    rows = np.concatenate([one.rows for one in partitions])
    np.testing.assert_array_equal(rows, np.unique(columns[0]))


@pytest.mark.parametrize("n", [50, 10**9])
def test_merging_edges_renumbers_their_nodes(n):
    rng = np.random.default_rng(0)
    sources, targets = rng.integers(5, n, 30), rng.integers(0, n, 30)
    pieces = [(sources[:20], targets[:20], np.arange(20.0), None), (sources[20:], targets[20:], np.arange(10.0), None)]
    merged = EdgePartition.merged(pieces)
    np.testing.assert_array_equal(merged.rows, np.unique(sources))
    np.testing.assert_array_equal(merged.cols, np.unique(targets))
    pairs = set(
        zip(merged.rows[merged.edges.sources].tolist(), merged.cols[merged.edges.indices].tolist(), strict=True)
    )
    assert pairs == set(zip(sources.tolist(), targets.tolist(), strict=True))


def test_sorted_edges_are_not_sent_everywhere():
    rng = np.random.default_rng(0)
    sources = np.sort(rng.integers(0, 300, 4000))
    columns = sources, rng.integers(0, 300, 4000), rng.standard_normal(4000)
    graph = RelationGraph.from_edges(in_dask(rng.standard_normal((300, 2)), (60, 2)), *columns_in_dask(columns, 400))
    pieces = graph.relation.pieces()
    assert sum(map(len, pieces)) <= 10 + len(pieces)
