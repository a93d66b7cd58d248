"""What all rankers share: the nodes that they predict for, scores, and warnings about the labels."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning

from builders import LABELS, N_NODES, NODES, refused
from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph, metrics
from condrank.exceptions import RelationWarning

N = 24
X = np.random.default_rng(0).normal(size=(N, 4))
Y = X @ np.random.default_rng(1).normal(size=(4, 4)) @ X.T + np.random.default_rng(2).normal(size=(N, N))
TWELVE = 12
TWELVE_X = np.random.default_rng(0).normal(size=(TWELVE, 3))
TWELVE_Y = np.random.default_rng(1).normal(size=(TWELVE, TWELVE))
SEVEN = np.random.default_rng(2).normal(size=(7, 3))
TWELVE_K = np.exp(-0.3 * ((TWELVE_X[:, None] - TWELVE_X[None]) ** 2).sum(axis=2))


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
    refused("expected nodes as an array, got a RelationGraph", ranker.predict, NODES, graph)
    refused("expected nodes as an array, got a RelationGraph", ranker.predict_edges, graph, graph)
    refused("expected nodes as an array, got a RelationGraph", RelationGraph, graph, LABELS)
    refused("objects must be left out when queries is a RelationGraph", ranker.predict, graph, NODES)
    refused("Y must be left out when X is a RelationGraph", ConditionalRanker().fit, graph, LABELS)
    refused("Y must be left out when X is a RelationGraph", ranker.score, graph, LABELS)
    refused("Y is missing: pass the relation values", ConditionalRanker().fit, NODES)


def test_a_score_with_nothing_to_compare_is_not_a_number_and_says_why():
    ranker = ConditionalRanker().fit(NODES, LABELS)
    with pytest.warns(UndefinedMetricWarning, match="no conditioning node has two objects with different relation"):
        assert np.isnan(ranker.score(NODES, np.ones((N_NODES, N_NODES))))


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


def loss_by_pairs(Y_true, scores):
    """Rank loss pooled over conditioning nodes, one pair of objects at a time."""
    wrong = comparable = 0
    for truth, score in zip(Y_true, scores, strict=True):
        for a in range(len(truth)):
            for b in range(len(truth)):
                if truth[a] < truth[b]:
                    comparable += 1
                    wrong += 1.0 * (score[a] > score[b]) + 0.5 * (score[a] == score[b])
    return wrong / comparable


@pytest.mark.parametrize(
    "use",
    [
        lambda ranker: ranker.predict(X),
        lambda ranker: ranker.predict_edges(X, X),
        lambda ranker: ranker.rank(X),
        lambda ranker: ranker.score(X, Y),
        lambda ranker: ranker.coef_,
        lambda ranker: ranker.dual_coef_,
        lambda ranker: next(ranker.path([1.0])),
    ],
)
def test_a_ranker_that_is_not_fitted_says_so(use):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        use(ConditionalRanker())
    assert not hasattr(ConditionalRanker(), "coef_")
    assert not hasattr(ConditionalRanker(), "dual_coef_")


def test_labels_that_disagree_warn():
    with pytest.warns(RelationWarning, match=r"relation='symmetric'.* of the largest label; the symmetric part is"):
        ConditionalRanker("symmetric").fit(X, Y)
    with pytest.warns(RelationWarning, match=r"relation='reciprocal'.*; the skew-symmetric part is learned") as seen:
        ConditionalRanker("reciprocal").fit(X, Y)
    assert seen[0].filename == __file__  # the caller's line is shown


def test_labels_that_agree_do_not_warn(recwarn):
    ConditionalRanker("symmetric").fit(X, Y + Y.T)
    ConditionalRanker("reciprocal").fit(X, Y - Y.T)
    ConditionalRanker("ordinary").fit(X, Y)
    assert not [w for w in recwarn if issubclass(w.category, RelationWarning)]


def test_the_score_is_one_minus_the_pooled_rank_loss():
    ranker = ConditionalRanker(alpha=0.5).fit(X[:14], Y[:14, :14])
    part, truth = X[14:], Y[14:, 14:]
    scores = ranker.predict(part, part)
    assert ranker.score(part, truth) == pytest.approx(1 - metrics.rank_loss(truth, scores, average="micro"), abs=1e-12)
    assert ranker.score(part, truth) == pytest.approx(1 - loss_by_pairs(truth, scores), abs=1e-12)
    assert ranker.score(RelationGraph(X, Y)[14:]) == pytest.approx(ranker.score(part, truth), abs=1e-12)
    assert ranker.score(part, scores) == 1
    assert ranker.score(part, -scores) == 0


def test_the_score_leaves_unobserved_pairs_out():
    ranker = ConditionalRanker(alpha=0.5).fit(X[:14], Y[:14, :14])
    part, truth = X[14:], np.where(np.random.default_rng(4).random((10, 10)) < 0.6, Y[14:, 14:].round(), np.nan)
    expected = 1 - loss_by_pairs(truth, ranker.predict(part, part))
    assert 0 < expected < 1
    assert ranker.score(part, truth) == pytest.approx(expected, abs=1e-12)
    sources, targets = np.nonzero(~np.isnan(truth))
    edges = RelationGraph.from_edges(part, sources, targets, truth[sources, targets])
    assert ranker.score(edges) == pytest.approx(expected, abs=1e-12)


def test_the_score_of_incoming_edges_compares_those_that_end_at_a_node():
    ranker = ConditionalRanker(alpha=0.5, rank_by="incoming").fit(X[:14], Y[:14, :14])
    part, truth = X[14:], Y[14:, 14:]
    expected = 1 - loss_by_pairs(truth.T, ranker.predict(part, part))
    assert ranker.score(part, truth) == pytest.approx(expected, abs=1e-12)


def test_two_domains_and_factored_relations_have_scores():
    graph = RelationGraph(X[:14], Y[:14, 14:], objects=X[14:, :3])
    for rank_by in ("outgoing", "incoming"):
        ranker = ConditionalRanker(alpha=0.5, rank_by=rank_by).fit(graph[:9])
        truth = graph[9:].to_dense() if rank_by == "outgoing" else graph[9:].to_dense().T
        assert ranker.score(graph[9:]) == pytest.approx(1 - loss_by_pairs(truth, ranker.predict(graph[9:])), abs=1e-12)
    classes = RelationGraph.from_classes(X, np.arange(N) % 3)
    ranker = ConditionalRanker("symmetric", alpha=0.5).fit(classes[:14])
    expected = 1 - loss_by_pairs(classes[14:].to_dense(), ranker.predict(classes[14:]))
    assert ranker.score(classes[14:]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_aligned_pairs_are_the_diagonal_of_all_pairs(kernel, rank_by):
    given = TWELVE_K if kernel == "precomputed" else TWELVE_X
    first, second = (TWELVE_K[:7], TWELVE_K[5:]) if kernel == "precomputed" else (SEVEN, TWELVE_X[5:])
    ranker = ConditionalRanker(kernel=kernel, alpha=0.1, constant=True, rank_by=rank_by).fit(given, TWELVE_Y)
    found = ranker.predict_edges(first, second)
    assert found.shape == (7,)
    np.testing.assert_allclose(found, np.diagonal(ranker.predict(first, second)), rtol=1e-9, atol=1e-12)


def test_many_aligned_pairs_with_the_prior_are_entries_of_all_pairs():
    """More pairs than one block of the prior's kernel has."""
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 7, size=600), rng.integers(0, TWELVE, size=600)
    for kernel in ("linear", "rbf"):
        ranker = ConditionalRanker(kernel=kernel, alpha=0.1, prior="similarity").fit(TWELVE_X, TWELVE_Y)
        expected = ranker.predict(SEVEN)[first, second]
        np.testing.assert_allclose(
            ranker.predict_edges(SEVEN[first], TWELVE_X[second]), expected, rtol=1e-9, atol=1e-12
        )
