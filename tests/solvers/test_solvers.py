"""Every solver of incomplete graphs against the naive twin."""

import numpy as np
import pytest
from scipy import sparse

import reference
from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import ConditionalRanker, RelationGraph
from condrank.objective.relations import RELATIONS
from reference import error, naive_observed, scaled
from reference_incomplete import (
    EVERYONE,
    LOSSES,
    NEW,
    SOLVERS,
    N,
    X,
    Y,
    as_dense,
    edge_list,
    fit,
    holes,
    kernels,
    losses,
    models,
    naive,
    values,
)

# Labels of no particular form: only their symmetric or skew part can be learned, and a ranker warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


@pytest.mark.parametrize("observed", [0.95, 0.5, 0.15, "no loops"])
@kernels
@models
def test_every_solver_equals_the_naive_twin_at_every_density(relation, loss, kernel, observed):
    labels = holes(observed)
    K, K_all = values(kernel, X, X), values(kernel, EVERYONE, X)
    for share in (1e-4, 1e-1):
        alpha = scaled(share, K)
        options = {"relation": relation, "loss": loss, "K_queries": K_all, "K_objects": K_all}
        expected = reference.naive_observed(K, labels, alpha, **options)
        for solver in SOLVERS:
            ranker = fit(RelationGraph(X, labels), relation, loss, alpha, kernel, solver=solver)
            assert error(ranker.predict(EVERYONE, EVERYONE), expected) < 1e-6
            assert error(ranker.predict(X), expected[:N, :N]) < 1e-6
            assert error(ranker.predict(NEW), expected[N:, :N]) < 1e-6
            assert error(K_all @ ranker.dual_coef_ @ K_all.T, expected) < 1e-6


@pytest.mark.parametrize("solver", ["primal", "explicit"])
@models
def test_a_complete_graph_equals_the_closed_form(relation, loss, solver):
    graph = RelationGraph(X, Y)
    for kernel in ("linear", "rbf"):
        closed, other = (fit(graph, relation, loss, 0.2, kernel, solver=s) for s in ("closed_form", solver))
        assert other.solver_ == solver
        assert (closed.n_iter_, other.n_iter_ is None) == (None, solver == "explicit")
        assert error(other.predict(NEW, EVERYONE), closed.predict(NEW, EVERYONE)) < 1e-7
        assert error(other.coef_, closed.coef_) < 1e-7


@models
def test_a_graph_without_loops_is_not_the_complete_graph(relation, loss):
    filled = fit(RelationGraph(X, Y), relation, loss).predict(NEW)
    change = error(fit(RelationGraph(X, holes("no loops")), relation, loss).predict(NEW), filled)
    if relation == "reciprocal" and loss == "regression":  # a loop has no features
        assert change < 1e-7
    else:
        assert change > 1e-3


@models
def test_holes_stored_entries_and_edge_lists_are_the_same(relation, loss):
    labels = holes(0.5)
    sources, targets, y = edge_list(labels)
    y[::7] = 0  # stored zeros are observed
    labels[sources, targets] = y
    stored = sparse.coo_array((y, (sources, targets)), shape=(N, N))
    expected = naive((sources, targets, y), 0.1, relation=relation, loss=loss)
    shuffled = np.random.default_rng(2).permutation(len(y))
    names = np.array([f"node {i}" for i in range(N)])
    for graph in (
        RelationGraph(X, labels),
        RelationGraph(X, stored),
        RelationGraph(X, sparse.csr_array(stored)),
        RelationGraph.from_edges(X, sources, targets, y),
        RelationGraph.from_edges(X, sources[shuffled], targets[shuffled], y[shuffled]),
        RelationGraph.from_edges(X, names[sources], names[targets], y, ids=names),
    ):
        assert not graph.is_complete
        assert error(fit(graph, relation, loss).predict(EVERYONE, EVERYONE), expected) < 1e-6


@pytest.mark.parametrize("solver", ["primal", "explicit"])
@kernels
@models
def test_weights_and_repeated_edges_equal_the_naive_twin(relation, loss, kernel, solver):
    rng = np.random.default_rng(3)
    sources, targets = rng.integers(0, N, size=(2, 150))
    y, weights = rng.normal(size=150) + 1, rng.choice([0.0, 0.25, 1.0, 3.0], size=150)
    assert len(np.unique(sources * N + targets)) < 140  # some do repeat
    edges = (sources, targets, y)
    for given in (weights, None):
        expected = naive(edges, 0.1, kernel, weights=given, relation=relation, loss=loss)
        ranker = fit(RelationGraph.from_edges(X, *edges, given), relation, loss, 0.1, kernel, solver=solver)
        assert error(ranker.predict(EVERYONE, EVERYONE), expected) < 1e-6


@models
def test_every_pair_with_other_weights_is_not_a_complete_graph(relation, loss):
    sources, targets, y = edge_list(Y)
    weights = np.random.default_rng(4).uniform(0.1, 20, size=len(y))
    graph = RelationGraph.from_edges(X, sources, targets, y, weights)
    assert not graph.is_complete
    expected = naive((sources, targets, y), 0.1, weights=weights, relation=relation, loss=loss)
    assert error(fit(graph, relation, loss).predict(EVERYONE, EVERYONE), expected) < 1e-6
    # All weights the same: the same as a smaller λ.
    heavy = RelationGraph.from_edges(X, sources, targets, y, np.full(len(y), 4.0))
    closed = fit(RelationGraph(X, Y), relation, loss, 0.1 / 4, solver="closed_form")
    assert error(fit(heavy, relation, loss, 0.1).predict(NEW), closed.predict(NEW)) < 1e-7


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@models
def test_nodes_without_edges_equal_the_naive_twin(relation, loss, solver):
    labels = holes(0.5)
    labels[[0, 5, 11]] = np.nan  # no outgoing edges
    labels[:, [5, 7]] = np.nan  # no incoming edges; node 5 has none at all
    expected = naive(edge_list(labels), 0.1, relation=relation, loss=loss)
    found = fit(RelationGraph(X, labels), relation, loss, solver=solver).predict(EVERYONE, EVERYONE)
    assert error(found, expected) < 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_only_single_edges_rank_nothing(relation, solver):
    graph = RelationGraph.from_edges(X, np.arange(N), (np.arange(N) + 3) % N, np.arange(N) + 1.0)
    np.testing.assert_allclose(fit(graph, relation, "ranking", solver=solver).predict(NEW), 0, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@models
def test_one_direction_of_each_pair_is_enough(relation, loss, solver):
    labels = np.where(np.triu(np.ones((N, N), dtype=bool), 1), Y - 2, np.nan)
    expected = naive(edge_list(labels), 0.1, relation=relation, loss=loss)
    ranker = fit(RelationGraph(X, labels), relation, loss, solver=solver)
    found = ranker.predict(EVERYONE, EVERYONE)
    assert error(found, expected) < 1e-6
    if sign := reference.SIGNS[relation]:
        np.testing.assert_allclose(found, sign * found.T, atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@models
def test_equal_labels_leave_nothing_to_rank(relation, loss, solver):
    labels = np.where(np.isnan(holes(0.5)), np.nan, 3.0)
    found = fit(RelationGraph(X, labels), relation, loss, solver=solver).predict(EVERYONE, EVERYONE)
    if loss == "ranking":
        np.testing.assert_allclose(found, 0, atol=1e-10)
    else:
        assert error(found, naive(edge_list(labels), 0.1, relation=relation, loss=loss)) < 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
@losses
@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@kernels
def test_two_domains_equal_the_naive_twin(kernel, rank_by, loss, solver):
    rng = np.random.default_rng(6)
    objects, new_objects = rng.normal(size=(9, 3)), rng.normal(size=(2, 3))
    labels = np.where(rng.random((N, 9)) < 0.6, rng.normal(size=(N, 9)) + 1, np.nan)
    graph = RelationGraph(X, labels, objects=objects)
    sides = [(X, np.vstack([X, NEW])), (objects, np.vstack([objects, new_objects]))]
    (A, A_all), (B, B_all) = sides if rank_by == "outgoing" else sides[::-1]
    K, K_domain = values(kernel, A, A), values(kernel, B, B)
    alpha = scaled(1e-3, K, K_domain)
    expected = reference.naive_observed(
        K,
        labels if rank_by == "outgoing" else labels.T,
        alpha,
        loss=loss,
        K_domain=K_domain,
        K_queries=values(kernel, A_all, A),
        K_objects=values(kernel, B_all, B),
    )
    ranker = fit(graph, "ordinary", loss, alpha, kernel, rank_by=rank_by, solver=solver)
    assert error(ranker.predict(A_all, B_all), expected) < 1e-6
    assert error(ranker.predict(A), expected[: len(A), : len(B)]) < 1e-6
    assert error(ranker.predict(graph), expected[: len(A), : len(B)]) < 1e-6


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@models
def test_incoming_is_the_fit_on_the_transpose(relation, loss, solver):
    labels = holes(0.5)
    expected = naive(edge_list(labels.T), 0.1, relation=relation, loss=loss)
    ranker = fit(RelationGraph(X, labels), relation, loss, rank_by="incoming", solver=solver)
    assert error(ranker.predict(EVERYONE, EVERYONE), expected) < 1e-6
    turned = fit(RelationGraph(X, labels.T), relation, loss, solver=solver)
    np.testing.assert_allclose(as_dense(ranker.coef_), as_dense(turned.coef_).T, atol=1e-8)
    if relation == "ordinary" and loss == "ranking":  # regression, and h = ±h', hardly see the difference
        assert error(ranker.predict(NEW), fit(RelationGraph(X, labels)).predict(NEW)) > 1e-2


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@pytest.mark.parametrize(("relation", "loss"), [(r, loss) for r in ("ordinary", "symmetric") for loss in LOSSES])
@kernels
def test_a_similarity_prior_equals_the_naive_twin(kernel, relation, loss, solver):
    labels, tau = holes(0.5), -0.7
    K_new = values(kernel, EVERYONE, EVERYONE)
    alpha = scaled(1e-2, values(kernel, X, X))
    options = {"relation": relation, "loss": loss, "prior_weight": tau, "K_new": K_new}
    expected = naive(edge_list(labels), alpha, kernel, **options)
    ranker = fit(
        RelationGraph(X, labels), relation, loss, alpha, kernel, prior="similarity", prior_weight=tau, solver=solver
    )
    assert error(ranker.predict(EVERYONE, EVERYONE), expected) < 1e-6


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@models
@kernels
def test_a_constant_adds_one_to_the_kernel(kernel, relation, loss, solver):
    labels = holes(0.5)
    expected = naive(edge_list(labels), 0.1, kernel, constant=1.0, relation=relation, loss=loss)
    ranker = fit(RelationGraph(X, labels), relation, loss, 0.1, kernel, constant=True, solver=solver)
    assert error(ranker.predict(EVERYONE, EVERYONE), expected) < 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
@losses
@pytest.mark.parametrize("form", ["both directions", "both directions, told", "one direction, told"])
def test_probabilities_are_centred(form, loss, solver):
    P = 1 / (1 + np.exp(Y.T - Y))
    observed = np.random.default_rng(7).random((N, N)) < 0.6
    observed = np.triu(observed, 1) if form.startswith("one") else observed | observed.T
    labels = np.where(observed, P, np.nan)
    graph = RelationGraph(X, labels, probabilities=True if form.endswith("told") else None)
    assert graph.centre == 0.5
    expected = naive(edge_list(labels), 0.1, relation="reciprocal", loss=loss, centre=0.5)
    found = fit(graph, "reciprocal", loss, solver=solver).predict(EVERYONE, EVERYONE)
    assert error(found, expected) < 1e-6
    np.testing.assert_allclose(found + found.T, 1, atol=1e-10)


def test_one_direction_is_not_taken_for_probabilities_unasked():
    labels = np.where(np.triu(np.ones((N, N), dtype=bool), 1), 1 / (1 + np.exp(Y.T - Y)), np.nan)
    expected = naive(edge_list(labels), 0.1, relation="reciprocal", loss="regression")
    found = fit(RelationGraph(X, labels), "reciprocal", "regression").predict(EVERYONE, EVERYONE)
    assert error(found, expected) < 1e-6


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@models
@kernels
def test_single_precision_stays_single_and_near_double(kernel, relation, loss, solver):
    labels = holes(0.5)
    alpha = scaled(1e-2, values(kernel, X, X))
    ranker = fit(
        RelationGraph(X.astype(np.float32), labels.astype(np.float32)), relation, loss, alpha, kernel, solver=solver
    )
    found = ranker.predict(EVERYONE.astype(np.float32), EVERYONE.astype(np.float32))
    assert found.dtype == np.float32
    assert error(found, naive(edge_list(labels), alpha, kernel, relation=relation, loss=loss)) < 2e-4


@pytest.mark.parametrize("solver", SOLVERS)
@models
@kernels
def test_singular_kernels_equal_the_naive_twin(kernel, relation, loss, solver):
    nodes = np.vstack([X[:7], X[:3], np.zeros((2, 4))])  # three nodes twice, and one without any feature twice
    labels = holes(0.5)
    alpha = scaled(1e-3, values(kernel, nodes, nodes))
    expected = naive(edge_list(labels), alpha, kernel, nodes, relation=relation, loss=loss)
    ranker = fit(RelationGraph(nodes, labels), relation, loss, alpha, kernel, solver=solver)
    everyone = np.vstack([nodes, NEW])
    assert error(ranker.predict(everyone, everyone), expected) < 1e-6


@models
def test_more_features_than_nodes_equal_the_naive_twin(relation, loss):
    rng = np.random.default_rng(8)
    wide, new, labels = rng.normal(size=(N, 20)), rng.normal(size=(2, 20)), holes(0.5)
    K, K_new = wide @ wide.T, new @ wide.T
    alpha = scaled(1e-2, K)
    options = {"relation": relation, "loss": loss, "K_queries": K_new, "K_objects": K_new}
    expected = reference.naive_observed(K, labels, alpha, **options)
    for solver in ("primal", "explicit"):
        for nodes, others in ((wide, new), (sparse.csr_array(wide), sparse.csr_array(new))):
            found = fit(RelationGraph(nodes, labels), relation, loss, alpha, "linear", solver=solver)
            assert error(found.predict(others, others), expected) < 1e-6


@pytest.mark.parametrize("solver", ["primal", "auto", "explicit"])
@models
def test_precomputed_kernels_and_subgraphs_equal_the_naive_twin(relation, loss, solver):
    rng = np.random.default_rng(9)
    everyone = rng.normal(size=(16, 4))
    labels = np.where(rng.random((16, 16)) < 0.6, rng.normal(size=(16, 16)), np.nan)
    by_kernel = RelationGraph(values("rbf", everyone, everyone), labels)
    train, test = [14, 0, 5, 2, 7, 9, 3, 15, 1], [4, 6, 8, 11]
    K, K_test = values("rbf", everyone[train], everyone[train]), values("rbf", everyone[test], everyone[train])
    options = {"relation": relation, "loss": loss, "K_queries": K_test, "K_objects": K_test}
    expected = reference.naive_observed(K, labels[np.ix_(train, train)], 0.1, **options)
    ranker = fit(by_kernel[train], relation, loss, 0.1, "precomputed", solver=solver)
    assert error(ranker.predict(by_kernel[test]), expected) < 1e-6
    assert error(ranker.predict(K_test, K_test), expected) < 1e-6
    by_features = fit(RelationGraph(everyone, labels)[train], relation, loss, solver=solver)
    assert error(by_features.predict(everyone[test], everyone[test]), expected) < 1e-6


def test_the_prior_is_the_kernel_itself_also_when_clipped():
    K = TWELVE_NODES @ np.diag([1.0, 1.0, -0.2]) @ TWELVE_NODES.T
    sigma, Q = np.linalg.eigh(K)
    clipped = (Q * sigma.clip(0)) @ Q.T
    holes = np.where(np.random.default_rng(5).random((12, 12)) < 0.7, TWELVE_LABELS, np.nan)
    options = {"alpha": 0.5, "loss": "regression"}
    ranker = ConditionalRanker(
        kernel="precomputed", prior="similarity", prior_weight=0.4, clip=True, solver="primal", tol=1e-12, **options
    ).fit(K, holes)
    expected = naive_observed(clipped, holes - 0.4 * K, **options) + 0.4 * K
    np.testing.assert_allclose(ranker.predict(K), expected, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_graph_without_edges_is_refused(solver):
    with pytest.raises(ValueError, match="no observed edge"):
        fit(RelationGraph(X, np.full((N, N), np.nan)), solver=solver)
