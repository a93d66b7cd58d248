"""scikit-learn's searches over a RelationGraph: nodes are the samples, so a fold is setting 4."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, KFold, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from condrank import ConditionalRanker, NodeTransformer, RelationGraph
from condrank.model_selection import SettingShuffleSplit, SettingSplit, cross_validate

ALPHAS = {"alpha": [0.01, 1.0, 100.0]}


def make_graph(form="features", n=40):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    Y = X @ rng.standard_normal((4, 4)) @ X.T + rng.normal(0, 2, (n, n))
    if form == "kernel":
        return RelationGraph(rbf_kernel(X), Y)
    if form == "holes":
        Y[rng.random((n, n)) < 0.4] = np.nan
    if form == "classes":
        return RelationGraph.from_classes(X, np.argmax(X, axis=1))
    return RelationGraph(X, Y)


def make_ranker(form):
    return ConditionalRanker(kernel="precomputed" if form == "kernel" else "linear")


def naive_scores(ranker, graph, folds):
    """Mean score of each λ over the folds, by plain loops."""
    return [
        np.mean([clone(ranker).set_params(alpha=alpha).fit(graph[a]).score(graph[b]) for a, b in folds])
        for alpha in ALPHAS["alpha"]
    ]


@pytest.mark.parametrize("form", ["features", "kernel", "holes", "classes"])
def test_grid_search_is_setting_4(form):
    graph, ranker = make_graph(form), make_ranker(form)
    search = GridSearchCV(ranker, ALPHAS, cv=5, error_score="raise").fit(graph)
    folds = list(KFold(5).split(np.empty(len(graph))))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], naive_scores(ranker, graph, folds))
    # refitted on the whole graph
    again = clone(ranker).set_params(**search.best_params_).fit(graph)
    np.testing.assert_allclose(search.predict(graph), again.predict(graph))


def test_folds_of_a_splitter():
    graph, groups = make_graph(), np.arange(40) // 4
    folds = SettingSplit(4, 5, groups=groups, random_state=0).indices(graph)
    search = GridSearchCV(ConditionalRanker(), ALPHAS, cv=folds, error_score="raise").fit(graph)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], naive_scores(ConditionalRanker(), graph, folds))


@pytest.mark.parametrize(
    "cv", [SettingSplit(4, random_state=0), SettingSplit(2, 3, random_state=0), SettingShuffleSplit(random_state=0)]
)
def test_a_splitter_itself_is_refused_with_advice(cv):
    graph, ranker = make_graph(), ConditionalRanker()
    calls = [
        lambda: GridSearchCV(ranker, ALPHAS, cv=cv).fit(graph),
        lambda: HalvingGridSearchCV(ranker, ALPHAS, cv=cv, min_resources=12).fit(graph),
        lambda: cross_val_score(ranker, graph, cv=cv),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"as scikit-learn does, .* the splitter's .indices\(graph\)"):
            call()


@pytest.mark.parametrize("form", ["features", "kernel"])
def test_parallel_search(form):
    graph, ranker = make_graph(form), make_ranker(form)
    one = GridSearchCV(ranker, ALPHAS, cv=4, error_score="raise").fit(graph)
    two = GridSearchCV(ranker, ALPHAS, cv=4, error_score="raise", n_jobs=2).fit(graph)
    np.testing.assert_allclose(two.cv_results_["mean_test_score"], one.cv_results_["mean_test_score"])
    assert two.best_params_ == one.best_params_


def test_random_and_halving_search():
    graph = make_graph()
    random = RandomizedSearchCV(ConditionalRanker(), ALPHAS, n_iter=2, cv=4, random_state=0, error_score="raise")
    assert len(random.fit(graph).cv_results_["params"]) == 2
    halving = HalvingGridSearchCV(ConditionalRanker(), ALPHAS, cv=3, min_resources=12, random_state=0)
    halving.set_params(error_score="raise").fit(graph)
    assert halving.n_resources_[0] == 12
    assert halving.best_params_["alpha"] in ALPHAS["alpha"]


def test_cross_val_score():
    graph = make_graph()
    scores = cross_val_score(ConditionalRanker(), graph, cv=5, error_score="raise")
    folds = KFold(5).split(np.empty(40))
    np.testing.assert_allclose(scores, [ConditionalRanker().fit(graph[a]).score(graph[b]) for a, b in folds])


def test_a_pipeline_can_be_searched():
    graph = make_graph()
    pipeline = make_pipeline(NodeTransformer(StandardScaler()), ConditionalRanker())
    grid = {"nodetransformer__transformer__with_std": [True, False], "conditionalranker__alpha": [0.1, 10.0]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(graph)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(graph.nodes.base[:2]).shape == (2, 40)


@pytest.mark.parametrize("setting", [1, 2, 3, 4])
def test_nested_cross_validation(setting):
    search = GridSearchCV(ConditionalRanker(), ALPHAS, cv=3, error_score="raise")
    result = cross_validate(search, make_graph(), setting, cv=3)
    expected = [
        1 - clone(search).fit(train).best_estimator_.score(test)
        for train, test in SettingSplit(setting, 3, random_state=0).split(make_graph())
    ]
    np.testing.assert_allclose(result.scores["rank_loss"], expected)


def test_a_clone_holds_no_node_data():
    graph = make_graph("kernel")
    search = GridSearchCV(make_ranker("kernel"), ALPHAS, cv=3).fit(graph)
    assert not any(isinstance(value, np.ndarray | RelationGraph) for value in clone(search).get_params().values())
    model = search.best_estimator_
    assert model.fitted_.trained_on[0].base is graph.nodes.base
