"""Early stopping: the held-out loss, and which iterate is kept."""

import numpy as np
import pytest

from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import ConditionalRanker, RelationGraph
from condrank.fitting.held_out import HeldOut, hold_out
from condrank.objective.relations import RELATIONS

LOSSES = ("regression", "ranking")
METHODS = ("cg", "bicgstab")

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
models = pytest.mark.parametrize(("relation", "loss"), [(r, loss) for r in RELATIONS for loss in LOSSES])
methods = pytest.mark.parametrize("method", METHODS)
forms = pytest.mark.parametrize("observed", [1.0, 0.6], ids=["complete", "incomplete"])

# 60 nodes, of which the last 15 are for validation.
# Features of different scales: the relation follows all of them, and plain iterations fit the large ones first.
RNG = np.random.default_rng(5)
U, A = RNG.normal(size=(60, 4)), RNG.normal(size=(4, 4))
X = U * [3.0, 1.5, 0.7, 0.4]
Y = 2 * np.tanh(U @ (A - 0.6 * A.T) @ U.T / 2) + 0.3 * RNG.normal(size=(60, 60))
HIDDEN = np.where(RNG.random((60, 60)) < 0.5, Y, np.nan)
TRAIN, TEST = slice(0, 45), slice(45, 60)


def graph_of(observed):
    return RelationGraph(X, Y if observed == 1 else HIDDEN)


def ranker(relation="ordinary", loss="ranking", alpha=0.0, **params):
    params = {"kernel": "rbf", "gamma": 0.05, "solver": "early_stopping", "max_iter": 40, **params}
    return ConditionalRanker(relation, loss, alpha, **params)


@forms
@methods
@models
def test_the_best_iterate_is_kept(relation, loss, method, observed):
    graph = graph_of(observed)
    fitted = ranker(relation, loss, method=method).fit(graph[TRAIN], validation=graph[TEST])
    assert fitted.solver_ == "early_stopping"
    history = fitted.history_
    assert 0 < min(history) < history[0] - 0.02
    assert 1 < fitted.n_iter_ < len(history)
    assert fitted.n_iter_ == np.argmin(history) + 1
    assert fitted.score(graph[TEST]) == pytest.approx(1 - min(history), abs=1e-12)
    # The kept iterate is that of a fit which may take no more iterations, and so is every loss before it.
    again = ranker(relation, loss, method=method, max_iter=fitted.n_iter_).fit(graph[TRAIN], validation=graph[TEST])
    np.testing.assert_array_equal(again.coef_, fitted.coef_)
    assert again.history_ == history[: fitted.n_iter_]


@forms
def test_a_fit_stops_after_its_patience(observed):
    graph = graph_of(observed)
    patient = ranker(n_iter_no_change=40).fit(graph[TRAIN], validation=graph[TEST])
    assert len(patient.history_) == 40
    for patience in (1, 2, 5):
        fitted = ranker(n_iter_no_change=patience).fit(graph[TRAIN], validation=graph[TEST])
        expected = first_stop(patient.history_, patience)
        assert fitted.history_ == patient.history_[:expected]
        assert len(fitted.history_) - fitted.n_iter_ == patience
        assert len(fitted.history_) < 40
        assert fitted.score(graph[TEST]) == pytest.approx(1 - min(fitted.history_), abs=1e-12)


def first_stop(history, patience):
    """Number of iterations after which the lowest loss lies `patience` iterations back."""
    return next(k for k in range(1, len(history) + 1) if k - (int(np.argmin(history[:k])) + 1) >= patience)


def test_the_first_of_equal_losses_is_the_best(monkeypatch):
    losses = iter([0.5, 0.3, 0.4, 0.3, 0.3, 0.2, 0.1])
    monkeypatch.setattr("condrank.fitting.held_out.pooled_rank_loss", lambda *_: next(losses))
    graph = graph_of(1)
    held_out = HeldOut(graph.conditioned(), patience=3)
    stops = []
    for number in range(1, 6):
        stops.append(held_out.stop_after(None, W := np.full((1, 1), number)))
        W[:] = -1  # the solver overwrites its iterate
    assert stops == [False, False, False, False, True]
    assert held_out.best_iteration == 2
    assert held_out.best.item() == 2
    assert held_out.history == [0.5, 0.3, 0.4, 0.3, 0.3]


def test_history_has_an_entry_for_each_iteration():
    fitted = ranker(max_iter=7, n_iter_no_change=20).fit(graph_of(1)[TRAIN], validation=graph_of(1)[TEST])
    assert len(fitted.history_) == 7
    assert not hasattr(ranker(solver="auto", alpha=1.0).fit(graph_of(1)), "history_")


def test_a_share_of_the_nodes_is_held_out():
    graph = graph_of(0.5)
    fitted = ranker(validation_fraction=0.3, random_state=3).fit(graph)
    train, test = hold_out(graph, 0.3, 3)
    assert (len(train), len(test)) == (42, 18)
    assert fitted.dual_coef_.shape == (42, 42)
    by_hand = ranker().fit(train, validation=test)
    assert fitted.history_ == by_hand.history_
    np.testing.assert_array_equal(fitted.predict(X), by_hand.predict(X))
    assert fitted.score(test) == pytest.approx(1 - min(fitted.history_), abs=1e-12)


def test_hold_out_splits_the_nodes():
    graph = RelationGraph(X, HIDDEN, ids=np.arange(60))
    train, test = hold_out(graph, 0.25, np.random.RandomState(0))
    assert (len(train), len(test)) == (45, 15)
    assert sorted([*train.nodes.ids, *test.nodes.ids]) == list(range(60))
    chosen = test.nodes.ids
    np.testing.assert_array_equal(test.to_dense(), HIDDEN[np.ix_(chosen, chosen)])
    assert len(hold_out(graph, 0.001, 0)[1]) == 2  # fewer have nothing to rank


def test_the_random_state_decides_what_is_held_out():
    graph = graph_of(0.5)
    first, again, other = (ranker(validation_fraction=0.3, random_state=s).fit(graph) for s in (1, 1, 2))
    assert first.history_ == again.history_
    np.testing.assert_array_equal(first.predict(X), again.predict(X))
    assert first.history_ != other.history_


@methods
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@forms
def test_two_domains_hold_out_conditioning_nodes(observed, rank_by, method):
    rng = np.random.default_rng(6)
    objects = rng.normal(size=(30, 3))
    labels = X @ rng.normal(size=(4, 3)) @ objects.T + rng.normal(size=(60, 30))
    labels = np.where(rng.random(labels.shape) < observed, labels, np.nan)
    graph = RelationGraph(X, labels, objects=objects)
    params = {"kernel": "linear", "method": method, "rank_by": rank_by, "random_state": 0, "validation_fraction": 0.2}
    fitted = ranker(**params).fit(graph)
    train, test = hold_out(graph, 0.2, 0, rank_by)
    assert (train.shape, test.shape) == (((48, 30), (12, 30)) if rank_by == "outgoing" else ((60, 24), (60, 6)))
    assert min(fitted.history_) < 0.35
    assert fitted.score(test) == pytest.approx(1 - min(fitted.history_), abs=1e-12)
    assert fitted.predict(graph).shape == ((60, 30) if rank_by == "outgoing" else (30, 60))


def test_incoming_edges_priors_and_constants_are_stopped_too():
    graph = graph_of(0.5)
    for params in ({"rank_by": "incoming"}, {"prior": "similarity", "prior_weight": 0.3}, {"constant": True}):
        fitted = ranker(**params).fit(graph[TRAIN], validation=graph[TEST])
        assert fitted.score(graph[TEST]) == pytest.approx(1 - min(fitted.history_), abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_many_iterations_with_a_penalty_reach_the_closed_form(loss):
    graph = graph_of(1)
    fitted = ranker(loss=loss, alpha=5.0, max_iter=500, n_iter_no_change=500, tol=1e-12)
    fitted.fit(graph[TRAIN], validation=graph[TEST])
    assert len(fitted.history_) < 500  # converged
    closed = ranker(loss=loss, alpha=5.0, solver="closed_form").fit(graph[TRAIN])
    assert fitted.history_[-1] == pytest.approx(1 - closed.score(graph[TEST]), abs=1e-3)


def test_early_stopping_regularises():
    """On noisy labels without a penalty the loss falls, and rises again."""
    graph = graph_of(0.5)
    history = ranker(max_iter=150, n_iter_no_change=150).fit(graph[TRAIN], validation=graph[TEST]).history_
    assert min(history) < min(history[0], history[-1]) - 0.05


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"validation_fraction": 0}, r"validation_fraction must leave nodes on both sides, got 0\.0 of 60 nodes"),
        ({"validation_fraction": 0.99}, r"validation_fraction must leave nodes on both sides, got 0\.99 of 60 nodes"),
        ({"validation_fraction": "half"}, r"validation_fraction must be a finite number, got 'half'"),
        ({"n_iter_no_change": 0}, r"n_iter_no_change must be a whole number of at least 1, got 0"),
        ({"method": "gmres"}, r"method must be one of \['cg', 'bicgstab'\], got 'gmres'"),
        ({"alpha": -1.0}, r"alpha must be a finite number of at least 0, got -1\.0"),
    ],
)
def test_wrong_options_of_early_stopping_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        ranker(**params).fit(graph_of(0.5))


def test_validation_is_for_early_stopping():
    with pytest.raises(ValueError, match=r"validation is for solver='early_stopping', got solver='primal'"):
        ranker(solver="primal", alpha=1.0).fit(graph_of(0.5)[TRAIN], validation=graph_of(0.5)[TEST])


def test_validation_without_a_comparable_pair_leaves_the_ranker_unfitted():
    one = ranker()
    with pytest.raises(ValueError, match="nothing to rank"):
        one.fit(graph_of(1)[TRAIN], validation=RelationGraph(X[TEST], np.ones((15, 15))))
    assert not hasattr(one, "n_features_in_")


def test_history_goes_with_the_next_fit():
    one = ranker().fit(graph_of(1)[TRAIN], validation=graph_of(1)[TEST])
    one.set_params(solver="closed_form", alpha=1.0).fit(graph_of(1))
    assert not hasattr(one, "history_")


def test_early_stopping_incoming_holds_out_columns():
    graph = RelationGraph(TWELVE_NODES, TWELVE_LABELS[:, :9], objects=RNG.normal(size=(9, 2)))
    ranker = ConditionalRanker(
        solver="early_stopping", rank_by="incoming", validation_fraction=0.3, max_iter=5, random_state=0
    ).fit(graph)
    assert ranker.predict(graph).shape == (9, 12)
    assert len(ranker.fitted_.trained_on[0]) == 12
    assert len(ranker.fitted_.trained_on[1]) == 6
