"""Logistic loss against a dense minimiser of the same objective."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from condrank import ConditionalRanker, RelationGraph
from condrank.solvers.system import Options
from reference import error
from reference_games import (
    EVERYONE,
    NEW,
    NEWTONS,
    OUTCOMES,
    SOURCES,
    TARGETS,
    TRUE,
    N,
    X,
    constants,
    games,
    kernels,
    naive_logistic,
    ranker,
    solvers,
)

# Repeated games between two nodes need not end alike, and a ranker warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


# Against the dense minimiser


@solvers
@constants
@kernels
def test_wins_losses_ties_and_repeated_games_equal_the_dense_minimiser(kernel, constant, solver):
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
def test_weights_equal_the_dense_minimiser(kernel, solver):
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
def test_probabilities_as_labels_equal_the_dense_minimiser(form, solver):
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
def test_ties_alone_give_even_chances(solver):
    fitted = ranker(solver=solver).fit(games(np.zeros(120)))
    assert fitted.n_iter_ == 0
    np.testing.assert_array_equal(fitted.predict(NEW), 0)
    np.testing.assert_array_equal(fitted.predict_proba(NEW), 0.5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@solvers
def test_single_precision_stays_single_and_near_double(solver):
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


# Convergence


@solvers
def test_separable_wins_converge(solver):
    wins = np.sign(TRUE[SOURCES] - TRUE[TARGETS])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        fitted = ranker(1e-7, "rbf", tol=1e-8, solver=solver).fit(games(wins))
    assert fitted.n_iter_ < 40
    f = fitted.predict(games(wins))[SOURCES, TARGETS]
    assert (np.sign(f) == wins).all()
    assert np.abs(f).min() > 5


@kernels
def test_newton_converges_from_afar(kernel):
    fitted = ranker(0.1, kernel).fit(games())
    system = fitted.fitted_.system
    start = np.random.default_rng(6).normal(size=fitted.coef_.shape) * 300
    found = system.solve(0.1, Options(1e-10, start=start - start.T))
    assert found.converged
    assert 3 < found.n_iter < 50
    np.testing.assert_allclose(found.W, fitted.coef_, atol=1e-7 * np.abs(fitted.coef_).max())


@solvers
def test_the_gradient_is_zero_at_the_solution(solver):
    fitted = ranker(0.1, solver=solver).fit(games())
    f = fitted.predict(games())[SOURCES, TARGETS]
    A = np.zeros((N, N))
    np.add.at(A, (SOURCES, TARGETS), (1 + OUTCOMES) / 2 - expit(f))
    np.testing.assert_allclose(sparse.csr_array(fitted.dual_coef_).toarray(), (A - A.T) / 2 / 0.1, atol=1e-6)


@solvers
def test_a_path_equals_separate_fits(solver):
    alphas = [1.0, 1e-3, 10.0]
    for alpha, one in zip(alphas, ranker(0.3, solver=solver).fit(games()).path(alphas), strict=True):
        assert one.alpha_ == alpha
        assert error(one.predict(EVERYONE, EVERYONE), ranker(alpha).fit(games()).predict(EVERYONE, EVERYONE)) < 1e-6
        np.testing.assert_array_equal(one.predict_proba(NEW, X) + one.predict_proba(X, NEW).T, 1)


@solvers
def test_a_warm_start_takes_fewer_steps(solver):
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
