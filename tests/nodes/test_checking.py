"""Checks of node data, ids and edge lists: an error names the argument, the place, what was expected and what came."""

import numpy as np
import pytest
from scipy import sparse

from builders import LABELS, N_NODES, NODES, refused, with_entry
from condrank import ConditionalRanker, RelationGraph

IDS = ["ann", "bob", "cyd", "dan", "eve", "fay"]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite_are_refused_with_their_place(value):
    bad = with_entry(NODES, 4, 1, value)
    message = r"X must be finite: 1 entries are NaN or infinite, the first in row 4, column 1"
    refused(message, RelationGraph, bad, LABELS)
    refused(message, RelationGraph, sparse.csr_array(bad), LABELS)
    refused(message, RelationGraph, bad.astype(np.float32), LABELS)
    refused(message, ConditionalRanker().fit, bad, LABELS)
    refused(message, RelationGraph.from_edges, bad, [0], [1], [1.0])
    refused(message, RelationGraph.from_classes, bad, np.arange(N_NODES))
    refused("objects must be finite", RelationGraph, NODES, LABELS, objects=bad)
    for kernel in ("linear", "rbf"):
        ranker = ConditionalRanker(kernel=kernel).fit(NODES, LABELS)
        refused("queries must be finite.*row 4, column 1", ranker.predict, bad)
        refused("objects must be finite", ranker.predict, NODES, bad)
        refused("queries must be finite", ranker.predict_edges, bad, NODES)
        refused("objects must be finite", ranker.rank, NODES, bad)


def test_finite_features_whose_sum_overflows_are_finite():
    huge = np.full((3, 2), 1e308)
    assert RelationGraph(huge, np.eye(3)).n_nodes == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            NODES[:, 0],
            r"X must be two-dimensional \(nodes × features\), got 1 dimension.*reshape it to \(1, n_features\)",
        ),
        (NODES[None], r"X must be two-dimensional \(nodes × features\), got 3 dimension"),
        (3.0, "X must be two-dimensional .* got 0 dimension"),
        (np.array([["a", "b"]] * N_NODES), "X must be numeric, got dtype <U1; encode text and categories first"),
        (NODES.astype(complex), "X must be numeric, got dtype complex128"),
        (NODES.astype(object), "X must be numeric, got dtype object"),
        (np.empty((0, 3)), r"X must have at least one row and one column, got shape \(0, 3\)"),
        (np.empty((N_NODES, 0)), r"X must have at least one row and one column, got shape \(6, 0\)"),
        (sparse.csr_array((N_NODES, 0)), r"at least one row and one column, got shape \(6, 0\)"),
    ],
)
def test_features_of_a_wrong_form_are_refused(given, message):
    refused(message, RelationGraph, given, LABELS)


@pytest.mark.parametrize(
    ("edges", "extra", "message"),
    [
        (([0, 6], [1, 2], [1, 1]), {}, r"sources must lie within 0\.\.5, got 6 at position 1"),
        (([0, 1], [1, -1], [1, 1]), {}, r"targets must lie within 0\.\.5, got -1 at position 1"),
        (([0.0, 1.0], [1, 2], [1, 1]), {}, r"sources must be whole numbers \(positions of nodes\).*got float64"),
        ((["ann"], ["bob"], [1]), {}, "sources must be whole numbers .* because the nodes have no ids"),
        (
            (["ann", "zoe", "zed"], ["bob"] * 3, [1] * 3),
            {"ids": IDS},
            r"sources has 2 id\(s\) that no node has, the first is 'zoe' at position 1; "
            "ids are like 'ann'",
        ),
        ((["ann"], [1], [1]), {"ids": IDS}, r"targets has 1 id\(s\) that no node has, the first is 1"),
        (([0, 1], [1], [1, 1]), {}, r"targets must have one entry for each of the 2 sources, got \(1,\)"),
        (([0, 1], [1, 2], [1]), {}, r"values must have one entry for each of the 2 sources, got \(1,\)"),
        (([0, 1], [1, 2], [[1, 1]]), {}, r"values must have one entry for each of the 2 sources, got \(1, 2\)"),
        (([0, 1], [1, 2], [1, 1], [1]), {}, r"weights must have one entry for each of the 2 sources, got \(1,\)"),
        (([[0, 1]], [1, 2], [1, 1]), {}, r"sources must be one-dimensional, got shape \(1, 2\)"),
        (([0, 1], [1, 2], [1, np.nan]), {}, "values must not be NaN: edge 1 is; leave such edges out"),
        (([0, 1], [1, 2], [1, np.inf]), {}, "values must not be infinite"),
        (([0, 1], [1, 2], [1, 1], [1, -2]), {}, r"weights must not be negative or NaN: edge 1 has weight -2"),
        (([0, 1], [1, 2], [1, 1], [1, np.nan]), {}, r"weights must not be negative or NaN: edge 1 has weight nan"),
        (([0, 1], [1, 2], ["a", "b"]), {}, "values must be numeric, got dtype <U1"),
    ],
)
def test_wrong_edge_lists_are_refused_with_the_place_of_the_mistake(edges, extra, message):
    refused(message, RelationGraph.from_edges, NODES, *edges, **extra)


def test_wrong_ids_are_refused():
    refused(r"ids must name each of the 6 nodes, got shape \(2,\)", RelationGraph, NODES, LABELS, ids=["a", "b"])
    twice = ["ann", "bob", "ann", "dan", "eve", "fay"]
    refused(
        "ids must be unique, but 'ann' at position 2 occurred before",
        RelationGraph,
        NODES,
        LABELS,
        ids=twice,
    )
    refused("object_ids needs objects", RelationGraph, NODES, LABELS, object_ids=IDS)
    refused(
        r"object_ids must name each of the 4 nodes",
        RelationGraph,
        NODES,
        LABELS[:, :4],
        objects=NODES[:4],
        object_ids=IDS,
    )


def test_entries_that_are_not_finite_are_found_in_blocks(tmp_path):
    wide = np.zeros((5000, 1000), dtype=np.float32)
    wide[4500, 7] = wide[4999, 0] = np.nan
    np.save(tmp_path / "nodes.npy", wide)
    with pytest.raises(ValueError, match="2 entries are NaN or infinite, the first in row 4500, column 7"):
        RelationGraph.from_classes(np.load(tmp_path / "nodes.npy", mmap_mode="r"), np.zeros(5000))
