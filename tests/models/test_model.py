"""What a model gives: the prior, probabilities on their scale, and strengths."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

import reference
from condrank import ConditionalRanker, RelationGraph
from condrank.exceptions import RelationWarning
from condrank.models.placed import PlacedPairs
from reference import error, scaled
from reference_cases import CASES, LAMBDAS, LOSSES, RELATIONS
from reference_games import (
    EVERYONE,
    NEW,
    OUTCOMES,
    SOURCES,
    TARGETS,
    N,
    X,
    constants,
    games,
    kernels,
    ranker,
    solvers,
    values,
)

# Labels of no particular form: only their symmetric or skew part can be learned, and a ranker warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


def win_rates(n, seed=16):
    beats = np.random.default_rng(seed).uniform(0.05, 0.95, size=(n, n))
    return (beats + 1 - beats.T) / 2


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
def test_a_prior_equals_the_naive_twin(name, relation, loss, rank_by):
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
def test_the_prior_is_the_kernel_itself_outside_the_span_of_the_training_nodes(kernel, n, d):
    rng = np.random.default_rng(4)
    X, X_new, Y = rng.normal(size=(n, d)), rng.normal(size=(5, d)), rng.normal(size=(n, n))
    X[:, -1] = 0  # a feature that no training node has
    ranker = ConditionalRanker(alpha=1e12, kernel=kernel, prior="similarity", prior_weight=2.0).fit(X, Y)
    expected = 2 * reference.kernel_values(kernel, X_new, X_new)
    np.testing.assert_allclose(ranker.predict(X_new, X_new), expected, rtol=1e-6, atol=1e-6)
    assert np.abs(X_new[:, -1]).min() > 1e-3  # otherwise nothing lay outside


def test_a_prior_on_subgraphs_of_a_precomputed_graph_is_that_of_the_features():
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


def test_a_constant_with_a_prior_and_sparse_features_equals_the_naive_twin():
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


def test_win_rates_are_centred_where_asked():
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


@solvers
@constants
@kernels
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_probabilities_of_two_directions_sum_to_one_exactly(dtype, kernel, constant, solver):
    fitted = ranker(1e-3, kernel, constant=constant, solver=solver).fit(games())
    if dtype == np.float32:
        graph = RelationGraph.from_edges(X.astype(dtype), SOURCES, TARGETS, OUTCOMES)
        fitted = ranker(1e-3, kernel, constant=constant, solver=solver).fit(graph)
    many = (np.random.default_rng(4).normal(size=(50, 4)) * 2).astype(dtype)
    known = fitted.fitted_.trained_on[0].base
    assert known.dtype == dtype
    for first, second in ((known, known), (known, many), (many, many), (many[:1], many[1:3]), (known[:5], known[5:])):
        P, turned = fitted.predict_proba(first, second), fitted.predict_proba(second, first)
        assert P.shape == (len(first), len(second))
        assert len(np.unique(P)) > 1
        np.testing.assert_array_equal(P + turned.T, 1)
        np.testing.assert_array_equal(1 - P, turned.T)  # not only once their sum is rounded
        assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_array_equal(fitted.predict_proba(many) + fitted.predict_proba(known, many).T, 1)
    np.testing.assert_array_equal(np.diag(fitted.predict_proba(many, many)), 0.5)
    graph_wide = fitted.predict_proba(games())
    np.testing.assert_array_equal(graph_wide + graph_wide.T, 1)


@kernels
def test_probabilities_are_monotone_in_the_scores(kernel):
    fitted = ranker(1e-2, kernel).fit(games())
    many = np.random.default_rng(5).normal(size=(40, 4)) * 2
    scores, P = fitted.predict(many, many).ravel(), fitted.predict_proba(many, many).ravel()
    np.testing.assert_allclose(P, expit(scores), rtol=0, atol=1e-12)
    assert np.diff(P[np.argsort(scores)]).min() > -1e-13
    assert np.ptp(P) > 0.9


def test_extreme_scores_do_not_overflow():
    fitted = ranker(1e-6, "linear").fit(games())
    far = np.array([[1e4, 0, 0, 0], [0, 1e4, 0, 0], [0, 0, 1e4, -1e4]])
    P = fitted.predict_proba(far, far)
    assert np.isfinite(P).all()
    assert {0.0, 1.0} <= set(P.ravel())
    np.testing.assert_array_equal(P + P.T, 1)


def test_probabilities_are_for_the_logistic_loss():
    fitted = ConditionalRanker("reciprocal", "regression").fit(games())
    with pytest.raises(AttributeError, match="predict_proba"):
        fitted.predict_proba(NEW)
    assert not hasattr(fitted, "predict_proba")


@kernels
@pytest.mark.parametrize("loss", ["logistic", "regression", "ranking"])
def test_strengths_are_the_transitive_part(loss, kernel):
    fitted = ranker(0.3, kernel, constant=True).set_params(loss=loss).fit(games())
    scores, f = fitted.predict(EVERYONE, EVERYONE), fitted.strengths(EVERYONE)
    # With A = -Aᵀ, k + 1 between nodes gives h = (k A k') + (k A 1) - (1 A k').
    A = fitted.dual_coef_
    A = A.toarray() if sparse.issparse(A) else A
    K_all = values(kernel, EVERYONE, X, 0)
    np.testing.assert_allclose(A, -A.T, atol=1e-9)
    np.testing.assert_allclose(f, K_all @ A.sum(axis=1), atol=1e-8 * np.abs(f).max())
    cyclic = K_all @ A @ K_all.T
    np.testing.assert_allclose(scores, f[:, None] - f + cyclic, atol=1e-8 * np.abs(scores).max())
    assert np.abs(f).max() > 1e-2
    np.testing.assert_allclose(fitted.strengths(NEW), f[N:], atol=1e-10)
    # Turned round, what is scored is who loses; strengths stay who wins.
    incoming = ranker(0.3, kernel, constant=True, rank_by="incoming").set_params(loss=loss).fit(games())
    if loss != "ranking":  # which compares other pairs
        np.testing.assert_allclose(incoming.strengths(EVERYONE), f, atol=1e-6 * np.abs(f).max())


def test_strengths_order_the_nodes_of_a_transitive_relation():
    fitted = ranker(1e-3, "linear", constant=True).fit(X, np.sign(X[:, :1] - X[:, 0]))
    assert np.corrcoef(fitted.strengths(EVERYONE), EVERYONE[:, 0])[0, 1] > 0.95


def test_strengths_need_a_constant_and_a_reciprocal_relation():
    for params in ({"constant": False}, {"relation": "ordinary", "loss": "regression", "constant": True}):
        fitted = ranker().set_params(**params).fit(games())
        with pytest.raises(ValueError, match=r"strengths needs relation='reciprocal' and constant=True"):
            fitted.strengths(NEW)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("r", [1, 3, 8, 21])
def test_half_of_the_weights_gives_the_scores_of_all(sign, r):
    rng = np.random.default_rng(r)
    Z, W = rng.normal(size=(13, r)), rng.normal(size=(r, r))
    W = W + sign * W.T
    placed = PlacedPairs(Z, Z, rng.normal(size=(13, 13)), sign)
    ((block, scores),) = placed.blocks(W, 0.5)
    assert block == slice(0, 13)
    np.testing.assert_allclose(scores, Z @ W @ Z.T + 0.5 * placed.similarity, rtol=1e-12, atol=1e-12)
    # Other objects need all weights.
    other = PlacedPairs(Z, Z.copy(), None, sign)
    np.testing.assert_allclose(next(other.blocks(W, 0.0))[1], Z @ W @ Z.T, rtol=1e-12, atol=1e-12)
