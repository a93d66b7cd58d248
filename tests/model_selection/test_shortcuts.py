"""Every shortcut against its twin, which takes the rows, nodes or edges out and solves the whole edge kernel anew."""

import numpy as np
import pytest
from sklearn.base import clone

import reference_shortcuts as twins
from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import TwoStepRidge
from condrank.kernels import read_kernel
from condrank.model_selection import left_out_scores
from condrank.model_selection.shortcuts import LeaveEdgeOut, LeaveNodeOut, LeaveQueryOut, TwoStepShortcuts
from condrank.objective.losses import get_loss
from condrank.objective.relations import ORDINARY, get_relation
from condrank.observations import Complete
from condrank.problem.coordinates import fit_coordinates
from condrank.solvers.closed_form import ClosedForm
from reference import loss_named, loss_options

# Labels of no particular form: only their symmetric or skew part can be learned, and a ranker warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")

SHORTCUTS = {
    "query": (LeaveQueryOut, twins.leave_query_out),
    "node": (LeaveNodeOut, twins.leave_node_out),
    "edge": (LeaveEdgeOut, twins.leave_edge_out),
}
RELATIONS = ("ordinary", "symmetric", "reciprocal")
LOSSES = ("regression", "ranking", "intercept")
SHARES = (1e-6, 1e-3, 1.0, 1e3)  # λ as a share of the largest eigenvalue of the edge kernel

models = pytest.mark.parametrize(
    ("relation", "loss"),
    [(r, loss) for r in RELATIONS for loss in LOSSES if (r, loss) != ("reciprocal", "intercept")],
)
everything = pytest.mark.parametrize("what", SHORTCUTS)


def features(name, n=6):
    rng = np.random.default_rng(len(name))
    X = rng.normal(size=(n, 3))
    if name == "twins":
        X[4] = X[1]
    return X


KERNELS = {
    "rbf": read_kernel("rbf", gamma=0.3),
    "linear": read_kernel("linear"),
    "linear with constant": read_kernel("linear", constant=True),
    "twins": read_kernel("rbf", gamma=0.3),
}


def fitted(kernel, X, dtype=np.float64):
    return fit_coordinates(kernel, RelationGraph(X.astype(dtype), np.zeros((len(X), len(X)))).nodes)


def shortcut(what, relation, loss, rows, cols, Y, prior_weight=0.0):
    observed = Complete(Y)
    system = ClosedForm(get_relation(relation), loss_named(loss), rows, cols, observed, prior_weight)
    return SHORTCUTS[what][0](system, observed, prior_weight)


def scores(what, relation, loss, rows, cols, Y, alpha, prior_weight=0.0):
    return shortcut(what, relation, loss, rows, cols, Y, prior_weight).scores(alpha)


def assert_close(found, expected, tolerance=1e-8):
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


@everything
@models
@pytest.mark.parametrize("name", KERNELS)
def test_every_shortcut_equals_retraining(what, relation, loss, name):
    X = features(name)
    rows = fitted(KERNELS[name], X)
    K = rows.similarity(None, None)
    Y = np.random.default_rng(5).normal(size=K.shape) + 1
    prior = 0.5 if relation != "reciprocal" and name in ("rbf", "linear") else 0.0
    for share in SHARES:
        alpha = share * np.linalg.eigvalsh(K)[-1] ** 2
        found = scores(what, relation, loss, rows, rows, Y, alpha, prior)
        expected = SHORTCUTS[what][1](K, Y, alpha, relation=relation, **loss_options(loss), prior_weight=prior)
        assert_close(found, expected)


@pytest.mark.parametrize("what", ["query", "edge"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("names", [("rbf", "rbf"), ("linear", "twins"), ("twins", "linear with constant")])
@pytest.mark.parametrize("sizes", [(5, 7), (7, 5)])
def test_shortcuts_of_two_domains_equal_retraining(what, loss, names, sizes):
    sides = [fitted(KERNELS[name], features(name, n)) for name, n in zip(names, sizes, strict=True)]
    K, G = (side.similarity(None, None) for side in sides)
    Y = np.random.default_rng(6).normal(size=sizes)
    for share in SHARES:
        alpha = share * np.linalg.eigvalsh(K)[-1] * np.linalg.eigvalsh(G)[-1]
        expected = SHORTCUTS[what][1](K, Y, alpha, **loss_options(loss), K_domain=G)
        assert_close(scores(what, "ordinary", loss, *sides, Y, alpha), expected)


@everything
@models
@pytest.mark.parametrize("singular", [False, True])
def test_thin_products_equal_retraining(what, relation, loss, singular):
    """At this size λ/D is interpolated; some of the held-out rows are fitted anew on incomplete graphs."""
    X = np.random.default_rng(0).normal(size=(150, 60))
    if singular:
        X[5] = X[0]
    rows = fitted(read_kernel("rbf"), X)
    Y = np.random.default_rng(1).normal(size=(150, 150))
    found = scores(what, relation, loss, rows, rows, Y, 2.0)
    for i, j in [(0, 7), (3, 3), (149, 5)]:
        left = Y.copy()
        if what == "edge":
            left[i, j] = np.nan
        else:
            left[i] = np.nan
        if what == "node" or (what == "edge" and relation != "ordinary"):
            left[j if what == "edge" else slice(None), i] = np.nan
        graph = RelationGraph(X, left, probabilities=False)
        ranker = ConditionalRanker(relation, kernel="rbf", alpha=2.0, tol=1e-13, solver="primal", **loss_options(loss))
        expected = ranker.fit(graph).predict(X[i : i + 1], X)[0]
        at = j if what == "edge" else slice(None)
        assert np.abs(found[i, at] - expected[at]).max() <= 1e-8 * np.abs(expected).max()


@everything
@models
def test_single_precision_stays_single_and_near_double(what, relation, loss):
    X = np.random.default_rng(2).normal(size=(20, 3))
    Y = np.random.default_rng(3).normal(size=(20, 20))
    double, single = (fitted(KERNELS["rbf"], X, dtype) for dtype in (np.float64, np.float32))
    found = scores(what, relation, loss, single, single, Y.astype(np.float32), 0.5)
    assert found.dtype == np.float32
    assert_close(found, scores(what, relation, loss, double, double, Y, 0.5), 2e-3)


@everything
@models
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_nodes_equal_retraining(what, relation, loss, n):
    rows = fitted(read_kernel("rbf", gamma=0.3), features("rbf", n))
    K = rows.similarity(None, None)
    Y = np.random.default_rng(5).normal(size=K.shape)
    expected = SHORTCUTS[what][1](K, Y, 0.1, relation=relation, **loss_options(loss))
    assert np.abs(scores(what, relation, loss, rows, rows, Y, 0.1) - expected).max() <= 1e-8


def test_a_tiny_penalty_keeps_its_digits():
    """Ordinary regression: nothing cancels where 1 - h goes to zero."""
    X = features("rbf")
    rows = fitted(KERNELS["rbf"], X)
    K = rows.similarity(None, None)
    Y = np.random.default_rng(5).normal(size=K.shape)
    alpha = 1e-12 * np.linalg.eigvalsh(K)[-1] ** 2
    expected = twins.leave_query_out(K, Y, alpha, loss="regression")
    assert_close(scores("query", "ordinary", "regression", rows, rows, Y, alpha), expected, 1e-6)


# A row left out of a symmetric or reciprocal relation leaves its column in training.
@pytest.mark.parametrize(
    ("what", "relation"), [("query", "ordinary"), *((w, r) for w in ("node", "edge") for r in RELATIONS)]
)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [5, 40])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e4])
def test_what_a_model_knows_nothing_of_is_tied(what, relation, loss, n, alpha):
    if (relation, loss) == ("reciprocal", "intercept"):
        return  # a reciprocal relation has none
    Y = np.random.default_rng(0).normal(size=(n, n)) + 3 * (loss == "intercept")
    rows = fitted(read_kernel("linear"), np.eye(n))
    found = shortcut(what, relation, loss, rows, rows, Y).settled(alpha)
    np.fill_diagonal(found, 0)
    assert not found.any()


@models
def test_twins_are_tied(relation, loss):
    X, Y = np.random.default_rng(0).normal(size=(2, 30, 30))
    X[15:] = X[:15]
    rows = fitted(read_kernel("rbf", gamma=0.02), X)
    found = shortcut("node", relation, loss, rows, rows, Y).settled(1.0)
    others = ~np.eye(15, dtype=bool)
    # Noise that happens to lie around the middle between two steps is left.
    assert np.mean(found[:15, :15][others] == found[:15, 15:][others]) > 0.9


def test_leave_node_out_refuses_two_domains():
    first, second = fitted(KERNELS["rbf"], features("rbf")), fitted(KERNELS["rbf"], features("rbf"))
    observed = Complete(np.ones((6, 6)))
    with pytest.raises(ValueError, match="single domain"):
        LeaveNodeOut(ClosedForm(ORDINARY, get_loss("ranking"), first, second, observed), observed)


@pytest.mark.parametrize("relation", ["symmetric", "reciprocal"])
@pytest.mark.parametrize("shortcut", [LeaveQueryOut, LeaveNodeOut])
def test_the_free_offset_of_a_row_does_not_slow_the_iteration(relation, shortcut):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 20)), rng.normal(size=(300, 300))
    graph = RelationGraph(X, Y + (1 if relation == "symmetric" else -1) * Y.T)
    ranker = ConditionalRanker(relation, "ranking", kernel="rbf").fit(graph)
    held_out = shortcut(ranker.fitted_.system, graph.relation)
    held_out.scores(1e-4)
    assert held_out.n_iter <= 6
    assert held_out.n_direct == 0


@pytest.mark.parametrize("names", [("rbf", None), ("linear", "twins"), ("twins", "rbf")])
@pytest.mark.parametrize("alphas", [(1e-3, 1e-2), (1.0, 10.0)])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_shortcuts_of_two_step_ridge_equal_retraining(names, alphas, fit_intercept):
    rows = fitted(KERNELS[names[0]], features(names[0], 5))
    cols = rows if names[1] is None else fitted(KERNELS[names[1]], features(names[1], 7))
    K, G = rows.similarity(None, None), cols.similarity(None, None)
    Y = np.random.default_rng(4).normal(size=(len(K), len(G))) + 2 * fit_intercept
    shortcuts, options = TwoStepShortcuts(rows, cols, Complete(Y), fit_intercept), {"fit_intercept": fit_intercept}
    query, object_, both, edge = (np.empty_like(Y) for _ in range(4))
    for i, j in np.ndindex(*Y.shape):
        query[i, j] = twins.two_step_without(K, G, Y, *alphas, rows=[i], **options)[i, j]
        object_[i, j] = twins.two_step_without(K, G, Y, *alphas, cols=[j], **options)[i, j]
        both[i, j] = twins.two_step_without(K, G, Y, *alphas, [i], [j], **options)[i, j]
    assert_close(shortcuts.leave_query_out(*alphas), query)
    assert_close(shortcuts.leave_object_out(*alphas), object_)
    assert_close(shortcuts.leave_both_out(*alphas), both)
    edge = shortcuts.leave_edge_out(*alphas)
    for i, j in np.ndindex(*Y.shape):
        imputed = Y.copy()
        imputed[i, j] = edge[i, j]
        assert abs(twins.two_step(K, G, imputed, *alphas, **options)[i, j] - edge[i, j]) <= 1e-8 * np.abs(edge).max()


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_shortcuts_of_a_fitted_two_step_ridge_equal_refitting(fit_intercept):
    X, Y = features("rbf"), np.random.default_rng(4).normal(size=(6, 6)) + 1
    ridge = TwoStepRidge(0.5, 2.0, kernel="rbf", gamma=0.3, fit_intercept=fit_intercept)
    without = clone(ridge).fit(RelationGraph(X[1:], Y[1:], objects=X))
    found = left_out_scores(ridge, RelationGraph(X, Y), "leave-query-out")
    assert_close(found[:1], without.predict(X[:1], X))
    model = ridge.fit(X, Y).fitted_.model
    assert_close(TwoStepShortcuts(model.rows, model.cols, Complete(Y), fit_intercept).leave_query_out(0.5, 2.0), found)
    assert ridge.intercept_ == pytest.approx(Y.mean() if fit_intercept else 0.0)
