"""Graphs of every form against the label matrix they stand for, with repeated edges, holes and loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from condrank import RelationGraph


@st.composite
def edge_lists(draw, max_nodes=6):
    """A few nodes and edges between them, some repeated, some of weight zero."""
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node, st.integers(-3, 3), st.integers(0, 3)), max_size=30))
    sources, targets, values, weights = np.array(edges, dtype=int).reshape(-1, 4).T
    return n, sources, targets, values, weights


@st.composite
def graphs(draw, max_nodes=6):
    """A graph of any form over one domain, and its label matrix, NaN where not observed."""
    n = draw(st.integers(1, max_nodes))
    X = np.arange(2.0 * n).reshape(n, 2)
    Y = draw(arrays(np.int64, (n, n), elements=st.integers(-2, 2))).astype(float)
    form = draw(st.sampled_from(["dense", "holes", "known zeros", "stored", "classes", "taxonomy", "factors"]))
    if form == "dense":
        return RelationGraph(X, Y), Y
    if form == "holes":
        Y[Y == 2] = np.nan
        return RelationGraph(X, Y), Y
    if form == "known zeros":
        return RelationGraph(X, sparse.csr_array(Y), unstored="zero"), Y
    if form == "stored":
        return RelationGraph(X, sparse.csr_array(Y)), np.where(Y == 0, np.nan, Y)
    if form == "classes":
        labels = draw(arrays(np.int64, n, elements=st.integers(0, 3)))
        _, order = np.unique(labels, return_inverse=True)
        S = draw(arrays(np.int64, (int(order.max()) + 1,) * 2, elements=st.integers(-2, 2)))
        return RelationGraph.from_classes(X, labels, S), S[np.ix_(order, order)].astype(float)
    if form == "taxonomy":
        levels = draw(st.integers(1, 3))
        paths = draw(arrays(np.int64, (n, levels), elements=st.integers(0, 2)))
        values = draw(arrays(np.int64, levels + 1, elements=st.integers(-2, 2))).astype(float)
        shared = np.cumprod(paths[:, None] == paths[None], axis=2).sum(axis=2)
        return RelationGraph.from_classes(X, paths, values), values[shared]
    A = draw(arrays(np.int64, (n, 2), elements=st.integers(-2, 2))).astype(float)
    S = draw(arrays(np.int64, (2, 2), elements=st.integers(-2, 2))).astype(float)
    return RelationGraph.from_factors(X, A, S), A @ S @ A.T


def largest_gap(Y, sign, centre):
    gaps = np.abs((Y - centre) - sign * (Y.T - centre))
    return np.nanmax(gaps, initial=0.0) if np.isfinite(gaps).any() else 0.0


@given(edge_lists())
def test_edge_lists_are_weighted_means(edges):
    n, sources, targets, values, weights = edges
    graph = RelationGraph.from_edges(np.ones((n, 1)), sources, targets, values, weights)
    total, mass = np.zeros((n, n)), np.zeros((n, n))
    np.add.at(total, (sources, targets), weights * values)
    np.add.at(mass, (sources, targets), weights)
    expected = np.divide(total, mass, out=np.full((n, n), np.nan), where=mass > 0)
    np.testing.assert_allclose(graph.to_dense(), expected, atol=1e-12)
    assert graph.n_edges == (weights > 0).sum()
    assert graph.density == (mass > 0).mean()
    repeats = np.zeros((n, n))
    np.add.at(repeats, (sources, targets), weights > 0)
    assert graph.is_complete == bool((repeats == 1).all() and (mass == 1).all())
    np.testing.assert_allclose(graph.relation.transpose().to_dense(), expected.T, atol=1e-12)


@given(edge_lists(), st.data())
def test_parts_of_edge_lists_keep_weights_and_repeats(edges, data):
    n, sources, targets, values, weights = edges
    graph = RelationGraph.from_edges(np.ones((n, 1)), sources, targets, values, weights)
    chosen = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=6, unique=True)), dtype=int)
    inside = np.isin(sources, chosen) & np.isin(targets, chosen) & (weights > 0)
    part = graph[chosen]
    assert part.n_edges == inside.sum()
    if hasattr(part.relation, "weights"):
        assert part.relation.weights.sum() == weights[inside].sum()
    np.testing.assert_array_equal(part.to_dense(), graph.to_dense()[np.ix_(chosen, chosen)])


@given(graphs(), st.data())
def test_indexing_a_graph_is_dense_indexing(graph_and_labels, data):
    graph, Y = graph_and_labels
    n = len(Y)
    np.testing.assert_allclose(graph.to_dense(), Y, atol=1e-12)
    first = data.draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=8))
    part = graph[first]
    chosen = np.arange(n)[first]
    np.testing.assert_allclose(part.to_dense(), Y[np.ix_(chosen, chosen)], atol=1e-12)
    mask = data.draw(arrays(bool, len(chosen)))
    chosen = chosen[mask]
    np.testing.assert_allclose(part[mask].to_dense(), Y[np.ix_(chosen, chosen)], atol=1e-12)
    np.testing.assert_array_equal(part[mask].nodes.rows, graph.nodes.base[chosen])
    assert part[mask].nodes.base is graph.nodes.base


@given(graphs(), st.data())
def test_facts_are_those_of_the_labels(graph_and_labels, data):
    graph, Y = graph_and_labels
    chosen = data.draw(st.lists(st.integers(0, len(Y) - 1), min_size=1, unique=True))
    for one, labels in ((graph, Y), (graph[chosen], Y[np.ix_(chosen, chosen)])):
        seen = ~np.isnan(labels)
        assert one.n_edges == seen.sum()
        assert one.is_complete == seen.all()
        assert one.density == seen.mean()
        assert one.has_loops == seen.diagonal().any()
        assert one.is_symmetric == (largest_gap(labels, 1, 0) < 1e-9)
        assert one.is_reciprocal == (largest_gap(labels, -1, one.centre) < 1e-9)
    known = Y[~np.isnan(Y)]
    as_chances = known.size and 0 <= known.min() <= known.max() <= 1 and known.max() > 0
    # Loops do not tell: many tables of winning probabilities have zeros there.
    pairs = Y.copy()
    np.fill_diagonal(pairs, np.nan)
    two_way = (~np.isnan(pairs) & ~np.isnan(pairs.T)).any()
    assert graph.centre == (0.5 if as_chances and two_way and largest_gap(pairs, -1, 0.5) < 1e-9 else 0)


@given(graphs())
def test_transposing_turns_every_edge(graph_and_labels):
    graph, Y = graph_and_labels
    turned = graph.relation.transpose()
    np.testing.assert_allclose(turned.to_dense(), Y.T, atol=1e-12)
    np.testing.assert_allclose(turned.transpose().to_dense(), Y, atol=1e-12)
    out, into = graph.relation.degrees()
    np.testing.assert_array_equal(turned.degrees()[0], into)
    np.testing.assert_array_equal(turned.degrees()[1], out)
