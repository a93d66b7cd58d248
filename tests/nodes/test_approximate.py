"""Approximate coordinates: the model of an approximate kernel is the exact model of that kernel given as a matrix."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph, suggest_components
from condrank.exceptions import KernelWarning
from condrank.nodes import ApproximateKernel, Approximation, NodeKernel, Nodes
from condrank.nodes.fourier import FourierFeatures
from condrank.nodes.landmarks import choose_nodes, diagonal, pivots
from condrank.nodes.nystroem import NystroemFeatures
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.spectrum import components_for_alpha, components_for_share
from condrank.problem.coordinates import fit_coordinates
from reference import naive_complete, naive_observed

RNG = np.random.default_rng(0)
N, D = 14, 3
X, NEW = RNG.standard_normal((N, D)), RNG.standard_normal((4, D))
LABELS = RNG.standard_normal((N, N))
HOLES = RNG.random((N, N)) < 0.4
RELATIONS = {"ordinary": LABELS, "symmetric": LABELS + LABELS.T, "reciprocal": LABELS - LABELS.T}
WAYS = {
    "uniform": {},
    "kmeans": {"landmarks": "kmeans"},
    "pivoted": {"landmarks": "pivoted"},
    "fourier": {"approximation": "fourier"},
    "fourier, odd": {"approximation": "fourier", "n_components": 7},
}


def ranker(**params):
    return ConditionalRanker(**{"kernel": "rbf", "gamma": 0.4, "n_components": 6, "random_state": 0, **params})


def features(fitted, nodes, cols=False):
    """φ of a fitted ranker, the appended constant with it."""
    coordinates = fitted._model.cols if cols else fitted._model.rows
    assert isinstance(coordinates, ApproximateKernel)
    phi = coordinates.features(nodes)
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
    assert fitted.coef_.shape == (len(fitted._model.rows.sigma),) * 2
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
def test_both_directions_and_a_constant(rank_by, constant):
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


def test_exact_where_that_has_no_more_coordinates():
    exact = ranker(n_components=None).fit(X, LABELS)
    for m in (N, N + 3):
        fitted = ranker(n_components=m).fit(X, LABELS)
        np.testing.assert_array_equal(fitted.predict(NEW), exact.predict(NEW))
        assert fitted.plan_.coordinates == "exact rbf kernel"
    linear = ranker(kernel="linear", n_components=D).fit(X, LABELS)
    assert linear.plan_.coordinates == "explicit features"
    assert ranker(kernel="linear", n_components=D - 1).plan(X, LABELS).n_coordinates == D - 1


# Nyström's features


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear", "cosine"])
def test_as_many_landmarks_as_nodes_give_the_kernel_itself(kernel):
    node_kernel = NodeKernel(kernel, 0.4)
    phi = NystroemFeatures.fit(node_kernel, Nodes(X), N, "uniform", 0)(X)
    K = node_kernel(X)
    np.testing.assert_allclose(phi @ phi.T, K, atol=1e-9 * np.abs(K).max())


@given(
    n=st.integers(3, 12),
    share=st.floats(0.1, 0.9),
    landmarks=st.sampled_from(["uniform", "pivoted"]),
    repeated=st.booleans(),
    seed=st.integers(0, 2**31 - 1),
)
@settings(max_examples=40, deadline=None)
def test_the_kernel_is_exact_at_landmarks_and_never_larger(n, share, landmarks, repeated, seed):
    nodes = np.random.default_rng(seed).standard_normal((n, 2))
    if repeated:
        nodes = np.concatenate([nodes, nodes])
    kernel, m = NodeKernel("rbf", 0.5), max(1, int(share * len(nodes)))
    phi = NystroemFeatures.fit(kernel, Nodes(nodes), m, landmarks, seed)
    assert phi.n_features <= m
    K = kernel(nodes)
    left = K - phi(nodes) @ phi(nodes).T
    np.testing.assert_allclose(kernel(nodes, phi.landmarks), phi(nodes) @ phi(phi.landmarks).T, atol=1e-6)
    assert np.linalg.eigvalsh(left).min() > -1e-6  # what is left of a kernel is one


def test_repeated_nodes_make_a_singular_kernel_of_landmarks():
    twice = np.concatenate([X[:5]] * 4)
    Y = RNG.standard_normal((20, 20))
    fitted = ranker(n_components=15).fit(twice, Y)
    assert fitted.coef_.shape == (5, 5)
    exact = ranker(n_components=None).fit(twice, Y)
    np.testing.assert_allclose(fitted.predict(NEW), exact.predict(NEW), atol=1e-7)
    pivoted = ranker(n_components=15, landmarks="pivoted").fit(twice, Y)
    assert len(pivoted._model.rows.features.landmarks) == 5
    np.testing.assert_allclose(pivoted.predict(NEW), exact.predict(NEW), atol=1e-7)


def test_indefinite_kernels_are_refused_warned_of_or_clipped():
    Q = np.linalg.qr(RNG.standard_normal((N, N)))[0]
    K = (Q * np.linspace(-1, 1, N)) @ Q.T
    K = (K + K.T) / 2
    with pytest.raises(ValueError, match=r"not positive semi-definite.*clip=True"):
        ranker(kernel="precomputed", n_components=N - 1).fit(K, LABELS)
    clipped = ranker(kernel="precomputed", n_components=N - 1, clip=True).fit(K, LABELS)
    assert len(clipped.coef_) <= (np.linalg.eigvalsh(K) > 0).sum()
    slightly = (Q * np.r_[-1e-7, np.ones(N - 1)]) @ Q.T
    with pytest.warns(KernelWarning, match="not positive semi-definite"):
        NystroemFeatures.fit(NodeKernel("precomputed"), Nodes((slightly + slightly.T) / 2), N, "uniform", 0)


def test_asymmetric_kernels_are_refused():
    with pytest.raises(ValueError, match="not symmetric"):
        ranker(kernel=lambda x, y: float(x[0] - 2 * y[1])).fit(X, LABELS)
    with pytest.raises(ValueError, match="not symmetric"):
        ranker(kernel="precomputed").fit(X @ RNG.standard_normal((D, N)), LABELS)


def test_a_callable_is_the_kernel_that_it_computes():
    def rbf(x, y):
        return float(np.exp(-0.4 * np.sum((x - y) ** 2)))

    for landmarks in ("uniform", "kmeans", "pivoted"):
        one, other = (ranker(kernel=kernel, landmarks=landmarks).fit(X, LABELS) for kernel in (rbf, "rbf"))
        np.testing.assert_allclose(one.predict(NEW, NEW), other.predict(NEW, NEW), atol=1e-8)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("landmarks", ["uniform", "pivoted"])
def test_precomputed_kernels_are_told_from_columns_of_training_nodes(landmarks, constant):
    params = {"landmarks": landmarks, "constant": constant, "n_components": 4}
    train, test = np.array([12, 3, 5, 0, 9, 7, 2, 1]), np.array([4, 6, 13])
    K = NodeKernel("rbf", 0.4)(X)
    by_features = ranker(**params).fit(RelationGraph(X, LABELS)[train])
    graph = RelationGraph(K, LABELS)
    fitted = ranker(kernel="precomputed", **params).fit(graph[train])
    expected = by_features.predict(X[test], X[test])
    rows = K[np.ix_(test, train)]
    np.testing.assert_allclose(fitted.predict(graph[test]), expected, atol=1e-10)
    np.testing.assert_allclose(fitted.predict(rows, rows), expected, atol=1e-10)
    with pytest.raises(ValueError, match="8 columns, kernel values against the training nodes, got 9"):
        fitted.predict(np.ones((2, 9)))


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


# Landmarks


def test_pivots_are_distributed_as_if_drawn_one_by_one():
    nodes = np.concatenate([np.full((30, 1), 0.0), [[5.0]], [[10.0]]])  # thirty of a kind, and two apart
    similarity = NodeSimilarity(NodeKernel("rbf", 1.0), Nodes(nodes))
    for seed in range(20):
        chosen = pivots(similarity, 3, np.random.default_rng(seed))
        assert sorted(nodes[chosen, 0]) == [0.0, 5.0, 10.0]
    seconds = [nodes[pivots(similarity, 2, np.random.default_rng(seed)), 0].tolist() for seed in range(100)]
    assert all(first != second for first, second in seconds)


def test_pivots_in_several_blocks_leave_little_of_a_fast_decaying_kernel():
    nodes = Nodes(np.random.default_rng(1).uniform(size=(600, 2)))
    kernel = NodeKernel("rbf", 10.0)
    errors = {}
    for landmarks in ("uniform", "pivoted"):
        phi = NystroemFeatures.fit(kernel, nodes, 200, landmarks, 0)(nodes.base)
        errors[landmarks] = np.trace(kernel(nodes.base) - phi @ phi.T)
    assert 0 <= errors["pivoted"] < 0.3 * errors["uniform"]


def test_the_diagonal_of_any_kernel_is_read_in_squares():
    nodes = Nodes(RNG.standard_normal((70, 3)))
    for kernel in (NodeKernel("poly"), NodeKernel("rbf"), NodeKernel("linear"), NodeKernel("laplacian", constant=True)):
        np.testing.assert_allclose(diagonal(NodeSimilarity(kernel, nodes)), np.diag(kernel(nodes.base)))


def test_landmarks_follow_the_seed():
    def places(seed, name):
        return choose_nodes(name, NodeKernel("rbf"), Nodes(X), 5, np.random.default_rng(seed)).tolist()

    for name in ("uniform", "pivoted"):
        assert places(0, name) == places(0, name)
        assert any(places(0, name) != places(seed, name) for seed in range(1, 5))
    predictions = [ranker(random_state=seed).fit(X, LABELS).predict(NEW) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(predictions[0], predictions[1])
    assert not np.allclose(predictions[0], predictions[2])


# Fourier features


@pytest.mark.parametrize("m", [4000, 4001])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_many_fourier_features_come_near_the_kernel(kernel, m):
    node_kernel = NodeKernel(kernel, 0.4)
    phi = FourierFeatures.fit(node_kernel, Nodes(X), m, 0)(X)
    assert phi.shape == (N, m)
    np.testing.assert_allclose(phi @ phi.T, node_kernel(X), atol=0.1)  # four standard deviations of √(1/2000)


def test_an_odd_number_of_fourier_features_is_not_biased():
    node_kernel = NodeKernel("rbf", 0.4)
    some = [FourierFeatures.fit(node_kernel, Nodes(X), 1, seed)(X) for seed in range(4000)]
    np.testing.assert_allclose(np.mean([phi @ phi.T for phi in some], axis=0), node_kernel(X), atol=0.1)


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


# Number of components


def test_suggested_components_follow_known_decays():
    low_rank = np.random.default_rng(0).standard_normal((1500, 4)) @ np.random.default_rng(1).standard_normal((4, 30))
    assert suggest_components(low_rank, "linear") == 4
    clusters = np.repeat(10.0 * np.eye(7), 60, axis=0)
    assert suggest_components(clusters, "rbf", gamma=1.0) == 7
    assert suggest_components(np.eye(300), "rbf", gamma=10.0) > 290  # no two nodes alike: nothing can be spared
    wide = np.random.default_rng(0).standard_normal((900, 3))
    numbers = [suggest_components(wide, gamma=gamma) for gamma in (0.01, 0.1, 1.0)]
    assert numbers == sorted(numbers)
    exact = np.linalg.eigvalsh(NodeKernel("rbf", 0.1)(wide))[::-1]
    assert suggest_components(wide, gamma=0.1) == components_for_share(exact, 0.99)
    sampled = suggest_components(wide, gamma=0.1, sample=200)
    assert abs(sampled - components_for_share(exact, 0.99)) <= 0.2 * sampled
    graph = RelationGraph(wide, np.zeros((900, 900)))
    assert suggest_components(graph, gamma=0.1) == suggest_components(wide, gamma=0.1)


def test_a_large_alpha_needs_fewer_components():
    sigma = 2.0 ** -np.arange(20)
    assert components_for_share(sigma, 1 - 2.0**-10) == 10
    assert components_for_alpha(sigma, 2.0**-7) == 8  # the one that is just seen counts
    assert components_for_alpha(sigma, 2.0**-7.5) == 8
    assert components_for_alpha(sigma, 1e9) == 1
    assert components_for_alpha(sigma, 0.0) == 20
    nodes = np.random.default_rng(0).standard_normal((900, 3))
    exact = np.linalg.eigvalsh(NodeKernel("rbf", 0.1)(nodes))[::-1]
    for alpha in (0.1, 10.0, 1000.0):
        expected = int((exact * exact[0] >= alpha).sum())
        assert suggest_components(nodes, gamma=0.1, alpha=alpha) == expected
        assert 0.75 * expected <= suggest_components(nodes, gamma=0.1, alpha=alpha, sample=450) <= 1.1 * expected


def test_a_sample_that_shows_no_end_of_the_eigenvalues_suggests_all():
    assert suggest_components(np.random.default_rng(0).standard_normal((500, 50)), gamma=1.0, sample=100) == 500


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"share": 0.0}, "share must be a finite number greater than 0"),
        ({"share": 1.5}, "share must be at most 1"),
        ({"alpha": 0.0}, "alpha must be a finite number greater than 0"),
        ({"sample": 3}, "sample must be a whole number of at least 64"),
        ({"kernel": "none"}, "kernel must be a callable or one of"),
    ],
)
def test_suggesting_checks_its_arguments(params, message):
    with pytest.raises(ValueError, match=message):
        suggest_components(X, **params)


def test_auto_takes_as_many_as_alpha_lets_be_seen():
    nodes = np.random.default_rng(0).standard_normal((300, 2))
    Y = np.tanh(nodes[:, :1] - nodes[:, 1])
    counts = []
    for alpha in (1.0, 1000.0):
        fitted = ranker(n_components="auto", gamma=0.05, alpha=alpha, loss="regression").fit(nodes, Y)
        counts.append(suggest_components(nodes, gamma=0.05, alpha=alpha))
        assert fitted.plan_.coordinates.startswith(f"{counts[-1]} Nyström coordinates")
        exact = clone(fitted).set_params(n_components=None).fit(nodes, Y).predict(NEW[:, :2])
        distance = fitted.predict(NEW[:, :2]) - exact
        assert np.linalg.norm(distance) < 0.2 * np.linalg.norm(exact)
    assert counts[1] < counts[0] < 60


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
def test_what_does_not_fit_is_refused_before_any_work(params, message):
    with pytest.raises(ValueError, match=message):
        ranker(**params).plan(X, LABELS)


def test_means_of_sparse_features_are_refused():
    with pytest.raises(ValueError, match="landmarks='kmeans' needs dense features, got sparse features"):
        ranker(landmarks="kmeans").fit(sparse.csr_array(X), LABELS)


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
def test_saving_loading_pickling_and_cloning(params, tmp_path):
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
    assert sparse.issparse(loaded._model.rows.features.landmarks)
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
    before = warm._model.rows.features
    more = np.where(HOLES & (RNG.random((N, N)) < 0.5), np.nan, LABELS)
    warm.fit(X, more)
    assert warm._model.rows.features is before
    np.testing.assert_allclose(
        warm.predict(NEW, NEW), twin(warm, more, "ordinary", "ranking", naive_observed), atol=1e-8
    )
    warm.set_params(landmarks="pivoted").fit(X, more)
    assert warm._model.rows.features is not before


def test_a_path_is_made_of_the_same_coordinates():
    fitted = ranker().fit(X, LABELS)
    for other, alpha in zip(fitted.path([0.1, 10.0]), (0.1, 10.0), strict=True):
        np.testing.assert_allclose(other.predict(NEW), ranker(alpha=alpha).fit(X, LABELS).predict(NEW), atol=1e-9)


def test_coordinates_are_those_of_any_graph_kind():
    coordinates = fit_coordinates(NodeKernel("rbf"), Nodes(X), approximation=Approximation(5))
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
    assert np.shares_memory(fitted._objects.base, on_disk)
    expected = clone(one).fit(RelationGraph.from_classes(np.array(on_disk), labels))
    np.testing.assert_array_equal(fitted.predict(on_disk[:5], on_disk[:9]), expected.predict(on_disk[:5], on_disk[:9]))


def test_what_is_not_finite_is_found_in_blocks(tmp_path):
    wide = np.zeros((5000, 1000), dtype=np.float32)
    wide[4500, 7] = wide[4999, 0] = np.nan
    np.save(tmp_path / "nodes.npy", wide)
    with pytest.raises(ValueError, match="2 entries are NaN or infinite, the first in row 4500, column 7"):
        RelationGraph.from_classes(np.load(tmp_path / "nodes.npy", mmap_mode="r"), np.zeros(5000))
