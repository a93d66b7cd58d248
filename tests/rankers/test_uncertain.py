"""Standard deviations, probabilities and draws of rankers: every kind of model, files, and what is refused."""

import numpy as np
import pytest
from scipy.special import expit, ndtr

from condrank import ConditionalRanker, RelationGraph
from condrank.exceptions import RelationWarning
from condrank.kernels import RBF, Linear
from condrank.nodes import Nodes
from reference import error, naive_posterior
from reference_posterior import ALPHA, GAMMA, make_case, rbf

RNG = np.random.default_rng(3)
N = 10
X, NEW = RNG.normal(size=(N, 3)), RNG.normal(size=(4, 3))
Y = RNG.normal(size=(N, N))
HOLES = np.where(RNG.random((N, N)) < 0.5, Y, np.nan)
GAMES = np.where(np.isnan(HOLES), np.nan, np.sign(Y - Y.T))
RBF_PARAMS = {"kernel": "rbf", "gamma": GAMMA, "alpha": ALPHA, "tol": 1e-12}
pytestmark = pytest.mark.filterwarnings(f"ignore::{RelationWarning.__module__}.{RelationWarning.__name__}")


def edges_of(values):
    sources, targets = np.nonzero(~np.isnan(values))
    return sources, targets, values[sources, targets]


def expected(K, values, K_new, own, **options):
    """Variances of all pairs of new nodes in one domain."""
    given = {"K_queries": K_new, "K_objects": K_new, "K_own": own, "K_own_objects": own, "K_new": own}
    covariance, noise = naive_posterior(K, *edges_of(values), ALPHA, **given, **options)
    return covariance.diagonal().reshape(len(own), len(own)), noise


# Kernels and nodes


@pytest.mark.parametrize("values", [Y, HOLES], ids=["complete", "holes"])
def test_constant_and_expressions(values):
    ranker = ConditionalRanker("symmetric", "ranking", ALPHA, kernel=RBF(GAMMA) + 0.5 * Linear(), constant=0.7)
    ranker.set_params(tol=1e-12).fit(X, values)

    def kernel(A, B):
        return rbf(A, B) + 0.5 * A @ B.T + 0.7

    variance, _ = expected(kernel(X, X), values, kernel(NEW, X), kernel(NEW, NEW), relation="symmetric")
    assert error(ranker.posterior_.variance(NEW, NEW), variance) <= 1e-8


@pytest.mark.parametrize("values", [Y, HOLES], ids=["complete", "holes"])
@pytest.mark.parametrize("approximation", ["nystroem", "fourier"])
def test_approximations_have_the_posterior_of_the_approximate_kernel(approximation, values):
    given = {"approximation": approximation, "n_components": 5, "random_state": 0}
    ranker = ConditionalRanker("reciprocal", "regression", **RBF_PARAMS, **given).fit(X, values)
    rows = ranker.fitted_.model.rows
    Z, Z_new = rows.training(), rows.transform(Nodes(NEW))
    variance, _ = expected(Z @ Z.T, values, Z_new @ Z.T, Z_new @ Z_new.T, relation="reciprocal", loss="regression")
    assert error(ranker.posterior_.variance(NEW, NEW), variance) <= 1e-8


@pytest.mark.parametrize("rank_by", ["outgoing", "incoming"])
@pytest.mark.parametrize("holes", [False, True])
def test_two_domains_and_both_directions(rank_by, holes):
    objects, new_objects = RNG.normal(size=(6, 2)), RNG.normal(size=(3, 2))
    values = np.where(RNG.random((N, 6)) < 0.6, Y[:, :6], np.nan) if holes else Y[:, :6]
    ranker = ConditionalRanker(loss="ranking", rank_by=rank_by, **RBF_PARAMS).fit(
        RelationGraph(X, values, objects=objects)
    )
    first, second = ((X, NEW), (objects, new_objects))[:: 1 if rank_by == "outgoing" else -1]
    covariance, noise = naive_posterior(
        rbf(first[0]),
        *edges_of(values if rank_by == "outgoing" else values.T),
        ALPHA,
        K_domain=rbf(second[0]),
        K_queries=rbf(first[1], first[0]),
        K_objects=rbf(second[1], second[0]),
        K_own=rbf(first[1]),
        K_own_objects=rbf(second[1]),
        K_new=np.zeros((len(first[1]), len(second[1]))),
    )
    variance = covariance.diagonal().reshape(len(first[1]), len(second[1]))
    assert error(ranker.posterior_.variance(first[1], second[1]), variance) <= 1e-8
    assert ranker.posterior_.noise_std == pytest.approx(noise**0.5)


def test_kernel_matrix():
    """Rows of kernel values have no k(v, v), unless it is the same for all nodes: that of an RBF kernel is one."""
    ranker = ConditionalRanker(loss="regression", kernel="precomputed", alpha=ALPHA).fit(rbf(X), Y)
    plain = ConditionalRanker(loss="regression", **RBF_PARAMS).fit(X, Y)
    assert error(ranker.predict(rbf(NEW, X), return_std=True)[1], plain.predict(NEW, return_std=True)[1]) <= 1e-8
    linear = ConditionalRanker(loss="regression", kernel="precomputed").fit(X @ X.T, Y)
    with pytest.raises(ValueError, match=r"k\(v, v\)"):
        linear.predict(NEW @ X.T, return_std=True)


def test_sparse_features_and_ids():
    graph = RelationGraph(X, Y, ids=[f"n{i}" for i in range(N)])
    ranker = ConditionalRanker("symmetric", "regression", **RBF_PARAMS).fit(graph)
    by_id, by_features = (ranker.posterior_.variance(one) for one in (["n3", "n0"], X[[3, 0]]))
    assert error(by_id, by_features) <= 1e-8


@pytest.mark.parametrize("loss", ["regression", "ranking"])
def test_compared_features(loss):
    """k̄ has one more part for each compared feature: the sign of both differences, times the symmetric kernel."""
    ranker = ConditionalRanker("reciprocal", loss, compared=[1], **RBF_PARAMS).fit(
        X, np.where(np.isnan(HOLES), np.nan, Y - Y.T)
    )
    sources, targets, values = edges_of(np.where(np.isnan(HOLES), np.nan, Y - Y.T))
    pairs = [(X[sources], X[targets]), (NEW[[0, 1, 2]], NEW[[3, 2, 0]])]

    def kernel(one, other):
        (a, b), (c, d) = one, other
        direct, cross = rbf(a, c) * rbf(b, d), rbf(a, d) * rbf(b, c)
        signs = np.sign(a[:, 1] - b[:, 1]), np.sign(c[:, 1] - d[:, 1])
        return (direct - cross) / 2 + np.outer(*signs) * (direct + cross) / 2

    train, new, own = kernel(pairs[0], pairs[0]), kernel(pairs[1], pairs[0]), kernel(pairs[1], pairs[1])
    root = np.eye(len(values))
    if loss == "ranking":
        for node in np.unique(sources):
            rows = sources == node
            root[np.ix_(rows, rows)] -= 1 / rows.sum()
    inverse = root @ np.linalg.solve(root @ train @ root + ALPHA * np.eye(len(values)), root)
    free = len(values) - (len(np.unique(sources)) if loss == "ranking" else 0)
    noise = ALPHA * values @ inverse @ values / free
    covariance = noise / ALPHA * (own - new @ inverse @ new.T)
    assert ranker.posterior_.noise_std == pytest.approx(noise**0.5)
    assert error(ranker.posterior_.covariance(*pairs[1]), covariance) <= 1e-8
    drawn = ranker.sample(NEW, NEW, n_samples=2000, random_state=0)[:, [0, 1, 2], [3, 2, 0]]
    assert np.abs(np.cov(drawn.T) / covariance.diagonal().max() - covariance / covariance.diagonal().max()).max() < 0.15


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_logistic_by_laplace(solver):
    """The curvature of the loss at the solution is that of weighted least squares with weights p(1 - p)."""
    ranker = ConditionalRanker("reciprocal", "logistic", solver=solver, **RBF_PARAMS).fit(X, GAMES)
    sources, targets, _ = edges_of(GAMES)
    p = expit(ranker.predict(X)[sources, targets])
    apart = sources != targets
    given = {"K_queries": rbf(NEW, X), "K_objects": rbf(NEW, X), "K_own": rbf(NEW), "K_own_objects": rbf(NEW)}
    covariance, noise = naive_posterior(
        rbf(X),
        sources[apart],
        targets[apart],
        np.ones(apart.sum()),
        ALPHA,
        weights=(p * (1 - p))[apart],
        relation="reciprocal",
        loss="regression",
        K_new=rbf(NEW),
        **given,
    )
    variance = covariance.diagonal().reshape(4, 4) / noise
    posterior = ranker.posterior_
    assert posterior.noise_std is None
    assert posterior.scale == pytest.approx(ALPHA**-0.5)
    assert error(posterior.variance(NEW, NEW), variance) <= 1e-5
    averaged = ranker.predict_proba(NEW, NEW, averaged=True)
    assert error(averaged, expit(ranker.predict(NEW, NEW) / np.sqrt(1 + np.pi * variance / 8))) <= 1e-5
    assert np.all(np.abs(averaged - 0.5) <= np.abs(ranker.predict_proba(NEW, NEW) - 0.5) + 1e-12)


@pytest.mark.parametrize("values", [Y - Y.T, np.where(np.isnan(HOLES), np.nan, Y - Y.T)], ids=["complete", "holes"])
def test_strengths(values):
    """f(v) is the score against a node that has nothing but the constant."""
    ranker = ConditionalRanker("reciprocal", "regression", constant=0.8, **RBF_PARAMS).fit(X, values)
    strengths, std = ranker.strengths(NEW, return_std=True)
    np.testing.assert_array_equal(strengths, ranker.strengths(NEW))
    sources, targets, labels = edges_of(values)
    everything = np.vstack([X, NEW])
    K = np.full((N + 5, N + 5), 0.8)
    K[:-1, :-1] += rbf(everything)
    covariance, _ = naive_posterior(
        K[:N, :N],
        sources,
        targets,
        labels,
        ALPHA,
        relation="reciprocal",
        loss="regression",
        K_queries=K[N:-1, :N],
        K_objects=K[-1:, :N],
        K_own=K[N:-1, N:-1],
        K_own_objects=K[-1:, -1:],
        K_new=K[N:-1, -1:],
    )
    assert error(std**2, covariance.diagonal()) <= 1e-8


# Orders


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("relation", ["ordinary", "symmetric", "reciprocal"])
@pytest.mark.parametrize("loss", ["regression", "ranking"])
def test_probabilities_of_orders(relation, loss, holes):
    case = make_case(relation, loss, holes=holes)
    ranker = case.ranker
    rows, cols, others = [0, 1, 2, 3], [0, 1, 2, 3], [1, 2, 0, 4]
    scores, one, other = ranker.predict(case.queries, case.objects), case.places(rows, cols), case.places(rows, others)
    variance = case.new[one, one] + case.new[other, other] - 2 * case.new[one, other]
    found = ranker.probability_above(case.queries[rows], case.objects[cols], case.objects[others])
    assert error(found, ndtr((scores[rows, cols] - scores[rows, others]) / np.sqrt(variance))) <= 1e-6
    reverse = ranker.probability_above(case.queries[rows], case.objects[others], case.objects[cols])
    np.testing.assert_allclose(found + reverse, 1)
    same = ranker.probability_above(case.queries, case.objects[:4], case.objects[:4])
    np.testing.assert_array_equal(same, 0.5)


@pytest.mark.parametrize("order", ["best", "worst"])
@pytest.mark.parametrize(
    ("relation", "loss"),
    [("ordinary", "regression"), ("ordinary", "ranking"), ("symmetric", "ranking"), ("reciprocal", "regression")],
)
@pytest.mark.parametrize("holes", [False, True])
def test_top_probability(relation, loss, holes, order):
    """Shares of draws from the naive covariance: estimates from a thousand draws and more differ by 0.08 at most."""
    case = make_case(relation, loss, holes=holes)
    ranking = case.ranker.rank(case.queries, case.objects, top=3, exclude=[2], order=order, return_std=True)
    plain = case.ranker.rank(case.queries, case.objects, top=3, exclude=[2], order=order)
    np.testing.assert_array_equal(ranking.indices, plain.indices)
    assert plain.std is None
    assert plain.top_probability is None
    scores = case.ranker.predict(case.queries, case.objects)
    drawn = np.random.default_rng(1).multivariate_normal(scores.ravel(), case.new, 4000, method="eigh")
    drawn = drawn.reshape(4000, *scores.shape)
    drawn[:, :, 2] = -np.inf if order == "best" else np.inf
    winners = drawn.argmax(axis=2) if order == "best" else drawn.argmin(axis=2)
    for query, places in enumerate(ranking.indices):
        shares = np.bincount(winners[:, query], minlength=scores.shape[1]) / 4000
        assert np.abs(ranking.top_probability[query] - shares[places]).max() <= 0.08
        assert error(ranking.std[query] ** 2, case.variances()[query, places]) <= 1e-6
    frame = ranking.to_frame()
    assert list(frame.columns) == ["query", "rank", "object", "score", "std", "top_probability"]
    assert "top_probability" in ranking._repr_html_()


def test_places_without_an_object():
    case = make_case("ordinary", "ranking")
    candidates = [[0], [1, 2], [0, 3], [4]]
    ranking = case.ranker.rank(case.queries, case.objects, candidates=candidates, return_std=True)
    empty = ranking.indices < 0
    assert empty[0, 1]
    assert np.isnan(ranking.std[empty]).all()
    assert not np.isnan(ranking.std[~empty]).any()
    np.testing.assert_array_equal(ranking.top_probability[0], [1, 0])
    np.testing.assert_allclose(ranking.top_probability.sum(axis=1), 1)


# Files, and what is refused


@pytest.mark.parametrize("solver", ["auto", "primal", "dual", "explicit"])
def test_loaded(solver, tmp_path):
    ranker = ConditionalRanker(solver=solver, **RBF_PARAMS).fit(X, HOLES)
    ranker.save(tmp_path / "model")
    loaded = ConditionalRanker.load(tmp_path / "model")
    for one, other in zip(loaded.predict(NEW, return_std=True), ranker.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(one, other)
    assert loaded.posterior_.noise_std == ranker.posterior_.noise_std
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_saved_without(tmp_path):
    ranker = ConditionalRanker(solver="primal", **RBF_PARAMS).fit(X, HOLES)
    ranker.save(tmp_path / "model", uncertainty=False)
    loaded = ConditionalRanker.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(NEW), ranker.predict(NEW))
    with pytest.raises(ValueError, match="uncertainty=True"):
        loaded.predict(NEW, return_std=True)
    with pytest.raises(ValueError, match="uncertainty=True"):
        loaded.save(tmp_path / "again", uncertainty=True)


def test_refused():
    stopped = ConditionalRanker(solver="early_stopping", alpha=0.0, random_state=0, max_iter=3).fit(X, Y)
    with pytest.raises(ValueError, match="early stopping"):
        stopped.predict(NEW, return_std=True)
    other = ConditionalRanker(pairwise_kernel="poly2D", **RBF_PARAMS).fit(X, HOLES)
    with pytest.raises(ValueError, match="pairwise_kernel"):
        other.predict(NEW, return_std=True)
    ranker = ConditionalRanker(**RBF_PARAMS).fit(X, Y)
    with pytest.raises(ValueError, match="second must be as many as queries, 4, got 3"):
        ranker.probability_above(NEW, NEW, NEW[:3])
    with pytest.raises(ValueError, match="n_samples"):
        ranker.sample(NEW, n_samples=0)
    with pytest.raises(AttributeError):
        ConditionalRanker().posterior_  # noqa: B018


def test_another_alpha_has_another_posterior():
    ranker = ConditionalRanker(loss="regression", **RBF_PARAMS).fit(X, Y)
    ranker.posterior_.variance(NEW)
    (other,) = ranker.path([3.0])
    again = ConditionalRanker(loss="regression", **RBF_PARAMS | {"alpha": 3.0}).fit(X, Y)
    assert error(other.posterior_.variance(NEW), again.posterior_.variance(NEW)) <= 1e-8
    assert other.posterior_.noise_std != ranker.posterior_.noise_std


def test_nothing_is_computed_before_it_is_asked_for():
    ranker = ConditionalRanker(loss="regression", **RBF_PARAMS).fit(X, Y)
    ranker.predict(NEW)
    ranker.rank(NEW)
    assert "posterior" not in vars(ranker.fitted_)
