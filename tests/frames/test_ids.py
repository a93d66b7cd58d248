"""Ids of nodes: numbers and texts that name the same node."""

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph, TableRanker


@pytest.mark.parametrize(("ids", "given"), [([7, 8], ["7"]), (["7", "8"], [7.0]), (["7", "8"], [7]), ([7, 8], [7.0])])
def test_numbers_and_their_texts_are_the_same_ids(ids, given):
    edges = {"a": [7, 7, 8], "b": [8, 7, 7], "value": [1.0, 0.0, 2.0]}
    ranker = TableRanker().fit({"id": ids, "x": [1.0, 2.0]}, edges)
    assert ranker.rank(given).ids.tolist() == [[ids[1]]]
    graph = RelationGraph(np.eye(2), [[0.0, 1], [2, 0]], ids=ids)
    index = ConditionalRanker().fit(graph).index()
    assert index.top(ids=given, k=1).query_ids.tolist() == [ids[0]]
    assert index.top(ids=given[0], k=1).query_ids.tolist() == [ids[0]]
