"""left_out_scores against refitting."""

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, RelationGraph
from condrank.base.blocks import row_blocks
from condrank.baselines import TwoStepRidge
from condrank.model_selection import held_out, left_out_scores

RNG = np.random.default_rng(0)
X = RNG.normal(size=(10, 3))
Y = RNG.normal(size=(10, 10))
P = 1 / (1 + np.exp(Y.T - Y))


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_scores_of_left_out_nodes_are_those_of_refitting(rank_by):
    ranker = ConditionalRanker("symmetric", "regression", 0.1, kernel="rbf", prior="similarity", rank_by=rank_by)
    scores = left_out_scores(ranker, RelationGraph(X, Y + Y.T))
    for i in range(10):
        rest = np.delete(np.arange(10), i)
        again = ranker.fit(X[rest], (Y + Y.T)[np.ix_(rest, rest)]).predict(X[[i]], X)
        np.testing.assert_allclose(scores[i], again[0], atol=1e-9)


def test_probabilities_keep_their_scale():
    ranker = ConditionalRanker("reciprocal", "regression", 0.1, kernel="rbf")
    scores = left_out_scores(ranker, RelationGraph(X, P))
    for i in range(10):
        rest = np.delete(np.arange(10), i)
        again = ranker.fit(RelationGraph(X, P)[rest]).predict(X[[i]], X)
        np.testing.assert_allclose(scores[i], again[0], atol=1e-9)


WIDE = RNG.normal(size=(10, 30)).astype("f4")


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "rbf"},
        {"kernel": "linear", "constant": True},
        {"kernel": "poly", "degree": 2, "feature_weights": np.linspace(0.1, 1, 30)},
        {"kernel": "cosine", "prior": "similarity", "relation": "symmetric"},
    ],
)
@pytest.mark.parametrize("sparse_features", [False, True])
def test_many_features_in_single_precision_give_double_precision(params, sparse_features, monkeypatch):
    """The kernel is made in double precision, a block of features at a time."""
    monkeypatch.setattr(held_out, "row_blocks", lambda n, width: row_blocks(n, width, budget=120))
    features = sparse.csr_array(WIDE) if sparse_features else WIDE
    ranker, labels = ConditionalRanker(alpha=0.3, **params), (Y + Y.T).astype("f4")
    single = left_out_scores(ranker, RelationGraph(features, labels))
    double = left_out_scores(ranker, RelationGraph(WIDE.astype(float), labels.astype(float)))
    np.testing.assert_allclose(single, double, atol=1e-12 * np.abs(double).max())


def test_many_features_of_two_domains_in_single_precision_give_double_precision():
    ranker = ConditionalRanker(alpha=0.3, kernel="rbf")
    graphs = [
        RelationGraph(WIDE.astype(dtype), Y[:, :6], objects=WIDE[:6, :20].astype(dtype)) for dtype in ("f4", "f8")
    ]
    single, double = (left_out_scores(ranker, graph, "leave-query-out") for graph in graphs)
    np.testing.assert_allclose(single, double, atol=1e-12 * np.abs(double).max())


def test_scores_of_pairs_left_out_of_two_step_ridge_are_those_of_refitting():
    ranker = TwoStepRidge(0.3, 0.7, kernel="rbf")
    scores = left_out_scores(ranker, RelationGraph(X, Y), "leave-both-out")
    left = RelationGraph(X, Y, objects=X)
    for i, j in ((0, 0), (2, 7), (9, 1)):
        rows, cols = np.delete(np.arange(10), i), np.delete(np.arange(10), j)
        again = ranker.fit(left[rows, cols]).predict(X[[i]], X[[j]])
        np.testing.assert_allclose(scores[i, j], again[0, 0], atol=1e-9)


@pytest.mark.parametrize(
    ("ranker", "graph", "cv", "message"),
    [
        (ConditionalRanker(), RelationGraph(X, Y), "loo", "cv must be one of"),
        (ConditionalRanker(), X, "leave-node-out", "graph must be a RelationGraph, got ndarray"),
        (ConditionalRanker(), RelationGraph(X, np.where(Y > 0, Y, np.nan)), "leave-node-out", "use cross_validate"),
        (ConditionalRanker(), RelationGraph(X, Y, objects=X), "leave-node-out", "needs a single domain"),
        (TwoStepRidge(), RelationGraph(X, Y), "leave-node-out", "cv must be one of"),
        (TwoStepRidge(), RelationGraph(X, np.where(Y > 0, Y, np.nan)), "leave-both-out", "needs a complete graph"),
        (TwoStepRidge(alpha=0), RelationGraph(X, Y), "leave-both-out", "alpha must be"),
    ],
)
def test_wrong_input_is_refused(ranker, graph, cv, message):
    with pytest.raises(ValueError, match=message):
        left_out_scores(ranker, graph, cv)
