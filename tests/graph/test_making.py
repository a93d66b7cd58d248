"""Ways to make a RelationGraph: dense and sparse labels, edge lists, classes, taxonomies and factors."""

import numpy as np
import pytest
from scipy import sparse

from builders import LABELS, N_NODES, NODES, refused, with_entry
from condrank import ConditionalRanker, RelationGraph
from reference_graphs import HOLES, IDS, N, X, Y, random, same

THIRTY = np.random.default_rng(0).normal(size=(30, 4))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (LABELS[:, :4], r"Y must have shape \(6, 6\) \(nodes × nodes\), got \(6, 4\)"),
        (LABELS[:4], r"Y must have shape \(6, 6\) \(nodes × nodes\), got \(4, 6\)"),
        (sparse.csr_array(LABELS[:4]), r"Y must have shape \(6, 6\) \(nodes × nodes\), got \(4, 6\)"),
        (LABELS[0], r"Y must be two-dimensional \(nodes × objects\), got 1 dimension"),
        (with_entry(LABELS, 2, 3, np.inf), "Y must not be infinite: 1 entries are"),
        (sparse.csr_array(with_entry(LABELS, 2, 3, -np.inf)), "Y must not be infinite: 1 entries are"),
        (
            sparse.csr_array(with_entry(LABELS, 2, 3, np.nan)),
            "a sparse Y must not store NaN: leave out entries",
        ),
        (LABELS.astype(str), "Y must be numeric, got dtype <U"),
        (LABELS.astype(complex), "Y must be numeric, got dtype complex128"),
    ],
)
def test_labels_of_a_wrong_form_are_refused(given, message):
    refused(message, RelationGraph, NODES, given)
    refused(message, ConditionalRanker().fit, NODES, given)


def test_labels_of_two_domains_need_a_column_for_each_object():
    refused(
        r"Y must have shape \(6, 4\) \(nodes × objects\), got \(6, 6\)", RelationGraph, NODES, LABELS, objects=NODES[:4]
    )


def test_a_wrong_unstored_is_refused():
    refused("unstored must be 'unobserved' or 'zero', got 'zeros'", RelationGraph, NODES, LABELS, unstored="zeros")
    refused(
        "unstored='zero' is for a sparse Y; in a dense Y, NaN means unobserved",
        RelationGraph,
        NODES,
        LABELS,
        unstored="zero",
    )


def test_wrong_classes_are_refused():
    make = RelationGraph.from_classes
    refused(r"labels must have shape \(6,\) for classes or \(6, n_levels\).*, got \(2,\)", make, NODES, [0, 1])
    refused(r"labels must have shape .* got \(6, 1, 1\)", make, NODES, np.zeros((N_NODES, 1, 1)))
    refused("similarity must have one row and one column for each of the 2 classes", make, NODES, [0, 1] * 3, np.eye(3))
    refused("similarity must be finite", make, NODES, [0, 1] * 3, [[1, np.nan], [0, 1]])
    refused(r"taxonomy of 2 levels must give 3 values.*got shape \(2,\)", make, NODES, np.zeros((N_NODES, 2)), [1, 2])
    refused("similarity must be finite", make, NODES, np.zeros((N_NODES, 2)), [0, np.nan, 1])
    refused("taxonomy must have at least one level", make, NODES, np.zeros((N_NODES, 0)))


def test_wrong_factors_are_refused():
    make = RelationGraph.from_factors
    refused(r"S must have shape \(2, 3\) to fit A and B, got \(2, 2\)", make, NODES, NODES[:, :2], np.eye(2), NODES)
    refused("A must have a row for each of the 6 nodes, got 4", make, NODES, NODES[:4], np.eye(3))
    refused("A must be finite", make, NODES, with_entry(NODES, 0, 0, np.nan), np.eye(3))
    refused("S must be finite", make, NODES, NODES, with_entry(np.eye(3), 0, 0, np.inf))


def test_factors_that_do_not_fit_the_nodes_are_named():
    with pytest.raises(ValueError, match="A must have a row for each of the 30 nodes, got 5"):
        RelationGraph.from_factors(THIRTY, THIRTY[:5], np.eye(4))
    with pytest.raises(ValueError, match="B must have a row for each of the 30 nodes, got 5"):
        RelationGraph.from_factors(THIRTY, THIRTY, np.eye(4), THIRTY[:5])
    with pytest.raises(
        ValueError, match="B must have a row for each of the 5 objects, got 30; if B is not given, B is A"
    ):
        RelationGraph.from_factors(THIRTY, THIRTY, np.eye(4), objects=THIRTY[:5])


def test_dense_labels_make_a_complete_graph():
    graph = RelationGraph(X, Y)
    assert graph.shape == (N, N)
    assert len(graph) == graph.n_nodes == N
    assert graph.n_edges == N * N
    assert graph.density == 1
    assert graph.is_complete
    assert graph.has_loops
    assert not graph.is_two_domain
    assert not graph.is_symmetric
    assert not graph.is_reciprocal
    assert graph.centre == 0
    assert graph.n_features_in_ == 3
    assert graph.nodes.base is X  # not copied
    assert graph.relation.Y is Y
    same(graph, Y)


def test_labels_with_holes_make_an_incomplete_graph():
    graph = RelationGraph(X, HOLES)
    seen = ~np.isnan(HOLES)
    assert graph.n_edges == seen.sum()
    assert graph.density == pytest.approx(seen.mean())
    assert not graph.is_complete
    same(graph, HOLES)
    without_loops = Y.copy()
    np.fill_diagonal(without_loops, np.nan)
    assert not RelationGraph(X, without_loops).has_loops
    without_loops[3, 3] = 0
    assert RelationGraph(X, without_loops).has_loops


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_unstored_labels_are_zeros_or_unobserved(form):
    few = np.where(random(3).random((N, N)) < 0.4, Y, 0)
    known_zeros = RelationGraph(X, form(few), unstored="zero")
    assert known_zeros.is_complete
    assert known_zeros.n_edges == N * N
    same(known_zeros, few)
    unobserved = RelationGraph(X, form(few))
    assert not unobserved.is_complete
    assert unobserved.n_edges == np.count_nonzero(few)
    same(unobserved, np.where(few == 0, np.nan, few))
    assert RelationGraph(X, form(Y + 9)).is_complete  # every entry is stored
    same(RelationGraph(X, form(Y + 9)), Y + 9)


def test_repeated_entries_of_sparse_labels_add_up_and_are_not_changed():
    data, indices, indptr = np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3, 3])
    given = sparse.csr_array((data, indices, indptr), shape=(2, 2))
    same(RelationGraph(X[:2], given), [[2, 5], [np.nan, np.nan]])
    np.testing.assert_array_equal(given.data, [1, 2, 4])
    np.testing.assert_array_equal(given.indices, [1, 0, 1])
    np.testing.assert_array_equal(given.indptr, [0, 3, 3])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float16])
def test_other_numbers_become_floats_of_the_precision_of_the_features(dtype):
    given = (Y > 0).astype(dtype)
    for precision in (np.float32, np.float64):
        graph = RelationGraph(X.astype(precision), given)
        assert graph.relation.dtype == precision
        same(graph, given.astype(float))
        if dtype != np.float16:  # which scipy has no sparse arrays of
            graph = RelationGraph(X.astype(precision), sparse.csr_array(given), unstored="zero")
            assert graph.relation.dtype == precision
    assert RelationGraph(given, Y).nodes.dtype == np.float64


def test_float32_labels_and_features_stay_float32():
    graph = RelationGraph(X.astype(np.float32), Y.astype(np.float32))
    assert graph.nodes.dtype == graph.relation.dtype == np.float32


def test_an_edge_list_may_name_nodes_by_position_and_by_id():
    i, j = np.nonzero(~np.isnan(HOLES))
    shuffled = np.random.default_rng(1).permutation(len(i))
    i, j = i[shuffled], j[shuffled]
    same(RelationGraph.from_edges(X, i, j, HOLES[i, j]), HOLES)
    same(RelationGraph.from_edges(X, i.tolist(), j.tolist(), HOLES[i, j].tolist()), HOLES)
    graph = RelationGraph.from_edges(X, IDS[i], IDS[j].tolist(), HOLES[i, j], ids=IDS)
    same(graph, HOLES)
    assert graph.nodes.ids.tolist() == IDS.tolist()
    numbers = np.arange(N) * 10 + 5
    same(RelationGraph.from_edges(X, numbers[i], numbers[j], HOLES[i, j], ids=numbers), HOLES)


def test_repeated_edges_are_weighted_means():
    graph = RelationGraph.from_edges(X, [0, 0, 1, 0], [1, 1, 2, 2], [1, 4, 5, 6], weights=[1, 3, 1, 0])
    expected = np.full((N, N), np.nan)
    expected[0, 1], expected[1, 2] = 13 / 4, 5
    same(graph, expected)
    assert graph.n_edges == 3
    assert graph.density == 2 / N**2
    np.testing.assert_array_equal(graph.relation.weights, [4, 1])


def test_a_complete_edge_list_makes_a_complete_graph():
    i, j = (grid.ravel() for grid in np.meshgrid(range(N), range(N), indexing="ij"))
    assert RelationGraph.from_edges(X, i, j, Y.ravel()).is_complete
    assert not RelationGraph.from_edges(X, i, j, Y.ravel(), weights=1.0 + (i == 2)).is_complete
    assert not RelationGraph.from_edges(X, np.r_[i, 0], np.r_[j, 0], np.r_[Y.ravel(), 1]).is_complete
    assert not RelationGraph.from_edges(X, i[1:], j[1:], Y.ravel()[1:]).is_complete


def test_a_graph_may_have_no_edges():
    graph = RelationGraph.from_edges(X, [], [], [])
    assert graph.n_edges == graph.density == 0
    assert repr(graph) == "RelationGraph(7 nodes, 0 edges, density 0, ordinary)"


def test_classes_make_a_relation_of_equal_classes_or_of_their_similarity():
    labels = np.array(["x", "z", "y", "x", "z", "z", "y"])
    graph = RelationGraph.from_classes(X, labels, ids=IDS)
    assert graph.is_complete
    assert graph.is_symmetric
    same(graph, (labels[:, None] == labels).astype(float))
    S = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    order = np.array([0, 2, 1, 0, 2, 2, 1])
    same(RelationGraph.from_classes(X, labels.tolist(), S), S[np.ix_(order, order)])
    assert RelationGraph.from_classes(X, labels, S - S.T).is_reciprocal
    assert RelationGraph.from_classes(X.astype(np.float32), labels).relation.dtype == np.float32


def test_a_taxonomy_counts_shared_levels():
    paths = np.array([["a", "p"], ["a", "q"], ["b", "p"], ["a", "p"], ["b", "q"], ["b", "p"], ["c", "q"]])
    shared = np.array(
        [
            [0 if p[0] != q[0] else 1 if p[1] != q[1] else 2 for q in paths.tolist()]
            for p in paths.tolist()
        ]
    )  # fmt: skip
    same(RelationGraph.from_classes(X, paths), shared)
    same(RelationGraph.from_classes(X, paths, [5, 2, 7]), np.array([5, 2, 7])[shared])
    assert RelationGraph.from_classes(X, paths).is_symmetric


def test_factors_make_the_relation_of_their_product():
    A, B, S = random(4).normal(size=(N, 2)), random(5).normal(size=(N, 3)), random(6).normal(size=(2, 3))
    same(RelationGraph.from_factors(X, A, S, B), A @ S @ B.T)
    same(RelationGraph.from_factors(X, sparse.csr_array(A), S, B), A @ S @ B.T)
    same(RelationGraph.from_factors(X, A, sparse.csr_array(S[:, :2])), A @ S[:, :2] @ A.T)
    graph = RelationGraph.from_factors(X, A, S, B[:4], objects=random(7).normal(size=(4, 5)))
    assert graph.is_two_domain
    same(graph, A @ S @ B[:4].T)
    for scale in (1e-4, 1, 1e4):
        assert not RelationGraph.from_factors(X, scale * A, S[:, :2]).is_symmetric
        assert not RelationGraph.from_factors(X, scale * A, S[:, :2]).is_reciprocal
        assert RelationGraph.from_factors(X, scale * A, S[:, :2] + S[:, :2].T).is_symmetric
        assert RelationGraph.from_factors(X, scale * A, S[:, :2] - S[:, :2].T).is_reciprocal
