"""RelationGraph: how it is made, what it knows of itself, and its subgraphs."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import RelationGraph


def random(seed):
    return np.random.default_rng(seed)


N = 7
X = random(0).normal(size=(N, 3))
Y = random(1).normal(size=(N, N)).round(2)
IDS = np.array(["ann", "bob", "cyd", "dan", "eve", "fay", "gus"])
HOLES = np.where(random(2).random((N, N)) < 0.5, Y, np.nan)


def same(graph, expected):
    np.testing.assert_allclose(graph.to_dense(), expected, atol=1e-12)


# Making one


def test_dense_labels():
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


def test_holes():
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
def test_sparse_labels(form):
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


def test_repeated_entries_of_sparse_labels_add_up_and_stay_the_callers():
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


def test_float32_labels_and_features_stay():
    graph = RelationGraph(X.astype(np.float32), Y.astype(np.float32))
    assert graph.nodes.dtype == graph.relation.dtype == np.float32


def test_edge_list_by_position_and_by_id():
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


def test_edge_list_with_repeats_and_weights():
    graph = RelationGraph.from_edges(X, [0, 0, 1, 0], [1, 1, 2, 2], [1, 4, 5, 6], weights=[1, 3, 1, 0])
    expected = np.full((N, N), np.nan)
    expected[0, 1], expected[1, 2] = 13 / 4, 5
    same(graph, expected)
    assert graph.n_edges == 3
    assert graph.density == 2 / N**2
    np.testing.assert_array_equal(graph.relation.weights, [4, 1])


def test_complete_edge_list_is_complete():
    i, j = (grid.ravel() for grid in np.meshgrid(range(N), range(N), indexing="ij"))
    assert RelationGraph.from_edges(X, i, j, Y.ravel()).is_complete
    assert not RelationGraph.from_edges(X, i, j, Y.ravel(), weights=1.0 + (i == 2)).is_complete
    assert not RelationGraph.from_edges(X, np.r_[i, 0], np.r_[j, 0], np.r_[Y.ravel(), 1]).is_complete
    assert not RelationGraph.from_edges(X, i[1:], j[1:], Y.ravel()[1:]).is_complete


def test_no_edges():
    graph = RelationGraph.from_edges(X, [], [], [])
    assert graph.n_edges == graph.density == 0
    assert repr(graph) == "RelationGraph(7 nodes, 0 edges, density 0, ordinary)"


def test_classes():
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


def test_taxonomy():
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


def test_factors():
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


def test_two_domains():
    objects = random(8).normal(size=(4, 5))
    graph = RelationGraph(X, Y[:, :4], objects=objects, ids=IDS, object_ids=list("wxyz"))
    assert graph.is_two_domain
    assert graph.shape == (N, 4)
    assert len(graph) == N
    assert graph.n_nodes == N + 4
    assert graph.n_edges == N * 4
    assert not graph.has_loops
    assert not graph.is_symmetric
    assert not graph.is_reciprocal
    assert repr(graph) == "RelationGraph(7 × 4 nodes, 28 edges, complete, ordinary)"
    edges = RelationGraph.from_edges(
        X, ["bob", "gus"], ["z", "w"], [1, 2], objects=objects, ids=IDS, object_ids=list("wxyz")
    )
    assert edges.to_dense()[1, 3] == 1
    assert edges.to_dense()[6, 0] == 2
    assert edges.density == 2 / 28


# What it knows of itself


def test_symmetric_and_reciprocal():
    assert RelationGraph(X, Y + Y.T).is_symmetric
    assert not RelationGraph(X, Y + Y.T).is_reciprocal
    assert RelationGraph(X, Y - Y.T).is_reciprocal
    assert not RelationGraph(X, Y - Y.T).is_symmetric
    assert RelationGraph(X, Y + Y.T + 1e-9 * Y).is_symmetric  # up to rounding
    assert not RelationGraph(X, Y + Y.T + 1e-3 * Y).is_symmetric
    assert RelationGraph(X, 1e6 * (Y + Y.T) + 1e-3 * Y).is_symmetric  # relative to the largest label
    one_way = np.full((N, N), np.nan)
    one_way[np.triu_indices(N, 1)] = 1.0
    assert RelationGraph(X, one_way).is_symmetric  # no two directions are known
    assert RelationGraph(X, one_way).is_reciprocal
    one_way[3, 1] = -1
    assert RelationGraph(X, one_way).is_reciprocal
    assert not RelationGraph(X, one_way).is_symmetric
    assert RelationGraph(X, Y + Y.T).disagreement(1) == 0
    skew = Y - Y.T
    assert RelationGraph(X, skew).disagreement(1) == pytest.approx(2)


def test_win_rates():
    beats = random(9).uniform(size=(N, N))
    P = (beats + 1 - beats.T) / 2
    assert RelationGraph(X, P).centre == 0.5
    assert RelationGraph(X, P).is_reciprocal
    assert RelationGraph(X, P, probabilities=False).centre == 0
    assert not RelationGraph(X, P, probabilities=False).is_reciprocal
    assert RelationGraph(X, 2 * P).centre == 0  # not within 0..1
    assert RelationGraph(X, np.zeros((N, N))).centre == 0
    assert RelationGraph(X, np.full((N, N), 0.5)).centre == 0.5
    assert RelationGraph(X, np.abs(Y) / np.abs(Y).max(), probabilities=True).centre == 0.5
    wins = np.where(P >= 0.5, 1.0, 0.0)
    np.fill_diagonal(wins, np.nan)
    assert RelationGraph(X, wins).centre == 0.5
    assert RelationGraph(X, sparse.csr_array(P)).centre == 0.5
    assert RelationGraph(X, P)[[2]].centre == 0.5
    # A part keeps the scale of the whole, although its own edges would tell nothing or something else.
    mixed = np.full((3, 3), np.nan)
    mixed[0, 1], mixed[1, 0], mixed[0, 2], mixed[2, 0] = 0.3, 0.7, 3, 5
    whole = RelationGraph(X[:3], mixed)
    assert whole.centre == 0
    assert whole[[0, 1]].centre == 0
    assert RelationGraph(X[:2], mixed[:2, :2]).centre == 0.5
    assert RelationGraph(X, Y[:, :4], objects=X[:4]).centre == 0


@pytest.mark.parametrize(
    ("relation", "text"),
    [
        (Y, "RelationGraph(7 nodes, 49 edges, complete, ordinary)"),
        (Y + Y.T, "RelationGraph(7 nodes, 49 edges, complete, symmetric)"),
        (Y - Y.T, "RelationGraph(7 nodes, 49 edges, complete, reciprocal)"),
        (np.where(np.arange(N) < 3, Y, np.nan), "RelationGraph(7 nodes, 21 edges, density 0.429, ordinary)"),
    ],
)
def test_repr(relation, text):
    assert repr(RelationGraph(X, relation)) == text


def test_immutable():
    graph = RelationGraph(X, Y)
    for name in ("nodes", "objects", "relation", "probabilities", "n_edges", "centre", "anything"):
        with pytest.raises(AttributeError, match=f"immutable.*{name}"):
            setattr(graph, name, None)
    assert graph.nodes.base is X
    graph.is_symmetric  # noqa: B018  facts are kept once computed
    same(graph, Y)


@pytest.mark.parametrize("whole", [True, False])
def test_pickle(whole):
    graphs = [RelationGraph(X, Y, ids=IDS), RelationGraph(X, HOLES), RelationGraph.from_classes(X, np.arange(N) % 2)]
    for graph in (*graphs, RelationGraph(X, Y[:, :4], objects=X[:4] + 1)):
        graph = graph if whole else graph[[4, 1]]
        again = pickle.loads(pickle.dumps(graph))
        same(again, graph.to_dense())
        assert repr(again) == repr(graph)
        assert again.is_two_domain == graph.is_two_domain
        np.testing.assert_array_equal(again.nodes.rows, graph.nodes.rows)
        np.testing.assert_array_equal(again.nodes.ids, graph.nodes.ids)


# Subgraphs


def forms():
    labels, objects = np.arange(N) % 3, random(10).normal(size=(N, 2))
    return {
        "dense": RelationGraph(X, Y, ids=IDS),
        "holes": RelationGraph(X, HOLES, ids=IDS),
        "known zeros": RelationGraph(X, sparse.csr_array(np.where(Y > 0, Y, 0)), unstored="zero", ids=IDS),
        "unobserved": RelationGraph(X, sparse.csr_array(np.where(Y > 0, Y, 0)), ids=IDS),
        "repeated": RelationGraph.from_edges(X, IDS[[0, 0, 5]], IDS[[5, 5, 1]], [1, 2, 3], [1, 2, 0.5], ids=IDS),
        "classes": RelationGraph.from_classes(X, labels, ids=IDS),
        "taxonomy": RelationGraph.from_classes(X, np.column_stack([labels % 2, labels]), ids=IDS),
        "factors": RelationGraph.from_factors(X, X[:, :2], np.eye(2), X[:, 1:], ids=IDS),
        "sparse features": RelationGraph(sparse.csr_array(X), Y, ids=IDS),
        "kernel": RelationGraph(X @ X.T, Y, ids=IDS),
        "two domains": RelationGraph(X, Y, objects=objects, ids=IDS),
    }


INDICES = {
    "positions": ([5, 0, 3], [5, 0, 3]),
    "array": (np.array([1, 2]), [1, 2]),
    "unsigned": (np.array([1, 6], dtype=np.uint8), [1, 6]),
    "one": (4, [4]),
    "negative": ([-1, 0, -7], [6, 0, 0]),
    "repeated": ([5, 0, 0, 5], [5, 0, 0, 5]),
    "mask": (np.arange(N) % 3 == 0, [0, 3, 6]),
    "list mask": ([True] * 2 + [False] * 5, [0, 1]),
    "slice": (slice(1, 6, 2), [1, 3, 5]),
    "backwards": (slice(None, None, -1), [6, 5, 4, 3, 2, 1, 0]),
    "ids": (["eve", "ann", "bob"], [4, 0, 1]),
    "one id": ("gus", [6]),
    "everything": (Ellipsis, list(range(N))),
    "scikit-learn's": ((np.array([5, 2]), ...), [5, 2]),
    "with a full slice": ((["fay", "ann"], slice(None)), [5, 0]),
    "nothing": ([], []),
}


@pytest.mark.parametrize("form", forms().keys())
@pytest.mark.parametrize(("index", "chosen"), INDICES.values(), ids=INDICES.keys())
def test_subgraph_is_dense_indexing(form, index, chosen):
    graph = forms()[form]
    part = graph[index]
    expected = graph.to_dense()[chosen]
    same(part, expected if graph.is_two_domain else expected[:, chosen])
    assert part.is_two_domain == graph.is_two_domain
    assert part.nodes.base is graph.nodes.base
    assert part.nodes.ids.tolist() == IDS[chosen].tolist()
    assert len(part) == len(chosen)
    repr(part)
    further = part[::-1]
    same(further, part.to_dense()[::-1] if graph.is_two_domain else part.to_dense()[::-1, ::-1])
    assert further.nodes.base is graph.nodes.base


def test_subgraph_of_repeated_edges_counts_them():
    graph = forms()["repeated"]
    assert graph.n_edges == 3
    assert graph[["ann", "fay"]].n_edges == 2
    assert graph[["ann", "fay"]].relation.weights.tolist() == [3]
    assert graph[["fay", "ann"]].density == 1 / 4


def test_two_domain_subgraphs():
    graph = RelationGraph(X, Y[:, :5], objects=X[:5] + 1, ids=IDS, object_ids=list("vwxyz"))
    part = graph[["cyd", "ann"], ["z", "w", "x"]]
    same(part, Y[np.ix_([2, 0], [4, 1, 2])])
    assert part.objects.ids.tolist() == ["z", "w", "x"]
    assert part.objects.base is graph.objects.base
    same(graph[:, -1], Y[:, 4:5])
    same(graph[2:4, [True, False, True, False, False]], Y[2:4][:, [0, 2]])
    same(graph[[0], :], Y[:1, :5])


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (7, r"within 0\.\.6, got 7\.\.7"),
        (-8, r"within 0\.\.6"),
        ([True, False], "one entry for each of the 7 nodes, got 2"),
        ([[0, 1]], r"one-dimensional index, got shape \(1, 2\)"),
        (["zoe"], "1 id.s. that no node has, the first is 'zoe'"),
        ((0, 1), "single-domain graph takes one index"),
        ((0, 1, 2), "got 3"),
    ],
)
def test_wrong_index(index, message):
    with pytest.raises(IndexError, match=message):
        RelationGraph(X, Y, ids=IDS)[index]


def test_ids_need_ids():
    with pytest.raises(IndexError, match="the nodes have no ids"):
        RelationGraph(X, Y)[["ann"]]


def test_iterating_ends():
    assert [graph.to_dense().item() for graph in RelationGraph(X, Y)] == np.diagonal(Y).tolist()


def test_a_graph_without_both_directions_of_any_pair_is_shown_as_ordinary():
    assert repr(RelationGraph.from_edges(np.eye(3), [0, 1], [1, 2], [1.0, 2.0])).endswith("ordinary)")
    assert repr(RelationGraph.from_edges(np.eye(3), [0, 1], [1, 0], [1.0, -1.0])).endswith("reciprocal)")
    assert repr(RelationGraph.from_edges(np.eye(3), [0, 1], [1, 0], [1.0, 1.0])).endswith("symmetric)")


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_tournament_is_probabilities_sparse_or_not(make):
    wins = np.triu(np.ones((6, 6)), 1)
    graph = RelationGraph(TWELVE_NODES[:6], make(wins), **({"unstored": "zero"} if make is sparse.csr_array else {}))
    assert graph.centre == 0.5


def test_a_tournament_of_classes_of_one_is_probabilities():
    graph = RelationGraph.from_classes(TWELVE_NODES[:6], np.arange(6), np.triu(np.ones((6, 6)), 1))
    assert graph.centre == 0.5


def test_probabilities_must_lie_within_0_and_1():
    with pytest.raises(ValueError, match=r"within 0..1, got -1 to 1"):
        RelationGraph(TWELVE_NODES, np.sign(TWELVE_LABELS - TWELVE_LABELS.T), probabilities=True)
