"""ConditionalRankerCV against refitting ConditionalRanker for every fold and every λ."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import KFold

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.datasets import make_rock_paper_scissors
from condrank.metrics import pair_counts
from condrank.model_selection import SettingShuffleSplit, SettingSplit
from condrank.plots import LossCurveDisplay

pytestmark = pytest.mark.filterwarnings("ignore:the best λ")  # few λ are tried here

RNG = np.random.default_rng(0)
N = 24
X = RNG.normal(size=(N, 4))
ALPHAS = [0.003, 0.3, 30.0]
SIGNS = {"ordinary": 0, "symmetric": 1, "reciprocal": -1}
models = pytest.mark.parametrize("loss", ["regression", "ranking"])
relations = pytest.mark.parametrize("relation", SIGNS)
ones_out = pytest.mark.parametrize("cv", ["leave-query-out", "leave-node-out", "leave-edge-out"])


def labels(relation, n=N, decimals=None, seed=1):
    rng = np.random.default_rng(seed)
    Y = X[:n] @ rng.normal(size=(4, 4)) @ X[:n].T + rng.normal(size=(n, n))
    Y = Y + SIGNS[relation] * Y.T
    return Y if decimals is None else np.round(Y, decimals)


def holes(Y, share=0.7, seed=2):
    return np.where(np.random.default_rng(seed).random(Y.shape) < share, Y, np.nan)


def left_out_scores(cv, ranker, Y, X=X):
    """Scores of every row by rankers refitted without that row, node or edge; from the meaning of the words alone."""
    n = len(Y)
    F = np.full((n, n), np.nan)
    if cv == "leave-edge-out":
        together = ranker.relation != "ordinary"
        for i, j in zip(*np.nonzero(~np.isnan(Y)), strict=True):
            rest = Y.copy()
            rest[i, j] = np.nan
            if together:
                rest[j, i] = np.nan
            F[i, j] = clone(ranker).fit(X, rest).predict(X[[i]], X[[j]])[0, 0]
        return F
    for i in range(n):
        if cv == "leave-node-out":
            others = np.delete(np.arange(n), i)
            fitted = clone(ranker).fit(X[others], Y[np.ix_(others, others)])
        else:
            rest = Y.copy()
            if ranker.rank_by == "outgoing":
                rest[i] = np.nan
            else:
                rest[:, i] = np.nan
            fitted = clone(ranker).fit(X, rest)
        F[i] = fitted.predict(X[[i]], X)[0]
    return F


def pooled(Y, F):
    wrong, comparable = pair_counts(Y, F)
    return wrong.sum() / comparable.sum()


@ones_out
@models
@relations
def test_shortcuts_give_the_loss_of_refitting(relation, loss, cv):
    n = 7 if cv == "leave-edge-out" else 12
    Y = labels(relation, n, decimals=0)  # with ties
    params = {"relation": relation, "loss": loss, "kernel": "rbf", "gamma": 0.2}
    ranker = ConditionalRankerCV(ALPHAS, cv, **params).fit(X[:n], Y)
    expected = [
        pooled(Y, left_out_scores(cv, ConditionalRanker(alpha=a, tol=1e-12, **params), Y, X[:n])) for a in ALPHAS
    ]
    np.testing.assert_allclose(ranker.cv_losses_, expected, atol=1e-9)
    assert ranker.alpha_ == ALPHAS[int(np.argmin(expected))]


@pytest.mark.parametrize("cv", ["leave-query-out", "leave-node-out"])
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_incomplete_graphs_are_refitted(cv, rank_by):
    Y = holes(labels("ordinary", 10))
    ranker = ConditionalRankerCV([1.0, 10.0], cv, kernel="rbf", gamma=0.2, rank_by=rank_by).fit(X[:10], Y)
    for alpha, loss in zip([1.0, 10.0], ranker.cv_losses_, strict=True):
        plain = ConditionalRanker(alpha=alpha, kernel="rbf", gamma=0.2, rank_by=rank_by, tol=1e-12)
        F = left_out_scores(cv, plain, Y, X[:10])
        assert loss == pytest.approx(pooled(Y if rank_by == "outgoing" else Y.T, F), abs=1e-9)


@models
@relations
def test_folds_give_the_loss_of_refitting(relation, loss):
    graph = RelationGraph(X, labels(relation))
    cv = SettingSplit(4, 3, random_state=0)
    params = {"relation": relation, "loss": loss, "kernel": "rbf", "gamma": 0.2}
    ranker = ConditionalRankerCV(ALPHAS, cv, **params).fit(graph)
    for j, alpha in enumerate(ALPHAS):
        for i, (train, test) in enumerate(cv.split(graph)):
            fitted = ConditionalRanker(alpha=alpha, **params).fit(train)
            assert ranker.fold_losses_[i, j] == pytest.approx(1 - fitted.score(test))
    again = ConditionalRanker(alpha=ranker.alpha_, **params).fit(graph)
    np.testing.assert_allclose(ranker.predict(X[:3]), again.predict(X[:3]), rtol=1e-10, atol=1e-12)


def test_widths_and_prior_weights_are_chosen_with_alpha():
    graph = RelationGraph(X, labels("symmetric"))
    cv = SettingSplit(4, 3, random_state=0)
    gammas, taus = [0.05, 0.5], [0.0, 0.3, 1.0, 5.0]
    ranker = ConditionalRankerCV(ALPHAS, cv, gammas, taus, relation="symmetric", kernel="rbf", prior="similarity").fit(
        graph
    )
    assert ranker.search_losses_.shape == (2, 4, 3)
    for i, gamma in enumerate(gammas):
        for j, tau in enumerate(taus):
            for k, alpha in enumerate(ALPHAS):
                plain = ConditionalRanker(
                    "symmetric", alpha=alpha, kernel="rbf", gamma=gamma, prior="similarity", prior_weight=tau
                )
                counts = np.zeros(2)
                for train, test in cv.split(graph):
                    wrong, comparable = pair_counts(test.to_dense(), clone(plain).fit(train).predict(test))
                    counts += wrong.sum(), comparable.sum()
                assert ranker.search_losses_[i, j, k] == pytest.approx(counts[0] / counts[1], abs=1e-9)
    i, j, k = np.unravel_index(np.argmin(ranker.search_losses_), ranker.search_losses_.shape)
    assert (ranker.gamma_, ranker.prior_weight_, ranker.alpha_) == (gammas[i], taus[j], ALPHAS[k])
    plain = ConditionalRanker(
        "symmetric", alpha=ALPHAS[k], kernel="rbf", gamma=gammas[i], prior="similarity", prior_weight=taus[j]
    )
    np.testing.assert_allclose(ranker.predict(X[:3]), plain.fit(graph).predict(X[:3]), rtol=1e-9, atol=1e-12)


def test_prior_weights_are_chosen_by_a_shortcut():
    Y = labels("symmetric", 12)
    params = {"relation": "symmetric", "kernel": "rbf", "gamma": 0.2, "prior": "similarity"}
    ranker = ConditionalRankerCV(ALPHAS, "leave-node-out", prior_weights=[0.0, 0.5, 2.0], **params).fit(X[:12], Y)
    for j, tau in enumerate([0.0, 0.5, 2.0]):
        for k, alpha in enumerate(ALPHAS):
            F = left_out_scores("leave-node-out", ConditionalRanker(alpha=alpha, prior_weight=tau, **params), Y, X[:12])
            assert ranker.search_losses_[0, j, k] == pytest.approx(pooled(Y, F), abs=1e-9)


@pytest.mark.parametrize("loss", ["regression", "ranking"])
def test_probabilities_are_measured_from_their_middle(loss):
    P = stats.norm.cdf(labels("reciprocal", 12))
    P[np.diag_indices(12)] = 0.5
    params = {"relation": "reciprocal", "loss": loss, "kernel": "rbf", "gamma": 0.2}
    ranker = ConditionalRankerCV(ALPHAS, "leave-query-out", **params).fit(X[:12], P)
    for alpha, found in zip(ALPHAS, ranker.cv_losses_, strict=True):
        scale = RelationGraph(X[:12], P, probabilities=True)
        F = np.empty((12, 12))
        for i in range(12):
            rest = P.copy()
            rest[i] = np.nan
            left = RelationGraph(X[:12], rest, probabilities=True)
            F[i] = ConditionalRanker(alpha=alpha, tol=1e-12, **params).fit(left).predict(X[[i]], X[:12])[0]
        assert found == pytest.approx(pooled(scale.to_dense(), F), abs=1e-9)


def test_two_domains_and_incoming_edges_give_the_loss_of_refitting():
    Y = RNG.normal(size=(N, 10)) + X[:, :1]
    graph = RelationGraph(X, Y, objects=RNG.normal(size=(10, 3)))
    for rank_by in ("outgoing", "incoming"):
        params = {"kernel": "rbf", "gamma": 0.2, "rank_by": rank_by}
        ranker = ConditionalRankerCV(ALPHAS, "leave-query-out", **params).fit(graph)
        truth = Y if rank_by == "outgoing" else Y.T
        for alpha, found in zip(ALPHAS, ranker.cv_losses_, strict=True):
            F = np.empty(truth.shape)
            for i in range(len(truth)):
                rest = truth.copy()
                rest[i] = np.nan
                left = RelationGraph(X, rest if rank_by == "outgoing" else rest.T, objects=graph.objects.base)
                fitted = ConditionalRanker(alpha=alpha, tol=1e-12, **params).fit(left)
                F[i] = fitted.predict(graph)[i]
            assert found == pytest.approx(pooled(truth, F), abs=1e-9)
    with pytest.raises(ValueError, match="cv='leave-node-out' needs a single domain"):
        ConditionalRankerCV(cv="leave-node-out").fit(graph)


@pytest.mark.parametrize(
    ("relation", "cv"),
    [("ordinary", "leave-query-out"), ("symmetric", "leave-node-out"), ("reciprocal", "leave-node-out")],
)
def test_the_default_does_not_give_a_row_away_by_its_column(relation, cv):
    Y = labels(relation)
    by_default = ConditionalRankerCV(ALPHAS, relation=relation, kernel="rbf", gamma=0.2).fit(X, Y)
    asked = ConditionalRankerCV(ALPHAS, cv, relation=relation, kernel="rbf", gamma=0.2).fit(X, Y)
    np.testing.assert_array_equal(by_default.cv_losses_, asked.cv_losses_)
    other = "leave-node-out" if cv == "leave-query-out" else "leave-query-out"
    assert not np.array_equal(
        ConditionalRankerCV(ALPHAS, other, relation=relation, kernel="rbf", gamma=0.2).fit(X, Y).cv_losses_,
        asked.cv_losses_,
    )


@ones_out
@relations
def test_single_precision_leaves_nothing_behind(relation, cv):
    """What a row gives away of itself by rounding must not make a tiny λ look good."""
    Y = labels(relation)
    params = {"relation": relation, "kernel": "poly", "degree": 3}
    single = ConditionalRankerCV([1e-4, 1.0, 100.0], cv, **params).fit((2 * X).astype("f4"), Y.astype("f4"))
    double = ConditionalRankerCV([1e-4, 1.0, 100.0], cv, **params).fit((2 * X).astype("f4").astype(float), Y)
    np.testing.assert_allclose(single.cv_losses_, double.cv_losses_, atol=2e-3)
    assert single.coef_.dtype == np.float32


def test_truth_that_is_not_kept_counts_the_same(monkeypatch):
    graph = RelationGraph(X, labels("ordinary", decimals=0))
    kept = ConditionalRankerCV(ALPHAS, 4, kernel="rbf", random_state=0).fit(graph).cv_losses_
    monkeypatch.setattr("condrank.model_selection.held_out.KEPT", 0)
    np.testing.assert_array_equal(
        ConditionalRankerCV(ALPHAS, 4, kernel="rbf", random_state=0).fit(graph).cv_losses_, kept
    )


def test_the_median_of_the_folds_is_chosen():
    graph = RelationGraph(X, labels("symmetric"))
    alphas = np.logspace(-3, 3, 13)
    cv = SettingSplit(4, 4, random_state=3)
    ranker = ConditionalRankerCV(alphas, cv, select="median", relation="symmetric", kernel="rbf", gamma=0.3).fit(graph)
    best = sorted(alphas[np.flatnonzero(losses == losses.min())[-1]] for losses in ranker.fold_losses_)
    assert len(set(best)) > 1
    assert ranker.alpha_ == best[1]
    assert ranker.cv_losses_.shape == (13,)


def test_half_of_the_groups_can_be_held_out():
    groups = np.repeat(np.arange(8), 3)
    cv = SettingShuffleSplit(4, 1, test_size=0.5, groups=groups, random_state=0)
    ranker = ConditionalRankerCV(ALPHAS, cv, kernel="rbf", gamma=0.2).fit(X, labels("ordinary"))
    assert ranker.fold_losses_.shape == (1, 3)


def test_a_search_can_be_nested_in_cross_validation():
    graph = RelationGraph(X, labels("symmetric"))
    groups = np.repeat(np.arange(8), 3)
    inner = ConditionalRankerCV(ALPHAS, SettingSplit(4, 2, groups=groups, random_state=0), relation="symmetric")
    for train, test in SettingSplit(4, 4, groups=groups, random_state=1).split(graph):
        fitted = clone(inner).fit(train)
        assert fitted.cv_losses_.shape == (3,)
        assert 0 <= fitted.score(test) <= 1


def test_folds_may_be_those_of_scikit_learn_and_numbers():
    graph = RelationGraph(X, labels("ordinary"))
    folds = KFold(3, shuffle=True, random_state=0)
    by_index = ConditionalRankerCV(ALPHAS, list(folds.split(X))).fit(graph)
    by_graph = ConditionalRankerCV(ALPHAS, [(graph[a], graph[b]) for a, b in folds.split(X)]).fit(graph)
    np.testing.assert_array_equal(by_index.cv_losses_, by_graph.cv_losses_)
    np.testing.assert_array_equal(ConditionalRankerCV(ALPHAS, folds).fit(graph).cv_losses_, by_graph.cv_losses_)
    assert ConditionalRankerCV(ALPHAS, 4, random_state=0).fit(graph).fold_losses_.shape == (4, 3)


def test_the_logistic_loss_is_searched_by_folds():
    train, test = make_rock_paper_scissors(10, n_players=30, n_games=300, random_state=0)
    ranker = ConditionalRankerCV([0.01, 0.1, 1.0], 3, random_state=0, relation="reciprocal", loss="logistic").fit(train)
    assert ranker.solver_ == "newton"
    probability = ranker.predict_proba(test)
    np.testing.assert_array_equal(probability + probability.T, 1.0)


def test_a_search_takes_the_parameters_of_the_plain_ranker():
    own = set(ConditionalRankerCV().get_params())
    of_iterations = {"method", "validation_fraction", "n_iter_no_change", "warm_start"}  # early stopping, warm starts
    of_search = {"alphas", "cv", "gammas", "prior_weights", "select", "search_tol", "search_max_iter"}
    assert own - set(ConditionalRanker().get_params()) == of_search
    assert set(ConditionalRanker().get_params()) - own == {"alpha"} | of_iterations


def test_ties_go_to_the_larger_alpha_and_ends_are_warned_of():
    Y = np.tile(np.arange(6.0), (6, 1))  # every row alike: every λ ranks it right
    with pytest.warns(UserWarning, match="is the largest of alphas; larger ones may be better"):
        ranker = ConditionalRankerCV([0.1, 10.0, 1.0], "leave-query-out", loss="regression", constant=True).fit(
            np.eye(6), Y
        )
    np.testing.assert_array_equal(ranker.cv_losses_, 0.0)
    assert ranker.alpha_ == 10.0


def test_a_search_shares_node_data_and_predicts_after_cloning():
    graph = RelationGraph(X, labels("ordinary"))
    ranker = clone(ConditionalRankerCV(ALPHAS, 3, random_state=0)).fit(graph)
    assert ranker.fitted_.trained_on[0].base is graph.nodes.base
    assert [r.alpha_ for r in ranker.path([0.1, 1.0])] == [0.1, 1.0]


def test_the_curve_of_losses_is_drawn():
    ranker = ConditionalRankerCV(ALPHAS, 3, random_state=0).fit(X, labels("ordinary"))
    display = LossCurveDisplay.from_estimator(ranker).plot(name="ordinary")
    np.testing.assert_array_equal(display.losses, ranker.cv_losses_)
    assert display.ax_.get_xscale() == "log"
    assert len(display.ax_.lines) == 1 + 3 + 1
    stopped = ConditionalRanker(solver="early_stopping", alpha=0.0, random_state=0, max_iter=5, n_iter_no_change=5)
    display = LossCurveDisplay.from_estimator(stopped.fit(X, labels("ordinary"))).plot()
    np.testing.assert_array_equal(display.values, np.arange(1, len(stopped.history_) + 1))
    with pytest.raises(ValueError, match="fitted ConditionalRankerCV"):
        LossCurveDisplay.from_estimator(ConditionalRanker())
    with pytest.raises(ValueError, match="folds must have shape"):
        LossCurveDisplay.from_values([1.0], [0.5], folds=[[1, 2]])
    with pytest.raises(ValueError, match="of one length"):
        LossCurveDisplay.from_values([1.0], [0.5, 0.1])


def test_callbacks_see_every_fold_and_the_fit():
    class Recorder:
        def __init__(self):
            self.tasks = []

        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_begin = setup

        def on_fit_task_end(self, estimator, context):
            self.tasks.append(context.task_name)
            return False

    recorder = Recorder()
    ranker = ConditionalRankerCV(ALPHAS, 3, [0.1, 1.0], kernel="rbf", random_state=0).set_callbacks(recorder)
    ranker.fit(X, labels("ordinary"))
    assert [task for task in recorder.tasks if task == "fold"] == ["fold"] * 3
    assert recorder.tasks[-2:] == ["fit", "fit"]  # the last step, and the whole


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alphas": []}, "alphas must not be empty"),
        ({"alphas": [1.0, -1.0]}, "alphas must be a finite number greater than 0, got -1"),
        ({"alphas": 1.0}, "alphas must be a sequence of numbers, got 1.0"),
        ({"gammas": [0.0], "kernel": "rbf"}, "gammas must be a finite number greater than 0"),
        ({"prior_weights": [1.0]}, "prior_weights needs prior='similarity'"),
        ({"select": "mean"}, "select must be one of"),
        ({"cv": "loo"}, "cv must be one of"),
        ({"gammas": [0.1, 1.0]}, "gammas needs a kernel with a width"),
        ({"cv": []}, "cv gives no fold"),
        ({"solver": "early_stopping"}, "early_stopping"),
    ],
)
def test_wrong_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        ConditionalRankerCV(**params).fit(X, labels("ordinary"))


@pytest.mark.parametrize(("params", "setting"), [({}, 2), ({"pairwise_kernel": "cartesian"}, 1)])
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_an_incomplete_graph_has_folds_by_default(params, setting, rank_by):
    Y = holes(labels("ordinary"))
    found = ConditionalRankerCV([0.1, 1.0, 10.0], rank_by=rank_by, **params).fit(X, Y)
    cv = SettingSplit(setting, 5, rank_by=rank_by, random_state=0)
    expected = ConditionalRankerCV([0.1, 1.0, 10.0], cv, rank_by=rank_by, **params).fit(X, Y)
    assert found.fold_losses_.shape == (5, 3)
    np.testing.assert_array_equal(found.fold_losses_, expected.fold_losses_)


@ones_out
@relations
def test_a_node_may_have_labels_that_are_all_zero(cv, relation):
    Y = 50 * labels(relation, 8)
    Y[4] = 0
    if relation != "ordinary":
        Y[:, 4] = 0
    found = ConditionalRankerCV(ALPHAS, cv, relation=relation).fit(X[:8], Y)
    for alpha, loss in zip(ALPHAS, found.cv_losses_, strict=True):
        scores = left_out_scores(cv, ConditionalRanker(relation, alpha=alpha, tol=1e-12), Y, X[:8])
        assert loss == pytest.approx(pooled(Y, scores), abs=1e-9)


def test_leaving_edges_out_of_an_incomplete_graph_is_refused():
    with pytest.raises(ValueError, match=r"use cv=SettingSplit\(setting=1\)"):
        ConditionalRankerCV(cv="leave-edge-out").fit(X, holes(labels("ordinary")))


def test_a_search_with_nothing_to_rank_is_refused():
    with pytest.raises(ValueError, match="nothing to rank"):
        ConditionalRankerCV().fit(X, np.ones((N, N)))


def test_a_number_of_folds_is_the_same_folds_each_time():
    X = RNG.normal(size=(20, 3))
    Y = RNG.normal(size=(20, 20))
    one, other = (ConditionalRankerCV([0.1, 1.0], 3).fit(X, Y).cv_losses_ for _ in range(2))
    np.testing.assert_array_equal(one, other)
    third = ConditionalRankerCV([0.1, 1.0], 3, random_state=1).fit(X, Y).cv_losses_
    assert not np.array_equal(one, third)


def test_folds_of_sorted_nodes_with_nothing_to_rank_are_warned_of():
    rng = np.random.default_rng(0)
    Y = np.zeros((12, 12))
    Y[:8, :8] = rng.normal(size=(8, 8))
    graph = RelationGraph(rng.normal(size=(12, 2)), Y)
    with pytest.warns(UserWarning, match=r"1 of 3 folds have nothing to rank .*shuffle"):
        ConditionalRankerCV([0.1, 1.0, 10.0], KFold(3)).fit(graph)
    with pytest.raises(ValueError, match=r"nothing to rank in what cv holds out; if nodes are sorted"):
        ConditionalRankerCV([0.1], [(np.arange(8), np.arange(8, 12))]).fit(graph)
