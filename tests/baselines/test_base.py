"""What all baselines share: the interface of rankers, kernels, blocks, and the paper's experiments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from condrank import RelationGraph
from condrank.base.blocks import row_blocks
from condrank.baselines import ExplicitRankRLS, NearestNeighbours, RankSVM, SimilarityRanker, TwoStepRidge
from condrank.datasets import make_digits_task, make_rock_paper_scissors
from condrank.metrics import rank_loss
from reference_baselines import make_labels

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
BASELINES = [
    ExplicitRankRLS(alpha=0.1),
    ExplicitRankRLS("symmetric", "regression", alpha=0.1, features="kernel"),
    RankSVM(C=0.1, random_state=0),
    TwoStepRidge(),
    NearestNeighbours(3, kernel="linear"),
    SimilarityRanker("linear"),
]
NAMES = ["RankRLS", "RLS", "RankSVM", "TwoStepRidge", "NearestNeighbours", "SimilarityRanker"]
every_baseline = pytest.mark.parametrize("baseline", BASELINES, ids=NAMES)


def small_graph(seed=17, n=14):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) + 0.5
    return RelationGraph(X, make_labels(n, n, rng, "symmetric"), ids=[f"node{i}" for i in range(n)])


@every_baseline
def test_every_baseline_has_the_interface_of_a_ranker(baseline):
    graph = small_graph()
    X = graph.nodes.base
    ranker = clone(baseline)
    with pytest.raises(NotFittedError):
        ranker.predict(X)
    assert ranker.fit(graph) is ranker
    assert ranker.get_params() == baseline.get_params()
    assert ranker.n_features_in_ == 3
    scores = ranker.predict(X[:5])
    assert scores.shape == (5, 14)
    ranking = ranker.rank(X[:5], top=4)
    np.testing.assert_array_equal(ranking.indices, np.argsort(-scores, axis=1, kind="stable")[:, :4])
    assert ranking.ids is not None
    assert ranking.ids[0, 0] == f"node{ranking.indices[0, 0]}"
    assert ranker.score(graph) == pytest.approx(1 - rank_loss(graph.to_dense(), ranker.predict(graph)))
    new = np.random.default_rng(0).standard_normal((5, 3))
    np.testing.assert_allclose(ranker.predict_edges(X[:5], new), np.diagonal(ranker.predict(X[:5], new)), atol=1e-12)
    assert ranker.predict(graph[[]]).shape == (0, 0)
    with pytest.raises(ValueError, match="top"):
        ranker.rank(X, top=0)
    with pytest.raises(ValueError, match="features"):
        ranker.predict(np.ones((2, 4)))
    with pytest.raises(ValueError, match="aligned"):
        ranker.predict_edges(X[:2], X[:3])
    with pytest.raises(ValueError, match="left out"):
        ranker.predict(graph, X)


@every_baseline
def test_sparse_features_and_a_precomputed_kernel_give_the_same(baseline):
    graph = small_graph()
    X, Y = graph.nodes.base, graph.to_dense()
    K = X @ X.T
    whole = RelationGraph(K, Y)
    train, test = np.arange(10), np.arange(10, 14)
    expected = clone(baseline).fit(graph[train])
    precomputed = clone(baseline).set_params(kernel="precomputed").fit(whole[train])
    np.testing.assert_allclose(precomputed.predict(whole[test]), expected.predict(graph[test]), atol=1e-3)
    np.testing.assert_allclose(precomputed.predict(K[10:, :10]), expected.predict(X[10:]), atol=1e-3)
    assert precomputed.score(whole[test]) == pytest.approx(expected.score(graph[test]), abs=0.02)
    sparsely = clone(baseline).fit(RelationGraph(sparse.csr_array(X), Y)[train])
    np.testing.assert_allclose(sparsely.predict(sparse.csr_array(X[10:])), expected.predict(X[10:]), atol=1e-3)
    with pytest.raises(ValueError, match="square kernel matrix"):
        clone(baseline).set_params(kernel="precomputed").fit(X, Y)


@every_baseline
def test_every_baseline_can_be_searched_over_nodes(baseline):
    name, values = next(
        (name, values)
        for name, values in (
            ("alpha", [0.1, 10.0]),
            ("C", [0.01, 0.1]),
            ("n_neighbors", [1, 5]),
            ("gamma", [1.0, None]),
        )
        if name in baseline.get_params()
    )
    search = GridSearchCV(clone(baseline), {name: values}, cv=3, error_score="raise").fit(small_graph())
    assert 0 <= search.best_score_ <= 1


@pytest.mark.parametrize(
    "baseline", [BASELINES[0], BASELINES[2], BASELINES[4]], ids=["RankRLS", "RankSVM", "Neighbours"]
)
def test_a_graph_without_edges_is_refused(baseline):
    with pytest.raises(ValueError, match="no observed edge"):
        clone(baseline).fit(np.eye(2), np.full((2, 2), np.nan))


@every_baseline
@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_blocks_change_no_result(baseline, kernel, monkeypatch):
    graph = small_graph()
    if kernel == "precomputed":
        graph = RelationGraph(graph.nodes.base @ graph.nodes.base.T, graph.to_dense())
    make = clone(baseline).set_params(kernel=kernel)
    ranker = make.fit(graph[:9])
    test = graph[5:]
    expected, score, ranking = ranker.predict(test), ranker.score(test), ranker.rank(test, top=3)
    W = getattr(ranker, "coef_", None)
    for module in (
        "solvers.explicit",
        "rankers.aligned",
        "baselines.similarity",
        "baselines.neighbours",
        "models.model",
    ):
        monkeypatch.setattr(f"condrank.{module}.row_blocks", lambda n_rows, *_, **__: row_blocks(n_rows, 1, 2))
    ranker = clone(make).fit(graph[:9])
    np.testing.assert_allclose(ranker.predict(test), expected, atol=1e-9)
    assert W is None or np.allclose(ranker.coef_, W, atol=1e-9)
    assert ranker.score(test) == score
    np.testing.assert_array_equal(ranker.rank(test, top=3).indices, ranking.indices)


@pytest.mark.parametrize("relation", ["ordinary", "reciprocal"])
def test_baselines_learn_rock_paper_scissors(relation):
    # Paper, w = 10: RLS .042, RankRLS .045 and .043 (reciprocal), RankSVM .045 and .041.
    train, test = make_rock_paper_scissors(10, random_state=1)
    for ranker in (
        ExplicitRankRLS(relation, "regression", 2.0**-30),
        ExplicitRankRLS(relation, "ranking", 2.0**-30),
        RankSVM(relation, random_state=0),
        RankSVM(relation, 100.0, "squared_hinge", random_state=0),
    ):
        assert 1 - ranker.fit(train).score(test) < 0.12
    assert 1 - NearestNeighbours(10).fit(train).score(test) < 0.4


def test_baselines_rank_digits():
    train, test = make_digits_task(200, 150, random_state=0)
    assert 1 - SimilarityRanker().fit(train).score(test) < 0.35
    assert 1 - NearestNeighbours(5).fit(train).score(test) < 0.35
    assert 1 - TwoStepRidge(1.0, kernel="rbf", gamma=0.05).fit(train).score(test) < 0.35
