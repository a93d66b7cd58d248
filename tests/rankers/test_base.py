"""What all rankers share: the nodes that they predict for, scores, and warnings about the labels."""

import warnings

import numpy as np
import pytest

from builders import LABELS, N_NODES, NODES, refused
from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.exceptions import RelationWarning


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_new_nodes_with_other_features_are_refused(kernel):
    ranker = ConditionalRanker(kernel=kernel).fit(NODES, LABELS)
    message = "the given nodes must have 3 features, as the training nodes have, got 2"
    refused(message, ranker.predict, NODES[:, :2])
    refused(message, ranker.predict, NODES, NODES[:, :2])
    refused(message, ranker.rank, NODES[:, :2])
    refused(message, ranker.predict_edges, NODES, NODES[:, :2])
    refused(message, ranker.score, NODES[:, :2], LABELS)
    refused("queries must be two-dimensional .* reshape it", ranker.predict, NODES[0])
    refused("queries must have at least one row", ranker.predict, NODES[:0])
    refused("objects must have at least one row", ranker.predict, NODES, NODES[:0])
    refused("queries must have at least one row", ranker.rank, NODES[:0])


def test_a_graph_where_an_array_of_nodes_is_expected_is_refused():
    graph, ranker = RelationGraph(NODES, LABELS), ConditionalRanker().fit(NODES, LABELS)
    refused("a RelationGraph stands where nodes are expected", ranker.predict, NODES, graph)
    refused("a RelationGraph stands where nodes are expected", ranker.predict_edges, graph, graph)
    refused("a RelationGraph stands where nodes are expected", RelationGraph, graph, LABELS)
    refused("objects must be left out when queries is a RelationGraph", ranker.predict, graph, NODES)
    refused("Y must be left out when X is a RelationGraph", ConditionalRanker().fit, graph, LABELS)
    refused("Y must be left out when X is a RelationGraph", ranker.score, graph, LABELS)
    refused("Y is missing: pass the relation values", ConditionalRanker().fit, NODES)


def test_a_score_with_nothing_to_compare_is_refused():
    ranker = ConditionalRanker().fit(NODES, LABELS)
    refused(
        "no conditioning node has two objects with different relation values",
        ranker.score,
        NODES,
        np.ones((N_NODES, N_NODES)),
    )


def test_pairs_that_are_not_aligned_are_refused():
    ranker = ConditionalRanker().fit(NODES, LABELS)
    refused("queries and objects must be aligned, got 6 and 2", ranker.predict_edges, NODES, NODES[:2])


def test_a_reciprocal_relation_of_one_linear_feature_warns_that_every_score_is_zero():
    x = np.array([[0.1], [0.9], [0.5]])
    for ranker in (ConditionalRanker("reciprocal"), ConditionalRankerCV([1.0], 3, relation="reciprocal")):
        with pytest.warns(RelationWarning, match="single linear feature .* use constant=True"):
            ranker.fit(np.vstack([x, x + 1]), np.vstack([x, x + 1]) - np.vstack([x, x + 1]).T)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RelationWarning)
        ConditionalRanker("reciprocal", constant=True).fit(x, x - x.T)
        ConditionalRanker("reciprocal", kernel="rbf").fit(x, x - x.T)
        ConditionalRanker("reciprocal").fit(np.eye(3), x - x.T)
        ConditionalRanker("symmetric").fit(x, x + x.T)


def test_a_ranking_loss_without_anything_to_rank_warns():
    once = RelationGraph.from_edges(np.eye(4), [0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0])
    links = RelationGraph.from_edges(np.eye(4), [0, 0, 2], [1, 2, 3], [1.0, 1.0, 1.0])
    for graph in (once, links, RelationGraph(np.eye(2), [[1.0, 1.0], [2.0, 2.0]])):
        with pytest.warns(RelationWarning, match="nothing to rank.* use loss='regression'"):
            ConditionalRanker().fit(graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RelationWarning)
        ConditionalRanker(loss="regression").fit(once)
        ConditionalRanker().fit(RelationGraph.from_edges(np.eye(4), [0, 0, 2], [1, 2, 3], [1.0, 2.0, 3.0]))
        ConditionalRanker().fit(RelationGraph.from_classes(np.eye(4), [0, 0, 1, 1]))
        ConditionalRanker(rank_by="incoming").fit(RelationGraph(np.eye(2), [[1.0, 1.0], [2.0, 2.0]]))
