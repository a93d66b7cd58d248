"""Approximate coordinates: the model of an approximate kernel is the exact model of that kernel given as a matrix."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph
from condrank.kernels import read_kernel
from condrank.nodes import ApproximateKernel, Approximation, Nodes
from condrank.problem.coordinates import fit_coordinates
from reference import naive_complete, naive_observed
from reference_approximate import HOLES, LABELS, NEW, RELATIONS, RNG, D, N, X, ranker

WAYS = {
    "uniform": {},
    "kmeans": {"landmarks": "kmeans"},
    "pivoted": {"landmarks": "pivoted"},
    "fourier": {"approximation": "fourier"},
    "fourier, odd": {"approximation": "fourier", "n_components": 7},
}


def features(fitted, nodes, cols=False):
    """φ of a fitted ranker, the appended constant with it."""
    coordinates = fitted.fitted_.model.cols if cols else fitted.fitted_.model.rows
    assert isinstance(coordinates, ApproximateKernel)
    phi = coordinates.features(Nodes(nodes))
    return np.hstack([phi, np.ones((phi.shape[0], 1))]) if coordinates.kernel.constant else phi


def twin(fitted, Y, relation, loss, naive=naive_complete, **options):
    """Brute force with the approximate kernel ΦΦᵀ as a matrix."""
    phi, new = features(fitted, X), features(fitted, NEW)
    return naive(
        phi @ phi.T,
        Y,
        fitted.alpha,
        relation=relation,
        loss=loss,
        K_queries=new @ phi.T,
        K_objects=new @ phi.T,
        **options,
    )


# The model


@pytest.mark.parametrize("loss", ["ranking", "regression"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("way", WAYS)
def test_complete_graphs_match_brute_force_with_the_approximate_kernel(way, relation, loss):
    Y = RELATIONS[relation]
    fitted = ranker(relation=relation, loss=loss, alpha=0.3, **WAYS[way]).fit(X, Y)
    assert fitted.solver_ == "closed_form"
    assert fitted.coef_.shape == (len(fitted.fitted_.model.rows.sigma),) * 2
    np.testing.assert_allclose(fitted.predict(NEW, NEW), twin(fitted, Y, relation, loss), atol=1e-8)


@pytest.mark.parametrize("loss", ["ranking", "regression"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("way", ["pivoted", "fourier"])
def test_holes_match_brute_force_with_the_approximate_kernel(way, relation, loss):
    Y = np.where(HOLES, np.nan, RELATIONS[relation])
    fitted = ranker(relation=relation, loss=loss, alpha=0.3, tol=1e-12, **WAYS[way]).fit(X, Y)
    assert fitted.solver_ == "primal"
    assert "dual" not in fitted.plan_.alternatives
    expected = twin(fitted, Y, relation, loss, naive_observed)
    np.testing.assert_allclose(fitted.predict(NEW, NEW), expected, atol=1e-8)


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("constant", [False, True])
def test_both_directions_and_a_constant_match_brute_force(rank_by, constant):
    fitted = ranker(rank_by=rank_by, constant=constant).fit(X, LABELS)
    Y = LABELS if rank_by == "outgoing" else LABELS.T
    np.testing.assert_allclose(fitted.predict(NEW, NEW), twin(fitted, Y, "ordinary", "ranking"), atol=1e-8)


def test_a_prior_is_the_approximate_similarity():
    Y = RELATIONS["symmetric"]
    fitted = ranker(relation="symmetric", prior="similarity", prior_weight=0.7).fit(X, Y)
    new = features(fitted, NEW)
    expected = twin(fitted, Y, "symmetric", "ranking", prior_weight=0.7, K_new=new @ new.T)
    np.testing.assert_allclose(fitted.predict(NEW, NEW), expected, atol=1e-8)


def test_classes_are_learned_as_their_dense_relation():
    labels = np.arange(N) % 3
    dense = ranker(relation="symmetric").fit(X, (labels[:, None] == labels).astype(float))
    fitted = ranker(relation="symmetric").fit(RelationGraph.from_classes(X, labels))
    np.testing.assert_allclose(fitted.predict(NEW, NEW), dense.predict(NEW, NEW), atol=1e-10)


def test_two_domains_are_approximated_apart():
    objects, Y = RNG.standard_normal((11, 2)), RNG.standard_normal((N, 11))
    fitted = ranker(n_components=5).fit(RelationGraph(X, Y, objects=objects))
    phi, psi = features(fitted, X), features(fitted, objects, cols=True)
    new = RNG.standard_normal((2, 2))
    expected = naive_complete(
        phi @ phi.T,
        Y,
        1.0,
        K_domain=psi @ psi.T,
        K_queries=features(fitted, NEW) @ phi.T,
        K_objects=features(fitted, new, cols=True) @ psi.T,
    )
    np.testing.assert_allclose(fitted.predict(NEW, new), expected, atol=1e-8)
    few = ranker(n_components=12).fit(RelationGraph(X, Y, objects=objects))
    assert few.coef_.shape == (12, 11)
    assert few.plan_.coordinates == ("12 Nyström coordinates of the rbf kernel, uniform landmarks and exact rbf kernel")


@pytest.mark.parametrize(
    "params",
    [
        {"loss": "logistic"},
        {"solver": "early_stopping", "max_iter": 5},
        {"compared": [0]},
        {"solver": "explicit"},
    ],
    ids=["logistic", "early stopping", "compared", "explicit"],
)
def test_other_solvers_see_the_features_of_a_linear_kernel(params):
    Y = np.sign(RELATIONS["reciprocal"])
    fitted = ranker(relation="reciprocal", tol=1e-12, **params).fit(X, Y)
    phi, new = features(fitted, X), features(fitted, NEW)
    if "compared" in params:
        # What is compared is no part of φ: a first feature that the kernel of the twin does not see.
        phi, new = np.hstack([X[:, :1], phi]), np.hstack([NEW[:, :1], new])
        params = params | {"feature_weights": [0.0, *np.ones(phi.shape[1] - 1)]}
    other = ConditionalRanker("reciprocal", kernel="linear", tol=1e-12, random_state=0, **params).fit(phi, Y)
    assert fitted.solver_ == other.solver_
    np.testing.assert_allclose(fitted.predict(NEW, NEW), other.predict(new, new), atol=1e-7)


def test_coordinates_are_exact_where_that_needs_no_more_of_them():
    exact = ranker(n_components=None).fit(X, LABELS)
    for m in (N, N + 3):
        fitted = ranker(n_components=m).fit(X, LABELS)
        np.testing.assert_array_equal(fitted.predict(NEW), exact.predict(NEW))
        assert fitted.plan_.coordinates == "exact rbf kernel"
    linear = ranker(kernel="linear", n_components=D).fit(X, LABELS)
    assert linear.plan_.coordinates == "explicit features"
    assert ranker(kernel="linear", n_components=D - 1).plan(X, LABELS).n_coordinates == D - 1


# Features


def test_sparse_features_are_as_dense_ones():
    for way in ("uniform", "pivoted", "fourier"):
        dense, thin = (ranker(**WAYS[way]).fit(kind(X), LABELS) for kind in (np.asarray, sparse.csr_array))
        np.testing.assert_allclose(thin.predict(sparse.csr_array(NEW)), dense.predict(NEW), atol=1e-10)


def test_feature_weights_come_before_the_kernel_and_the_landmarks():
    weights = np.array([0.5, 0.0, 2.0])
    for way in WAYS.values():
        one = ranker(feature_weights=weights, **way).fit(X, LABELS)
        other = ranker(**way).fit(X * weights, LABELS)
        np.testing.assert_allclose(one.predict(NEW), other.predict(NEW * weights), atol=1e-8)


# Precision


@pytest.mark.parametrize("way", WAYS)
def test_single_precision_stays_and_is_near_double(way):
    single = ranker(relation="symmetric", **WAYS[way])
    Y = RELATIONS["symmetric"]
    double = clone(single).fit(X, Y)
    single.fit(X.astype(np.float32), Y.astype(np.float32))
    scores = single.predict(NEW.astype(np.float32))
    assert scores.dtype == np.float32
    assert single.coef_.dtype == np.float32
    if way != "kmeans":  # whose centres may differ
        np.testing.assert_allclose(scores, double.predict(NEW), atol=2e-4)


# The facade


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number of at least 1, got 0"),
        ({"n_components": 2.5}, "n_components must be a whole number of at least 1, got 2.5"),
        ({"n_components": "many"}, "n_components must be None, 'auto' or a whole number of at least 1, got 'many'"),
        ({"approximation": "taylor"}, "approximation must be one of"),
        ({"landmarks": "best"}, "landmarks must be one of"),
        ({"solver": "dual"}, "n_components approximates coordinates, but solver='dual'"),
        ({"pairwise_kernel": "linear"}, "n_components approximates coordinates, but pairwise_kernel='linear'"),
        ({"approximation": "fourier", "kernel": "poly"}, "approximation='fourier' is for kernels"),
        ({"approximation": "fourier", "n_components": "auto"}, "n_components='auto' counts eigenvalues"),
        ({"landmarks": "kmeans", "kernel": "precomputed"}, "landmarks='kmeans' needs features"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_before_any_work(params, message):
    with pytest.raises(ValueError, match=message):
        ranker(**params).plan(X, LABELS)


def test_the_plan_describes_the_approximation_and_grows_with_it():
    graph = RelationGraph.from_classes(np.zeros((20_000, 8), dtype=np.float32), np.arange(20_000) % 5)
    plans = [ranker(n_components=m).plan(graph) for m in (200, 800)]
    assert plans[0].coordinates == "200 Nyström coordinates of the rbf kernel, uniform landmarks"
    assert [plan.n_coordinates for plan in plans] == [200, 800]
    assert plans[0].flops < plans[1].flops
    assert plans[0].memory < plans[1].memory < 20_000 * 800 * 4
    chosen = [ranker(n_components=200, landmarks=way).plan(graph).flops for way in ("uniform", "kmeans", "pivoted")]
    assert chosen[0] < min(chosen[1:])
    fourier = ranker(n_components=200, approximation="fourier").plan(graph)
    assert fourier.coordinates == "200 random Fourier features of the rbf kernel"


@pytest.mark.parametrize("params", [{}, *WAYS.values(), {"kernel": "precomputed", "gamma": None}, {"constant": True}])
def test_saved_pickled_and_cloned_rankers_predict_the_same(params, tmp_path):
    one = ranker(relation="symmetric", **params)
    nodes, new = (X @ X.T, NEW @ X.T) if one.kernel == "precomputed" else (X, NEW)
    fitted = one.fit(nodes, RELATIONS["symmetric"])
    fitted.save(tmp_path / "model")
    for other in (
        ConditionalRanker.load(tmp_path / "model"),
        pickle.loads(pickle.dumps(fitted)),
        clone(fitted).fit(nodes, RELATIONS["symmetric"]),
    ):
        np.testing.assert_array_equal(other.predict(new, new), fitted.predict(new, new))
        assert other.get_params() == fitted.get_params()


def test_a_subset_of_a_precomputed_graph_is_saved_with_its_own_columns(tmp_path):
    K, train = X @ X.T + np.eye(N), np.arange(N - 1, 3, -2)
    fitted = ranker(kernel="precomputed", n_components=3).fit(RelationGraph(K, LABELS)[train])
    fitted.save(tmp_path / "model")
    rows = K[:3, train]
    np.testing.assert_allclose(
        ConditionalRanker.load(tmp_path / "model").predict(rows, rows), fitted.predict(rows, rows)
    )


def test_sparse_landmarks_are_saved(tmp_path):
    fitted = ranker().fit(sparse.csr_array(X), LABELS)
    fitted.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    assert sparse.issparse(loaded.fitted_.model.rows.features.landmarks.base)
    np.testing.assert_array_equal(loaded.predict(NEW), fitted.predict(NEW))


def test_components_can_be_searched_for():
    search = GridSearchCV(ranker(), {"n_components": [2, 5, None]}, cv=2).fit(RelationGraph(X, LABELS))
    assert search.best_params_["n_components"] in (2, 5, None)
    assert len(set(search.cv_results_["mean_test_score"])) > 1


@pytest.mark.parametrize("cv", ["leave-query-out", "leave-node-out", "leave-edge-out"])
def test_shortcuts_are_those_of_the_approximate_kernel(cv):
    params = {"alphas": [1.0], "cv": cv, "relation": "ordinary", "random_state": 0}
    fitted = ConditionalRankerCV(kernel="rbf", gamma=0.4, n_components=6, **params).fit(X, LABELS)
    phi = features(fitted, X)
    other = ConditionalRankerCV(kernel="linear", **params).fit(phi, LABELS)
    np.testing.assert_allclose(fitted.cv_losses_, other.cv_losses_, atol=1e-12)
    np.testing.assert_allclose(fitted.predict(NEW), other.predict(features(fitted, NEW)), atol=1e-8)


def test_warm_starts_keep_landmarks_that_nobody_fixed():
    Y = np.where(HOLES, np.nan, LABELS)
    warm = ranker(random_state=None, warm_start=True, solver="primal", tol=1e-12).fit(X, Y)
    before = warm.fitted_.model.rows.features
    more = np.where(HOLES & (RNG.random((N, N)) < 0.5), np.nan, LABELS)
    warm.fit(X, more)
    assert warm.fitted_.model.rows.features is before
    np.testing.assert_allclose(
        warm.predict(NEW, NEW), twin(warm, more, "ordinary", "ranking", naive_observed), atol=1e-8
    )
    warm.set_params(landmarks="pivoted").fit(X, more)
    assert warm.fitted_.model.rows.features is not before


def test_a_path_is_made_of_the_same_coordinates():
    fitted = ranker().fit(X, LABELS)
    for other, alpha in zip(fitted.path([0.1, 10.0]), (0.1, 10.0), strict=True):
        np.testing.assert_allclose(other.predict(NEW), ranker(alpha=alpha).fit(X, LABELS).predict(NEW), atol=1e-9)


def test_coordinates_are_those_of_any_graph_kind():
    coordinates = fit_coordinates(read_kernel("rbf"), Nodes(X), approximation=Approximation(5))
    Z = coordinates.training()
    np.testing.assert_allclose(Z.T @ Z, np.diag(coordinates.sigma), atol=1e-10)
    np.testing.assert_allclose(coordinates.ones, Z.sum(axis=0), atol=1e-10)


# Out of core


def test_nodes_on_disk_are_read_in_blocks(tmp_path):
    n, d = 20_000, 512
    labels = np.arange(n) % 4
    on_disk = np.lib.format.open_memmap(tmp_path / "nodes.npy", mode="w+", dtype=np.float32, shape=(n, d))
    on_disk[:] = RNG.standard_normal((n, d), dtype=np.float32) + labels[:, None]
    on_disk.flush()
    on_disk = np.load(tmp_path / "nodes.npy", mmap_mode="r")
    one = ranker(relation="symmetric", gamma=1e-3, n_components=100)
    one.fit(RelationGraph.from_classes(on_disk[:500], labels[:500]))  # imports
    tracemalloc.start()
    try:
        fitted = one.fit(RelationGraph.from_classes(on_disk, labels))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.8 * on_disk.nbytes
    assert np.shares_memory(fitted.fitted_.objects.base, on_disk)
    expected = clone(one).fit(RelationGraph.from_classes(np.array(on_disk), labels))
    np.testing.assert_array_equal(fitted.predict(on_disk[:5], on_disk[:9]), expected.predict(on_disk[:5], on_disk[:9]))
