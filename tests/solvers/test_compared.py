"""Compared features and feature weights, against the twin that builds the whole edge kernel."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from condrank import ConditionalRanker, RelationGraph
from condrank.objective.losses import get_loss
from reference import kernel_values
from reference_compared import naive_compared

N, D, NEW = 14, 3, 5


@pytest.fixture
def nodes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N + NEW, D))
    X[:, 1] = rng.integers(0, 3, size=N + NEW)  # ties: sign 0
    return X[:N], X[N:]


def relation(X, seed=1, share=1.0, crisp=False):
    """Faster wins, with some noise; `share` of the pairs observed, both directions."""
    rng = np.random.default_rng(seed)
    Y = np.sign(X[:, [0]] - X[:, 0]) + 0.3 * rng.normal(size=(len(X), len(X)))
    Y = Y - Y.T
    if crisp:
        Y = np.sign(Y)
    hidden = np.triu(rng.random(Y.shape) > share, 1)
    Y[hidden | hidden.T] = np.nan
    return Y


def observed(Y):
    edges = np.nonzero(~np.isnan(Y))
    return edges, Y[edges]


@pytest.mark.parametrize("loss", ["regression", "ranking", "logistic"])
@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("compared", [[0], [1, 2]])
@pytest.mark.parametrize("constant", [False, True])
def test_compared_features_agree_with_the_whole_edge_kernel(nodes, loss, share, compared, constant):
    X, X_new = nodes
    Y = relation(X, share=share, crisp=loss == "logistic")
    edges, values = observed(Y)
    options = {"kernel": "laplacian", "gamma": 0.4, "constant": constant, "tol": 1e-10, "alpha": 0.3}
    ranker = ConditionalRanker("reciprocal", loss, compared=compared, **options).fit(X, Y)
    K = kernel_values("laplacian", X, X, 0.4) + constant
    K_new = kernel_values("laplacian", X_new, X, 0.4) + constant
    known = naive_compared(K, X, edges, values, 0.3, compared, loss)
    new = naive_compared(K, X, edges, values, 0.3, compared, loss, K_new=K_new, X_new=X_new)
    assert np.abs(ranker.predict(X) - known).max() <= 1e-6 * np.abs(known).max()
    assert np.abs(ranker.predict(X_new, X_new) - new).max() <= 1e-6 * np.abs(new).max()
    assert ranker.solver_ == ("newton" if loss == "logistic" else "primal")


@pytest.mark.parametrize("loss", ["regression", "ranking"])
def test_sampled_and_dense_products_agree(nodes, loss):
    from condrank.kernels import read_kernel
    from condrank.nodes import Nodes
    from condrank.problem.coordinates import fit_coordinates
    from condrank.solvers.compared import ComparedSystem
    from condrank.solvers.explicit import all_edges

    X, _ = nodes
    edges = all_edges(RelationGraph(X, relation(X, share=0.6)).relation)
    rows = fit_coordinates(read_kernel("rbf"), Nodes(X))
    W = np.random.default_rng(3).normal(size=(3, len(rows.sigma), len(rows.sigma)))
    W[0] -= W[0].T
    W[1:] += W[1:].transpose(0, 2, 1)
    dense, sampled = (ComparedSystem(get_loss(loss), rows, edges, [0, 1], dense=dense) for dense in (True, False))
    np.testing.assert_allclose(dense.apply(W, 0.1), sampled.apply(W, 0.1), atol=1e-10)
    np.testing.assert_array_equal(dense.rhs, sampled.rhs)


def test_weights_repeats_and_linear_features_agree_with_the_whole_edge_kernel(nodes):
    X, _ = nodes
    rng = np.random.default_rng(5)
    s, t = (rng.integers(0, N, size=60) for _ in range(2))
    s, t = s[s != t], t[s != t]
    y, m = rng.choice([-1.0, 1.0], size=len(s)), rng.random(len(s)) + 0.1
    graph = RelationGraph.from_edges(X, np.r_[s, t], np.r_[t, s], np.r_[y, -y], np.r_[m, m])
    ranker = ConditionalRanker("reciprocal", "regression", compared=[2], alpha=0.5, tol=1e-10).fit(graph)
    expected = naive_compared(
        X @ X.T, X, (np.r_[s, t], np.r_[t, s]), np.r_[y, -y], 0.5, [2], "regression", weights=np.r_[m, m]
    )
    np.testing.assert_allclose(ranker.predict(X), expected, atol=1e-6)


@pytest.mark.parametrize("loss", ["regression", "ranking"])
def test_incoming_turns_every_edge(nodes, loss):
    X, X_new = nodes
    Y = relation(X, share=0.7)
    options = {"kernel": "rbf", "compared": [0], "alpha": 0.2, "tol": 1e-10}
    incoming = ConditionalRanker("reciprocal", loss, rank_by="incoming", **options).fit(X, Y)
    turned = ConditionalRanker("reciprocal", loss, **options).fit(X, Y.T)
    np.testing.assert_allclose(incoming.predict(X_new), turned.predict(X_new), atol=1e-7)
    np.testing.assert_allclose(incoming.coef_, -turned.coef_, atol=1e-7)
    np.testing.assert_allclose(incoming.compared_coef_, -turned.compared_coef_, atol=1e-7)


def test_scores_are_reciprocal_and_step_where_the_feature_is_overtaken(nodes):
    X, X_new = nodes
    ranker = ConditionalRanker("reciprocal", "regression", kernel="rbf", compared=[0], alpha=0.1).fit(X, relation(X))
    scores = ranker.predict(X_new, X_new)
    np.testing.assert_allclose(scores, -scores.T, atol=1e-12)
    np.testing.assert_allclose(ranker.coef_, -ranker.coef_.T)
    np.testing.assert_allclose(ranker.compared_coef_, ranker.compared_coef_.transpose(0, 2, 1))
    twin = X_new[:1].copy()
    twin[0, 0] += 1e-9
    assert ranker.predict(twin, X_new[:1])[0, 0] > 0.3


def test_probabilities_sum_to_one_exactly(nodes):
    X, X_new = nodes
    ranker = ConditionalRanker("reciprocal", "logistic", kernel="rbf", compared=[0], alpha=0.1, constant=True)
    ranker.fit(X, relation(X, crisp=True))
    P = ranker.predict_proba(X_new, X_new)
    assert np.all(P + P.T == 1)
    assert ranker.strengths(X_new).shape == (NEW,)


def test_probabilities_are_given_back_on_their_scale(nodes):
    X, _ = nodes
    Y = (np.sign(X[:, [0]] - X[:, 0]) + 1) / 2
    ranker = ConditionalRanker("reciprocal", "regression", kernel="rbf", compared=[0], alpha=0.01).fit(X, Y)
    assert np.abs(ranker.predict(X) - Y).max() < 0.2


def test_float32_stays_float32(nodes):
    X, _ = nodes
    Y = relation(X, share=0.8).astype(np.float32)
    options = {"kernel": "rbf", "compared": [0], "alpha": 0.5}
    single = ConditionalRanker("reciprocal", "ranking", **options, tol=1e-5).fit(X.astype(np.float32), Y)
    double = ConditionalRanker("reciprocal", "ranking", **options).fit(X, Y)
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.predict(X.astype(np.float32)), double.predict(X), atol=1e-2)


@pytest.mark.parametrize(("trained", "asked"), [(np.float32, np.float64), (np.float64, np.float32)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_equal_values_of_another_floating_type_are_equal(nodes, trained, asked, form):
    X, X_asked = form(nodes[0].astype(trained)), form(nodes[0].astype(asked))
    ranker = ConditionalRanker("reciprocal", "logistic", kernel="rbf", compared=[0], alpha=0.1)
    ranker.fit(X, relation(nodes[0], crisp=True))
    model = ranker.fitted_.model
    W = model.W.copy()
    W[0] = 0
    ranker.fitted_ = replace(ranker.fitted_, model=model.with_weights(W))  # what the comparison alone contributes
    for objects in (None, X, X_asked):
        assert np.all(np.diagonal(ranker.predict(X_asked, objects)) == 0)
        assert np.all(np.diagonal(ranker.predict_proba(X_asked, objects)) == 0.5)
    ranker.fitted_ = replace(ranker.fitted_, model=model)
    assert np.all(ranker.predict_proba(X_asked, X) + ranker.predict_proba(X, X_asked).T == 1)
    np.testing.assert_allclose(ranker.predict(X_asked), ranker.predict(X), atol=1e-4)


def test_sparse_features_early_stopping_warm_starts_and_paths_work(nodes):
    X, _ = nodes
    Y = relation(X, share=0.8)
    ranker = ConditionalRanker("reciprocal", "regression", compared=[0], alpha=0.3, tol=1e-10, warm_start=True)
    dense = ranker.fit(X, Y).predict(X)
    np.testing.assert_allclose(clone(ranker).fit(sparse.csr_array(X), Y).predict(sparse.csr_array(X)), dense, atol=1e-7)
    assert ranker.fit(X, Y).n_iter_ == 0
    (other,) = ranker.path([0.7])
    again = clone(ranker).set_params(alpha=0.7).fit(X, Y)
    np.testing.assert_allclose(other.predict(X), again.predict(X), atol=1e-7)
    ranker.set_params(compared=[1, 2]).fit(X, Y)  # another number of blocks cannot start from the last
    early = ConditionalRanker("reciprocal", "regression", compared=[0], solver="early_stopping", random_state=0)
    assert early.set_params(validation_fraction=0.3).fit(X, Y).history_


def test_the_plan_shows_the_compared_features(nodes):
    X, _ = nodes
    ranker = ConditionalRanker("reciprocal", "regression", kernel="rbf")
    plain = ranker.set_params(solver="primal").plan(X, relation(X))
    plan = ranker.set_params(solver="auto", compared=[0, 1]).plan(X, relation(X))
    assert plan.solver == "primal"
    assert "2 compared" in str(plan)
    assert plan.flops > plain.flops


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relation": "ordinary"}, "relation='reciprocal'"),
        ({"relation": "symmetric"}, "relation='reciprocal'"),
        ({"compared": [3]}, r"within 0\.\.2"),
        ({"compared": [-1]}, r"within 0\.\.2"),
        ({"compared": [0, 0]}, "different feature indices"),
        ({"compared": "speed"}, "different feature indices"),
        ({"solver": "closed_form"}, "solver='auto'"),
        ({"solver": "dual"}, "solver='auto'"),
        ({"feature_weights": [1.0, 2.0]}, "feature_weights must be 3 numbers"),
        ({"feature_weights": [1.0, -2.0, 0.0]}, "not negative"),
        ({"feature_weights": [0.0, 0.0, 0.0]}, "not all zero"),
    ],
)
def test_wrong_options_are_refused(nodes, options, message):
    X, _ = nodes
    parameters = {"relation": "reciprocal", "loss": "regression", "compared": [0]} | options
    with pytest.raises(ValueError, match=message):
        ConditionalRanker(**parameters).fit(X, relation(X))


def test_nodes_without_features_are_refused(nodes):
    X, _ = nodes
    for options in ({"compared": [0]}, {"feature_weights": np.ones(N)}):
        with pytest.raises(ValueError, match="precomputed"):
            ConditionalRanker("reciprocal", "regression", kernel="precomputed", **options).fit(X @ X.T, relation(X))
    with pytest.raises(ValueError, match="two domains"):
        ConditionalRanker(feature_weights=np.ones(D)).fit(RelationGraph(X, relation(X), objects=X.copy()))
    with pytest.raises(AttributeError, match="compared_coef_"):
        _ = ConditionalRanker().fit(X, relation(X)).compared_coef_


@pytest.mark.parametrize("kernel", ["linear", "cosine", "rbf", "laplacian"])
@pytest.mark.parametrize("sparse_features", [False, True])
@pytest.mark.parametrize("solver", ["closed_form", "dual"])
def test_feature_weights_are_scaled_features(nodes, kernel, sparse_features, solver):
    if kernel == "laplacian" and sparse_features:
        pytest.skip("scikit-learn's Laplacian kernel takes dense features")
    X, X_new = nodes
    w = np.array([2.0, 0.0, 0.5])
    Y = np.random.default_rng(2).normal(size=(N, N))
    form = sparse.csr_array if sparse_features else np.asarray
    options = {"kernel": kernel, "constant": True, "solver": solver, "alpha": 0.5}
    if kernel != "linear":
        options["gamma"] = 0.3
    weighted = ConditionalRanker(feature_weights=w, **options).fit(form(X), Y)
    scaled = ConditionalRanker(**options).fit(form(X * w), Y)
    np.testing.assert_allclose(weighted.predict(form(X_new)), scaled.predict(form(X_new * w)), atol=1e-8)
    assert clone(weighted).get_params()["feature_weights"].tolist() == w.tolist()


def test_weights_leave_the_comparison_alone(nodes):
    X, X_new = nodes
    Y = relation(X)
    options = {"kernel": "rbf", "compared": [0], "alpha": 0.3, "tol": 1e-10, "feature_weights": np.array([0.0, 1, 1])}
    ranker = ConditionalRanker("reciprocal", "regression", **options).fit(X, Y)
    edges, values = observed(Y)
    w = options["feature_weights"]
    K, K_new = kernel_values("rbf", X * w, X * w), kernel_values("rbf", X_new * w, X * w)
    new = naive_compared(K, X, edges, values, 0.3, [0], "regression", K_new=K_new, X_new=X_new)
    np.testing.assert_allclose(ranker.predict(X_new, X_new), new, atol=1e-6)
