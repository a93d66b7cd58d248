"""The dual solver against the naive twin; its preconditioner; kernel values as coordinates of the result."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import ConditionalRanker, RelationGraph
from condrank.kernels import read_kernel
from condrank.models.model import Model
from condrank.nodes import Nodes
from condrank.nodes.values import KernelValues
from condrank.objective.losses import get_loss
from condrank.objective.relations import RELATIONS
from condrank.observations.edges import Edges
from condrank.products.edge_kernels import EDGE_KERNELS, edge_kernel
from condrank.solvers.dual import DualSystem, solve_dual
from condrank.solvers.dual_plan import plan_preconditioner
from condrank.solvers.edge_preconditioner import EdgePreconditioner, EdgeSpectrum, top_eigenpairs
from reference import loss_named, loss_root, naive_observed, naive_scores

BACKENDS = ["numba", "numpy"]
NAMES = ["regression", "ranking", "intercept"]
CASES = [(relation, loss) for relation in RELATIONS for loss in NAMES]
RNG = np.random.default_rng(5)


def rbf(X, gamma=0.3):
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=-1))


def edge_list(rng, n, m, n_edges, kind):
    """Loops, repeated edges and idle nodes; or each pair one way only; weights or none."""
    sources, targets = rng.integers(0, n - 2, n_edges), rng.integers(0, m - 1, n_edges)
    if kind == "one way":
        sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        apart = sources < targets
        sources, targets = sources[apart], targets[apart]
    weights = rng.uniform(0.2, 3, len(sources)) if kind == "weighted" else None
    return sources, targets, rng.normal(size=len(sources)), weights


def preconditioner_of(system, t=40, k=8, alpha=0.1):
    kernel = system.kernel
    return EdgePreconditioner(system, EdgeSpectrum(kernel.relation, kernel.K, kernel.G, k), t, alpha)


def as_matrix(operator, size):
    return np.array([operator(unit) for unit in np.eye(size)]).T


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["weighted", "repeated", "one way"])
@pytest.mark.parametrize(("relation", "loss"), CASES)
def test_scores_are_those_of_the_naive_twin(relation, loss, kind, backend):
    rng = np.random.default_rng(0)
    n = 14
    K = rbf(rng.normal(size=(n, 2)))
    sources, targets, values, weights = edge_list(rng, n, n, 70, kind)
    expected = naive_scores(K, sources, targets, values, 0.1, relation=relation, loss=loss, weights=weights)
    edges = Edges(sources, targets, values, weights, (n, n))
    system = DualSystem.kronecker(RELATIONS[relation], loss_named(loss), K, None, edges, backend)
    plain, found = solve_dual(system, 0.1, tol=1e-12, preconditioner=None)
    assert found.converged
    assert_allclose(system.kernel.predict(plain), expected, rtol=1e-8, atol=1e-9)
    faster, sooner = solve_dual(system, 0.1, tol=1e-12, preconditioner=preconditioner_of(system))
    assert sooner.converged
    assert sooner.n_iter < found.n_iter
    assert_allclose(faster, plain, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", NAMES)
def test_two_domains_equal_the_naive_twin(loss):
    rng = np.random.default_rng(1)
    K, G = rbf(rng.normal(size=(9, 2))), rbf(rng.normal(size=(12, 3)))
    sources, targets, values, weights = edge_list(rng, 9, 12, 50, "weighted")
    expected = naive_scores(K, sources, targets, values, 0.5, loss=loss, weights=weights, K_domain=G)
    edges = Edges(sources, targets, values, weights, (9, 12))
    system = DualSystem.kronecker(RELATIONS["ordinary"], loss_named(loss), K, G, edges)
    for preconditioner in (None, preconditioner_of(system)):
        a, _ = solve_dual(system, 0.5, tol=1e-12, preconditioner=preconditioner)
        assert_allclose(system.kernel.predict(a), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("name", EDGE_KERNELS)
def test_other_edge_kernels_equal_a_dense_solution(name, loss):
    rng = np.random.default_rng(2)
    n = 10
    K = rbf(rng.normal(size=(n, 2)))
    edges = Edges(*edge_list(rng, n, n, 40, "weighted"), (n, n))
    kernel = edge_kernel(name, K, None, edges)
    system = DualSystem(kernel, loss_named(loss))
    a, found = solve_dual(system, 0.3, tol=1e-12)
    matrix = as_matrix(kernel.product, edges.n_pairs)
    root = loss_root(edges.sources, edges.weights, loss)
    inner = root.T @ matrix @ root + 0.3 * np.eye(edges.n_pairs)
    assert found.converged
    assert_allclose(a, root @ np.linalg.solve(inner, root.T @ edges.values), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("relation", "loss"), CASES)
def test_single_precision_stays_single_and_near_double(relation, loss):
    rng = np.random.default_rng(3)
    n = 12
    K = rbf(rng.normal(size=(n, 2)))
    sources, targets, values, weights = edge_list(rng, n, n, 50, "weighted")
    expected = naive_scores(K, sources, targets, values, 1.0, relation=relation, loss=loss, weights=weights)
    edges = Edges(sources, targets, values.astype("f"), weights.astype("f"), (n, n))
    system = DualSystem.kronecker(RELATIONS[relation], loss_named(loss), K.astype("f"), None, edges)
    for preconditioner in (None, preconditioner_of(system)):
        a, found = solve_dual(system, 1.0, tol=1e-5, preconditioner=preconditioner)
        assert found.converged
        assert a.dtype == np.float32
        assert_allclose(system.kernel.predict(a), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("alpha", [1e-8, 0.1, 10.0])
@pytest.mark.parametrize("gamma", [1e-4, 0.3, 30.0])
@pytest.mark.parametrize(("relation", "loss"), CASES)
def test_the_preconditioner_is_symmetric_positive_definite(relation, loss, gamma, alpha):
    rng = np.random.default_rng(4)
    n = 15
    K = rbf(rng.normal(size=(n, 2)), gamma)
    edges = Edges(*edge_list(rng, n, n, 60, "weighted"), (n, n))
    system = DualSystem.kronecker(RELATIONS[relation], loss_named(loss), K, None, edges)
    inverse = as_matrix(preconditioner_of(system, alpha=alpha).at(alpha), edges.n_pairs)
    largest = np.abs(inverse).max()
    assert_allclose(inverse, inverse.T, atol=1e-9 * largest)
    assert np.linalg.eigvalsh((inverse + inverse.T) / 2).min() > 0


@pytest.mark.parametrize(("relation", "loss"), CASES)
def test_the_preconditioner_with_every_eigenvector_is_the_inverse(relation, loss):
    rng = np.random.default_rng(5)
    n = 8
    K = rbf(rng.normal(size=(n, 2)))
    edges = Edges(*edge_list(rng, n, n, 40, "weighted"), (n, n))
    system = DualSystem.kronecker(RELATIONS[relation], loss_named(loss), K, None, edges)
    # An α that single precision would spoil has the Gram matrix in double precision.
    alpha = 1e-8
    preconditioner = preconditioner_of(system, t=n * n, k=n, alpha=alpha)
    assert preconditioner.tail < 1e-9
    inverse = as_matrix(preconditioner.at(alpha), edges.n_pairs)
    matrix = as_matrix(lambda c: system.apply(c, alpha), edges.n_pairs)
    assert_allclose(inverse @ matrix, np.eye(edges.n_pairs), atol=1e-4)


def test_a_system_is_used_again_over_a_path_with_warm_starts():
    rng = np.random.default_rng(6)
    K = rbf(rng.normal(size=(20, 2)))
    edges = Edges(*edge_list(rng, 20, 20, 120, "weighted"), (20, 20))
    system = DualSystem.kronecker(RELATIONS["symmetric"], get_loss("ranking"), K, None, edges)
    preconditioner, start = preconditioner_of(system, alpha=0.01), None
    for alpha in (1.0, 0.1, 0.01):
        a, found = solve_dual(system, alpha, tol=1e-11, start=start, preconditioner=preconditioner)
        start = found.x
        assert_allclose(a, solve_dual(system, alpha, tol=1e-11, preconditioner=None)[0], rtol=1e-6, atol=1e-8)


def test_other_labels_may_replace_those_of_the_edges():
    rng = np.random.default_rng(7)
    K = rbf(rng.normal(size=(10, 2)))
    edges = Edges(*edge_list(rng, 10, 10, 40, "repeated"), (10, 10))
    system = DualSystem.kronecker(RELATIONS["ordinary"], get_loss("ranking"), K, None, edges)
    twice, _ = solve_dual(system, 0.1, values=2 * edges.values, tol=1e-12)
    assert_allclose(twice, 2 * solve_dual(system, 0.1, tol=1e-12)[0], rtol=1e-7, atol=1e-10)


def test_a_watch_sees_the_edge_coefficients_and_stops():
    rng = np.random.default_rng(8)
    K = rbf(rng.normal(size=(10, 2)))
    edges = Edges(*edge_list(rng, 10, 10, 40, "weighted"), (10, 10))
    system = DualSystem.kronecker(RELATIONS["ordinary"], get_loss("ranking"), K, None, edges)
    seen = []

    def watch(count, a):
        seen.append(a)
        return count == 3

    a, found = solve_dual(system, 0.01, tol=0.0, watch=watch, preconditioner=None)
    assert found.n_iter == 3
    assert not found.converged
    assert_allclose(seen[-1], a)


def large(gamma, n=300, share=0.04, relation="ordinary", loss="ranking"):
    rng = np.random.default_rng(9)
    K = rbf(rng.normal(size=(n, 3)), gamma)
    keys = rng.choice(n * n, int(share * n * n), replace=False)
    edges = Edges(keys // n, keys % n, rng.normal(size=len(keys)), None, (n, n))
    return DualSystem.kronecker(RELATIONS[relation], loss_named(loss), K, None, edges)


@pytest.mark.parametrize("relation", RELATIONS)
def test_wide_kernels_are_preconditioned(relation):
    system = large(0.1, relation=relation)
    plan = plan_preconditioner(system, 0.01)
    assert plan.rank in plan.ranks[1:]
    preconditioner = plan.build()
    assert preconditioner is not None
    plain, found = solve_dual(system, 0.01, tol=1e-6, preconditioner=None)
    a, sooner = solve_dual(system, 0.01, tol=1e-6, preconditioner=preconditioner)
    assert_allclose(system.kernel.product(a), system.kernel.product(plain), atol=1e-4)
    assert sooner.n_iter < found.n_iter / 4
    # The estimate is of the right size, plain and preconditioned.
    for iterations, rank in ((found.n_iter, 0), (sooner.n_iter, plan.rank)):
        assert 1 / 3 < plan.iterations[plan.ranks.index(rank)] / iterations < 3


def test_narrow_kernels_and_small_graphs_are_not_preconditioned():
    assert plan_preconditioner(large(100.0), 0.1).build() is None
    assert plan_preconditioner(large(0.1, n=20), 0.1).build() is None
    assert plan_preconditioner(large(0.1), 0.0).build() is None


def test_single_precision_is_used_where_it_saves_time_and_changes_no_result(monkeypatch):
    system = large(3.0)
    assert plan_preconditioner(system, 0.1, tol=1e-10).in_single_precision
    assert not plan_preconditioner(large(3.0, n=60), 0.1).in_single_precision  # products are small
    with monkeypatch.context() as without:
        without.setattr("condrank.solvers.dual_plan.PRECONDITIONER_COST_SHARE", 0)
        assert not plan_preconditioner(large(0.3, share=0.3), 1e-4).in_single_precision  # rounds are long
    used = []
    single = DualSystem.single
    monkeypatch.setattr(DualSystem, "single", lambda self: used.append(True) or single(self))
    a, found = solve_dual(system, 0.1, tol=1e-11)
    assert found.converged
    assert used
    plain, _ = solve_dual(system, 0.1, tol=1e-11, preconditioner=None)
    assert len(used) == 1
    assert_allclose(system.kernel.product(a), system.kernel.product(plain), rtol=0, atol=1e-8)


def test_top_eigenpairs_are_those_of_the_whole_matrix():
    rng = np.random.default_rng(10)
    K = rbf(rng.normal(size=(200, 3)), 0.1)
    sigma, Z = top_eigenpairs(K, 12)
    assert_allclose(sigma, np.linalg.eigvalsh(K)[::-1][:12], rtol=1e-2)
    assert_allclose(Z.T @ Z, np.diag(sigma), atol=1e-8)
    # What is left is positive semi-definite.
    assert np.linalg.eigvalsh(K - Z @ Z.T).min() > -1e-8


def test_wrong_arguments_are_refused():
    system = large(1.0, n=20)
    with pytest.raises(ValueError, match=r"loss must be one of .*got 'logistic'"):
        DualSystem(system.kernel, get_loss("logistic"))
    with pytest.raises(ValueError, match="preconditioner must be"):
        solve_dual(system, 0.1, preconditioner="closed form")
    linear = DualSystem(edge_kernel("linear", np.eye(20), None, system.edges), get_loss("ranking"))
    with pytest.raises(ValueError, match="needs a Kronecker edge kernel, got the linear kernel"):
        EdgePreconditioner(linear, EdgeSpectrum(RELATIONS["ordinary"], np.eye(20), np.eye(20)), 5, 0.1)


def scores(model, queries, objects):
    return np.vstack([block for _, block in model.blocks(queries, objects)])


@pytest.mark.parametrize("sparse_weights", [False, True])
def test_kernel_values_carry_the_dual_solution(sparse_weights):
    rng = np.random.default_rng(11)
    X, X_new = rng.normal(size=(12, 3)), rng.normal(size=(5, 3))
    nodes = Nodes(X)
    values = KernelValues(read_kernel("rbf", gamma=0.4), nodes)
    edges = Edges(*edge_list(rng, 12, 12, 50, "weighted"), (12, 12))
    system = DualSystem.kronecker(RELATIONS["reciprocal"], get_loss("ranking"), values.training(), None, edges)
    a, _ = solve_dual(system, 0.1, tol=1e-10)
    A = system.kernel.coefficients(a)
    model = Model(values, values, A if sparse_weights else A.toarray())
    new = Nodes(X_new)
    K_new = values.transform(new)
    assert_allclose(scores(model, None, None), system.kernel.predict(a), atol=1e-12)
    assert_allclose(scores(model, new, None), system.kernel.predict(a, K_new), atol=1e-12)
    assert_allclose(scores(model, None, new), system.kernel.predict(a, None, K_new), atol=1e-12)
    assert_allclose(scores(model, new, new), system.kernel.predict(a, K_new, K_new), atol=1e-12)


@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
def test_a_fit_goes_on_from_its_own_coefficients(relation):
    """Pairs observed one way, both ways, and loops: nothing is left to do."""
    rng = np.random.default_rng(8)
    nodes = rng.normal(size=(15, 3))
    sources, targets = np.nonzero(rng.random((15, 15)) < 0.4)
    values = nodes[sources, 0] * nodes[targets, 0] * (1 if relation == "symmetric" else np.sign(targets - sources))
    graph = RelationGraph.from_edges(nodes, sources, targets, values)
    ranker = ConditionalRanker(relation, "regression", 0.1, "rbf", solver="dual", warm_start=True, tol=1e-9)
    cold = ranker.fit(graph).n_iter_
    assert ranker.set_params(tol=1e-7).fit(graph).n_iter_ == 0 < cold


@pytest.mark.parametrize("prior", [None, "similarity"])
def test_clip_drops_the_same_part_in_every_solver(prior, tmp_path):
    K = TWELVE_NODES @ np.diag([1.0, 1.0, -1.0]) @ TWELVE_NODES.T
    K = (K + K.T) / 2
    holes = np.where(RNG.random((10, 10)) < 0.6, TWELVE_LABELS[:10, :10], np.nan)
    train, new = K[:10, :10], K[10:, :10]
    params = {"kernel": "precomputed", "clip": True, "tol": 1e-12, "prior": prior}
    one, *others = [
        ConditionalRanker(solver=solver, **params).fit(train, holes) for solver in ("primal", "dual", "explicit")
    ]
    for other in others:
        for queries in (new, train):
            np.testing.assert_allclose(other.predict(queries), one.predict(queries), atol=1e-8)
    others[0].save(tmp_path / "model")
    np.testing.assert_allclose(ConditionalRanker.load(tmp_path / "model").predict(new), one.predict(new), atol=1e-8)


def test_clip_goes_with_other_edge_kernels():
    K = TWELVE_NODES @ np.diag([1.0, 1.0, -1.0]) @ TWELVE_NODES.T
    K = (K + K.T) / 2
    sigma, Q = np.linalg.eigh(K)
    positive = (Q * sigma.clip(0)) @ Q.T
    params = {"kernel": "precomputed", "pairwise_kernel": "linear", "tol": 1e-12}
    clipped = ConditionalRanker(clip=True, **params).fit(K, TWELVE_LABELS)
    expected = ConditionalRanker(**params).fit((positive + positive.T) / 2, TWELVE_LABELS)
    np.testing.assert_allclose(clipped.predict(K), expected.predict(positive), atol=1e-7)


def test_an_indefinite_kernel_is_refused_in_the_dual_as_well():
    K = TWELVE_NODES @ np.diag([1.0, 1.0, -1.0]) @ TWELVE_NODES.T
    holes = np.where(RNG.random((12, 12)) < 0.2, TWELVE_LABELS, np.nan)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        ConditionalRanker(kernel="precomputed", solver="dual").fit(K, holes)


@pytest.mark.parametrize(("x", "y"), [(np.float32, np.float64), (np.float64, np.float32)])
def test_the_dual_has_the_precision_of_the_kernel(x, y):
    holes = np.where(RNG.random((12, 12)) < 0.3, TWELVE_LABELS, np.nan)
    ranker = ConditionalRanker(kernel="rbf", gamma=0.5, solver="dual", tol=1e-10, alpha=0.2)
    found = ranker.fit(TWELVE_NODES.astype(x), holes.astype(y)).predict(TWELVE_NODES.astype(x))
    expected = naive_observed(rbf_kernel(TWELVE_NODES, gamma=0.5), holes, 0.2)
    assert found.dtype == x
    np.testing.assert_allclose(found, expected, atol=1e-3 if x is np.float32 else 1e-6)
