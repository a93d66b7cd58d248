"""Ids of nodes: they stay what they are, and numbers and texts can name the same node."""

from __future__ import annotations

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph, TableRanker
from forms import LIBRARIES, make_frame, write_csv

IDS = {
    "whole": [3, 1, 2**60 + 1, -4],
    "strings": ["007", "7", "ä", " x"],
    "dates": np.array(["2024-01-01", "2024-01-02", "2024-02-01", "2025-01-01"], dtype="M8[D]"),
    "times": np.array(["2024-01-01T10:00:00.123456789", "2024-01-02", "2024-02-01", "2025-01-01"], dtype="M8[ns]"),
    "floats": [0.5, 1.0, 2.0, 1e300],
    "mixed": [1, "1", "a", 2.5],
    "tuples": [(1, 2), (1, 3), "x", 4],
    "bools": [True, False],
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("library", ["dict", *LIBRARIES])
def test_ids_stay_what_they_are(kind, library):
    ids = IDS[kind]
    n = len(ids)
    nodes = {"id": ids, "x": np.arange(n) + 0.5}
    edges = {"source": ids[:1], "target": ids[1:2], "value": [1.0]}
    if library != "dict":
        if library != "pandas" and kind in ("mixed", "tuples"):
            pytest.skip(f"{library} has no such columns")
        nodes, edges = make_frame(library, nodes), make_frame(library, edges)
    graph = RelationGraph.from_frame(nodes, edges)
    assert len(graph.nodes.ids) == n
    for one, given in zip(graph.nodes.ids, ids, strict=True):
        assert one == given
        assert isinstance(one, str) == isinstance(given, str)
    if kind == "whole":
        assert graph.nodes.ids.dtype.kind == "i"
    assert graph.to_dense()[0, 1] == 1


def test_ids_of_a_text_file_stay_strings_and_match_numbers_and_dates(tmp_path):
    nodes = write_csv(tmp_path / "nodes.csv", {"id": ["007", "7", "1e3"], "x": [1, 2, 3]})
    edges = write_csv(tmp_path / "edges.csv", {"source": ["007"], "target": ["7"], "value": [1]})
    graph = RelationGraph.from_frame(nodes, edges)
    assert graph.nodes.ids.tolist() == ["007", "7", "1e3"]
    assert graph.to_dense()[0, 1] == 1
    typed = {"id": [7, 8], "x": [1, 2]}
    seven = write_csv(tmp_path / "typed.csv", {"source": ["7"], "target": ["8"], "value": [1]})
    assert RelationGraph.from_frame(typed, seven).nodes.ids.tolist() == [7, 8]
    assert RelationGraph.from_frame(nodes, {"source": [7], "target": ["007"], "value": [1.0]}).to_dense()[1, 0] == 1
    days = {"id": np.array(["2024-01-01", "2024-01-02"], dtype="M8[ns]"), "x": [1, 2]}
    dated = write_csv(tmp_path / "dated.csv", {"source": ["2024-01-01"], "target": ["2024-01-02"], "value": [1]})
    assert RelationGraph.from_frame(days, dated).to_dense()[0, 1] == 1
    with pytest.raises(ValueError, match=r"row 2, source: no node has the id '007'"):
        RelationGraph.from_frame(typed, write_csv(tmp_path / "bad.csv", {"source": ["007"], "target": ["8"], "v": [1]}))


@pytest.mark.parametrize(("ids", "given"), [([7, 8], ["7"]), (["7", "8"], [7.0]), (["7", "8"], [7]), ([7, 8], [7.0])])
def test_numbers_and_their_texts_are_the_same_ids(ids, given):
    edges = {"a": [7, 7, 8], "b": [8, 7, 7], "value": [1.0, 0.0, 2.0]}
    ranker = TableRanker().fit({"id": ids, "x": [1.0, 2.0]}, edges)
    assert ranker.rank(given).ids.tolist() == [[ids[1]]]
    graph = RelationGraph(np.eye(2), [[0.0, 1], [2, 0]], ids=ids)
    index = ConditionalRanker().fit(graph).index()
    assert index.top(ids=given, k=1).query_ids.tolist() == [ids[0]]
    assert index.top(ids=given[0], k=1).query_ids.tolist() == [ids[0]]
