"""How unevenly pairs are known: against all directions one by one, and what the plan makes of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from builders import known_in_blocks
from condrank import ConditionalRanker, RelationGraph
from condrank.fitting.reading import read_settings
from condrank.objective.relations import get_relation
from condrank.problem.known_pairs import KnownShares, degree_weights, ritz_values, unevenly_known
from condrank.problem.problem import Problem
from condrank.solvers.primal import PrimalSolver
from condrank.solvers.system import Options

RELATIONS = ("ordinary", "symmetric", "reciprocal")


def problem_of(graph, **params):
    return Problem(graph, read_settings(ConditionalRanker(kernel="rbf", gamma=0.05, **params), graph))


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from(RELATIONS),
    st.sampled_from([0.01, 1.0]),
    st.integers(6, 40),
    st.sampled_from([0.0, 1.0]),
)
def test_shares_are_those_of_all_directions(seed, relation, alpha, wanted, uneven):
    rng = np.random.default_rng(seed)
    n, m = (9, 7) if relation == "ordinary" else (8, 8)
    X, G = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    known = rng.random((n, m)) < np.exp(uneven * rng.normal(size=(n, 1))) * 0.6
    known[0, 0] = True
    graph = RelationGraph(X, np.where(known, 1.0, np.nan), objects=G if relation == "ordinary" else None)
    problem = problem_of(graph, relation=relation, alpha=alpha)
    edges, weights = graph.relation, degree_weights(graph.relation, relation != "ordinary")
    pairs = KnownShares(get_relation(relation), edges, *problem.samples, weights)
    found, kept = pairs.shares(alpha, wanted, 200)
    roots = [np.ones(len(K)) if w is None else np.sqrt(w) for w, K in zip(weights, (X, X), strict=True)]
    if relation == "ordinary":
        roots[1] = np.ones(m) if weights[1] is None else np.sqrt(weights[1])
    K, objects = (sample.K for sample in problem.samples)
    naive, number = reference.known_shares(K, objects, known, *roots, alpha, wanted, get_relation(relation).sign)
    assert kept == number
    np.testing.assert_allclose(found[[0, -1]], naive[[0, -1]], rtol=1e-6, atol=1e-9)


def test_ritz_values_end_with_the_space():
    A = np.diag([1.0, 2.0, 5.0])
    np.testing.assert_allclose(ritz_values(lambda x: A @ x, np.ones(3), 10), [1, 2, 5])
    np.testing.assert_allclose(ritz_values(lambda x: 3 * x, np.ones(4), 10), [3])


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_a_random_sample_is_not_looked_at(share):
    problem = problem_of(known_in_blocks(300, 60, share, 0.0))
    assert not unevenly_known(problem.observed)
    assert problem.known_pairs is None
    sparse = RelationGraph.from_edges(np.random.default_rng(0).normal(size=(400, 3)), *random_pairs(400, 1500))
    assert not unevenly_known(sparse.relation)


def random_pairs(n, n_pairs):
    """Few pairs of many nodes: the degrees of a random sample vary by half their mean."""
    rng = np.random.default_rng(1)
    return rng.integers(n, size=n_pairs), rng.integers(n, size=n_pairs), rng.normal(size=n_pairs)


@pytest.mark.parametrize("relation", RELATIONS)
def test_random_pairs_are_known_as_expected(relation):
    """Where nothing but chance is in the degrees, the shares are near one, whatever the relation."""
    rng = np.random.default_rng(2)
    graph = RelationGraph(rng.normal(size=(300, 4)), np.where(rng.random((300, 300)) < 0.2, 1.0, np.nan))
    problem = problem_of(graph, relation=relation, alpha=1.0)
    pairs = KnownShares(get_relation(relation), problem.observed, *problem.samples, (None, None), problem.distinct)
    least, most = pairs.extremes(1.0)
    assert 0.7 < least <= 1 <= most < 1.4


def test_few_pairs_say_nothing():
    graph = RelationGraph.from_edges(np.random.default_rng(0).normal(size=(3000, 3)), *random_pairs(3000, 9000))
    problem = problem_of(graph)
    pairs = KnownShares(get_relation("ordinary"), problem.observed, *problem.samples, (None, None))
    assert pairs.extremes(1.0) == (1.0, 1.0)


@pytest.mark.parametrize("alpha", [1.0, 0.1])
@pytest.mark.parametrize("uneven", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_counted_iterations_are_expected(share, uneven, alpha):
    """Within a factor of two, where a random sample of the pairs would take a third or a half of the iterations."""
    problem = problem_of(known_in_blocks(300, 60, share, uneven), alpha=alpha, tol=1e-6)
    counted = PrimalSolver().build(problem).solve(alpha, Options(1e-6, 1000)).n_iter
    assert 0.5 < problem.expected_by_sample.primal / counted < 2


@pytest.mark.parametrize(
    ("n", "m", "share", "uneven", "alpha", "solver"),
    [
        (300, 60, 0.1, 1.0, 0.1, "dual"),
        (300, 60, 0.1, 4.0, 0.1, "dual"),
        (300, 60, 0.1, 0.0, 0.1, "primal"),
        (300, 60, 0.4, 1.0, 0.1, "primal"),
        (300, 60, 0.4, 4.0, 0.1, "primal"),
        (1500, 300, 0.1, 1.0, 1.0, "dual"),
        (1500, 300, 0.1, 0.0, 0.1, "primal"),
        (1500, 300, 0.4, 4.0, 1.0, "primal"),
    ],
)
def test_the_plan_knows_uneven_graphs(n, m, share, uneven, alpha, solver):
    """A tenth of the pairs, known in blocks, is solved over the edges; at random, or with more pairs, on W."""
    graph = known_in_blocks(n, m, share, uneven)
    assert ConditionalRanker(kernel="rbf", gamma=0.05, alpha=alpha, tol=1e-6).plan(graph).solver == solver


def test_other_alphas_share_the_look():
    problem = problem_of(known_in_blocks(300, 60, 0.1, 1.0))
    assert problem.known_pairs is not None
    assert problem.at(0.5).known_pairs is problem.known_pairs
