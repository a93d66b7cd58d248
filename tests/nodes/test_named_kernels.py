"""Kernel matrices whose nodes have ids: another matrix is read by them, in whatever order it is."""

from __future__ import annotations

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph, TableRanker
from condrank.baselines import SimilarityRanker
from condrank.tables import read_graph

N = 20
RANKERS = {
    "closed form": ConditionalRanker("symmetric", kernel="precomputed"),
    "dual": ConditionalRanker("symmetric", kernel="precomputed", solver="dual"),
    "similarity": SimilarityRanker("precomputed"),
    "table": TableRanker(ConditionalRanker("symmetric", kernel="precomputed")),
}


def make(order=None, n_train=N):
    """A graph of kernel values, its nodes in some order, always the same nodes by id."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N + 5, 4))
    Y = X @ X.T + rng.normal(size=(N + 5, N + 5))
    order = np.arange(n_train) if order is None else np.asarray(order)
    pairs = np.ix_(order, order)
    return RelationGraph((X @ X.T)[pairs].copy(), (Y + Y.T)[pairs], ids=[f"p{i}" for i in order])


@pytest.mark.parametrize("name", RANKERS)
def test_another_order_of_the_same_nodes(name):
    ranker = RANKERS[name].fit(make())
    order = np.random.default_rng(1).permutation(N)
    expected = ranker.predict(make())
    np.testing.assert_allclose(ranker.predict(make(order)), expected[np.ix_(order, order)], atol=1e-9)
    np.testing.assert_allclose(ranker.score(make(order)), ranker.score(make()))


def test_a_larger_kernel_has_new_nodes():
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
        ranker._fitted().rows.transform(new.nodes), ranker._fitted().rows.transform(graph.nodes)[::-1]
    )


@pytest.mark.parametrize(
    "ranker", [SimilarityRanker(), ConditionalRanker(), ConditionalRanker(kernel="rbf", solver="dual")]
)
def test_a_kernel_that_was_read_is_not_taken_for_features(ranker):
    K = np.asarray(make().nodes.base)
    edges = {"source": [0, 1, 2, 5], "target": [3, 4, 3, 7], "value": [1.0, 2.0, 3.0, 4.0]}
    graph = read_graph(None, edges, kernel=K)
    for part in (graph, graph[:10]):
        with pytest.raises(ValueError, match=r"have kernel values, not features .*: use kernel='precomputed'"):
            ranker.fit(part)
