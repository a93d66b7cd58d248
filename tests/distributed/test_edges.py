"""Edges in Dask: what is known of them, and edges that are refused."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

import dask.array as da

from condrank import ConditionalRanker, RelationGraph
from condrank.distributed.edges import DistributedEdges
from reference_distributed import N, columns_in_dask, in_dask, pair_of_graphs, table


def test_the_facts_are_those_of_the_edges_in_memory():
    local, distributed = pair_of_graphs("edges")
    one, other = local.relation, distributed.relation
    assert isinstance(other, DistributedEdges)
    assert other.shape == one.shape
    assert (other.n_edges, other.n_pairs, other.count_loops()) == (one.n_edges, one.n_pairs, one.count_loops())
    assert other.extremes() == pytest.approx(one.extremes())
    for mine, theirs in zip(other.degrees(), one.degrees(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert distributed.density == pytest.approx(local.density)


def test_transposing_twice_gives_the_same_edges():
    local, distributed = (graph.relation for graph in pair_of_graphs("edges"))
    turned = distributed.transpose()
    assert turned.transpose() is distributed
    assert turned.n_edges == local.n_edges
    for mine, theirs in zip(turned.degrees(), local.transpose().degrees(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert turned.disagreement(1) == distributed.disagreement(1)


@pytest.mark.parametrize(
    ("column", "place", "value", "message"),
    [
        (0, 450, N, "part 2 of the edges: sources must lie within"),
        (1, 10, -1, "part 0 of the edges: targets must lie within"),
        (2, 899, np.nan, "part 4 of the edges: values must not be NaN"),
        (3, 200, -1.0, "part 1 of the edges: weights must not be negative"),
    ],
)
def test_edges_are_checked_at_once(column, place, value, message):
    X, columns = table()
    columns[column][place] = value
    with pytest.raises(ValueError, match=message):
        RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns))


def test_no_edges_are_nothing_to_learn_from():
    X, columns = table()
    graph = RelationGraph.from_edges(in_dask(X), *(da.from_array(column[:0]) for column in columns), probabilities=True)
    assert graph.density == 0.0
    with pytest.raises(ValueError, match="no observed edge"):
        ConditionalRanker().fit(graph)


def test_columns_of_other_lengths_are_refused():
    X, (sources, targets, values, _) = table()
    with pytest.raises(ValueError, match="values must have one entry for each of the 900 sources"):
        RelationGraph.from_edges(in_dask(X), *columns_in_dask((sources, targets, values[:-1])))
