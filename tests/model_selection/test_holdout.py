"""``cv="holdout"``: a search that chooses by itself what to hold out; and searches with less precision than the fit."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.model_selection import SettingShuffleSplit, SettingSplit
from condrank.model_selection.holdout import ALPHAS, NOTHING
from condrank.solvers import SOLVERS

pytestmark = pytest.mark.filterwarnings("ignore:the best λ")  # few λ are tried here

RNG = np.random.default_rng(0)
N = 50
X = RNG.normal(size=(N, 4))
Y = X @ RNG.normal(size=(4, 4)) @ X.T + RNG.normal(size=(N, N))
SIGNS = {"ordinary": 0, "symmetric": 1, "reciprocal": -1}
RBF = {"kernel": "rbf", "gamma": 0.2}


@pytest.fixture(autouse=True)
def settling(monkeypatch):
    """Small graphs are searched as large ones are."""
    monkeypatch.setattr("condrank.model_selection.holdout.SETTLING_LEAST_EDGES", 0)


def graph_of(relation="ordinary", share=0.6, n=N):
    """Every pair is known with probability ``share``, in both directions or in none."""
    known = np.triu(np.random.default_rng(1).random((n, n)) < share)
    labels = Y[:n, :n] + SIGNS[relation] * Y[:n, :n].T
    return RelationGraph(X[:n], np.where(known | known.T, labels, np.nan))


@pytest.mark.parametrize("relation", SIGNS)
def test_a_complete_graph_takes_the_shortcut(relation):
    labels = Y + SIGNS[relation] * Y.T
    found = ConditionalRankerCV(cv="holdout", relation=relation, **RBF).fit(X, labels)
    want = ConditionalRankerCV(relation=relation, **RBF).fit(X, labels)
    np.testing.assert_array_equal(found.cv_losses_, want.cv_losses_)
    assert len(found.alphas_) == 17
    assert found.chosen_by_ == f"leaving out one {'row' if relation == 'ordinary' else 'node'} at a time"
    np.testing.assert_array_equal(found.coef_, want.coef_)


@pytest.mark.parametrize("relation", SIGNS)
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
def test_nodes_of_an_incomplete_graph_are_held_out_roughly_and_the_fit_is_precise(relation, rank_by):
    graph = graph_of(relation)
    params = {"relation": relation, "rank_by": rank_by, **RBF}
    found = ConditionalRankerCV(cv="holdout", random_state=3, **params).fit(graph)
    split = SettingShuffleSplit(4, 5, test_size=0.3, rank_by=rank_by, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough = ConditionalRankerCV(ALPHAS, split, max_iter=100, **params).fit(graph)
    np.testing.assert_array_equal(found.fold_losses_, rough.fold_losses_)
    assert found.alpha_ == rough.alpha_
    assert found.chosen_by_ == "holding out 30% of the nodes, 5 times"
    exact = ConditionalRanker(alpha=found.alpha_, **params).fit(graph)
    np.testing.assert_allclose(found.predict(X[:3]), exact.predict(X[:3]), rtol=1e-6, atol=1e-7)
    assert found.fitted_.settings.tol == 1e-8


def test_edges_are_held_out_where_few_are_among_the_nodes():
    graph = graph_of("symmetric", 0.2)
    found = ConditionalRankerCV([0.1, 1.0, 10.0], "holdout", relation="symmetric", **RBF).fit(graph)
    split = SettingShuffleSplit(1, 5, test_size=0.3, both_directions=True, random_state=0)
    want = ConditionalRankerCV([0.1, 1.0, 10.0], split, relation="symmetric", max_iter=100, **RBF).fit(graph)
    assert found.chosen_by_ == "holding out 30% of the edges, 5 times"
    np.testing.assert_array_equal(found.fold_losses_, want.fold_losses_)


@pytest.mark.parametrize(("n_edges", "words"), [(5_000, ", 5 times"), (5_001, ", 3 times"), (20_001, "")])
def test_many_edges_are_held_out_less_often(n_edges, words):
    n = 200
    rng = np.random.default_rng(0)
    labels = np.full(n * n, np.nan)
    labels[rng.permutation(n * n)[:n_edges]] = rng.normal(size=n_edges)
    graph = RelationGraph(rng.normal(size=(n, 3)), labels.reshape(n, n))
    share = "50%" if n_edges > 20_000 else "30%"
    assert ConditionalRankerCV(cv="holdout").plan(graph).chosen_by == f"holding out {share} of the nodes{words}"


def test_without_anything_to_hold_out_alpha_is_one_with_a_warning():
    labels = np.full((6, 6), np.nan)
    labels[0, 1] = 1.0
    search = ConditionalRankerCV(cv="holdout", loss="regression", gammas=[0.1, 1.0], kernel="rbf")
    with pytest.warns(UserWarning, match=f"λ = 1, with {NOTHING}"):
        search.fit(X[:6], labels)
    assert (search.alpha_, search.gamma_, search.chosen_by_) == (1.0, 0.1, NOTHING)
    assert search.search_losses_.shape == (2, 1, 6)
    assert np.isnan(search.cv_losses_).all()
    assert search.fold_losses_.shape == (0, 6)
    exact = ConditionalRanker(loss="regression", kernel="rbf", gamma=0.1).fit(X[:6], labels)
    np.testing.assert_allclose(search.predict(X[:2]), exact.predict(X[:2]))
    with pytest.warns(UserWarning, match=r"λ = 3"):
        assert ConditionalRankerCV([0.01, 3.0, 90.0], "holdout", loss="regression").fit(X[:6], labels).alpha_ == 3.0


def test_a_search_may_be_less_precise_than_its_fit():
    graph, split = graph_of(), SettingSplit(4, 3, random_state=0)
    params = {"kernel": "rbf", "gamma": 0.2, "solver": "dual"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        found = ConditionalRankerCV([0.01, 1.0], split, search_max_iter=2, **params).fit(graph)
    with pytest.warns(ConvergenceWarning):
        rough = ConditionalRankerCV([0.01, 1.0], split, max_iter=2, **params).fit(graph)
    precise = ConditionalRankerCV([0.01, 1.0], split, **params).fit(graph)
    np.testing.assert_array_equal(found.cv_losses_, rough.cv_losses_)
    assert not np.array_equal(found.cv_losses_, precise.cv_losses_)
    exact = ConditionalRanker(alpha=found.alpha_, **params).fit(graph)
    np.testing.assert_allclose(found.predict(X[:3]), exact.predict(X[:3]), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"search_tol": -1.0}, "search_tol must be"),
        ({"search_max_iter": 0}, "search_max_iter must be"),
        ({"cv": "hold out"}, "cv must be one of .*'holdout'"),
    ],
)
def test_wrong_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        ConditionalRankerCV(**params).fit(graph_of())


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        ("leave-edge-out", "leaving out one edge at a time"),
        (3, "3 folds of setting 4"),
        (SettingSplit(2, 4, random_state=0), "4 folds of setting 2"),
        ([(np.arange(20), np.arange(20, N))], "1 fold"),
        (iter([(np.arange(20), np.arange(20, N))]), "the given folds"),
    ],
)
def test_a_search_says_what_it_held_out(cv, words):
    assert ConditionalRankerCV([0.1, 1.0], cv).fit(X, Y).chosen_by_ == words


def test_the_plan_of_a_search_has_the_plan_of_its_last_fit():
    for graph, n_alphas in ((RelationGraph(X, Y), 17), (graph_of(), 6)):
        search = ConditionalRankerCV(cv="holdout", **RBF)
        plan, own = search.plan(graph), ConditionalRanker(**RBF).plan(graph)
        assert (plan.solver, plan.memory, plan.alternatives) == (own.solver, own.memory, own.alternatives)
        assert plan.n_alphas == n_alphas
        fitted = search.fit(graph)
        assert (plan.solver, plan.chosen_by, n_alphas) == (fitted.solver_, fitted.chosen_by_, len(fitted.alphas_))
        how = f", {plan.searched_by}" if plan.searched_by else ""
        assert bool(how) == (n_alphas == 6)
        assert str(plan).endswith(f"{n_alphas} values of λ are tried{how}, {plan.chosen_by}")
        assert fitted.plan_ == own


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_memory_is_refused_before_anything_is_tried(share, monkeypatch):
    for solver in {type(one) for one in SOLVERS.values()}:
        monkeypatch.setattr(solver, "build", lambda *_: pytest.fail("tried before checking"))
    monkeypatch.setattr("condrank.base.memory.available_memory", lambda: 10)
    with pytest.raises(ValueError, match=r"this fit needs about .* 10 B are available"):
        ConditionalRankerCV(cv="holdout").fit(graph_of(share=share))


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_the_whole_graph_is_built_once_and_planned_again_for_the_chosen_alpha(share, monkeypatch):
    planned, built = [], []
    graph = graph_of(share=share)
    for module in ("condrank.model_selection.search", "condrank.model_selection.held_out"):
        make_plan = __import__(module, fromlist=["make_plan"]).make_plan
        monkeypatch.setattr(f"{module}.make_plan", lambda *given, do=make_plan: planned.append(given[0]) or do(*given))
    for solver in {type(one) for one in SOLVERS.values()}:
        build = solver.build
        monkeypatch.setattr(
            solver, "build", lambda self, problem, *more, do=build: built.append(problem) or do(self, problem, *more)
        )
    ConditionalRankerCV(cv="holdout", **RBF).fit(graph)
    assert [one.graph for one in planned].count(graph) == (1 if share == 1.0 else 2)
    assert [one.graph for one in built].count(graph) == 1
    assert (len(planned), len(built)) == ((1, 1) if share == 1.0 else (7, 6))
