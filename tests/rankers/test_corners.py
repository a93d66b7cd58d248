"""Corners where two parts of the library meet: each of these once went wrong."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from condrank import ConditionalRanker, RelationGraph, TableRanker
from reference import naive_complete, naive_observed

RNG = np.random.default_rng(5)
X = RNG.normal(size=(12, 3))
Y = RNG.normal(size=(12, 12))


def test_a_complete_subgraph_of_an_incomplete_graph_has_the_closed_form():
    holes = Y.copy()
    holes[0, 1] = np.nan
    part = RelationGraph(X, holes)[2:]
    ranker = ConditionalRanker(alpha=0.3).fit(part)
    assert part.is_complete
    assert ranker.solver_ == "closed_form"
    expected = naive_complete(X[2:] @ X[2:].T, Y[2:, 2:], 0.3)
    np.testing.assert_allclose(ranker.predict(part), expected, atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_tournament_is_probabilities_sparse_or_not(make):
    wins = np.triu(np.ones((6, 6)), 1)
    graph = RelationGraph(X[:6], make(wins), **({"unstored": "zero"} if make is sparse.csr_array else {}))
    assert graph.centre == 0.5


def test_a_tournament_of_classes_of_one_is_probabilities():
    graph = RelationGraph.from_classes(X[:6], np.arange(6), np.triu(np.ones((6, 6)), 1))
    assert graph.centre == 0.5


def test_probabilities_lie_within_0_and_1():
    with pytest.raises(ValueError, match=r"within 0..1, got -1 to 1"):
        RelationGraph(X, np.sign(Y - Y.T), probabilities=True)


@pytest.mark.parametrize("make", [sparse.csr_array, lambda x: x.round().astype(int), lambda x: x.tolist()])
def test_warm_start_takes_equal_nodes(make):
    holes = np.where(RNG.random((12, 12)) < 0.6, Y, np.nan)
    nodes = make(X)
    ranker = ConditionalRanker(warm_start=True, solver="primal").fit(nodes, holes)
    assert ranker.fit(make(X), holes).n_iter_ <= 1


def test_early_stopping_twice_holds_out_other_nodes():
    ranker = ConditionalRanker(solver="early_stopping", warm_start=True, validation_fraction=0.3, max_iter=5)
    assert ranker.fit(X, Y).fit(X, Y).n_iter_ >= 1


def test_early_stopping_incoming_holds_out_columns():
    graph = RelationGraph(X, Y[:, :9], objects=RNG.normal(size=(9, 2)))
    ranker = ConditionalRanker(
        solver="early_stopping", rank_by="incoming", validation_fraction=0.3, max_iter=5, random_state=0
    ).fit(graph)
    assert ranker.predict(graph).shape == (9, 12)
    assert len(ranker._trained_on[0]) == 12
    assert len(ranker._trained_on[1]) == 6


def test_clip_is_not_for_the_dual():
    holes = np.where(RNG.random((12, 12)) < 0.2, Y, np.nan)
    with pytest.raises(ValueError, match="clip=True needs an eigendecomposition"):
        ConditionalRanker(kernel="rbf", clip=True, solver="dual").fit(X, holes)


def test_an_indefinite_kernel_is_refused_in_the_dual_as_well():
    K = X @ np.diag([1.0, 1.0, -1.0]) @ X.T
    holes = np.where(RNG.random((12, 12)) < 0.2, Y, np.nan)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        ConditionalRanker(kernel="precomputed", solver="dual").fit(K, holes)


def test_the_prior_is_the_kernel_itself_also_when_clipped():
    K = X @ np.diag([1.0, 1.0, -0.2]) @ X.T
    sigma, Q = np.linalg.eigh(K)
    clipped = (Q * sigma.clip(0)) @ Q.T
    holes = np.where(RNG.random((12, 12)) < 0.7, Y, np.nan)
    options = {"alpha": 0.5, "loss": "regression"}
    ranker = ConditionalRanker(
        kernel="precomputed", prior="similarity", prior_weight=0.4, clip=True, solver="primal", tol=1e-12, **options
    ).fit(K, holes)
    expected = naive_observed(clipped, holes - 0.4 * K, **options) + 0.4 * K
    np.testing.assert_allclose(ranker.predict(K), expected, atol=1e-6)


@pytest.mark.parametrize(("x", "y"), [(np.float32, np.float64), (np.float64, np.float32)])
def test_the_dual_has_the_precision_of_the_kernel(x, y):
    holes = np.where(RNG.random((12, 12)) < 0.3, Y, np.nan)
    ranker = ConditionalRanker(kernel="rbf", gamma=0.5, solver="dual", tol=1e-10, alpha=0.2)
    found = ranker.fit(X.astype(x), holes.astype(y)).predict(X.astype(x))
    expected = naive_observed(rbf_kernel(X, gamma=0.5), holes, 0.2)
    assert found.dtype == x
    np.testing.assert_allclose(found, expected, atol=1e-3 if x is np.float32 else 1e-6)


def test_a_pickled_cartesian_model_knows_its_nodes():
    holes = np.where(RNG.random((12, 12)) < 0.3, Y, np.nan)
    ranker = ConditionalRanker(kernel="rbf", pairwise_kernel="cartesian").fit(X, holes)
    again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(again.predict(X.copy()), ranker.predict(X))


@pytest.mark.parametrize("prior", [None, "similarity"])
def test_the_cartesian_kernel_knows_some_of_its_nodes(prior):
    holes = np.where(RNG.random((12, 12)) < 0.5, Y, np.nan)
    graph = RelationGraph(X, holes, ids=[f"n{i}" for i in range(12)])
    ranker = ConditionalRanker(kernel="rbf", pairwise_kernel="cartesian", prior=prior)
    everything, some = ranker.fit(graph).predict(graph), [7, 2]
    np.testing.assert_array_equal(ranker.predict(graph[some]), everything[np.ix_(some, some)])
    table = TableRanker(ranker).fit(graph)
    np.testing.assert_array_equal(table.predict(["n7", "n2"], ["n1"]), everything[some][:, [1]])
    best = np.argsort(-np.delete(everything[7], 7), kind="stable")[:3]
    assert table.rank("n7", top=3).ids.tolist() == [[f"n{j + (j >= 7)}" for j in best]]
    with pytest.raises(ValueError, match="nodes other than the training nodes"):
        ranker.predict(X[:2] + 1)


def test_rankings_of_no_one_are_empty():
    graph = RelationGraph(X, Y)
    ranking = ConditionalRanker().fit(graph).rank(graph[[]], top=3)
    assert len(ranking) == 0


def test_a_path_checks_before_it_is_walked():
    ranker = ConditionalRanker().fit(X, Y)
    with pytest.raises(ValueError, match="alphas must be"):
        ranker.path([1.0, -1.0])


def test_negative_widths_and_two_domains_are_refused_before_any_work():
    with pytest.raises(ValueError, match="gamma must not be negative"):
        ConditionalRanker(kernel="rbf", gamma=-1.0).fit(X, Y)
    with pytest.raises(ValueError, match="needs nodes of one domain"):
        ConditionalRanker(pairwise_kernel="mlpk").fit(RelationGraph(X, Y[:, :5], objects=X[:5]))
    with pytest.raises(ValueError, match="validation must be a RelationGraph"):
        ConditionalRanker(solver="early_stopping").fit(X, Y, validation=(X, Y))
