"""What may be diagnosed: graphs and arrays, whole or sampled, and what is refused."""

import numpy as np
import pytest

from condrank import RelationGraph
from condrank.diagnosis import diagnose, hodge_split, skew_flow, t_transitivity
from labelled import order, random_labels


class Graph:
    """Only what diagnose may use of a RelationGraph."""

    def __init__(self, Y, n_edges=None, two_domain=False):
        self.Y, self.shape, self.is_two_domain = Y, Y.shape, two_domain
        self.n_edges = int(np.isfinite(Y).sum()) if n_edges is None else n_edges
        self.density = np.isfinite(Y).mean()

    def __getitem__(self, index):
        if isinstance(index, tuple):
            return Graph(self.Y[np.ix_(*index)], two_domain=True)
        return Graph(self.Y[index] if self.is_two_domain else self.Y[np.ix_(index, index)], None, self.is_two_domain)

    def to_dense(self):
        return self.Y


def test_graph_and_array_agree():
    Y = random_labels(0, 10, hole=0.3)
    assert diagnose(Graph(Y)) == diagnose(Y)
    assert diagnose(Graph(Y, n_edges=100)).n_duplicates == 100 - np.isfinite(Y).sum()
    square = diagnose(Graph(Y, two_domain=True))
    assert (square.two_domain, square.parts, square.recommended_relation) == (True, None, "ordinary")


def test_large_graphs_are_measured_on_a_sample_and_say_so():
    Y = order(60)
    found = diagnose(Graph(Y), max_nodes=20)
    assert (found.n_nodes, found.n_nodes_used, found.n_edges, found.n_edges_used) == (60, 20, 3600, 400)
    assert len(found.nodes_used) == len(found.hodge.scores) == 20
    assert np.all(np.diff(found.hodge.scores) > 0)
    assert "20 of 60 nodes" in found.summary()
    assert diagnose(Y, max_nodes=20) == found
    assert list(diagnose(Y, max_nodes=20, random_state=1).nodes_used) != list(found.nodes_used)
    for wide in (Graph(Y[:50], two_domain=True), Y[:50]):
        assert diagnose(wide, max_nodes=20).shape_used == (20, 20)
        assert diagnose(wide, max_nodes=55).shape_used == (50, 55)


def test_relation_graphs_of_every_form_are_read():
    X, Y = np.eye(30, 4), random_labels(0, 30, hole=0.4)
    assert diagnose(RelationGraph(X, Y)) == diagnose(Y)
    assert diagnose(RelationGraph(X, Y), max_nodes=9) == diagnose(Y, max_nodes=9)
    wide = RelationGraph(X[:20], Y[:20], objects=X)
    assert diagnose(wide) == diagnose(Y[:20])
    for max_nodes in (9, 25):
        assert diagnose(wide, max_nodes=max_nodes) == diagnose(Y[:20], max_nodes=max_nodes)

    kinds = np.arange(30) % 3
    found = diagnose(RelationGraph.from_classes(X, kinds), max_nodes=20)
    assert (found.recommended_relation, found.t_norms.minimum, found.n_edges) == ("symmetric", 0.0, 900)

    games = RelationGraph.from_edges(
        X, [0, 0, 1, 2, 1, 1, 2, 0], [1, 1, 2, 0, 0, 0, 1, 2], [1, 1, 1, 1, -1, -1, -1, -1]
    )
    found = diagnose(games)
    assert (found.n_edges, found.n_edges_used, found.n_duplicates) == (8, 6, 2)
    assert (found.recommended_relation, found.triads.n_cyclic, found.degrees.n_isolated) == (
        "reciprocal",
        1,
        27,
    )


def test_input_is_left_alone():
    Y = random_labels(0, 6, hole=0.2)
    before = Y.copy()
    diagnose(Y)
    t_transitivity(Y)
    hodge_split(skew_flow(Y))
    np.testing.assert_array_equal(Y, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graph": np.zeros(3)}, r"graph must be .* got shape \(3,\)"),
        ({"graph": np.zeros((0, 0))}, "got shape"),
        ({"graph": [[np.inf, 1], [1, 0]]}, "got 1 infinite"),
        ({"graph": np.eye(3), "max_nodes": 0}, "max_nodes must be a positive integer, got 0"),
        ({"graph": np.eye(3), "max_nodes": 2.5}, "max_nodes"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        diagnose(**arguments)


def test_sparse_matrix_is_refused_with_advice():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="RelationGraph"):
        diagnose(sparse.csr_array(np.eye(3)))
