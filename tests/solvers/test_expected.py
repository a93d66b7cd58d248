"""Iterations to expect, against counted ones, and eigenvalues guessed from a sample, against computed ones."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from condrank import ConditionalRanker, RelationGraph
from condrank.fitting.reading import read_settings
from condrank.kernels import read_kernel
from condrank.nodes import Nodes
from condrank.nodes.spectrum import KernelSample
from condrank.objective.losses import get_loss
from condrank.objective.relations import get_relation
from condrank.problem.expected import dual_steps, edge_strengths, moment_steps, primal_steps
from condrank.problem.problem import Problem
from condrank.solvers.dual import DualSystem, solve_dual
from condrank.solvers.primal import PrimalSolver
from condrank.solvers.system import Options

N, D = 320, 6
X = np.random.default_rng(3).normal(size=(N, D))
GAMMAS = {"narrow": 5 / D, "medium": 1 / D, "wide": 0.1 / D}
widths = pytest.mark.parametrize("width", GAMMAS)
relations = pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])


def graph(share, relation):
    """Random pairs; of a relation that ties both directions, one of them."""
    rng = np.random.default_rng(4)
    drawn = rng.random((N, N)) < share
    if relation != "ordinary":
        drawn = np.triu(drawn, 1) | np.triu(drawn.T, 1)
    sources, targets = np.nonzero(drawn)
    return RelationGraph.from_edges(X, sources, targets, rng.normal(size=len(sources)))


@widths
def test_a_sample_gives_the_spectrum(width):
    kernel = read_kernel("rbf", GAMMAS[width])
    exact = np.linalg.eigvalsh(kernel(X))[::-1].clip(0)
    guess = KernelSample(kernel, Nodes(X)).spectrum()
    assert len(guess) == N
    assert (np.diff(guess) <= 0).all()
    np.testing.assert_allclose(guess.sum(), exact.sum(), rtol=0.02)
    np.testing.assert_allclose(guess[0], exact[0], rtol=0.15)
    np.testing.assert_allclose(np.sum(guess**2), np.sum(exact**2), rtol=0.3)
    counted = [np.sum(s / (s + 1)) for s in (exact, guess)]  # effective dimensions
    assert 0.7 < counted[1] / counted[0] < 1.4
    np.testing.assert_array_equal(guess, KernelSample(kernel, Nodes(X)).spectrum())


def test_few_nodes_are_all_looked_at():
    kernel = read_kernel("rbf", 0.3)
    np.testing.assert_allclose(
        KernelSample(kernel, Nodes(X[:50])).spectrum(), np.linalg.eigvalsh(kernel(X[:50]))[::-1], atol=1e-12
    )


@relations
@widths
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_expected_iterations_are_near_the_counted_ones(width, share, relation):
    """Within a factor of three, for random labels; the primal ones of narrow kernels are fewer than told."""
    seen, alpha, tol = graph(share, relation), 0.1, 1e-6
    ranker = ConditionalRanker(relation, "regression", alpha, "rbf", GAMMAS[width], tol=tol)
    sigma = KernelSample(read_kernel("rbf", GAMMAS[width]), Nodes(X)).spectrum()
    strengths = edge_strengths(get_relation(relation), sigma, sigma, (N, N))
    edges = seen.relation
    primal = primal_steps(strengths, edges.n_pairs, N * N, alpha, tol)
    system = PrimalSolver().build(Problem(seen, read_settings(ranker, seen)))
    counted = system.solve(alpha, Options(tol, 1000)).n_iter
    assert 1 / 3 < primal / counted < (3 if width != "narrow" else 6)
    plain = dual_steps(strengths, edges.n_pairs, N * N, alpha, tol)[0]
    K = rbf_kernel(X, gamma=GAMMAS[width])
    dual = DualSystem.kronecker(get_relation(relation), get_loss("regression"), K, None, edges)
    found = solve_dual(dual, alpha, tol=tol, preconditioner=None)[1].n_iter
    assert 1 / 3 < plain / found < 3


def test_features_taken_out_save_iterations():
    sigma = np.linalg.eigvalsh(rbf_kernel(X, gamma=GAMMAS["wide"]))[::-1].clip(0)
    strengths = edge_strengths(get_relation("ordinary"), sigma, sigma, (N, N))
    steps = dual_steps(strengths, 5000, N * N, 0.1, 1e-6, (0, 32, 64, 256))
    assert (np.diff(steps) <= 0).all()
    assert steps[-1] < steps[0] / 3


def test_moments_bound_plain_iterations_of_narrow_kernels():
    sigma = np.linalg.eigvalsh(rbf_kernel(X, gamma=20.0))[::-1].clip(0)
    square = float(np.sum(sigma**2)) ** 2
    told = moment_steps(1.0, square, 2000, N * N, 0.1, 1e-6)
    strengths = edge_strengths(get_relation("ordinary"), sigma, sigma, (N, N))
    assert dual_steps(strengths, 2000, N * N, 0.1, 1e-6)[0] <= told + 1e-9
    assert told < 15
