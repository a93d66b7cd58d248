"""Logistic loss: against a dense minimiser of the same objective, and what its probabilities promise."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

import reference
from condrank import ConditionalRanker, RelationGraph
from condrank.solvers.solution import Iteration

N = 12
GAMMA = 0.3
RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(N, 4)), RNG.normal(size=(3, 4))
EVERYONE = np.vstack([X, NEW])
# A game for some pairs, some of them more than once: who played whom, and -1, 0 or 1 for the first.
SOURCES = RNG.integers(0, N, 120)
TARGETS = (SOURCES + RNG.integers(1, N, 120)) % N
TRUE = X[:, 0] + 0.5 * X[:, 1] ** 2
OUTCOMES = np.sign(np.round(TRUE[SOURCES] - TRUE[TARGETS] + RNG.normal(size=120)))

# Repeated games between two nodes need not end alike, of which a ranker warns.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
kernels = pytest.mark.parametrize("kernel", ["linear", "rbf"])
constants = pytest.mark.parametrize("constant", [False, True])
# Newton's steps in W, and over the edges.
NEWTONS = {"primal": "newton", "dual": "dual_newton"}
solvers = pytest.mark.parametrize("solver", NEWTONS)


def values(kernel, first, second, constant):
    return reference.kernel_values(kernel, first, second, gamma=GAMMA) + constant


def naive_logistic(edges, shares, weights, alpha, kernel, constant=False):
    """Scores between all nodes of the minimiser of Σ m (log(1 + e^f) - t f) + ½ λ‖W‖² over skew W."""
    sources, targets = edges
    K, K_all = values(kernel, X, X, constant), values(kernel, EVERYONE, X, constant)
    s, Q = np.linalg.eigh(K)
    Q, s = Q[:, s > 1e-12 * s[-1]], s[s > 1e-12 * s[-1]]
    Z, Z_all = Q * np.sqrt(s), K_all @ (Q / np.sqrt(s))
    k, l = np.triu_indices(len(s), 1)  # noqa: E741
    # W = Σ θ (e_k e_lᵀ - e_l e_kᵀ)/√2, so that ‖W‖ = ‖θ‖.
    Phi = (Z[sources][:, k] * Z[targets][:, l] - Z[sources][:, l] * Z[targets][:, k]) / np.sqrt(2)

    def objective(theta):
        f = Phi @ theta
        return weights @ (np.logaddexp(0, f) - shares * f) + 0.5 * alpha * theta @ theta

    def gradient(theta):
        return Phi.T @ (weights * (expit(Phi @ theta) - shares)) + alpha * theta

    def hessian(theta):
        p = expit(Phi @ theta)
        return (Phi.T * (weights * p * (1 - p))) @ Phi + alpha * np.eye(len(theta))

    found = minimize(objective, np.zeros(len(k)), jac=gradient, hess=hessian, method="trust-exact", tol=1e-9)
    theta = found.x
    for _ in range(3):  # Newton's last steps, to full precision
        theta = theta - np.linalg.solve(hessian(theta), gradient(theta))
    assert np.abs(gradient(theta)).max() < 1e-9
    W = np.zeros((len(s), len(s)))
    W[k, l] = theta / np.sqrt(2)
    return Z_all @ (W - W.T) @ Z_all.T


def error(found, expected):
    assert found.shape == expected.shape
    return np.abs(found - expected).max() / np.abs(expected).max()


def ranker(alpha=0.3, kernel="rbf", **params):
    params = {"gamma": GAMMA, "tol": 1e-10, **params}
    return ConditionalRanker("reciprocal", "logistic", alpha, kernel, **params)


def games(values=OUTCOMES, weights=None, **params):
    return RelationGraph.from_edges(X, SOURCES, TARGETS, values, weights, **params)


# Against the dense minimiser


@solvers
@constants
@kernels
def test_wins_losses_ties_and_repeated_games(kernel, constant, solver):
    assert set(OUTCOMES) == {-1, 0, 1}
    for alpha in (1e-2, 1.0):
        expected = naive_logistic((SOURCES, TARGETS), (1 + OUTCOMES) / 2, np.ones(120), alpha, kernel, constant)
        fitted = ranker(alpha, kernel, constant=constant, solver=solver).fit(games())
        assert fitted.solver_ == NEWTONS[solver]
        assert 1 <= fitted.n_iter_ <= 20
        assert error(fitted.predict(EVERYONE, EVERYONE), expected) < 1e-6
        assert error(fitted.predict(X), expected[:N, :N]) < 1e-6
        assert error(fitted.predict_proba(EVERYONE, EVERYONE), expit(expected)) < 1e-6


@solvers
@kernels
def test_weights(kernel, solver):
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 4.0], size=120)
    expected = naive_logistic((SOURCES, TARGETS), (1 + OUTCOMES) / 2, weights, 0.3, kernel)
    fitted = ranker(0.3, kernel, solver=solver).fit(games(weights=weights))
    assert error(fitted.predict(EVERYONE, EVERYONE), expected) < 1e-6


def test_counts_are_repeated_games():
    counts = np.random.default_rng(2).integers(1, 5, size=120)
    sources, targets, outcomes = (np.repeat(column, counts) for column in (SOURCES, TARGETS, OUTCOMES))
    repeated = ranker().fit(RelationGraph.from_edges(X, sources, targets, outcomes))
    counted = ranker().fit(games(weights=counts.astype(float)))
    expected = naive_logistic((sources, targets), (1 + outcomes) / 2, np.ones(len(sources)), 0.3, "rbf")
    assert error(repeated.predict(EVERYONE, EVERYONE), expected) < 1e-6
    assert error(counted.predict(EVERYONE, EVERYONE), expected) < 1e-6


@solvers
@pytest.mark.parametrize("form", ["complete", "both directions", "one direction, told"])
def test_probabilities(form, solver):
    P = np.clip(expit(TRUE[:, None] - TRUE), 0.0, 1.0)
    observed = np.random.default_rng(3).random((N, N)) < 0.5
    observed = {"complete": np.ones((N, N), dtype=bool), "both directions": observed | observed.T}.get(
        form, np.triu(observed, 1)
    )
    graph = RelationGraph(X, np.where(observed, P, np.nan), probabilities=True if form.endswith("told") else None)
    assert (graph.centre, graph.is_complete) == (0.5, form == "complete")
    edges = np.nonzero(observed)
    expected = naive_logistic(edges, P[edges], np.ones(len(edges[0])), 0.3, "rbf")
    fitted = ranker(solver=solver).fit(graph)
    assert error(fitted.predict(EVERYONE, EVERYONE), expected) < 1e-6  # log-odds: nothing is added to them


def test_certain_probabilities_are_wins_and_losses():
    told = ranker().fit(games((1 + OUTCOMES) / 2, probabilities=True))
    assert error(told.predict(NEW), ranker().fit(games()).predict(NEW)) < 1e-12


def test_one_direction_of_a_game_is_enough():
    """Each undirected game once with λ equals both directions with 2λ."""
    both = RelationGraph.from_edges(
        X, np.r_[SOURCES, TARGETS], np.r_[TARGETS, SOURCES], np.r_[OUTCOMES, -OUTCOMES], probabilities=False
    )
    assert error(ranker(0.6).fit(both).predict(NEW), ranker(0.3).fit(games()).predict(NEW)) < 1e-7


@pytest.mark.parametrize("solver", ["auto", "iterative", "primal"])
def test_every_iterative_solver_is_newton(solver):
    fitted = ranker(solver=solver).fit(games())
    assert fitted.solver_ == "newton"
    assert error(fitted.predict(NEW), ranker().fit(games()).predict(NEW)) < 1e-12


@solvers
def test_loops_have_no_influence(solver):
    alone = games()
    loops = RelationGraph.from_edges(X, np.r_[SOURCES, 0, 1], np.r_[TARGETS, 0, 1], np.r_[OUTCOMES, 1.0, -1.0])
    one = ranker(solver=solver)
    assert error(one.fit(loops).predict(NEW), ranker().fit(alone).predict(NEW)) < 1e-7
    nothing = RelationGraph.from_edges(X, [0, 1], [0, 1], [1.0, -1.0])
    np.testing.assert_array_equal(one.fit(nothing).predict(NEW), 0)


@solvers
def test_ties_only(solver):
    fitted = ranker(solver=solver).fit(games(np.zeros(120)))
    assert fitted.n_iter_ == 0
    np.testing.assert_array_equal(fitted.predict(NEW), 0)
    np.testing.assert_array_equal(fitted.predict_proba(NEW), 0.5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@solvers
def test_single_precision(solver):
    graph = RelationGraph.from_edges(X.astype(np.float32), SOURCES, TARGETS, OUTCOMES.astype(np.float32))
    expected = ranker().fit(games()).predict(NEW)
    fitted = ranker(solver=solver).fit(graph)
    found = fitted.predict(NEW.astype(np.float32))
    assert found.dtype == np.float32
    assert error(found, expected) < 1e-3


@solvers
def test_single_precision_converges(solver):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for alpha in (1e-4, 1e-2, 0.3, 10.0):
            for kernel in ("linear", "rbf"):
                graph = RelationGraph.from_edges(X.astype(np.float32), SOURCES, TARGETS, OUTCOMES.astype(np.float32))
                assert ranker(alpha, kernel, tol=1e-8, solver=solver).fit(graph).n_iter_ < 20


@solvers
def test_incoming_turns_the_games(solver):
    outgoing = ranker(solver=solver).fit(games())
    incoming = ranker(rank_by="incoming", solver=solver).fit(games())
    assert error(incoming.predict(NEW, X), -outgoing.predict(NEW, X)) < 1e-8
    coefs = [sparse.csr_array(one.coef_).toarray() for one in (incoming, outgoing)]
    np.testing.assert_allclose(*coefs, atol=1e-8)


# Probabilities


@solvers
@constants
@kernels
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_directions_sum_to_one_exactly(dtype, kernel, constant, solver):
    fitted = ranker(1e-3, kernel, constant=constant, solver=solver).fit(games())
    if dtype == np.float32:
        graph = RelationGraph.from_edges(X.astype(dtype), SOURCES, TARGETS, OUTCOMES)
        fitted = ranker(1e-3, kernel, constant=constant, solver=solver).fit(graph)
    many = (np.random.default_rng(4).normal(size=(50, 4)) * 2).astype(dtype)
    known = fitted._trained_on[0].base
    assert known.dtype == dtype
    for first, second in ((known, known), (known, many), (many, many), (many[:1], many[1:3]), (known[:5], known[5:])):
        P, turned = fitted.predict_proba(first, second), fitted.predict_proba(second, first)
        assert P.shape == (len(first), len(second))
        assert len(np.unique(P)) > 1
        np.testing.assert_array_equal(P + turned.T, 1)
        np.testing.assert_array_equal(1 - P, turned.T)  # not only once their sum is rounded
        assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_array_equal(fitted.predict_proba(many) + fitted.predict_proba(known, many).T, 1)
    np.testing.assert_array_equal(np.diag(fitted.predict_proba(many, many)), 0.5)
    graph_wide = fitted.predict_proba(games())
    np.testing.assert_array_equal(graph_wide + graph_wide.T, 1)


@kernels
def test_probabilities_are_monotone_in_the_scores(kernel):
    fitted = ranker(1e-2, kernel).fit(games())
    many = np.random.default_rng(5).normal(size=(40, 4)) * 2
    scores, P = fitted.predict(many, many).ravel(), fitted.predict_proba(many, many).ravel()
    np.testing.assert_allclose(P, expit(scores), rtol=0, atol=1e-12)
    assert np.diff(P[np.argsort(scores)]).min() > -1e-13
    assert np.ptp(P) > 0.9


def test_extreme_scores_do_not_overflow():
    fitted = ranker(1e-6, "linear").fit(games())
    far = np.array([[1e4, 0, 0, 0], [0, 1e4, 0, 0], [0, 0, 1e4, -1e4]])
    P = fitted.predict_proba(far, far)
    assert np.isfinite(P).all()
    assert {0.0, 1.0} <= set(P.ravel())
    np.testing.assert_array_equal(P + P.T, 1)


def test_probabilities_are_for_the_logistic_loss():
    fitted = ConditionalRanker("reciprocal", "regression").fit(games())
    with pytest.raises(AttributeError, match="predict_proba"):
        fitted.predict_proba(NEW)
    assert not hasattr(fitted, "predict_proba")


# Strengths


@kernels
@pytest.mark.parametrize("loss", ["logistic", "regression", "ranking"])
def test_strengths_are_the_transitive_part(loss, kernel):
    fitted = ranker(0.3, kernel, constant=True).set_params(loss=loss).fit(games())
    scores, f = fitted.predict(EVERYONE, EVERYONE), fitted.strengths(EVERYONE)
    # With A = -Aᵀ, k + 1 between nodes gives h = (k A k') + (k A 1) - (1 A k').
    A = fitted.dual_coef_
    A = A.toarray() if sparse.issparse(A) else A
    K_all = values(kernel, EVERYONE, X, 0)
    np.testing.assert_allclose(A, -A.T, atol=1e-9)
    np.testing.assert_allclose(f, K_all @ A.sum(axis=1), atol=1e-8 * np.abs(f).max())
    cyclic = K_all @ A @ K_all.T
    np.testing.assert_allclose(scores, f[:, None] - f + cyclic, atol=1e-8 * np.abs(scores).max())
    assert np.abs(f).max() > 1e-2
    np.testing.assert_allclose(fitted.strengths(NEW), f[N:], atol=1e-10)
    # Turned round, what is scored is who loses; strengths stay who wins.
    incoming = ranker(0.3, kernel, constant=True, rank_by="incoming").set_params(loss=loss).fit(games())
    if loss != "ranking":  # which compares other pairs
        np.testing.assert_allclose(incoming.strengths(EVERYONE), f, atol=1e-6 * np.abs(f).max())


def test_strengths_order_the_nodes_of_a_transitive_relation():
    fitted = ranker(1e-3, "linear", constant=True).fit(X, np.sign(X[:, :1] - X[:, 0]))
    assert np.corrcoef(fitted.strengths(EVERYONE), EVERYONE[:, 0])[0, 1] > 0.95


def test_strengths_need_a_constant_and_a_reciprocal_relation():
    for params in ({"constant": False}, {"relation": "ordinary", "loss": "regression", "constant": True}):
        fitted = ranker().set_params(**params).fit(games())
        with pytest.raises(ValueError, match=r"strengths needs relation='reciprocal' and constant=True"):
            fitted.strengths(NEW)


# Convergence


@solvers
def test_converges_where_wins_are_separable(solver):
    wins = np.sign(TRUE[SOURCES] - TRUE[TARGETS])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        fitted = ranker(1e-7, "rbf", tol=1e-8, solver=solver).fit(games(wins))
    assert fitted.n_iter_ < 40
    f = fitted.predict(games(wins))[SOURCES, TARGETS]
    assert (np.sign(f) == wins).all()
    assert np.abs(f).min() > 5


def test_converges_from_afar_over_the_edges():
    fitted = ranker(0.1, solver="dual").fit(games())
    system = fitted._system
    start = np.random.default_rng(6).normal(size=fitted._model.W.shape) * 300
    found = system.solve(0.1, Iteration(1e-10, start=start))
    assert found.converged
    assert 3 < found.n_iter < 50
    np.testing.assert_allclose(found.W, fitted._model.W, atol=1e-7 * np.abs(fitted._model.W).max())


def test_steps_over_the_edges_are_preconditioned(monkeypatch):
    """With the low-rank preconditioner, which is made anew while the weights still change."""
    for name, value in (("CALL", 0), ("BUILD", 0), ("LOOK", 0), ("MARGIN", 1)):
        monkeypatch.setattr(f"condrank.solvers.dual_plan.{name}", value)
    rng = np.random.default_rng(7)
    nodes = rng.normal(size=(250, 4))
    first, second = np.nonzero(np.triu(rng.random((250, 250)) < 0.2, 1))
    won = np.where(rng.random(len(first)) < expit(2 * nodes[first, 0] - 2 * nodes[second, 0]), 1.0, -1.0)
    graph = RelationGraph.from_edges(nodes, first, second, won)
    params = {"gamma": 0.02, "constant": True}
    primal, dual = (ranker(0.01, solver=solver, **params).fit(graph) for solver in ("primal", "dual"))
    assert dual._system._preconditioner is not None
    assert error(dual.predict(nodes), primal.predict(nodes)) < 1e-6
    np.testing.assert_allclose(dual.strengths(nodes), primal.strengths(nodes), atol=1e-5)


def test_steps_over_the_edges_are_seen_and_can_be_the_last():
    seen = []

    def watch(number, a):
        seen.append((number, a.copy()))
        return number == 2

    system = ranker(0.01, solver="dual").fit(games())._system
    found = system.solve(0.01, Iteration(1e-10, watch=watch))
    assert [number for number, _ in seen] == [1, 2]
    assert (found.n_iter, found.converged) == (2, False)
    np.testing.assert_array_equal(found.W, seen[1][1])
    assert np.abs(seen[0][1] - seen[1][1]).max() > 0


@kernels
def test_converges_from_afar(kernel):
    fitted = ranker(0.1, kernel).fit(games())
    system = fitted._system
    start = np.random.default_rng(6).normal(size=fitted.coef_.shape) * 300
    found = system.solve(0.1, Iteration(1e-10, start=start - start.T))
    assert found.converged
    assert 3 < found.n_iter < 50
    np.testing.assert_allclose(found.W, fitted.coef_, atol=1e-7 * np.abs(fitted.coef_).max())


@solvers
def test_gradient_is_zero_at_the_solution(solver):
    fitted = ranker(0.1, solver=solver).fit(games())
    f = fitted.predict(games())[SOURCES, TARGETS]
    A = np.zeros((N, N))
    np.add.at(A, (SOURCES, TARGETS), (1 + OUTCOMES) / 2 - expit(f))
    np.testing.assert_allclose(sparse.csr_array(fitted.dual_coef_).toarray(), (A - A.T) / 2 / 0.1, atol=1e-6)


@solvers
def test_path_equals_separate_fits(solver):
    alphas = [1.0, 1e-3, 10.0]
    for alpha, one in zip(alphas, ranker(0.3, solver=solver).fit(games()).path(alphas), strict=True):
        assert one.alpha_ == alpha
        assert error(one.predict(EVERYONE, EVERYONE), ranker(alpha).fit(games()).predict(EVERYONE, EVERYONE)) < 1e-6
        np.testing.assert_array_equal(one.predict_proba(NEW, X) + one.predict_proba(X, NEW).T, 1)


@solvers
def test_warm_start(solver):
    fitted = ranker(0.01, warm_start=True, solver=solver).fit(games())
    cold = fitted.n_iter_
    weights = np.ones(120)
    weights[:10] = 1.02
    before = fitted.predict(NEW)
    assert 1 <= fitted.fit(games(weights=weights)).n_iter_ < cold
    assert error(fitted.predict(NEW), ranker(0.01).fit(games(weights=weights)).predict(NEW)) < 1e-6
    assert error(fitted.predict(NEW), before) > 1e-5
    assert fitted.fit(games(weights=weights)).n_iter_ == 0


# What is refused


@pytest.mark.parametrize("relation", ["ordinary", "symmetric"])
def test_other_relations_are_refused(relation):
    with pytest.raises(ValueError, match=rf"loss='logistic' is for relation='reciprocal'.*got '{relation}'"):
        ConditionalRanker(relation, "logistic").fit(games())


@pytest.mark.parametrize(
    ("labels", "probabilities", "extent"),
    [
        (OUTCOMES * 2, None, r"from -2 to 2"),
        (OUTCOMES + 0.5, None, r"from -0\.5 to 1\.5"),
    ],
)
def test_labels_out_of_range_are_refused(labels, probabilities, extent):
    with pytest.raises(ValueError, match=rf"loss='logistic' needs outcomes: 1 win, 0 tie, -1 loss.*{extent}"):
        ranker().fit(games(labels, probabilities=probabilities))
    with pytest.raises(ValueError, match=r"probabilities=True needs values within 0..1, got -1 to 1"):
        games(OUTCOMES, probabilities=True)


@pytest.mark.parametrize("solver", ["closed_form", "early_stopping", "explicit"])
def test_other_solvers_are_refused(solver):
    with pytest.raises(ValueError, match=rf"loss='logistic' is solved by Newton's method.*got '{solver}'"):
        ranker(solver=solver).fit(games())


def test_too_few_newton_steps_warn():
    with pytest.warns(ConvergenceWarning, match=r"no convergence to tol=1e-10 in 1 iterations"):
        ranker(1e-3, max_iter=1).fit(games())


def test_single_precision_ends_when_only_rounding_is_left():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    first, second = rng.integers(0, 300, size=(2, 3000))
    graph = RelationGraph.from_edges(X, first, second, np.sign(X[first, 0] - X[second, 1]), probabilities=False)
    ranker = ConditionalRanker("reciprocal", "logistic", 1e-3, kernel="rbf", gamma=0.3, constant=True, solver="dual")
    with pytest.warns(ConvergenceWarning, match="no convergence"):
        ranker.fit(graph)
    assert ranker.n_iter_ < 100
