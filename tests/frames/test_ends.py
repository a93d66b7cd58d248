"""Ends of edges: the error for ids that no node has."""

from __future__ import annotations

import numpy as np
import pytest

from condrank.tables import read_graph
from forms import LIBRARIES, NODES, make_frame


@pytest.mark.parametrize("library", LIBRARIES)
def test_unknown_ids_are_counted_over_both_ends(library):
    edges = {"source": ["ann", "eve", "gus", "eve"], "target": ["bob", "gus", "ann", "hal"], "value": [1, 2, 3, 4]}
    message = (
        r"edges, position 1, source: no node has the id 'eve'; 3 ids in 3 rows belong to no node: 'eve', 'gus', "
        r"'hal'; ids are like 'ann'$"
    )
    with pytest.raises(ValueError, match=message):
        read_graph(NODES, make_frame(library, edges))
    edges = {"source": ["ann", "eve", "eve"], "target": ["bob", "ann", "bob"], "value": [1, 2, 3]}
    with pytest.raises(ValueError, match=r"position 1, source: no node has the id 'eve' \(in 2 rows\); ids are like"):
        read_graph(NODES, make_frame(library, edges))


def test_a_hint_says_where_to_pass_nodes_of_a_second_kind():
    edges = {"source": ["ann", "bob"], "target": ["x", "y"], "value": [1, 2]}
    message = r"'ann'\. No id in target belongs to a node: if they are of a second kind, pass their table as objects=$"
    with pytest.raises(ValueError, match=message):
        read_graph(NODES, edges)
    for other in (
        {"nodes": NODES, "edges": edges | {"target": ["x", "ann"]}},
        {
            "nodes": NODES,
            "edges": edges | {"source": ["v", "w"]},
        },  # no end is known: more likely another column has the ids
        {"nodes": NODES, "edges": edges, "objects": {"id": ["v"], "x": [1]}},
        {"nodes": NODES, "edges": edges, "kernel": np.eye(4)},
    ):
        with pytest.raises(ValueError, match="has the id") as error:
            read_graph(**other)
        assert "second kind" not in str(error.value)
