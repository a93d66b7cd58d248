"""Every closed form against the naive twin, which builds the whole edge kernel and solves it as the paper states it."""

from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import sparse

import reference
from builders import TWELVE_LABELS, TWELVE_NODES
from condrank import ConditionalRanker, RelationGraph
from condrank.exceptions import KernelWarning, RelationWarning
from reference import naive_complete

RELATIONS = ("ordinary", "symmetric", "reciprocal")
LOSSES = ("regression", "ranking")
LAMBDAS = (1e-6, 1e-3, 1.0)  # as a share of the largest eigenvalue of the edge kernel

# Labels of no particular form: only their symmetric or skew part can be learned, of which a ranker warns.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")

models = pytest.mark.parametrize(("relation", "loss"), [(r, loss) for r in RELATIONS for loss in LOSSES])


def intersection(x, y, power=1.0):
    return float(np.minimum(np.abs(x), np.abs(y)).sum() ** power)


@dataclass
class Case:
    """A node kernel with training nodes and new ones."""

    kernel: Any
    n: int
    d: int
    params: dict = field(default_factory=dict)
    precomputed: bool = False

    def __post_init__(self):
        rng = np.random.default_rng([self.n, self.d])
        self.X, self.X_new = rng.normal(size=(self.n, self.d)), rng.normal(size=(4, self.d))
        self.Y = rng.normal(size=(self.n, self.n)) + 2

    def values(self, X, X_other):
        if callable(self.kernel):
            return reference.kernel_values(lambda x, y: self.kernel(x, y, **self.params["kernel_params"]), X, X_other)
        return reference.kernel_values(self.kernel, X, X_other, **self.params)

    @property
    def K(self):
        K = self.values(self.X, self.X)
        return (K + K.T) / 2

    @property
    def K_all(self):
        """Training nodes, then new ones, against the training nodes."""
        return self.values(np.vstack([self.X, self.X_new]), self.X)

    def given(self, X):
        """What a user passes for these nodes."""
        return self.values(X, self.X) if self.precomputed else X

    def ranker(self, **params):
        if self.precomputed:
            return ConditionalRanker(kernel="precomputed", **params)
        return ConditionalRanker(kernel=self.kernel, **self.params, **params)

    def fit(self, Y=None, **params):
        return self.ranker(**params).fit(self.K if self.precomputed else self.X, self.Y if Y is None else Y)

    def predict_all(self, ranker):
        both = self.given(np.vstack([self.X, self.X_new]))
        return ranker.predict(both, both)


CASES = {
    "linear, fewer features than nodes": Case("linear", 8, 3),
    "linear, more features than nodes": Case("linear", 7, 12),
    "linear, as many features as nodes": Case("linear", 6, 6),
    "rbf": Case("rbf", 8, 3, {"gamma": 0.3}),
    "rbf, gamma by default": Case("rbf", 7, 4),
    "poly": Case("poly", 8, 3, {"gamma": 0.4, "degree": 2, "coef0": 0.5}),
    "cosine, fewer features than nodes": Case("cosine", 8, 3),
    "cosine, more features than nodes": Case("cosine", 7, 10),
    "laplacian": Case("laplacian", 7, 2, {"gamma": 0.5}),
    "precomputed": Case("rbf", 7, 3, {"gamma": 0.2}, precomputed=True),
    "callable": Case(intersection, 7, 5, {"kernel_params": {"power": 1.0}}),
    "a single node": Case("linear", 1, 2),
    "two nodes": Case("rbf", 2, 2, {"gamma": 1.0}),
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def error(found, expected):
    """Largest difference relative to the largest expected value."""
    assert found.shape == expected.shape
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300)


def scaled(share, K, K_objects=None):
    """λ as a share of the largest eigenvalue of the edge kernel."""
    return share * np.linalg.eigvalsh(K)[-1] * np.linalg.eigvalsh(K if K_objects is None else K_objects)[-1]


@cases
@models
def test_equals_naive_in_all_four_settings(case, relation, loss):
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
def test_two_domains_equal_naive(loss, rank_by, d, d_objects):
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


def test_two_domains_with_precomputed_kernels():
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


@models
@pytest.mark.parametrize("kind", ["explicit", "explicit, rank-deficient", "linear", "rbf"])
def test_small_alpha_keeps_its_digits(kind, relation, loss):
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
    ranker = ConditionalRanker(relation, loss, alpha, kernel).fit(given, Y)
    expected = reference.exact_complete(K, Y, alpha, relation=relation, loss=loss, K_queries=K_new, K_objects=K_new)
    assert error(ranker.predict(given_new, given_new), expected) < 1e-8


def test_the_exact_twin_is_the_naive_twin():
    case = CASES["rbf, gamma by default"]
    K, K_new, Y = case.K[:5, :5], case.K_all[-2:, :5], case.Y[:5, :5]
    for relation in RELATIONS:
        for loss in LOSSES:
            options = {"relation": relation, "loss": loss, "K_queries": K_new, "K_objects": K_new}
            exact, naive = (twin(K, Y, 0.3, **options) for twin in (reference.exact_complete, reference.naive_complete))
            np.testing.assert_allclose(exact, naive, rtol=1e-10)


# Similarity prior and constant coordinate


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize(
    "name",
    [
        "linear, fewer features than nodes",
        "linear, more features than nodes",
        "cosine, fewer features than nodes",
        "rbf",
    ],
)
@pytest.mark.parametrize(("relation", "loss"), [(r, loss) for r in RELATIONS[:2] for loss in LOSSES])
def test_prior_equals_naive(name, relation, loss, rank_by):
    case, tau = CASES[name], -0.7
    everyone = np.vstack([case.X, case.X_new])
    K_new = case.values(everyone, everyone)
    for share in LAMBDAS:
        alpha = scaled(share, case.K)
        ranker = case.fit(
            relation=relation, loss=loss, alpha=alpha, prior="similarity", prior_weight=tau, rank_by=rank_by
        )
        expected = reference.naive_complete(
            case.K,
            case.Y if rank_by == "outgoing" else case.Y.T.copy(),
            alpha,
            relation=relation,
            loss=loss,
            prior_weight=tau,
            K_queries=case.K_all,
            K_objects=case.K_all,
            K_new=K_new,
        )
        n = case.n
        assert error(ranker.predict(everyone, everyone), expected) < 1e-8
        assert error(ranker.predict(case.X_new), expected[n:, :n]) < 1e-8
        assert error(ranker.predict(case.X), expected[:n, :n]) < 1e-8
        assert error(ranker.predict(case.X_new, case.X_new), expected[n:, n:]) < 1e-8
        assert error(ranker.predict_edges(case.X_new, case.X[:4]), expected[range(n, n + 4), range(4)]) < 1e-8


@pytest.mark.parametrize("kernel", ["linear", "cosine"])
@pytest.mark.parametrize(("n", "d"), [(8, 3), (4, 6)], ids=["explicit", "exact"])
def test_prior_is_the_kernel_itself_outside_the_span_of_the_training_nodes(kernel, n, d):
    rng = np.random.default_rng(4)
    X, X_new, Y = rng.normal(size=(n, d)), rng.normal(size=(5, d)), rng.normal(size=(n, n))
    X[:, -1] = 0  # a feature that no training node has
    ranker = ConditionalRanker(alpha=1e12, kernel=kernel, prior="similarity", prior_weight=2.0).fit(X, Y)
    expected = 2 * reference.kernel_values(kernel, X_new, X_new)
    np.testing.assert_allclose(ranker.predict(X_new, X_new), expected, rtol=1e-6, atol=1e-6)
    assert np.abs(X_new[:, -1]).min() > 1e-3  # otherwise nothing lay outside


def test_prior_on_subgraphs_of_a_precomputed_graph():
    case = CASES["rbf"]
    everyone = np.vstack([case.X, case.X_new])
    Y = np.random.default_rng(5).normal(size=(len(everyone), len(everyone)))
    by_features = RelationGraph(everyone, Y)
    by_kernel = RelationGraph(case.values(everyone, everyone), Y)
    train, test = [0, 5, 2, 7, 9, 3], [1, 4, 6, 8]
    for params in ({"prior": "similarity"}, {"constant": True}, {"prior": "similarity", "constant": True}):
        first = ConditionalRanker(kernel="rbf", gamma=0.3, **params).fit(by_features[train])
        second = ConditionalRanker(kernel="precomputed", **params).fit(by_kernel[train])
        for chosen in (test, train, train + test, slice(None), [11, 0, 11]):
            np.testing.assert_allclose(
                second.predict(by_kernel[chosen]), first.predict(by_features[chosen]), rtol=1e-8, atol=1e-10
            )
        np.testing.assert_allclose(second.predict(by_kernel), first.predict(by_features), rtol=1e-8, atol=1e-10)


@cases
@models
def test_constant_adds_one_to_the_kernel(case, relation, loss):
    if case.n == 1 and loss == "ranking":
        pytest.skip("a single object has nothing to be ranked against")
    alpha = scaled(1e-3, case.K + 1)
    ranker = case.fit(relation=relation, loss=loss, alpha=alpha, constant=True)
    expected = reference.naive_complete(
        case.K + 1, case.Y, alpha, relation=relation, loss=loss, K_queries=case.K_all + 1, K_objects=case.K_all + 1
    )
    assert error(case.predict_all(ranker), expected) < 1e-8


def test_constant_with_prior_and_sparse_features():
    case = CASES["linear, fewer features than nodes"]
    alpha, params = 0.4, {"constant": True, "prior": "similarity"}
    expected = reference.naive_complete(
        case.K + 1,
        case.Y,
        alpha,
        K_queries=case.K_all + 1,
        K_objects=case.K_all + 1,
        prior_weight=1.0,
        K_new=np.vstack([case.X, case.X_new]) @ np.vstack([case.X, case.X_new]).T + 1,
    )
    both = sparse.csr_array(np.vstack([case.X, case.X_new]))
    ranker = ConditionalRanker(alpha=alpha, **params).fit(sparse.csr_array(case.X), case.Y)
    assert error(ranker.predict(both, both), expected) < 1e-8


# Kernels that are singular or not positive semi-definite


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
def test_singular_kernels_equal_naive(kind, kernel, d, relation, loss):
    X, rng = singular_nodes(kind, d), np.random.default_rng(7)
    X_new, Y = rng.normal(size=(3, d)), rng.normal(size=(7, 7)) + 1
    K, K_new = (reference.kernel_values(kernel, nodes, X) for nodes in (X, X_new))
    for share in LAMBDAS:
        alpha = scaled(share, K)
        ranker = ConditionalRanker(relation, loss, alpha, kernel).fit(X, Y)
        expected = reference.naive_complete(K, Y, alpha, relation=relation, loss=loss, K_queries=K_new, K_objects=K_new)
        assert error(ranker.predict(X_new, X_new), expected) < 1e-8


@models
def test_features_that_span_the_constant_vector(relation, loss):
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


def indefinite(smallest):
    """A kernel matrix with eigenvalues 5, 4, 3, 2, 1 and ``smallest``, and its part without the last."""
    Q = np.linalg.qr(np.random.default_rng(9).normal(size=(6, 6)))[0]
    clipped = (Q[:, :5] * [5, 4, 3, 2, 1]) @ Q[:, :5].T
    K = clipped + smallest * np.outer(Q[:, 5], Q[:, 5])
    return (K + K.T) / 2, (clipped + clipped.T) / 2


@models
def test_slightly_indefinite_kernel_is_clipped_with_a_warning(relation, loss):
    K, clipped = indefinite(-1e-6)
    Y = np.random.default_rng(10).normal(size=(6, 6))
    with pytest.warns(KernelWarning, match=r"1 of 6 eigenvalues are negative, the smallest -1e-06.*largest of 5 "):
        ranker = ConditionalRanker(relation, loss, 0.3, "precomputed").fit(K, Y)
    expected = reference.naive_complete(clipped, Y, 0.3, relation=relation, loss=loss)
    assert error(ranker.predict(clipped), expected) < 1e-8
    assert error(ranker.predict(K), expected) < 1e-8  # the coordinates have no negative part


@models
def test_clearly_indefinite_kernel_is_refused_unless_clipped(relation, loss, recwarn):
    K, clipped = indefinite(-0.5)
    Y = np.random.default_rng(11).normal(size=(6, 6))
    with pytest.raises(
        ValueError, match=r"smallest -0\.5 against a largest of 5 \(3\.23% of the spectrum\); set clip=True"
    ):
        ConditionalRanker(relation, loss, 0.3, "precomputed").fit(K, Y)
    recwarn.clear()
    ranker = ConditionalRanker(relation, loss, 0.3, "precomputed", clip=True).fit(K, Y)
    assert not [w for w in recwarn if w.category is KernelWarning]
    assert error(ranker.predict(K), reference.naive_complete(clipped, Y, 0.3, relation=relation, loss=loss)) < 1e-8


# Forms of features and labels


SPARSE = ["linear, fewer features than nodes", "linear, more features than nodes", "rbf", "poly", "laplacian"]


@pytest.mark.parametrize("name", [*SPARSE, "cosine, fewer features than nodes", "cosine, more features than nodes"])
@models
def test_sparse_features(name, relation, loss):
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
def test_float32_coefficients(case, relation, loss):
    ranker = case.ranker(relation=relation, loss=loss).fit(case.X.astype(np.float32), case.Y.astype(np.float32))
    X_new = case.X_new.astype(np.float32)
    assert ranker.coef_.dtype == ranker.dual_coef_.dtype == ranker.predict_edges(X_new, X_new).dtype == np.float32


@models
def test_whole_numbers_and_booleans(relation, loss):
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
def test_sparse_labels_with_known_zeros(name, relation, loss, rank_by):
    case = CASES[name]
    Y = np.where(np.random.default_rng(13).random(case.Y.shape) < 0.3, case.Y, 0)
    params = {"relation": relation, "loss": loss, "rank_by": rank_by, "alpha": 0.4}
    expected = case.predict_all(case.fit(Y, **params))
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        graph = RelationGraph(case.X, form(Y), unstored="zero")
        np.testing.assert_allclose(case.predict_all(case.ranker(**params).fit(graph)), expected, rtol=1e-9, atol=1e-12)


def factored_graphs(X):
    rng = np.random.default_rng(14)
    n = X.shape[0]
    classes = np.array(["c", "a", "b"])[np.arange(n) % 3]
    taxonomy = np.column_stack([np.arange(n) % 2, np.arange(n) % 4, np.arange(n) % 3])
    A, B = rng.normal(size=(n, 2)), rng.normal(size=(n, 3))
    return {
        "classes": RelationGraph.from_classes(X, classes),
        "classes with similarities": RelationGraph.from_classes(X, classes, rng.normal(size=(3, 3))),
        "taxonomy": RelationGraph.from_classes(X, taxonomy),
        "taxonomy with values": RelationGraph.from_classes(X, taxonomy, [0.5, 1, 3, 2]),
        "factors": RelationGraph.from_factors(X, A, rng.normal(size=(2, 2))),
        "two factors": RelationGraph.from_factors(X, A, rng.normal(size=(2, 3)), B),
        "sparse factors": RelationGraph.from_factors(X, sparse.csr_array(A), np.eye(2), sparse.csr_array(A[::-1])),
    }


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("name", ["linear, fewer features than nodes", "rbf"])
@pytest.mark.parametrize("form", factored_graphs(np.zeros((8, 1))).keys())
@models
def test_factored_relations_equal_dense_ones(form, name, relation, loss, rank_by):
    case = CASES[name]
    for X in (case.X, sparse.csr_array(case.X)):
        graph = factored_graphs(X)[form]
        params = {"relation": relation, "loss": loss, "rank_by": rank_by, "alpha": 0.4}
        factored, dense = case.ranker(**params).fit(graph), case.ranker(**params).fit(X, graph.to_dense())
        expected = dense.predict(case.X_new)
        np.testing.assert_allclose(factored.predict(case.X_new), expected, rtol=1e-8, atol=1e-10)


# The path of λ


@pytest.mark.parametrize("extra", [{}, {"prior": "similarity"}, {"rank_by": "incoming"}], ids=str)
@models
def test_path_equals_separate_fits(relation, loss, extra):
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


# What the models promise whatever the data


@cases
@models
def test_large_alpha_shrinks_to_zero(case, relation, loss):
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


# Winning probabilities


def win_rates(n, seed=16):
    beats = np.random.default_rng(seed).uniform(0.05, 0.95, size=(n, n))
    return (beats + 1 - beats.T) / 2


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("name", ["linear, fewer features than nodes", "rbf"])
@pytest.mark.parametrize("loss", LOSSES)
def test_win_rates_are_given_back_on_their_scale(name, loss, rank_by, recwarn):
    case = CASES[name]
    P = win_rates(case.n)
    params = {"relation": "reciprocal", "loss": loss, "alpha": 0.05, "rank_by": rank_by}
    ranker, centred = case.fit(P, **params), case.fit(P - 0.5, **params)
    assert not [w for w in recwarn if w.category is RelationWarning]
    scores = case.predict_all(ranker)
    np.testing.assert_allclose(scores + scores.T, 1, rtol=1e-12)
    np.testing.assert_allclose(scores - 0.5, case.predict_all(centred), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        ranker.predict_edges(case.X_new, case.X[:4]), np.diagonal(ranker.predict(case.X_new, case.X[:4])), rtol=1e-12
    )
    expected = reference.naive_complete(
        case.K,
        P if rank_by == "outgoing" else P.T.copy(),
        0.05,
        relation="reciprocal",
        loss=loss,
        centre=0.5,
        K_queries=case.K_all,
        K_objects=case.K_all,
    )
    assert error(scores, expected) < 1e-8


def test_win_rates_when_asked():
    case = CASES["rbf"]
    P = win_rates(case.n)
    P[0, 1] += 0.02  # the two directions do not quite sum to one
    for asked, centre in ((None, 0.0), (True, 0.5), (False, 0.0)):
        graph = RelationGraph(case.X, P, probabilities=asked)
        with pytest.warns(RelationWarning, match="skew-symmetric part is learned"):
            ranker = case.ranker(relation="reciprocal", loss="regression").fit(graph)
        scores = case.predict_all(ranker)
        np.testing.assert_allclose(scores + scores.T, 2 * centre, atol=1e-12)


def test_other_relations_leave_win_rates_as_they_are():
    case = CASES["rbf"]
    P = win_rates(case.n)
    ranker = case.fit(P, relation="ordinary", loss="regression", alpha=1e14)
    assert np.abs(case.predict_all(ranker)).max() < 1e-9


def test_a_complete_subgraph_of_an_incomplete_graph_has_the_closed_form():
    holes = TWELVE_LABELS.copy()
    holes[0, 1] = np.nan
    part = RelationGraph(TWELVE_NODES, holes)[2:]
    ranker = ConditionalRanker(alpha=0.3).fit(part)
    assert part.is_complete
    assert ranker.solver_ == "closed_form"
    expected = naive_complete(TWELVE_NODES[2:] @ TWELVE_NODES[2:].T, TWELVE_LABELS[2:, 2:], 0.3)
    np.testing.assert_allclose(ranker.predict(part), expected, atol=1e-9)
