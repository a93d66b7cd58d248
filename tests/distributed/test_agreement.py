"""Whether the two directions of a relation in Dask agree."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("distributed")
pytest.importorskip("dask.array")

import dask.array as da

from condrank import ConditionalRanker, RelationGraph
from condrank.exceptions import RelationWarning
from reference_distributed import N, columns_in_dask, in_dask, pair_of_graphs, table


@pytest.mark.parametrize("form", ["complete", "edges"])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_disagreement_is_that_of_the_relation_in_memory(form, sign):
    local, distributed = (graph.relation for graph in pair_of_graphs(form))
    assert distributed.two_way == local.two_way
    for loops in (True, False):
        expected = local.disagreement(sign, 0.5, loops)
        assert distributed.disagreement(sign, 0.5, loops) == pytest.approx(expected)


def test_probabilities_are_found():
    X, _ = table()
    P = np.random.default_rng(0).uniform(size=(N, N))
    P = np.triu(P, 1) + np.tril(1 - P.T, -1) + 0.5 * np.eye(N)
    sources, targets = np.nonzero(~np.eye(N, dtype=bool))
    columns = sources, targets, P[sources, targets]
    complete = RelationGraph(in_dask(X), da.from_array(P, chunks=23))
    edges = RelationGraph.from_edges(in_dask(X), *columns_in_dask(columns, 1000))
    assert complete.centre == edges.centre == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error", RelationWarning)
        ConditionalRanker(relation="reciprocal").fit(edges)


def test_a_disagreement_warns():
    _, graph = pair_of_graphs("edges")
    with pytest.warns(RelationWarning, match="symmetric part"):
        ConditionalRanker(relation="symmetric").fit(graph)
