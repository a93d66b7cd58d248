"""RelationGraph: two domains, what it knows of itself, and its subgraphs."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import RelationGraph
from reference_graphs import HOLES, IDS, N, X, Y, random, same

# Two domains


def test_a_graph_of_two_domains_has_its_own_objects():
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


def test_symmetric_and_reciprocal_relations_are_found_up_to_rounding():
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


def test_win_rates_are_taken_for_probabilities():
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
def test_a_graph_is_shown_with_its_facts(relation, text):
    assert repr(RelationGraph(X, relation)) == text


def test_a_graph_is_immutable():
    graph = RelationGraph(X, Y)
    for name in ("nodes", "objects", "relation", "probabilities", "n_edges", "centre", "anything"):
        with pytest.raises(AttributeError, match=f"immutable.*{name}"):
            setattr(graph, name, None)
    assert graph.nodes.base is X
    graph.is_symmetric  # noqa: B018  facts are kept once computed
    same(graph, Y)


@pytest.mark.parametrize("whole", [True, False])
def test_a_pickled_graph_is_the_same(whole):
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
def test_a_subgraph_is_dense_indexing(form, index, chosen):
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


def test_a_subgraph_of_repeated_edges_counts_them():
    graph = forms()["repeated"]
    assert graph.n_edges == 3
    assert graph[["ann", "fay"]].n_edges == 2
    assert graph[["ann", "fay"]].relation.weights.tolist() == [3]
    assert graph[["fay", "ann"]].density == 1 / 4


def test_subgraphs_of_two_domains_are_dense_indexing():
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
        ((0, 1), "graph of one domain takes one index"),
        ((0, 1, 2), "got 3"),
    ],
)
def test_a_wrong_index_is_refused(index, message):
    with pytest.raises(IndexError, match=message):
        RelationGraph(X, Y, ids=IDS)[index]


def test_an_index_by_id_needs_ids():
    with pytest.raises(IndexError, match="the nodes have no ids"):
        RelationGraph(X, Y)[["ann"]]


def test_iterating_over_a_graph_ends():
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
