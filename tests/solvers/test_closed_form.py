"""Every closed form against the naive twin, which builds the whole edge kernel and solves it as the paper states it."""

import mpmath
import numpy as np
import pytest
from scipy import sparse

import reference
from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import ConditionalRanker, RelationGraph
from reference import error, naive_complete, scaled
from reference_cases import CASES, LAMBDAS, LOSSES, MODELS, RELATIONS, cases, models

# Labels of no particular form: only their symmetric or skew part can be learned, and a ranker warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


@cases
@models
def test_every_model_equals_the_naive_twin_in_all_four_settings(case, relation, loss):
    n = case.n
    for share in LAMBDAS:
        alpha = scaled(share, case.K)
        ranker = case.fit(relation=relation, loss=loss, alpha=alpha)
        expected = reference.naive_complete(
            case.K, case.Y, alpha, relation=relation, loss=loss, K_queries=case.K_all, K_objects=case.K_all
        )
        if n == 1 and loss == "ranking":  # a single object has nothing to be ranked against
            np.testing.assert_allclose(case.predict_all(ranker), 0, atol=1e-12)
            continue
        new, known = case.given(case.X_new), case.K if case.precomputed else case.X
        assert error(case.predict_all(ranker), expected) < 1e-8
        assert error(ranker.predict(known, known), expected[:n, :n]) < 1e-8
        assert error(ranker.predict(known), expected[:n, :n]) < 1e-8
        assert error(ranker.predict(known, new), expected[:n, n:]) < 1e-8
        assert error(ranker.predict(new, known), expected[n:, :n]) < 1e-8
        assert error(ranker.predict(new), expected[n:, :n]) < 1e-8
        assert error(ranker.predict(new, new), expected[n:, n:]) < 1e-8


@cases
@models
def test_dual_coefficients_give_the_predictions(case, relation, loss):
    ranker = case.fit(relation=relation, loss=loss, alpha=scaled(1e-2, case.K))
    np.testing.assert_allclose(
        case.K_all @ ranker.dual_coef_ @ case.K_all.T, case.predict_all(ranker), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("name", ["linear, fewer features than nodes", "rbf", "precomputed"])
@models
def test_incoming_is_the_fit_on_the_transpose(name, relation, loss):
    case = CASES[name]
    alpha = scaled(1e-2, case.K)
    ranker = case.fit(relation=relation, loss=loss, alpha=alpha, rank_by="incoming")
    expected = reference.naive_complete(
        case.K, case.Y.T.copy(), alpha, relation=relation, loss=loss, K_queries=case.K_all, K_objects=case.K_all
    )
    turned = case.fit(case.Y.T, relation=relation, loss=loss, alpha=alpha)
    assert error(case.predict_all(ranker), expected) < 1e-8
    assert error(case.predict_all(ranker), case.predict_all(turned)) < 1e-12
    # Both coefficients stay those of an edge from its starting to its ending node: object → query.
    assert error(case.K_all @ ranker.dual_coef_.T @ case.K_all.T, expected) < 1e-8
    np.testing.assert_allclose(ranker.coef_, turned.coef_.T, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("d", "d_objects"), [(2, 3), (9, 11), (2, 11)], ids=["explicit", "exact", "one of each"])
def test_two_domains_equal_the_naive_twin(loss, rank_by, d, d_objects):
    rng = np.random.default_rng(1)
    X, X_objects, Y = rng.normal(size=(6, d)), rng.normal(size=(8, d_objects)), rng.normal(size=(6, 8)) + 1
    new, new_objects = rng.normal(size=(3, d)), rng.normal(size=(2, d_objects))
    graph = RelationGraph(X, Y, objects=X_objects)
    for share in LAMBDAS:
        alpha = scaled(share, X @ X.T, X_objects @ X_objects.T)
        ranker = ConditionalRanker("ordinary", loss, alpha, rank_by=rank_by).fit(graph)
        sides = [(X, np.vstack([X, new]), new), (X_objects, np.vstack([X_objects, new_objects]), new_objects)]
        (A, A_all, A_new), (B, B_all, B_new) = sides if rank_by == "outgoing" else sides[::-1]
        expected = reference.naive_complete(
            A @ A.T,
            Y if rank_by == "outgoing" else Y.T.copy(),
            alpha,
            loss=loss,
            K_domain=B @ B.T,
            K_queries=A_all @ A.T,
            K_objects=B_all @ B.T,
        )
        n, m = len(A), len(B)
        assert error(ranker.predict(A_all, B_all), expected) < 1e-8
        assert error(ranker.predict(A), expected[:n, :m]) < 1e-8
        assert error(ranker.predict(A_new), expected[n:, :m]) < 1e-8
        assert error(ranker.predict(A_new, B_new), expected[n:, m:]) < 1e-8
        assert error(ranker.predict(graph), expected[:n, :m]) < 1e-8
        pairs = ranker.predict_edges(A_all[:4], np.vstack([B_new[:2], B[:2]]))
        assert error(pairs, expected[range(4), [m, m + 1, 0, 1]]) < 1e-8


def test_two_domains_with_precomputed_kernels_equal_those_with_features():
    rng = np.random.default_rng(2)
    X, X_objects, Y = rng.normal(size=(6, 2)), rng.normal(size=(5, 3)), rng.normal(size=(6, 5))
    by_features = ConditionalRanker(kernel="rbf", gamma=0.5).fit(RelationGraph(X, Y, objects=X_objects))
    K, K_objects = (reference.kernel_values("rbf", side, side, gamma=0.5) for side in (X, X_objects))
    by_kernels = ConditionalRanker(kernel="precomputed").fit(RelationGraph(K, Y, objects=K_objects))
    new = rng.normal(size=(2, 2))
    K_new = reference.kernel_values("rbf", new, X, gamma=0.5)
    np.testing.assert_allclose(by_kernels.predict(K_new), by_features.predict(new), rtol=1e-9, atol=1e-12)


# Small λ: the double-precision twin loses its digits, the one of 40 digits does not


def exact_linear(X, X_other):
    return reference.exact_array(X) @ reference.exact_array(X_other).T


@pytest.mark.parametrize(("relation", "loss"), [*MODELS, ("ordinary", "intercept"), ("symmetric", "intercept")])
@pytest.mark.parametrize("kind", ["explicit", "explicit, rank-deficient", "linear", "rbf"])
def test_a_small_alpha_keeps_its_digits(kind, relation, loss):
    rng = np.random.default_rng(3)
    n, d = 6, {"linear": 8, "rbf": 2}.get(kind, 2)
    X, X_new, Y = rng.normal(size=(n, d)), rng.normal(size=(2, d)), rng.normal(size=(n, n)) + 3
    if kind == "explicit, rank-deficient":
        X, X_new = (np.hstack([nodes, nodes[:, :1] - 2 * nodes[:, 1:]]) for nodes in (X, X_new))
    if kind == "rbf":
        K, K_new = (reference.kernel_values("rbf", nodes, X, gamma=1.0) for nodes in (X, X_new))
        K = (K + K.T) / 2
        alpha = scaled(1e-8, K)
        given, given_new, kernel = K, K_new, "precomputed"
    else:
        alpha = scaled(1e-8, X @ X.T)
        given, given_new, kernel = X, X_new, "linear"
        with mpmath.workdps(40):
            K, K_new = exact_linear(X, X), exact_linear(X_new, X)
    options = reference.loss_options(loss)
    ranker = ConditionalRanker(relation, alpha=alpha, kernel=kernel, **options).fit(given, Y)
    expected = reference.exact_complete(K, Y, alpha, relation=relation, K_queries=K_new, K_objects=K_new, **options)
    assert error(ranker.predict(given_new, given_new), expected) < 1e-8


# Constant coordinate


@cases
@models
def test_a_constant_adds_one_to_the_kernel(case, relation, loss):
    if case.n == 1 and loss == "ranking":
        pytest.skip("a single object has nothing to be ranked against")
    alpha = scaled(1e-3, case.K + 1)
    ranker = case.fit(relation=relation, loss=loss, alpha=alpha, constant=True)
    expected = reference.naive_complete(
        case.K + 1, case.Y, alpha, relation=relation, loss=loss, K_queries=case.K_all + 1, K_objects=case.K_all + 1
    )
    assert error(case.predict_all(ranker), expected) < 1e-8


# Singular kernels


def singular_nodes(kind, d):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(7, d))
    if kind == "duplicated nodes":
        X[3], X[5] = X[0], X[0]
    elif kind == "dependent features":
        X[:, -1] = X[:, 0] - X[:, 1]
    else:
        X[:, 1] = 0
    return X


@pytest.mark.parametrize("kind", ["duplicated nodes", "dependent features", "zero column"])
@pytest.mark.parametrize(("kernel", "d"), [("linear", 4), ("linear", 9), ("rbf", 3), ("cosine", 4)])
@models
def test_singular_kernels_equal_the_naive_twin(kind, kernel, d, relation, loss):
    X, rng = singular_nodes(kind, d), np.random.default_rng(7)
    X_new, Y = rng.normal(size=(3, d)), rng.normal(size=(7, 7)) + 1
    K, K_new = (reference.kernel_values(kernel, nodes, X) for nodes in (X, X_new))
    for share in LAMBDAS:
        alpha = scaled(share, K)
        ranker = ConditionalRanker(relation, loss, alpha, kernel).fit(X, Y)
        expected = reference.naive_complete(K, Y, alpha, relation=relation, loss=loss, K_queries=K_new, K_objects=K_new)
        assert error(ranker.predict(X_new, X_new), expected) < 1e-8


@models
def test_features_that_span_the_constant_vector_equal_the_naive_twin(relation, loss):
    """ω = 0: the ranking forms must not divide what cancels."""
    rng = np.random.default_rng(8)
    X, Y = np.eye(4)[[0, 0, 1, 1, 2, 3, 3]], rng.normal(size=(7, 7))
    for kernel in ("linear", "precomputed"):
        given = X if kernel == "linear" else X @ X.T
        for share in LAMBDAS:
            alpha = scaled(share, X @ X.T)
            ranker = ConditionalRanker(relation, loss, alpha, kernel).fit(given, Y)
            expected = reference.naive_complete(X @ X.T, Y, alpha, relation=relation, loss=loss)
            assert error(ranker.predict(given), expected) < 1e-8


# Forms of features and labels


SPARSE = ["linear, fewer features than nodes", "linear, more features than nodes", "rbf", "poly", "laplacian"]


@pytest.mark.parametrize("name", [*SPARSE, "cosine, fewer features than nodes", "cosine, more features than nodes"])
@models
def test_sparse_features_equal_dense_ones(name, relation, loss):
    case = CASES[name]
    X, X_new = case.X.copy(), case.X_new.copy()
    X[::2, 0], X_new[1, :2] = 0, 0
    ranker = case.ranker(relation=relation, loss=loss, alpha=0.5).fit(X, case.Y)
    expected = ranker.predict(X_new, X_new)
    assert np.abs(expected).max() > 1e-3
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.coo_array):
        other = case.ranker(relation=relation, loss=loss, alpha=0.5).fit(form(X), case.Y)
        np.testing.assert_allclose(other.predict(form(X_new), form(X_new)), expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(other.predict(X_new), ranker.predict(X_new), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("callable", "a single node")])
@models
def test_float32_stays_float32_and_agrees(name, relation, loss):
    case = CASES[name]
    params = {"relation": relation, "loss": loss, "alpha": np.float64(scaled(1e-1, case.K))}
    expected = case.predict_all(case.fit(**params))
    given = (case.K if case.precomputed else case.X).astype(np.float32)
    both = case.given(np.vstack([case.X, case.X_new])).astype(np.float32)
    ranker = case.ranker(**params).fit(given, case.Y.astype(np.float32))
    found = ranker.predict(both, both)
    assert found.dtype == np.float32
    assert error(found, expected) < 1e-3


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(CASES["rbf"], id="exact"),
        pytest.param(CASES["linear, fewer features than nodes"], id="explicit"),
    ],
)
@models
def test_coefficients_of_float32_are_float32(case, relation, loss):
    ranker = case.ranker(relation=relation, loss=loss).fit(case.X.astype(np.float32), case.Y.astype(np.float32))
    X_new = case.X_new.astype(np.float32)
    assert ranker.coef_.dtype == ranker.dual_coef_.dtype == ranker.predict_edges(X_new, X_new).dtype == np.float32


@models
def test_whole_numbers_and_booleans_are_fitted_as_floats(relation, loss):
    rng = np.random.default_rng(120)
    for X in (rng.integers(-3, 4, size=(8, 3)), rng.integers(-3, 4, size=(6, 9)), rng.random((8, 3)) > 0.4):
        n = len(X)
        for Y in (rng.integers(-2, 3, size=(n, n)), rng.random((n, n)) > 0.5):
            alpha = 0.8
            ranker = ConditionalRanker(relation, loss, alpha).fit(X, Y)
            K = X.astype(float) @ X.T
            expected = reference.naive_complete(K, Y.astype(float), alpha, relation=relation, loss=loss)
            assert error(ranker.predict(X), expected) < 1e-8
            assert error(ranker.predict(X[:2], X.tolist()), expected[:2]) < 1e-8


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("name", ["linear, fewer features than nodes", "rbf"])
@models
def test_sparse_labels_with_known_zeros_equal_dense_ones(name, relation, loss, rank_by):
    case = CASES[name]
    Y = np.where(np.random.default_rng(13).random(case.Y.shape) < 0.3, case.Y, 0)
    params = {"relation": relation, "loss": loss, "rank_by": rank_by, "alpha": 0.4}
    expected = case.predict_all(case.fit(Y, **params))
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        graph = RelationGraph(case.X, form(Y), unstored="zero")
        np.testing.assert_allclose(case.predict_all(case.ranker(**params).fit(graph)), expected, rtol=1e-9, atol=1e-12)


# The path of λ


@pytest.mark.parametrize("extra", [{}, {"prior": "similarity"}, {"rank_by": "incoming"}], ids=str)
@models
def test_a_path_equals_separate_fits(relation, loss, extra):
    if relation == "reciprocal" and "prior" in extra:
        pytest.skip("the prior is symmetric")
    alphas = [1e-3, 7.0, 0.2]
    for name in ("linear, fewer features than nodes", "rbf", "precomputed"):
        case = CASES[name]
        if case.precomputed and "prior" in extra:
            continue
        fitted = case.fit(relation=relation, loss=loss, alpha=100.0, **extra)
        before = case.predict_all(fitted)
        for alpha, ranker in zip(alphas, fitted.path(alphas), strict=True):
            separate = case.fit(relation=relation, loss=loss, alpha=alpha, **extra)
            assert ranker.alpha == ranker.alpha_ == alpha
            np.testing.assert_array_equal(case.predict_all(ranker), case.predict_all(separate))
            np.testing.assert_array_equal(ranker.dual_coef_, separate.dual_coef_)
        np.testing.assert_array_equal(case.predict_all(fitted), before)
        assert fitted.alpha_ == 100


# What the models promise for all data


@cases
@models
def test_a_large_alpha_shrinks_predictions_to_zero(case, relation, loss):
    assert np.abs(case.predict_all(case.fit(relation=relation, loss=loss, alpha=1e14))).max() < 1e-9


@cases
@pytest.mark.parametrize("loss", LOSSES)
def test_predictions_have_the_form_of_the_relation(case, loss):
    for share in (1e-8, 1e-2):
        alpha = scaled(share, case.K)
        for relation, sign in (("symmetric", 1), ("reciprocal", -1)):
            ranker = case.fit(relation=relation, loss=loss, alpha=alpha)
            scores = case.predict_all(ranker)
            assert error(sign * scores.T, scores) < 1e-12 or np.abs(scores).max() < 1e-10
            np.testing.assert_allclose(ranker.coef_, sign * ranker.coef_.T, rtol=1e-12, atol=1e-13)


@cases
@pytest.mark.parametrize("relation", RELATIONS)
def test_ranking_ignores_a_constant_added_to_a_row(case, relation):
    shifted = case.Y + np.random.default_rng(15).normal(scale=5, size=(case.n, 1))
    plain, moved = (case.fit(Y, relation=relation, loss="ranking", alpha=0.1) for Y in (case.Y, shifted))
    np.testing.assert_allclose(case.predict_all(moved), case.predict_all(plain), rtol=1e-8, atol=1e-9)
    if case.n > 1:  # regression is not so
        plain, moved = (case.fit(Y, relation=relation, loss="regression", alpha=0.1) for Y in (case.Y, shifted))
        assert error(case.predict_all(moved), case.predict_all(plain)) > 1e-3


@cases
@pytest.mark.parametrize("sign", [1, -1], ids=["symmetric", "reciprocal"])
def test_ordinary_regression_on_both_directions_is_that_of_the_relation(case, sign):
    Y = case.Y + sign * case.Y.T
    relation = "symmetric" if sign > 0 else "reciprocal"
    for share in LAMBDAS:
        ordinary, special = (
            case.fit(Y, relation=r, loss="regression", alpha=scaled(share, case.K)) for r in ("ordinary", relation)
        )
        np.testing.assert_allclose(case.predict_all(ordinary), case.predict_all(special), rtol=1e-8, atol=1e-9)


# Complete parts of incomplete graphs


def test_a_complete_subgraph_of_an_incomplete_graph_has_the_closed_form():
    holes = TWELVE_LABELS.copy()
    holes[0, 1] = np.nan
    part = RelationGraph(TWELVE_NODES, holes)[2:]
    ranker = ConditionalRanker(alpha=0.3).fit(part)
    assert part.is_complete
    assert ranker.solver_ == "closed_form"
    expected = naive_complete(TWELVE_NODES[2:] @ TWELVE_NODES[2:].T, TWELVE_LABELS[2:, 2:], 0.3)
    np.testing.assert_allclose(ranker.predict(part), expected, atol=1e-9)
