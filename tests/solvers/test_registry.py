"""Every solver × relation × loss × form of graph against the naive twin, over the registry; and a new solver in it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

import reference
import reference_games
from condrank import ConditionalRanker, RelationGraph
from condrank.fitting.reading import read_settings, solver_words
from condrank.nodes import Nodes
from condrank.objective.losses import LOSSES, get_loss
from condrank.objective.relations import RELATIONS
from condrank.problem.coordinates import fit_both
from condrank.problem.problem import Problem
from condrank.solvers import SOLVERS
from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.system import Cost, Options, Peak, Solution, Solver
from reference import error

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")

GAMMA, ALPHA, N, M = 0.3, 0.2, 12, 7
RNG = np.random.default_rng(0)
X, OBJECTS, NEW = RNG.normal(size=(N, 4)), RNG.normal(size=(M, 4)), RNG.normal(size=(3, 4))
EVERYONE = np.vstack([X, NEW])
Y = RNG.normal(size=(N, N)) + 2
HOLES = np.where(RNG.random((N, N)) < 0.5, Y, np.nan)
TWO_DOMAINS = np.where(RNG.random((N, M)) < 0.6, RNG.normal(size=(N, M)), np.nan)
CLASSES, SIMILARITY = np.arange(N) % 3, RNG.normal(size=(3, 3))
# Repeated edges with weights, and loops.
SOURCES, TARGETS = RNG.integers(0, N, 60), RNG.integers(0, N, 60)
VALUES, WEIGHTS = RNG.normal(size=60), RNG.uniform(0.2, 3, 60)
ZEROS = sparse.csr_array(np.where(RNG.random((N, N)) < 0.3, Y, 0.0))


def loss_of(loss):
    return get_loss("regression", fit_intercept=True) if loss == INTERCEPT else LOSSES[loss]


FORMS = {
    "complete": lambda: RelationGraph(X, Y),
    "holes": lambda: RelationGraph(X, HOLES),
    "repeated and weighted edges": lambda: RelationGraph.from_edges(X, SOURCES, TARGETS, VALUES, WEIGHTS),
    "known zeros": lambda: RelationGraph(X, ZEROS, unstored="zero"),
    "classes": lambda: RelationGraph.from_classes(X, CLASSES, SIMILARITY),
    "two domains": lambda: RelationGraph(X, TWO_DOMAINS, objects=OBJECTS),
}
INTERCEPT = "regression with an intercept"
QUADRATIC = [*(loss.name for loss in LOSSES.values() if loss.is_quadratic), INTERCEPT]
CASES = [
    (solver, relation, loss, form)
    for solver in SOLVERS
    for relation in RELATIONS
    for loss in QUADRATIC
    for form in FORMS
    if loss_of(loss) in SOLVERS[solver].losses and (form != "two domains" or relation == "ordinary")
]


def ranker_of(relation, loss, **params):
    params = {"kernel": "rbf", "gamma": GAMMA, "tol": 1e-12, "max_iter": 4000, **params}
    return ConditionalRanker(relation, loss_of(loss).name, ALPHA, fit_intercept=loss == INTERCEPT, **params)


def problem_of(form, relation, loss, **params):
    graph = FORMS[form]() if isinstance(form, str) else form
    return Problem(graph, read_settings(ranker_of(relation, loss, **params), graph))


def kernel(first, second):
    return reference.kernel_values("rbf", first, second, gamma=GAMMA)


def naive(form, relation, loss):
    """Scores of the naive twin for all nodes, new ones last; of two domains for all objects."""
    graph = FORMS[form]()
    K, K_all = kernel(X, X), kernel(EVERYONE, X)
    options = {"relation": relation, "loss": loss_of(loss).name, "K_queries": K_all, "K_objects": K_all}
    options["fit_intercept"] = loss == INTERCEPT and relation != "reciprocal"
    if form == "repeated and weighted edges":
        return reference.naive_scores(K, SOURCES, TARGETS, VALUES, ALPHA, weights=WEIGHTS, **options)
    if form == "two domains":
        G = kernel(OBJECTS, OBJECTS)
        return reference.naive_observed(K, graph.to_dense(), ALPHA, **options | {"K_domain": G, "K_objects": G})
    return reference.naive_observed(K, graph.to_dense(), ALPHA, **options)


def scores_of(model, form):
    everyone = Nodes(EVERYONE)
    objects = Nodes(OBJECTS) if form == "two domains" else everyone
    return np.concatenate([scores for _, scores in model.blocks(everyone, objects)])


def test_every_solver_is_named_in_the_registry_by_its_own_name():
    assert all(solver.name == name and solver.serves for name, solver in SOLVERS.items())
    assert {word for solver in SOLVERS.values() for word in solver.serves} == set(solver_words())


@pytest.mark.parametrize(("solver", "relation", "loss", "form"), CASES)
def test_a_solver_finds_what_the_naive_twin_finds_or_says_why_not(solver, relation, loss, form):
    problem = problem_of(form, relation, loss, solver=SOLVERS[solver].serves[-1])
    refusal = SOLVERS[solver].refuses(problem)
    if refusal is not None:
        # The closed form alone needs every pair.
        assert solver == "closed_form"
        assert not problem.is_complete
        assert "complete" in refusal
        return
    system = SOLVERS[solver].build(problem)
    solution = system.solve(ALPHA, Options(1e-12, 4000))
    assert error(scores_of(system.model(solution.W), form), naive(form, relation, loss)) < 1e-6


@pytest.mark.parametrize("solver", [name for name in SOLVERS if LOSSES["logistic"] in SOLVERS[name].losses])
def test_a_solver_of_the_logistic_loss_finds_what_the_naive_twin_finds(solver):
    graph = reference_games.games()
    gamma, asked = reference_games.GAMMA, SOLVERS[solver].serves[-1]
    asked = ConditionalRanker("reciprocal", "logistic", 0.3, "rbf", gamma=gamma, solver=asked)
    problem = Problem(graph, read_settings(asked, graph))
    assert SOLVERS[solver].refuses(problem) is None
    system = SOLVERS[solver].build(problem)
    model = system.model(system.solve(0.3, Options(1e-10)).W)
    edges, shares = (reference_games.SOURCES, reference_games.TARGETS), (1 + reference_games.OUTCOMES) / 2
    expected = reference_games.naive_logistic(edges, shares, np.ones(len(shares)), 0.3, "rbf")
    n = len(graph)
    found = np.concatenate([scores for _, scores in model.blocks(None, None)])
    assert error(found, expected[:n, :n]) < 1e-6


@pytest.mark.parametrize(("solver", "relation", "loss", "form"), CASES)
def test_another_right_hand_side_is_solved_by_the_same_symmetric_system(solver, relation, loss, form):
    problem = problem_of(form, relation, loss, solver=SOLVERS[solver].serves[-1])
    if SOLVERS[solver].refuses(problem) is not None or SOLVERS[solver].over_edges:
        return
    system, options = SOLVERS[solver].build(problem), Options(1e-12, 4000)
    W = system.solve(ALPHA, options).W
    rng = np.random.default_rng(1)
    first, second = (problem.settings.relation.project(rng.normal(size=W.shape)) for _ in range(2))
    there, back = system.solve(ALPHA, options, first).W, system.solve(ALPHA, options, second).W
    assert np.vdot(there, second) == pytest.approx(np.vdot(first, back), rel=1e-7, abs=1e-9)
    # The solution is linear in the right-hand side.
    both = system.solve(ALPHA, options, 2 * first - second).W
    np.testing.assert_allclose(both, 2 * there - back, atol=1e-7 * np.abs(there).max())


@pytest.mark.parametrize("loss", QUADRATIC)
@pytest.mark.parametrize("relation", RELATIONS)
def test_over_the_edges_the_right_hand_side_is_a_set_of_labels(relation, loss):
    problem = problem_of("holes", relation, loss, solver="dual")
    system, options = SOLVERS["dual"].build(problem), Options(1e-12, 4000)
    other = np.random.default_rng(2).normal(size=problem.observed.n_pairs)
    labels = np.full((N, N), np.nan)
    labels[problem.observed.sources, problem.observed.indices] = other
    found = replace(system.model(system.solve(ALPHA, options, other).W), offset=0.0)
    again = problem_of(RelationGraph(X, labels), relation, loss, solver="dual")
    expected = SOLVERS["dual"].build(again)
    # The intercept of a model is that of the labels of its system.
    expected = replace(expected.model(expected.solve(ALPHA, options).W), offset=0.0)
    np.testing.assert_allclose(
        np.concatenate([scores for _, scores in found.blocks(None, None)]),
        np.concatenate([scores for _, scores in expected.blocks(None, None)]),
        atol=1e-7,
    )


def test_newtons_system_is_solved_at_the_weights_that_are_given():
    graph = reference_games.games()
    settings = read_settings(ConditionalRanker("reciprocal", "logistic", 0.3, "rbf", gamma=GAMMA), graph)
    system = SOLVERS["newton"].build(Problem(graph, settings))
    W = system.solve(0.3, Options(1e-12)).W
    rhs = RELATIONS["reciprocal"].project(np.random.default_rng(3).normal(size=W.shape))
    step = 1e-5 * system.solve(0.3, Options(1e-12, start=W), rhs).W

    # The gradient changes by the Hessian times the step, which is the right-hand side.
    def gradient(at):
        return system.gradient(system.weights * (system.outcomes - expit(system.values(at)))) - 0.3 * at

    changed = (gradient(W) - gradient(W + step)) / 1e-5
    np.testing.assert_allclose(changed, rhs, atol=1e-3 * np.abs(rhs).max())
    with pytest.raises(ValueError, match=r"rhs needs options\.start"):
        system.solve(0.3, Options(), rhs)


class GradientDescent(Solver):
    """Plain gradient steps on W: slow, and enough to show what a solver has to answer."""

    name = "descent"
    serves = ("descent",)
    iterates = True

    def refuses(self, problem):
        return None if problem.is_complete else "descent is for complete graphs; use solver='auto'"

    def cost(self, problem):
        return Cost(1e3 * problem.sizes.square, lambda: Peak(8 * 4 * problem.sizes.square))

    def build(self, problem, coordinates=None, rank=None):
        settings = problem.settings
        return Descent(settings.relation, settings.loss, *(coordinates or fit_both(problem)), problem.observed)


class Descent(ClosedForm):
    def solve(self, alpha, options=None, rhs=None):
        W = np.zeros_like(self.rhs)
        rate = 1 / (self.rows.sigma[-1] * self.cols.sigma[-1] + alpha)
        for _ in range(20_000):
            W -= rate * (self.apply(W, alpha) - self.rhs)
        return Solution(W, 20_000)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_new_solver_is_one_class_and_one_line_in_the_registry(relation, monkeypatch):
    monkeypatch.setitem(SOLVERS, GradientDescent.name, GradientDescent())
    assert "descent" in solver_words()
    ranker = ranker_of(relation, "regression", solver="descent").fit(RelationGraph(X, Y))
    assert (ranker.solver_, ranker.n_iter_, ranker.plan_.reason) == ("descent", 20_000, "as asked for")
    assert error(ranker.predict(NEW), ranker_of(relation, "regression").fit(X, Y).predict(NEW)) < 1e-6
    with pytest.raises(ValueError, match=r"descent is for complete graphs.*got solver='descent'"):
        ranker_of(relation, "regression", solver="descent").fit(X, HOLES)
    with pytest.raises(ValueError, match=r"solver must be one of .*'descent'.*got 'magic'"):
        ranker_of(relation, "regression", solver="magic").fit(X, Y)
