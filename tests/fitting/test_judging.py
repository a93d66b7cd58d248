"""Judging over observed edges gives what judging over the whole matrix gives, without the matrix."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrank import ConditionalRanker, ConditionalRankerCV, NodeTransformer, RelationGraph
from condrank.baselines import NearestNeighbours, SimilarityRanker
from condrank.fitting.judging import edge_scores, rankable
from condrank.metrics import MEASURES, rank_loss
from condrank.model_selection import SettingSplit, cross_validate
from condrank.observations import Edges

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 5))
SPARSE = np.where(RNG.random((N, N)) < 0.04, RNG.normal(size=(N, N)).round(1), np.nan)
DENSE = np.where(RNG.random((N, N)) < 0.5, RNG.normal(size=(N, N)).round(1), np.nan)
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")

RANKERS = {
    "explicit features": ConditionalRanker(),
    "exact kernel": ConditionalRanker("symmetric", "regression", kernel="rbf", solver="primal"),
    "over the edges": ConditionalRanker("reciprocal", kernel="rbf", solver="dual"),
    "other edge kernel": ConditionalRanker(kernel="rbf", pairwise_kernel="poly2D", solver="dual"),
    "prior": ConditionalRanker(kernel="rbf", prior="similarity", prior_weight=0.5),
    "prior over the edges": ConditionalRanker(kernel="rbf", prior="similarity", solver="dual"),
    "compared": ConditionalRanker("reciprocal", kernel="rbf", compared=[0]),
    "incoming": ConditionalRanker(kernel="rbf", rank_by="incoming", solver="primal"),
    "neighbours": NearestNeighbours(kernel="rbf"),
    "similarity": SimilarityRanker(kernel="rbf"),
}


@pytest.mark.parametrize("labels", [SPARSE, DENSE], ids=["sparse", "half"])
@pytest.mark.parametrize("name", RANKERS)
def test_the_score_of_an_incomplete_graph_is_that_of_its_matrix(name, labels):
    graph = RelationGraph(X, labels)
    ranker = RANKERS[name].fit(graph)
    truth = labels.T if ranker.rank_by == "incoming" else labels
    scores = ranker.predict(X, X)
    given = graph.conditioned(ranker.rank_by)
    np.testing.assert_allclose(
        edge_scores(ranker.fitted_.model, given),
        scores[given.observed.sources, given.observed.indices],
        atol=1e-9 * np.abs(scores).max(),
    )
    assert ranker.score(graph) == pytest.approx(1 - rank_loss(truth, scores), abs=1e-12)
    first, second = X[RNG.integers(0, N, 40)], X[RNG.integers(0, N, 40)]
    expected = np.diagonal(ranker.predict(first, second))
    np.testing.assert_allclose(ranker.predict_edges(first, second), expected, atol=1e-9 * np.abs(scores).max())


def test_many_aligned_pairs_are_scored_in_blocks():
    ranker = ConditionalRanker(alpha=0.1).fit(X, SPARSE)
    first, second = RNG.integers(0, N, (2, 9000))
    expected = ranker.predict(X, X)[first, second]
    np.testing.assert_allclose(ranker.predict_edges(X[first], X[second]), expected, atol=1e-10)


def test_a_sparse_graph_is_scored_without_its_matrix(monkeypatch):
    graph = RelationGraph(X, SPARSE)
    ranker = ConditionalRanker().fit(graph)
    expected = ranker.score(graph)

    def refuse(self, rows=None):
        raise AssertionError("made the matrix")

    monkeypatch.setattr(Edges, "to_dense", refuse)
    assert ranker.score(graph) == expected
    ConditionalRanker(solver="early_stopping", max_iter=5, validation_fraction=0.4, random_state=0).fit(graph)
    chosen = ConditionalRankerCV([0.1, 1.0], cv=[(graph, graph)]).fit(graph)
    assert chosen.alpha_ in (0.1, 1.0)
    assert cross_validate(ranker, graph, setting=2, scoring=["rank_loss", "kendall_tau"]).scores[
        "kendall_tau"
    ].shape == (5,)


@pytest.mark.parametrize("setting", [1, 2, 4])
def test_cross_validation_of_edges_measures_what_that_of_matrices_does(setting):
    graph = RelationGraph(X, np.where(np.isnan(SPARSE), np.nan, SPARSE > 0))
    ranker, cv = ConditionalRanker(kernel="rbf", alpha=0.1), SettingSplit(setting, 3, random_state=0)
    packed = cross_validate(ranker, graph, cv=cv, scoring=list(MEASURES))
    given = {name: {"scale": "probability"} for name in ("log_loss", "brier_score", "accuracy")}
    own = {
        name: (lambda truth, scores, name=name: MEASURES[name](truth, scores, **given.get(name, {})))
        for name in MEASURES
    }
    dense = cross_validate(ranker, graph, cv=cv, scoring=own)
    for name in MEASURES:
        np.testing.assert_allclose(packed.scores[name], dense.scores[name], atol=1e-12, equal_nan=True)
    np.testing.assert_array_equal(packed.fold_keys, dense.fold_keys)
    piped = cross_validate(make_pipeline(NodeTransformer(StandardScaler()), ranker), graph, cv=cv)
    np.testing.assert_array_equal(piped.fold_keys, dense.fold_keys)


@pytest.mark.parametrize("share", [0.03, 0.4])
@pytest.mark.parametrize("params", [{}, {"prior": "similarity"}, {"solver": "dual"}], ids=["plain", "prior", "dual"])
def test_the_losses_of_a_search_are_those_of_refitting(params, share):
    labels = np.where(RNG.random((N, N)) < share, RNG.normal(size=(N, N)).round(1), np.nan)
    graph, cv = RelationGraph(X, labels), SettingSplit(2, 3, random_state=0)
    alphas = [0.1, 10.0]
    found = ConditionalRankerCV(alphas, cv=cv, kernel="rbf", **params).fit(graph)
    for alpha, loss in zip(alphas, found.cv_losses_, strict=True):
        wrong = comparable = 0.0
        for train, test in cv.split(graph):
            ranker = ConditionalRanker(alpha=alpha, kernel="rbf", **params).fit(train)
            truth = test.to_dense()
            lost = rank_loss(truth, ranker.predict(test), average=None)
            counts = np.array([np.sum(row[:, None] < row) for row in (one[~np.isnan(one)] for one in truth)])
            wrong, comparable = wrong + np.nansum(lost * counts), comparable + counts.sum()
        assert loss == pytest.approx(wrong / comparable, abs=1e-6)


def test_a_row_of_equal_labels_has_nothing_to_rank():
    assert not rankable(Edges.from_holes(np.array([[1.0, 1.0, np.nan], [np.nan, np.nan, 2.0]])))
    assert rankable(Edges.from_holes(np.array([[1.0, 1.0, np.nan], [np.nan, 3.0, 2.0]])))
