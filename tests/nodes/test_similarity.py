"""Kernel values between nodes: precomputed matrices and callables, and kernels whose nodes have ids."""

import numpy as np
import pytest
from scipy import sparse

from builders import KERNEL, LABELS, NODES, refused, with_entry
from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.baselines import SimilarityRanker
from condrank.kernels import read_kernel
from condrank.nodes import Nodes
from condrank.nodes.similarity import NodeSimilarity
from condrank.tables import read_graph

N = 20
RANKERS = {
    "closed form": ConditionalRanker("symmetric", kernel="precomputed"),
    "dual": ConditionalRanker("symmetric", kernel="precomputed", solver="dual"),
    "similarity": SimilarityRanker("precomputed"),
    "table": TableRanker(ConditionalRanker("symmetric", kernel="precomputed")),
}


def test_a_kernel_matrix_that_is_not_symmetric_is_refused():
    bad = with_entry(KERNEL, 1, 2, KERNEL[1, 2] + 0.25)
    refused(
        r"the precomputed kernel matrix is not symmetric: K and its transpose differ by up to 0\.25 "
        r"\(largest entry 1\); symmetrise it with \(K \+ K\.T\) / 2",
        ConditionalRanker(kernel="precomputed").fit,
        bad,
        LABELS,
    )
    ConditionalRanker(kernel="precomputed").fit(with_entry(KERNEL, 1, 2, KERNEL[1, 2] + 1e-15), LABELS)


def test_a_kernel_matrix_of_a_wrong_form_is_refused():
    ranker = ConditionalRanker(kernel="precomputed")
    refused(r"kernel='precomputed' needs a square kernel matrix as X, got shape \(6, 3\)", ranker.fit, NODES, LABELS)
    refused(
        "needs a dense kernel matrix as X, got a sparse one; use X.toarray",
        ranker.fit,
        sparse.csr_array(KERNEL),
        LABELS,
    )
    ranker.fit(KERNEL, LABELS)
    message = "the given nodes must have 6 columns, kernel values against the training nodes, got 4"
    refused(message, ranker.predict, KERNEL[:, :4])
    refused(message, ranker.predict, KERNEL, KERNEL[:, :4])
    refused(message, ranker.predict_edges, KERNEL[:, :4], KERNEL[:, :4])


def test_a_similarity_prior_without_the_kernel_between_new_nodes_is_refused():
    ranker = ConditionalRanker(kernel="precomputed", prior="similarity").fit(KERNEL, LABELS)
    rows = KERNEL[:2].copy()
    refused("has only their values against the training nodes; pass subgraphs", ranker.predict, rows, KERNEL[3:].copy())
    refused("has only their values against the training nodes; pass subgraphs", ranker.predict_edges, rows, rows)


def test_callable_kernels_that_are_asymmetric_or_not_finite_are_refused():
    def order(x, y):
        return float(x[0])

    def broken(x, y):
        return float("nan")

    refused("the order kernel matrix is not symmetric", ConditionalRanker(kernel=order).fit, NODES, LABELS)
    refused(
        "the broken kernel has values that are NaN or infinite", ConditionalRanker(kernel=broken).fit, NODES, LABELS
    )


def make(order=None, n_train=N):
    """A graph of kernel values, its nodes in some order, always the same nodes by id."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N + 5, 4))
    Y = X @ X.T + rng.normal(size=(N + 5, N + 5))
    order = np.arange(n_train) if order is None else np.asarray(order)
    pairs = np.ix_(order, order)
    return RelationGraph((X @ X.T)[pairs].copy(), (Y + Y.T)[pairs], ids=[f"p{i}" for i in order])


@pytest.mark.parametrize("name", RANKERS)
def test_a_kernel_with_ids_may_have_its_nodes_in_another_order(name):
    ranker = RANKERS[name].fit(make())
    order = np.random.default_rng(1).permutation(N)
    expected = ranker.predict(make())
    np.testing.assert_allclose(ranker.predict(make(order)), expected[np.ix_(order, order)], atol=1e-9)
    np.testing.assert_allclose(ranker.score(make(order)), ranker.score(make()))


def test_a_larger_kernel_with_ids_has_new_nodes():
    whole = make(np.random.default_rng(2).permutation(N + 5))
    known = np.isin(whole.nodes.ids, make().nodes.ids)
    for ranker in (RANKERS["closed form"], RANKERS["similarity"]):
        expected = ranker.fit(whole[known]).predict(whole[~known])
        again = ranker.fit(make()).predict(whole[~known])
        np.testing.assert_allclose(again, expected, atol=1e-9)


def test_a_kernel_without_some_of_the_training_nodes_is_refused():
    ranker = RANKERS["closed form"].fit(make())
    with pytest.raises(ValueError, match="no column for 1 of the 20 training nodes, such as 'p3'"):
        ranker.predict(make(np.delete(np.arange(N + 1), 3)))


def test_ids_of_new_nodes_name_rows_against_the_training_nodes():
    graph = make()
    ranker = RANKERS["closed form"].fit(graph)
    K = np.asarray(graph.nodes.base)[::-1].copy()
    new = RelationGraph(K, np.zeros((N, N)), ids=[f"new{i}" for i in range(N)])
    np.testing.assert_allclose(
        ranker.fitted_.model.rows.transform(new.nodes), ranker.fitted_.model.rows.transform(graph.nodes)[::-1]
    )


@pytest.mark.parametrize(
    "ranker", [SimilarityRanker(), ConditionalRanker(), ConditionalRanker(kernel="rbf", solver="dual")]
)
def test_a_kernel_that_was_read_is_not_taken_for_features(ranker):
    K = np.asarray(make().nodes.base)
    edges = {"source": [0, 1, 2, 5], "target": [3, 4, 3, 7], "value": [1.0, 2.0, 3.0, 4.0]}
    graph = read_graph(None, edges, kernel=K)
    for part in (graph, graph[:10]):
        with pytest.raises(ValueError, match=r"are a kernel matrix, not features .*: use kernel='precomputed'"):
            ranker.fit(part)


@pytest.mark.parametrize("name", ["linear", "rbf", "laplacian"])
def test_the_kernel_of_a_scattered_subset_is_the_same_in_blocks(name, monkeypatch):
    """Features of a subset are copied a few rows at a time; the kernel is the same."""
    X = np.random.default_rng(0).normal(size=(40, 5))
    nodes, others = Nodes(X).take(np.arange(0, 40, 2)), Nodes(X).take(np.arange(1, 40, 3))
    kernel = read_kernel(name, gamma=0.3)
    monkeypatch.setattr("condrank.nodes.similarity.COPIED_FEATURES_ENTRIES", 15)  # three rows
    one = NodeSimilarity(kernel, nodes)
    K = one.training_kernel()
    np.testing.assert_allclose(K, kernel(X[::2]), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(one.similarity(others, None), kernel(X[1::3], X[::2]), rtol=1e-12, atol=1e-14)
