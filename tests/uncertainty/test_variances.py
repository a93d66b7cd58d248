"""Variances and covariances of scores, against the whole edge kernel."""

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph
from condrank.exceptions import RelationWarning
from condrank.rankers.base import read_side
from condrank.solvers.main_effects import MainEffects
from condrank.uncertainty import edges as over_edges
from condrank.uncertainty import estimating
from condrank.uncertainty import posterior as posteriors
from condrank.uncertainty import weights as over_weights
from condrank.uncertainty.complete import CompletePosterior
from condrank.uncertainty.edges import EdgePosterior
from condrank.uncertainty.functionals import Functionals
from condrank.uncertainty.weights import FactorisedPosterior, SolvedPosterior
from reference import error
from reference_posterior import N, make_case

RELATIONS = ["ordinary", "symmetric", "reciprocal"]
LOSSES = {
    "regression": {"loss": "regression"},
    "intercept": {"loss": "regression", "fit_intercept": True},
    "ranking": {"loss": "ranking"},
}
GRAPHS = {
    "complete": {},
    "weights": {"weighted": True},
    "holes": {"holes": True},
    "holes and weights": {"holes": True, "weighted": True},
}
CASES = [
    (relation, loss, graph, prior)
    for relation in RELATIONS
    for loss in LOSSES
    for graph in GRAPHS
    for prior in ((0.0, 0.7) if relation != "reciprocal" else (0.0,))
]
pytestmark = pytest.mark.filterwarnings(f"ignore::{RelationWarning.__module__}.{RelationWarning.__name__}")


def check(case, bound):
    """Everything that a posterior knows of single pairs, of all pairs and of differences."""
    ranker, posterior = case.ranker, case.ranker.posterior_
    assert posterior.noise_std**2 == pytest.approx(case.noise, rel=max(bound, 1e-9))
    scores, std = ranker.predict(case.queries, case.objects, return_std=True)
    assert error(std**2, case.variances()) <= bound
    np.testing.assert_array_equal(scores, ranker.predict(case.queries, case.objects))
    known = case.known.diagonal().reshape(N, N)
    assert error(posterior.variance(np.arange(N)), known) <= bound
    rows, cols, others = [0, 1, 2, 3, 3], [0, 1, 2, 3, 4], [1, 2, 0, 4, 3]
    one, other = case.places(rows, cols), case.places(rows, others)
    covariance = posterior.covariance(case.queries[rows], case.objects[cols])
    assert error(covariance, case.new[np.ix_(one, one)]) <= bound
    variance = posterior.pair_variance(case.queries[rows], case.objects[cols])
    assert error(variance, case.new[one, one]) <= bound
    difference = posterior.difference_variance(case.queries[rows], case.objects[cols], case.objects[others])
    expected = case.new[one, one] + case.new[other, other] - 2 * case.new[one, other]
    assert error(difference, expected) <= bound


@pytest.mark.parametrize(("relation", "loss", "graph", "prior"), CASES)
def test_by_formula_or_factorisation(relation, loss, graph, prior):
    case = make_case(relation, **LOSSES[loss], **GRAPHS[graph], prior=prior)
    engine = case.ranker.fitted_.posterior.engine
    assert isinstance(engine, CompletePosterior if graph == "complete" else EdgePosterior | FactorisedPosterior)
    check(case, 1e-8)


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize(("relation", "loss", "graph", "prior"), [case for case in CASES if case[2] != "complete"])
def test_by_iterations(relation, loss, graph, prior, solver, monkeypatch):
    monkeypatch.setattr(posteriors, "FACTORISED_MOST", 0)
    case = make_case(relation, **LOSSES[loss], **GRAPHS[graph], prior=prior, solver=solver)
    engine = case.ranker.fitted_.posterior.engine
    assert type(engine) is (SolvedPosterior if solver == "primal" else EdgePosterior)
    assert engine.way == "adjoint solves"
    check(case, 1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_by_factorised_weights(relation, loss, monkeypatch):
    """Where there are fewer weights than edges, the weights are factorised."""
    case = make_case(relation, **LOSSES[loss], weighted=True, solver="primal", n_components=4, random_state=0)
    assert isinstance(case.ranker.fitted_.posterior.engine, FactorisedPosterior)
    factorised = [case.ranker.posterior_.variance(case.queries, case.objects)]
    rows, cols = [0, 1, 2], [4, 3, 2]
    factorised.append(case.ranker.posterior_.covariance(case.queries[rows], case.objects[cols]))
    monkeypatch.setattr(posteriors, "FACTORISED_MOST", 0)
    again = make_case(relation, **LOSSES[loss], weighted=True, solver="primal", n_components=4, random_state=0)
    assert type(again.ranker.fitted_.posterior.engine) is SolvedPosterior
    assert error(again.ranker.posterior_.variance(case.queries, case.objects), factorised[0]) <= 1e-5
    assert error(again.ranker.posterior_.covariance(case.queries[rows], case.objects[cols]), factorised[1]) <= 1e-5


@pytest.mark.parametrize("graph", ["complete", "holes"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_draws_have_the_covariance(relation, loss, graph):
    """2,000 draws: an entry of their covariance has the standard error √((v_i v_j + c_ij²)/2000)."""
    case = make_case(relation, **LOSSES[loss], **GRAPHS[graph])
    drawn = case.ranker.sample(case.queries, case.objects, n_samples=2000, random_state=0).reshape(2000, -1)
    check_draws(drawn, case.ranker.predict(case.queries, case.objects).ravel(), case.new)
    known = case.ranker.sample(np.arange(N), n_samples=2000, random_state=1).reshape(2000, -1)
    check_draws(known, case.ranker.predict(np.arange(N)).ravel(), case.known)


def check_draws(drawn, mean, covariance):
    """Draws agree with mean and covariance within sampling noise."""
    n, variance = len(drawn), covariance.diagonal()
    assert np.all(np.abs(drawn.mean(axis=0) - mean) <= 5 * np.sqrt(variance / n) + 1e-9)
    away = drawn - mean
    noise = np.sqrt((np.multiply.outer(variance, variance) + covariance**2) / n)
    assert np.all(np.abs(away.T @ away / n - covariance) <= 5.5 * noise + 1e-9)


@pytest.mark.parametrize("solver", ["primal", "dual"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_draws_by_iterations_have_the_covariance(relation, solver, monkeypatch):
    monkeypatch.setattr(posteriors, "FACTORISED_MOST", 0)
    case = make_case(relation, "ranking", holes=True, solver=solver)
    drawn = case.ranker.sample(case.queries, case.objects, n_samples=300, random_state=0).reshape(300, -1)
    check_draws(drawn, case.ranker.predict(case.queries, case.objects).ravel(), case.new)


def test_many_pairs_are_estimated_by_draws(monkeypatch):
    monkeypatch.setattr(posteriors, "FACTORISED_MOST", 0)
    monkeypatch.setattr(posteriors, "N_DRAWS", 19)
    case = make_case("ordinary", "regression", holes=True)
    posterior = case.ranker.posterior_
    assert posterior.way.startswith("adjoint solves; 19 draws (standard deviations ±16 %) for more than 19 pairs")
    monkeypatch.setattr(posteriors, "N_DRAWS", 400)
    monkeypatch.setattr(posteriors.Posterior, "most_pairs", 19)
    found = posterior.variance(case.queries, case.objects)
    assert np.all(np.abs(found / case.variances() - 1) <= 5 * np.sqrt(2 / 400))
    assert error(posterior.variance(case.queries[:3], case.objects), case.variances()[:3]) <= 1e-5


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_many_differences_are_estimated_by_draws(relation, loss, monkeypatch):
    """New nodes, so that the part of the prior outside the span counts; few differences stay exact."""
    monkeypatch.setattr(posteriors, "FACTORISED_MOST", 0)
    monkeypatch.setattr(posteriors, "N_DRAWS", 400)
    case = make_case(relation, **LOSSES[loss], holes=True, solver="primal")
    posterior = case.ranker.posterior_
    assert posterior.way.endswith("6 to 400 draws (±4 % or less) for more than 400 aligned pairs or differences")
    monkeypatch.setattr(estimating, "MOST_ERROR", 0.0)  # as many draws as there may be
    monkeypatch.setattr(posteriors.Posterior, "most_pairs", 5)
    rows, cols, others = (places.ravel() for places in np.indices((4, 5, 5)))
    one, other = case.places(rows, cols), case.places(rows, others)
    expected = case.new[one, one] + case.new[other, other] - 2 * case.new[one, other]
    found = posterior.difference_variance(case.queries[rows], case.objects[cols], case.objects[others])
    same = cols == others
    np.testing.assert_allclose(found[same], 0.0, atol=1e-9 * expected.max())
    apart = found[~same] / expected[~same] - 1
    assert np.all(np.abs(apart) <= 5 * np.sqrt(2 / 400))
    assert np.abs(apart).max() > 1e-4  # these are draws
    found = posterior.pair_variance(case.queries[rows], case.objects[cols])
    assert np.all(np.abs(found / case.new[one, one] - 1) <= 5 * np.sqrt(2 / 400))
    few = [1, 2, 3]
    found = posterior.difference_variance(case.queries[rows[few]], case.objects[cols[few]], case.objects[others[few]])
    assert error(found, expected[few]) <= 1e-5


@pytest.mark.parametrize("relation", RELATIONS)
def test_adjoint_solves_over_edges_share_a_preconditioner(relation, monkeypatch):
    """Planned once, and the variances are those of the whole edge kernel."""
    planned = []

    class Plan:
        def __init__(self, system):
            self.system = system

        def build(self):
            return MainEffects(self.system)

    def plan(system, *_):
        planned.append(system)
        return Plan(system)

    monkeypatch.setattr(posteriors, "FACTORISED_MOST", 0)
    monkeypatch.setattr(over_edges, "plan_preconditioner", plan)
    check(make_case(relation, "regression", holes=True, solver="dual"), 1e-5)
    assert len(planned) == 1


def test_loose_draws_are_close_to_tight_ones_for_a_small_alpha(monkeypatch):
    """The same draws, so that the difference is that of the residuals; a fixed one of 0.01 would be off by far."""
    monkeypatch.setattr(posteriors, "FACTORISED_MOST", 0)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=(40, 40))
    Y[rng.random(Y.shape) < 0.7] = np.nan
    ranker = ConditionalRanker(loss="regression", kernel="rbf", alpha=1e-5, solver="primal").fit(X, Y)
    engine, posterior = ranker.fitted_.posterior.engine, ranker.fitted_.posterior
    nodes = posterior.spaces[0].place(None)
    query, first, second = (nodes.take(np.roll(np.arange(40), shift)) for shift in range(3))
    asked = Functionals.differences(posterior.relation, query, first, second)
    loose = np.sqrt(engine.estimate(asked, 10, np.random.default_rng(1)))
    monkeypatch.setattr(over_weights, "ESTIMATE_RESIDUAL", 0.0)
    tight = np.sqrt(engine.estimate(asked, 10, np.random.default_rng(1)))
    assert 0 < np.abs(loose / tight - 1).max() <= 0.04


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_many_edges_are_factorised_in_single_precision(relation, loss, monkeypatch):
    """Close to the whole edge kernel, and not equal to double precision; if the bound is too large, double it is."""
    monkeypatch.setattr(over_edges, "SINGLE_LEAST_PAIRS", 0)
    case = make_case(relation, **LOSSES[loss], holes=True, weighted=True)
    posterior, rows, cols = case.ranker.posterior_, [0, 1, 2, 3, 3], [0, 1, 2, 3, 4]
    expected = case.variances()[rows, cols]
    engine = case.ranker.fitted_.posterior.engine
    found = posterior.pair_variance(case.queries[rows], case.objects[cols])
    assert "factor" not in vars(engine)
    assert 1e-12 < error(found, expected) <= 1e-5
    monkeypatch.setattr(over_edges, "SINGLE_MOST_ERROR", 0.0)
    found = posterior.pair_variance(case.queries[rows], case.objects[cols])
    assert "factor" in vars(engine)
    assert error(found, expected) <= 1e-8


@pytest.mark.parametrize("compared", [(), (0, 1)])
@pytest.mark.parametrize("relation", RELATIONS)
def test_own_rest_is_the_diagonal_of_all_rests(relation, compared):
    """Of known and new nodes, for differences."""
    if compared and relation != "reciprocal":
        pytest.skip("only reciprocal relations compare features")
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(8, 3)), rng.normal(size=(6, 3))
    Y = rng.normal(size=(8, 8))
    options = {"compared": list(compared)} if compared else {}
    ranker = ConditionalRanker(relation, "regression", kernel="rbf", **options).fit(
        X, Y + (1 if relation == "symmetric" else -1) * Y.T
    )
    posterior = ranker.fitted_.posterior
    both = np.vstack([X[:3], new])
    nodes = posterior.spaces[0].place(read_side(ranker, both, "queries"))
    query, first, second = (nodes.take(rng.permutation(9)) for _ in range(3))
    asked = Functionals.differences(posterior.relation, query, first, second)
    whole = asked.rest()
    assert whole.diagonal().max() > 0.1
    np.testing.assert_allclose(asked.own_rest(), whole.diagonal(), atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_one_step_and_a_few_draws(relation, loss, monkeypatch):
    """The first step alone is never above the variance; with a few draws the error is small and known."""
    monkeypatch.setattr(posteriors, "FACTORISED_MOST", 0)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 4)), rng.normal(size=(60, 60))
    Y = {"ordinary": Y, "symmetric": Y + Y.T, "reciprocal": Y - Y.T}[relation]
    Y[rng.random(Y.shape) < 0.5] = np.nan
    options = LOSSES[loss] | {"kernel": "rbf", "solver": "primal"}
    ranker = ConditionalRanker(relation, **options).fit(RelationGraph(X, Y, probabilities=False))
    posterior = ranker.fitted_.posterior
    engine, nodes = posterior.engine, posterior.spaces[0].place(None)
    query, first, second = (nodes.take(rng.integers(0, 60, 400)) for _ in range(3))
    for asked in (
        Functionals.pairs(posterior.relation, query, first),
        Functionals.differences(posterior.relation, query, first, second),
    ):
        exact = engine.quadratic(asked)
        step = estimating.FirstStep(engine, asked)
        some = exact > 1e-5 * exact.max()
        alone = step.along[some] ** 2 / step.energy[some] + asked.constants**2 * engine._constant
        ratio = alone / exact[some]
        assert 0.3 < ratio.min() < ratio.max() <= 1 + 1e-4
        found = engine.estimate(asked, 256, np.random.default_rng(0))
        apart = np.sqrt(found[some] / exact[some]) - 1
        assert np.sqrt(np.mean(apart**2)) <= estimating.MOST_ERROR
        assert np.sqrt(np.mean(apart**2)) < 0.5 * np.sqrt(np.mean((np.sqrt(ratio) - 1) ** 2))


def test_shares_are_pooled_as_far_as_they_agree():
    """Means of squares around a linear function: the function if they have no spread of their own, else both."""
    rng = np.random.default_rng(0)
    traits = np.column_stack([np.ones(2000), rng.uniform(size=2000)])
    share = traits @ [0.1, 0.2]
    each = share[:, None] * rng.chisquare(1, (2000, 8))
    found, error = estimating.pooled_shares(each.mean(axis=1), traits, list(each.mean(axis=0)))
    assert np.abs(found / share - 1).max() < 0.2
    assert error < 0.02
    uneven = share * np.exp(rng.normal(size=2000))
    each = uneven[:, None] * rng.chisquare(1, (2000, 8))
    squares = each.mean(axis=1)
    found, error = estimating.pooled_shares(squares, traits, list(each.mean(axis=0)))
    alone = np.mean((np.log(squares) - np.log(uneven)) ** 2)
    assert np.mean((np.log(found) - np.log(uneven)) ** 2) < alone
    assert error > 0.02
    together = share[:, None] * rng.chisquare(1, (1, 8))
    _, error = estimating.pooled_shares(together.mean(axis=1), traits, list(together.mean(axis=0)))
    assert error > 0.02
