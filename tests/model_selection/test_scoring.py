"""Scorers for scikit-learn, and measures that score observed edges only."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrank import ConditionalRanker, ConditionalRankerCV, NodeTransformer, RelationGraph, TableRanker, metrics
from condrank.baselines import NearestNeighbours
from condrank.datasets import make_rock_paper_scissors
from condrank.metrics import MEASURES, make_scorer
from condrank.model_selection import RankerSearch, cross_validate
from condrank.model_selection.scoring import judged
from condrank.models.compared import ComparedModel
from condrank.models.model import Model
from condrank.rankers.base import Ranker


def sparse_graph(n=80, n_edges=600, seed=0, values=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    sources, targets = rng.integers(0, n, (2, n_edges))
    labels = rng.random(n_edges) if values is None else values(X, sources, targets)
    return RelationGraph.from_edges(X, sources, targets, labels)


@pytest.fixture
def no_matrix(monkeypatch):
    """All pairs of nodes can neither be scored nor be made a matrix of labels."""

    def refuse(*args, **kwargs):
        raise AssertionError("all pairs are scored")

    for owner, name in ((Ranker, "predict"), (Model, "blocks"), (ComparedModel, "blocks")):
        monkeypatch.setattr(owner, name, refuse)
    monkeypatch.setattr("condrank.observations.edges.Edges.to_dense", refuse)


@pytest.mark.parametrize("name", sorted(MEASURES))
@pytest.mark.filterwarnings("ignore:every observed relevance")
def test_a_scorer_is_the_measure_of_the_labels_and_scores_of_all_pairs(name):
    graph, ranker = sparse_graph(), ConditionalRanker(loss="regression")
    ranker.fit(graph)
    options = {"relevant": 0.5} if name == "auc" else {}
    found = make_scorer(name, **options)(ranker, graph)
    if name in ("log_loss", "brier_score", "accuracy"):
        options = {"scale": "probability"}
    value = MEASURES[name](graph.to_dense(), ranker.predict(graph), **options)
    assert found == pytest.approx(-value if name in metrics.LOWER_IS_BETTER else value, rel=1e-9)


def test_a_scorer_chooses_among_candidates_of_a_grid_search():
    graph = sparse_graph(values=lambda X, i, j: (X[i] * X[j]).sum(axis=1))
    scorer = make_scorer("rank_loss", average="macro")
    folds = KFold(4, shuffle=True, random_state=0)
    search = GridSearchCV(ConditionalRanker(), {"alpha": [0.1, 1e6]}, cv=folds, scoring=scorer).fit(graph)
    by_hand = []
    for train, test in folds.split(np.arange(len(graph))):
        ranker = ConditionalRanker(alpha=0.1).fit(graph[train])
        part = graph[test]
        by_hand.append(-metrics.rank_loss(part.to_dense(), ranker.predict(part), average="macro"))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"][0], np.mean(by_hand), rtol=1e-9)
    scores = cross_val_score(ConditionalRanker(alpha=0.1), graph, cv=folds, scoring=scorer)
    np.testing.assert_allclose(scores, by_hand, rtol=1e-9)
    assert repr(pickle.loads(pickle.dumps(scorer))) == "make_scorer('rank_loss', average='macro')"


def test_features_and_values_are_scored_as_their_graph():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 12))
    ranker, scorer = ConditionalRanker().fit(X, Y), make_scorer("kendall_tau")
    assert scorer(ranker, X, Y) == scorer(ranker, RelationGraph(X, Y))


@pytest.mark.parametrize(
    "ranker",
    [
        ConditionalRanker(),
        ConditionalRanker(kernel="rbf", prior="similarity"),
        ConditionalRanker(kernel="rbf", n_components=10),
        ConditionalRanker(relation="symmetric", kernel="rbf"),
        ConditionalRankerCV(cv="holdout"),
        make_pipeline(NodeTransformer(StandardScaler()), ConditionalRanker()),
        GridSearchCV(ConditionalRanker(), {"alpha": [1.0]}, cv=KFold(3), scoring=make_scorer("rank_loss")),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_a_sparse_graph_is_measured_without_scoring_all_pairs(ranker, no_matrix):
    graph = sparse_graph(n=200, n_edges=1500)
    scoring = ["rank_loss", "ndcg", "pooled_concordance_index", "mean_squared_error", "recall_at_k"]
    for setting in (1, 2):
        result = cross_validate(ranker, graph, setting, cv=3, scoring=scoring)
        assert all(np.isfinite(values).all() for values in result.scores.values())


@pytest.mark.filterwarnings("ignore")
def test_a_search_is_measured_by_its_edges(monkeypatch):
    graph = sparse_graph(n=120, n_edges=2000, values=lambda X, i, j: (X[i] * X[j]).sum(axis=1))
    search = RankerSearch(ConditionalRanker(), random_state=0).fit(graph)
    truth, scores = judged(search, graph)
    assert truth.nnz == scores.nnz == graph.n_edges - (graph.n_edges - graph.relation.n_pairs)
    rows, cols = truth.nonzero()
    np.testing.assert_allclose(scores.toarray()[rows, cols], search.predict(graph)[rows, cols], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "regression"])
def test_games_are_measured_on_the_scale_of_the_ranker(loss):
    train, test = make_rock_paper_scissors(100.0, n_players=60, n_games=1500, random_state=0)
    ranker = ConditionalRanker(relation="reciprocal", loss=loss, kernel="rbf", alpha=0.1).fit(train)
    scores, truth = ranker.predict(test), test.to_dense()
    scale = "log-odds" if loss == "logistic" else "outcome"
    for name in ("log_loss", "brier_score", "accuracy"):
        value = MEASURES[name](truth, scores, scale=scale)
        assert abs(make_scorer(name)(ranker, test)) == pytest.approx(value)
    assert make_scorer("log_loss", scale="probability")(ranker, test) != make_scorer("log_loss")(ranker, test)
    result = cross_validate(ranker, train, 4, cv=3, scoring=["log_loss", make_scorer("accuracy")])
    assert result.mean("log_loss") < np.log(2)
    assert result.mean("accuracy") > 0.6


def test_games_are_measured_on_the_scale_of_what_was_fitted_inside():
    games, _ = make_rock_paper_scissors(100.0, n_players=60, n_games=1500, random_state=0)
    tables = TableRanker(time_limit=0).fit(games)  # was given no ranker; games get the logistic loss
    assert tables.ranker_.loss == "logistic"
    truth, scores = judged(tables, games)
    assert -make_scorer("log_loss")(tables, games) == pytest.approx(metrics.log_loss(truth, scores, scale="log-odds"))
    tables.ranker_ = NearestNeighbours().fit(games)
    tables.ranker = RankerSearch(ConditionalRanker("reciprocal", "logistic"))  # may return a baseline
    truth, scores = judged(tables, games)
    assert -make_scorer("log_loss")(tables, games) == pytest.approx(metrics.log_loss(truth, scores, scale="outcome"))


def test_probabilities_are_measured_as_probabilities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    P = 1 / (1 + np.exp(X[:, :1].T - X[:, :1]))
    ranker = ConditionalRanker(relation="reciprocal", loss="regression", kernel="rbf").fit(X, P)
    found = make_scorer("brier_score")(ranker, X, P)
    assert found == pytest.approx(-metrics.brier_score(P, ranker.predict(X, X), scale="probability"))


def test_wrong_names_and_options_are_refused():
    with pytest.raises(ValueError, match=r"measure must be one of .*, got 'f1'"):
        make_scorer("f1")
    with pytest.raises(TypeError, match="rank_loss has no option 'k'; its options are average"):
        make_scorer("rank_loss", k=3)
    with pytest.raises(ValueError, match="average must combine queries"):
        make_scorer("rank_loss", average=None)


def test_folds_of_nodes_sorted_by_class_say_what_to_do():
    X = np.random.default_rng(0).normal(size=(30, 2))
    graph = RelationGraph.from_classes(X, np.repeat([0, 1, 2], 10))
    search = GridSearchCV(ConditionalRanker(), {"alpha": [0.1, 10.0]}, cv=3)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        search.fit(graph)
    ours = {str(one.message) for one in found if one.category is UndefinedMetricWarning}
    (told,) = ours  # one sentence, not a traceback for each fold and candidate
    assert "nothing to rank" in told
    assert "KFold(5, shuffle=True)" in told
    assert "best_params_ are only the first" in told
    assert not any("Traceback" in str(one.message) for one in found)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
    shuffled = GridSearchCV(ConditionalRanker(), {"alpha": [0.1, 10.0]}, cv=KFold(3, shuffle=True, random_state=0))
    assert np.isfinite(shuffled.fit(graph).cv_results_["mean_test_score"]).all()
