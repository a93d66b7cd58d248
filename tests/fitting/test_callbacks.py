"""scikit-learn's callbacks: every iteration is seen, can be predicted from, and can end the fit."""

import io
import warnings

import numpy as np
import pytest
from rich.console import Console
from sklearn.callback import FitCallback, ProgressBar
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from condrank import ConditionalRanker, RelationGraph

RNG = np.random.default_rng(0)
N = 40
X = RNG.normal(size=(N, 3))
Y = X @ RNG.normal(size=(3, 3)) @ X.T + RNG.normal(size=(N, N))
GRAPH = RelationGraph(X, np.where(RNG.random((N, N)) < 0.5, Y, np.nan))
GAMES = RelationGraph(X, np.where(RNG.random((N, N)) < 0.5, np.sign(Y - Y.T), np.nan), probabilities=False)
NEW = RNG.normal(size=(4, 3))

PARAMS = {"kernel": "rbf", "gamma": 0.3, "alpha": 0.05}
RANKERS = {
    "primal": (ConditionalRanker(solver="primal", **PARAMS), GRAPH),
    "early stopping": (
        ConditionalRanker(solver="early_stopping", validation_fraction=0.3, random_state=0, **PARAMS),
        GRAPH,
    ),
    "bicgstab": (
        ConditionalRanker(
            solver="early_stopping", method="bicgstab", validation_fraction=0.3, random_state=0, **PARAMS
        ),
        GRAPH,
    ),
    "newton": (ConditionalRanker("reciprocal", "logistic", **PARAMS), GAMES),
}
rankers = pytest.mark.parametrize("name", RANKERS)


class Recorder:
    """Notes what it is told; stops, or raises, at the end of an iteration."""

    def __init__(self, stop_at=None, raise_at=None, error=KeyboardInterrupt):
        self.stop_at, self.raise_at, self.error = stop_at, raise_at, error
        self.hooks, self.tasks, self.rankers, self.begun = [], [], [], []

    def setup(self, estimator, context):
        self.hooks.append("setup")

    def teardown(self, estimator, context):
        self.hooks.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.hooks.append(("begin", context.task_name, context.task_id))
        self.begun.append(X)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.hooks.append(("end", context.task_name, context.task_id))
        if context.task_name == "iteration":
            self.tasks.append(context.task_id)
            self.rankers.append(fitted_estimator)
            if len(self.tasks) == self.raise_at:
                raise self.error
            return len(self.tasks) == self.stop_at
        return False


def make(name, callback=None, **params):
    original, graph = RANKERS[name]
    one = ConditionalRanker(**{**original.get_params(), **params})
    return (one if callback is None else one.set_callbacks(callback)), graph


def quiet(one, graph):
    """Fit without the warning of too few iterations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return one.fit(graph)


def test_a_callback_is_what_scikit_learn_calls_one():
    assert isinstance(Recorder(), FitCallback)


@rankers
def test_every_iteration_is_seen(name):
    recorder = Recorder()
    one, graph = make(name, recorder)
    one.fit(graph)
    plain, _ = make(name)
    plain.fit(graph)
    n_iter = len(plain.history_) if hasattr(plain, "history_") else plain.n_iter_
    assert recorder.tasks == list(range(n_iter))
    assert n_iter > 3
    iterations = [(hook, "iteration", k) for k in range(n_iter) for hook in ("begin", "end")]
    assert recorder.hooks == ["setup", ("begin", "fit", 0), *iterations, ("end", "fit", 0), "teardown"]
    assert isinstance(recorder.begun[0], RelationGraph)
    np.testing.assert_array_equal(one.coef_, plain.coef_)  # being watched changes nothing


@rankers
def test_the_fitted_estimator_of_an_iteration_can_predict(name):
    recorder = Recorder()
    one, graph = make(name, recorder)
    one.fit(graph)
    for number, seen in enumerate(recorder.rankers, start=1):
        assert type(seen) is ConditionalRanker
        assert seen is not one
        assert seen.n_iter_ == number
        assert seen.predict(NEW).shape == (4, len(one.dual_coef_))
    last = recorder.rankers[one.n_iter_ - 1]
    np.testing.assert_array_equal(last.predict(NEW), one.predict(NEW))
    assert last.score(graph) == one.score(graph)
    assert np.abs(recorder.rankers[0].predict(NEW) - one.predict(NEW)).max() > 1e-6 or one.n_iter_ == 1


@rankers
def test_fitted_estimators_keep_their_iterates(name):
    """The solver overwrites its iterate: each one is the outcome of a fit that ended there."""
    recorder = Recorder()
    one, graph = make(name, recorder)
    one.fit(graph)
    for number in (1, 3):
        seen = recorder.rankers[number - 1]
        stopped, _ = make(name, Recorder(stop_at=number))
        stopped.fit(graph)
        if stopped.n_iter_ == number:  # early stopping goes back to the best one
            np.testing.assert_array_equal(seen.coef_, stopped.coef_)
        else:
            assert name in ("early stopping", "bicgstab")
    gaps = [np.abs(a.coef_ - b.coef_).max() for a, b in zip(recorder.rankers, recorder.rankers[1:], strict=False)]
    assert min(gaps) > 0


@rankers
def test_a_callback_that_returns_true_stops_the_fit(name):
    recorder = Recorder(stop_at=2)
    one, graph = make(name, recorder)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # who stops a fit need not be told
        one.fit(graph)
    assert recorder.tasks == [0, 1]
    assert recorder.hooks[-2:] == [("end", "fit", 0), "teardown"]
    assert one.n_iter_ in (1, 2) if one.solver_ == "early_stopping" else one.n_iter_ == 2
    np.testing.assert_array_equal(one.coef_, recorder.rankers[one.n_iter_ - 1].coef_)
    assert one.predict(NEW).shape == (4, len(one.dual_coef_))


def test_a_closed_form_has_no_iterations():
    recorder = Recorder()
    ConditionalRanker().set_callbacks(recorder).fit(X, Y)
    assert recorder.hooks == ["setup", ("begin", "fit", 0), ("end", "fit", 0), "teardown"]


def test_several_callbacks_are_called_and_a_second_fit_has_its_own():
    first, second = Recorder(), Recorder(stop_at=3)
    one, graph = make("primal")
    one.set_callbacks(first, second).fit(graph)
    assert first.tasks == second.tasks == [0, 1, 2]
    one.set_callbacks(first).fit(graph)
    assert len(first.tasks) > 3 + one.n_iter_ - 1
    assert len(second.tasks) == 3


@rankers
def test_a_progress_bar_changes_no_result(name, monkeypatch):
    buffer = io.StringIO()
    monkeypatch.setattr("rich._console", Console(file=buffer, width=100))
    one, graph = make(name, ProgressBar())
    plain, _ = make(name)
    np.testing.assert_array_equal(one.fit(graph).coef_, plain.fit(graph).coef_)
    assert "ConditionalRanker - fit" in buffer.getvalue()
    assert "100%" in buffer.getvalue()


def test_callbacks_change_no_result_of_a_grid_search(monkeypatch):
    grid = {"alpha": [0.05, 50.0]}
    expected = GridSearchCV(make("primal")[0], grid, cv=3, error_score="raise").fit(GRAPH)
    buffer = io.StringIO()
    monkeypatch.setattr("rich._console", Console(file=buffer, width=100))
    watched = GridSearchCV(make("primal")[0], grid, cv=3, error_score="raise").set_callbacks(ProgressBar()).fit(GRAPH)
    assert "GridSearchCV" in buffer.getvalue()
    recorder = Recorder()
    inside = GridSearchCV(make("primal", recorder)[0], grid, cv=3, error_score="raise").fit(GRAPH)
    assert recorder.hooks.count("setup") == recorder.hooks.count("teardown") == 2 * 3 + 1  # folds, and the refit
    for search in (watched, inside):
        np.testing.assert_array_equal(search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
        assert search.best_params_ == expected.best_params_
        np.testing.assert_array_equal(search.predict(NEW), expected.predict(NEW))


# Interruption


@pytest.mark.parametrize("name", ["primal", "newton"])
def test_an_interrupted_fit_holds_the_last_iterate(name):
    recorder = Recorder(raise_at=3)
    one, graph = make(name, recorder)
    with (
        pytest.warns(
            ConvergenceWarning, match=r"fit interrupted after 3 iterations: the ranker holds the last"
        ) as seen,
        pytest.raises(KeyboardInterrupt),
    ):
        one.fit(graph)
    assert [w.filename for w in seen if w.category is ConvergenceWarning] == [__file__]
    assert recorder.hooks[-1] == "teardown"
    assert one.n_iter_ == 3
    assert one.alpha_ == 0.05
    stopped, _ = make(name, Recorder(stop_at=3))
    np.testing.assert_array_equal(one.predict(NEW), stopped.fit(graph).predict(NEW))
    np.testing.assert_array_equal(one.predict(NEW), recorder.rankers[2].predict(NEW))
    full, _ = make(name)
    assert np.abs(one.predict(NEW) - full.fit(graph).predict(NEW)).max() > 0
    # Once more, undisturbed, from scratch.
    np.testing.assert_array_equal(one.set_callbacks().fit(graph).coef_, full.coef_)


@pytest.mark.parametrize("name", ["early stopping", "bicgstab"])
@pytest.mark.parametrize("at", [3, 7])
def test_an_interrupted_early_stopping_holds_the_best_iterate(name, at):
    recorder = Recorder(raise_at=at)
    one, graph = make(name, recorder)
    message = rf"fit interrupted after {at} iterations: the ranker holds the best iterate so far"
    with pytest.warns(ConvergenceWarning, match=message), pytest.raises(KeyboardInterrupt):
        one.fit(graph)
    full, _ = make(name)
    assert one.history_ == full.fit(graph).history_[:at]
    assert one.n_iter_ == np.argmin(one.history_) + 1
    np.testing.assert_array_equal(one.predict(NEW), recorder.rankers[one.n_iter_ - 1].predict(NEW))


def test_a_fit_interrupted_within_an_iteration_holds_the_one_before(monkeypatch):
    """As Ctrl-C does: within a product, not in a callback."""
    from condrank.solvers.primal import PrimalSystem

    product, count = PrimalSystem.apply, []

    def interrupted(self, W, alpha):
        count.append(1)
        if len(count) == 5:
            raise KeyboardInterrupt
        return product(self, W, alpha)

    one, graph = make("primal")
    expected = quiet(make("primal", max_iter=4)[0], graph)
    monkeypatch.setattr(PrimalSystem, "apply", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted after 4 iterations"), pytest.raises(KeyboardInterrupt):
        one.fit(graph)
    np.testing.assert_array_equal(one.predict(NEW), expected.predict(NEW))


def test_a_fit_interrupted_before_the_first_iteration_is_not_fitted(monkeypatch):
    from sklearn.exceptions import NotFittedError

    def interrupted(self, W, alpha):
        raise KeyboardInterrupt

    one, graph = make("primal")
    monkeypatch.setattr("condrank.solvers.primal.PrimalSystem.apply", interrupted)
    with pytest.raises(KeyboardInterrupt):
        one.fit(graph)
    with pytest.raises(NotFittedError):
        one.predict(NEW)


def test_other_errors_of_a_callback_come_through():
    recorder = Recorder(raise_at=2, error=RuntimeError("mine"))
    one, graph = make("primal", recorder)
    with pytest.raises(RuntimeError, match="mine"):
        one.fit(graph)
    assert recorder.hooks[-1] == "teardown"
