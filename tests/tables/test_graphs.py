"""Graphs from tables, kernels and networkx."""

from __future__ import annotations

import numpy as np
import pytest

from condrank import RelationGraph
from condrank.tables import Table, read_graph
from forms import EDGES, FORMS, GAMES, LIBRARIES, MIXED, NODES, in_form, make_frame, spoiled, write_csv


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_gives_the_same_graph(tmp_path, form):
    nodes, edges = in_form(form, MIXED, tmp_path / "nodes"), in_form(form, EDGES, tmp_path / "edges")
    expected = read_graph(MIXED, EDGES)
    assert expected.nodes.base.kinds == {
        "age": "numeric",
        "height": "numeric",
        "country": "categorical",
        "about": "text",
    }
    graph = RelationGraph.from_frame(nodes, edges)
    assert graph.nodes.base == expected.nodes.base
    assert graph.nodes.ids.tolist() == MIXED["id"]
    np.testing.assert_array_equal(graph.to_dense(), expected.to_dense())


def test_tables_of_numbers_give_plain_features_unchanged():
    graph = RelationGraph.from_frame(NODES, EDGES)
    np.testing.assert_array_equal(graph.nodes.base, np.column_stack([NODES["age"], NODES["height"]]))
    assert graph.nodes.dtype == np.float64
    dense = graph.to_dense()
    assert dense[0, 1] == 1.5
    assert dense[1, 2] == -2
    assert dense[2, 0] == 0.25
    assert graph.n_edges == 3


def test_objects_are_a_second_domain():
    drugs = {"drug": ["d1", "d2"], "weight": [1.0, 2.0]}
    targets = {"target": [10, 20, 30], "kind": ["kinase", "gpcr", "kinase"]}
    edges = {"drug": ["d1", "d2"], "target": [30, 10], "value": [5.0, 6.0]}
    graph = RelationGraph.from_frame(drugs, edges, objects=targets, source="drug", target="target")
    assert graph.is_two_domain
    assert graph.shape == (2, 3)
    assert graph.to_dense()[0, 2] == 5
    assert graph.objects.ids.dtype == np.int64
    assert isinstance(graph.nodes.base, Table)  # both stay tables where one needs an encoder
    with pytest.raises(ValueError, match=r"edges, position 0, target: no object has the id 40"):
        RelationGraph.from_frame(drugs, edges | {"target": [40, 10]}, objects=targets, source="drug", target="target")


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (spoiled(NODES, "id", 2, "ann"), EDGES, r"nodes.csv, row 4: id 'ann' occurs already in .*nodes.csv, row 2"),
        (spoiled(NODES, "id", 1, ""), EDGES, r"nodes.csv, row 3: column 'id' has no value"),
        (spoiled(NODES, "age", 3, ""), EDGES, r"nodes.csv, row 5: column 'age' has no value"),
        (spoiled(NODES, "age", 3, "NA"), EDGES, r"nodes.csv, row 5: column 'age' has no value; fill it in"),
        (spoiled(NODES, "age", 3, "inf"), EDGES, r"nodes.csv, row 5: column 'age' must be a finite number, got 'inf'"),
        (NODES, spoiled(EDGES, "source", 1, "eve"), r"edges.csv, row 3, source: no node has the id 'eve'"),
        (NODES, spoiled(EDGES, "target", 0, ""), r"edges.csv, row 2: column 'target' has no value"),
        (NODES, spoiled(EDGES, "value", 2, ""), r"edges.csv, row 4: column 'value' has no value"),
        (NODES, spoiled(EDGES, "value", 2, "much"), r"edges.csv, row 4: column 'value' must be a number, got 'much'"),
        (NODES, spoiled(EDGES, "value", 2, "nan"), r"edges.csv, row 4: column 'value' must be a number, got 'nan'"),
        (NODES, EDGES | {"weight": [1, -1, 2]}, r"edges.csv, row 3: column 'weight' must not be negative, got -1"),
        (NODES, spoiled(GAMES, "loser", 0, "ann"), r"edges.csv, row 2: 'ann' plays against itself"),
        (NODES, {"source": ["ann"], "target": ["bob"]}, r"must have a column of values, named with value="),
        (NODES, {"only": ["ann"]}, r"must have two columns with ids of nodes"),
        ({"id": ["ann", "bob", "cyd"]}, EDGES, r"no column with features"),
    ],
)
def test_an_error_in_a_file_names_the_file_and_the_row(tmp_path, nodes, edges, message):
    nodes, edges = write_csv(tmp_path / "nodes.csv", nodes), write_csv(tmp_path / "edges.csv", edges)
    with pytest.raises(ValueError, match=message):
        RelationGraph.from_frame(nodes, edges)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (spoiled(NODES, "id", 2, "ann"), EDGES, r"nodes, position 2: id 'ann' occurs already in nodes, position 0"),
        (spoiled(NODES, "id", 1, None), EDGES, r"nodes, position 1: column 'id' has no value"),
        (spoiled(NODES, "age", 3, None), EDGES, r"nodes, position 3: column 'age' has no value; fill it in"),
        (spoiled(NODES, "height", 0, np.inf), EDGES, r"nodes, position 0: column 'height' must be a finite number"),
        (NODES, spoiled(EDGES, "source", 1, "eve"), r"edges, position 1, source: no node has the id 'eve'"),
        (NODES, spoiled(EDGES, "target", 0, None), r"edges, position 0: column 'target' has no value"),
        (NODES, spoiled(EDGES, "value", 2, None), r"edges, position 2: column 'value' has no value"),
        (NODES, EDGES | {"value": ["1", "2", "much"]}, r"position 2: column 'value' must be a number, got 'much'"),
        (NODES, EDGES | {"weight": [1, -1, 2]}, r"edges, position 1: column 'weight' must not be negative, got -1"),
        (NODES, spoiled(GAMES, "loser", 0, "ann"), r"edges, position 0: 'ann' plays against itself"),
    ],
)
def test_an_error_in_a_frame_names_the_position_of_the_row(library, nodes, edges, message):
    with pytest.raises(ValueError, match=message):
        RelationGraph.from_frame(make_frame(library, nodes), make_frame(library, edges))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"id": "key"}, r"id='key' is not a column of nodes, which has \['id', 'age', 'height'\]"),
        ({"value": "v"}, "value='v' is not a column of edges"),
        ({"winner": "source"}, "winner and loser must both be given"),
        ({"winner": "source", "value": "value"}, "winner and loser must not be given together with"),
        ({"value": "value", "wins": ("value", "value")}, "value and wins must not both"),
        ({"wins": "value"}, "wins must be the two columns"),
        ({"tie": "value"}, "tie is for games"),
        ({"mirror": "both"}, "mirror must be one of"),
        ({"numeric": ["size"]}, "numeric has 'size', which is not a column"),
        ({"numeric": "age"}, "numeric must be a list of names"),
        ({"drop": ["age"], "text": ["age"]}, "drop has column 'age', which is named twice"),
        ({"categorical": ["id"]}, "id='id' has the ids"),
        ({"object_id": "id"}, "object_id needs objects"),
        ({"objects": NODES, "mirror": "same"}, "mirror='same' needs a single domain"),
    ],
)
def test_an_option_that_does_not_fit_is_refused_with_its_name(options, message):
    with pytest.raises(ValueError, match=message):
        RelationGraph.from_frame(NODES, EDGES, **options)


def test_a_networkx_graph_becomes_a_relation_graph():
    nx = pytest.importorskip("networkx")
    G = nx.Graph()
    G.add_node("a", size=1.0, kind="x")
    G.add_node("b", size=2.0, kind="y")
    G.add_node(3, size=3.0, kind="x")
    G.add_edge("a", "b", weight=2.0)
    G.add_edge("b", 3, weight=4.0)
    graph = RelationGraph.from_networkx(G)
    assert graph.nodes.base.kinds == {"size": "numeric", "kind": "categorical"}
    assert graph.nodes.ids.tolist() == ["a", "b", 3]
    assert graph.is_symmetric
    assert graph.n_edges == 4
    numeric = RelationGraph.from_networkx(G, features=["size"])
    assert numeric.nodes.base.tolist() == [[1], [2], [3]]
    assert RelationGraph.from_networkx(G.to_directed(), ["size"]).n_edges == 4
    links = RelationGraph.from_networkx(G, np.eye(3), value=None)
    assert links.is_complete
    np.testing.assert_array_equal(links.to_dense(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    directed = nx.DiGraph([("a", "b", {"y": 1.0})])
    assert RelationGraph.from_networkx(directed, np.eye(2), value="y").n_edges == 1
    for wrong, message in [
        (lambda: RelationGraph.from_networkx(directed), "have no attributes"),
        (lambda: RelationGraph.from_networkx(directed, np.eye(3)), "a row for each of the 2 nodes"),
        (lambda: RelationGraph.from_networkx(directed, np.eye(2)), "'a' → 'b' must have a finite number as 'weight'"),
        (lambda: RelationGraph.from_networkx(nx.Graph()), "at least one node"),
        (lambda: RelationGraph.from_networkx(3), "must be a networkx graph"),
        (lambda: RelationGraph.from_networkx(G, ["weight"]), "position 0: column 'weight' has no value"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong()
