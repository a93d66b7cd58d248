"""ConditionalRanker as a scikit-learn estimator: parameters, fitted attributes, model selection, paths."""

import inspect
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, KFold, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from builders import (
    ALPHAS,
    LABELS,
    NODES,
    TWELVE_LABELS,
    TWELVE_NODES,
    mean_scores,
    noisy_graph,
    ranker_for,
    refused,
    with_entry,
)
from condrank import ConditionalRanker, RelationGraph

N = 24
X = np.random.default_rng(0).normal(size=(N, 4))
Y = X @ np.random.default_rng(1).normal(size=(4, 4)) @ X.T + np.random.default_rng(2).normal(size=(N, N))
NEW = np.random.default_rng(3).normal(size=(5, 4))
K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))


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


# Parameters


def test_init_stores_parameters_untouched():
    params = {name: object() for name in inspect.signature(ConditionalRanker).parameters}
    ranker = ConditionalRanker(**params)
    assert all(getattr(ranker, name) is value for name, value in params.items())
    assert set(ranker.get_params()) == set(params)


def test_parameters_and_defaults_are_those_promised():
    promised = {
        "relation": "ordinary",
        "loss": "ranking",
        "alpha": 1.0,
        "kernel": "linear",
        "gamma": None,
        "degree": 3,
        "coef0": 1,
        "kernel_params": None,
        "prior": None,
        "prior_weight": 1.0,
        "constant": False,
        "rank_by": "outgoing",
        "solver": "auto",
    }
    assert promised.items() <= ConditionalRanker().get_params().items()


def test_parameters_can_be_read_set_cloned_and_shown():
    ranker = ConditionalRanker("symmetric", "regression", 0.3, "rbf", gamma=0.7)
    assert repr(ranker) == (
        "ConditionalRanker(alpha=0.3, gamma=0.7, kernel='rbf', loss='regression',\n"
        "                  relation='symmetric')"
    )
    copied = clone(ranker.fit(X, Y + Y.T))
    assert copied.get_params() == ranker.get_params()
    assert not hasattr(copied, "alpha_")
    assert copied.set_params(alpha=5, relation="reciprocal") is copied
    assert copied.alpha == 5
    assert copied.relation == "reciprocal"
    assert ranker.alpha == 0.3
    with pytest.raises(ValueError, match="Invalid parameter 'lamda'"):
        ranker.set_params(lamda=3)


# Fitting


def test_a_fit_sets_the_fitted_attributes():
    ranker = ConditionalRanker(alpha=3)
    assert ranker.fit(X, Y) is ranker
    assert ranker.alpha_ == 3
    assert isinstance(ranker.alpha_, float)
    assert ranker.solver_ == "closed_form"
    assert ranker.n_iter_ is None
    assert ranker.n_features_in_ == 4
    assert ranker.coef_.shape == (4, 4)
    assert ranker.dual_coef_.shape == (N, N)
    assert ranker.plan_.solver == "closed_form"
    assert ConditionalRanker(kernel="rbf").fit(X, Y).coef_.shape == (N, N)


@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize("loss", ["ranking", "regression"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
def test_fit_leaves_its_input_alone(relation, loss, kernel):
    given, labels = (K if kernel == "precomputed" else X).copy(), Y.copy()
    params = {"relation": relation, "loss": loss, "kernel": kernel, "constant": True}
    if relation != "reciprocal":
        params["prior"] = "similarity"
    ranker = ConditionalRanker(**params).fit(given, labels)
    ranker.predict(given)
    ranker.score(given, labels)
    np.testing.assert_array_equal(given, K if kernel == "precomputed" else X)
    np.testing.assert_array_equal(labels, Y)
    if kernel != "precomputed":
        stored, known = sparse.csr_array(X), sparse.csr_array(Y)
        before = [part.copy() for m in (stored, known) for part in (m.data, m.indices, m.indptr)]
        ConditionalRanker(**params).fit(RelationGraph(stored, known, unstored="zero"))
        after = [part for m in (stored, known) for part in (m.data, m.indices, m.indptr)]
        assert all(np.array_equal(old, new) for old, new in zip(before, after, strict=True))


def test_read_only_input_is_accepted():
    given, labels = X.copy(), Y.copy()
    for array in (given, labels):
        array.flags.writeable = False
    for kernel in ("linear", "rbf", "cosine"):
        ConditionalRanker(kernel=kernel).fit(given, labels).predict(given)


def test_a_graph_and_arrays_give_the_same_ranker():
    by_graph, by_arrays = ConditionalRanker().fit(RelationGraph(X, Y)), ConditionalRanker().fit(X.tolist(), Y.tolist())
    np.testing.assert_allclose(by_graph.predict(NEW), by_arrays.predict(NEW.tolist()), rtol=1e-12)
    assert by_graph.score(RelationGraph(X, Y)) == by_arrays.score(X, Y)


def test_memory_order_does_not_matter():
    expected = ConditionalRanker(kernel="rbf").fit(X, Y).predict(NEW)
    found = ConditionalRanker(kernel="rbf").fit(np.asfortranarray(X), np.asfortranarray(Y)).predict(NEW)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    strided = ConditionalRanker().fit(np.repeat(X, 2, axis=0)[::2], np.repeat(Y, 2, axis=1)[:, ::2])
    np.testing.assert_allclose(strided.predict(NEW), ConditionalRanker().fit(X, Y).predict(NEW), rtol=1e-9)


def test_a_second_fit_replaces_the_first():
    ranker = ConditionalRanker("reciprocal", "regression", 1.0, "rbf").fit(X, 1 / (1 + np.exp(Y.T - Y)))
    assert ranker.predict(X[:1], X[:1]).item() == pytest.approx(0.5)
    ranker.set_params(relation="ordinary", kernel="linear", alpha=2.0).fit(X[:10, :2], Y[:10, :10])
    fresh = ConditionalRanker("ordinary", "regression", 2.0).fit(X[:10, :2], Y[:10, :10])
    np.testing.assert_array_equal(ranker.predict(NEW[:, :2]), fresh.predict(NEW[:, :2]))
    assert ranker.n_features_in_ == 2
    assert ranker.alpha_ == 2


def test_changing_parameters_needs_a_new_fit():
    ranker = ConditionalRanker(alpha=1.0).fit(X, Y)
    before = ranker.predict(NEW)
    ranker.set_params(alpha=100.0)
    np.testing.assert_array_equal(ranker.predict(NEW), before)
    assert ranker.alpha_ == 1


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("relation", ["ordinary", "symmetric"])
def test_a_pickled_ranker_predicts_the_same(kernel, relation):
    given = K if kernel == "precomputed" else X
    new = K[:3] if kernel == "precomputed" else NEW
    ranker = ConditionalRanker(relation, "ranking", 0.5, kernel, prior="similarity").fit(given, Y + Y.T)
    again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(again.predict(new), ranker.predict(new))
    np.testing.assert_array_equal(again.dual_coef_, ranker.dual_coef_)
    np.testing.assert_array_equal(
        next(again.path([2.0])).predict(new), next(ranker.path([2.0])).predict(new)
    )  # the path needs no second fit either


# Model selection over nodes


def test_k_fold_splits_a_graph_into_nodes():
    graph = RelationGraph(X, Y)
    for train, test in KFold(3).split(graph):
        assert len(train) + len(test) == N
        part = graph[train, ...]
        np.testing.assert_array_equal(part.to_dense(), Y[np.ix_(train, train)])
        assert part.nodes.base is graph.nodes.base  # no node data is copied for a fold
        assert np.shares_memory(part.nodes.base, X)
        assert part[::2].nodes.base is X


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_cross_val_score_is_setting_four(kernel):
    graph = RelationGraph(K if kernel == "precomputed" else X, Y)
    ranker = ConditionalRanker(kernel=kernel, gamma=0.2, alpha=0.5)
    found = cross_val_score(ranker, graph, cv=KFold(3))
    expected = []
    for train, test in KFold(3).split(X):
        fitted = ConditionalRanker(kernel="linear" if kernel == "linear" else "rbf", gamma=0.2, alpha=0.5)
        fitted.fit(X[train], Y[np.ix_(train, train)])
        expected.append(1 - loss_by_pairs(Y[np.ix_(test, test)], fitted.predict(X[test], X[test])))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("form", ["dense", "sparse", "classes"])
def test_a_grid_search_refits_the_best_alpha(kernel, form):
    nodes = K if kernel == "precomputed" else X
    graph = {
        "dense": lambda: RelationGraph(nodes, Y),
        "sparse": lambda: RelationGraph(nodes, sparse.csr_array(np.where(Y > 1, Y, 0)), unstored="zero"),
        "classes": lambda: RelationGraph.from_classes(nodes, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)),
    }[form]()
    search = GridSearchCV(ConditionalRanker(kernel=kernel), {"alpha": [1e-2, 1.0, 1e5]}, cv=3, error_score="raise")
    search.fit(graph)
    results = search.cv_results_["mean_test_score"]
    assert np.isfinite(results).all()
    assert len(set(results)) > 1
    assert search.best_params_["alpha"] == [1e-2, 1.0, 1e5][np.argmax(results)]
    assert search.best_estimator_.alpha_ == search.best_params_["alpha"]
    assert search.best_estimator_.dual_coef_.shape == (N, N)  # refitted to the whole graph
    assert search.score(graph) == search.best_estimator_.score(graph)


def test_a_grid_search_runs_in_two_processes():
    for graph, kernel in ((RelationGraph(X, Y), "linear"), (RelationGraph(K, Y), "precomputed")):
        searches = [
            GridSearchCV(
                ConditionalRanker(kernel=kernel), {"alpha": [1e-2, 1.0]}, cv=3, n_jobs=n_jobs, error_score="raise"
            ).fit(graph)
            for n_jobs in (None, 2)
        ]
        one, two = (search.cv_results_["mean_test_score"] for search in searches)
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_a_grid_search_over_two_domains_splits_the_conditioning_nodes():
    graph = RelationGraph(X[:14], Y[:14, 14:], objects=X[14:, :3])
    search = GridSearchCV(ConditionalRanker(), {"alpha": [1e-2, 10.0]}, cv=3, error_score="raise").fit(graph)
    assert search.best_estimator_.predict(X[:1]).shape == (1, 10)


def test_a_pipeline_scales_the_features_of_nodes():
    pipeline = make_pipeline(StandardScaler(), ConditionalRanker(alpha=0.5)).fit(X * 7 + 3, Y)
    scaler = StandardScaler().fit(X * 7 + 3)
    expected = ConditionalRanker(alpha=0.5).fit(scaler.transform(X * 7 + 3), Y).predict(scaler.transform(NEW))
    np.testing.assert_allclose(pipeline.predict(NEW), expected, rtol=1e-10)


@pytest.mark.parametrize("form", ["features", "kernel", "holes", "classes"])
def test_a_grid_search_is_setting_4(form):
    graph, ranker = noisy_graph(form), ranker_for(form)
    search = GridSearchCV(ranker, ALPHAS, cv=5, error_score="raise").fit(graph)
    folds = list(KFold(5).split(np.empty(len(graph))))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], mean_scores(ranker, graph, folds))
    # refitted on the whole graph
    again = clone(ranker).set_params(**search.best_params_).fit(graph)
    np.testing.assert_allclose(search.predict(graph), again.predict(graph))


@pytest.mark.parametrize("form", ["features", "kernel"])
def test_a_parallel_search_gives_the_same_scores(form):
    graph, ranker = noisy_graph(form), ranker_for(form)
    one = GridSearchCV(ranker, ALPHAS, cv=4, error_score="raise").fit(graph)
    two = GridSearchCV(ranker, ALPHAS, cv=4, error_score="raise", n_jobs=2).fit(graph)
    np.testing.assert_allclose(two.cv_results_["mean_test_score"], one.cv_results_["mean_test_score"])
    assert two.best_params_ == one.best_params_


def test_random_and_halving_searches_choose_an_alpha():
    graph = noisy_graph()
    random = RandomizedSearchCV(ConditionalRanker(), ALPHAS, n_iter=2, cv=4, random_state=0, error_score="raise")
    assert len(random.fit(graph).cv_results_["params"]) == 2
    halving = HalvingGridSearchCV(ConditionalRanker(), ALPHAS, cv=3, min_resources=12, random_state=0)
    halving.set_params(error_score="raise").fit(graph)
    assert halving.n_resources_[0] == 12
    assert halving.best_params_["alpha"] in ALPHAS["alpha"]


def test_cross_val_score_is_a_plain_loop_over_folds_of_nodes():
    graph = noisy_graph()
    scores = cross_val_score(ConditionalRanker(), graph, cv=5, error_score="raise")
    folds = KFold(5).split(np.empty(40))
    np.testing.assert_allclose(scores, [ConditionalRanker().fit(graph[a]).score(graph[b]) for a, b in folds])


def test_a_clone_of_a_search_holds_no_node_data():
    graph = noisy_graph("kernel")
    search = GridSearchCV(ranker_for("kernel"), ALPHAS, cv=3).fit(graph)
    assert not any(isinstance(value, np.ndarray | RelationGraph) for value in clone(search).get_params().values())
    model = search.best_estimator_
    assert model.fitted_.trained_on[0].base is graph.nodes.base


# Paths and refusals


@pytest.mark.parametrize("alphas", [1.0, None, "12"])
def test_a_path_needs_a_sequence_of_alphas(alphas):
    refused("alphas must be a sequence of numbers, got", ConditionalRanker().fit(NODES, LABELS).path, alphas)


def test_a_refused_fit_leaves_the_ranker_as_it_was():
    ranker = ConditionalRanker().fit(NODES, LABELS)
    before = ranker.predict(NODES)
    refused("finite", ranker.fit, with_entry(NODES, 0, 0, np.nan), LABELS)
    np.testing.assert_array_equal(ranker.predict(NODES), before)


def test_a_path_checks_its_alphas_before_it_is_walked():
    ranker = ConditionalRanker().fit(TWELVE_NODES, TWELVE_LABELS)
    with pytest.raises(ValueError, match="alphas must be"):
        ranker.path([1.0, -1.0])
