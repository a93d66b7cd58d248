"""Solvers of incomplete graphs against the naive twin: repeated, weighted and missing edges, loops, equal nodes."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import reference
from condrank import ConditionalRanker, RelationGraph
from reference import loss_options

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")

relations = st.sampled_from(["ordinary", "symmetric", "reciprocal"])
losses = st.sampled_from(["regression", "ranking", "intercept"])
solvers = st.sampled_from(["primal", "explicit", "auto"])
shares = st.sampled_from([1e-4, 1e-2, 1.0, 100.0])
halves = st.integers(-4, 4).map(lambda number: number / 2)


@st.composite
def nodes(draw, n_features=None):
    """2 to 8 nodes: small numbers, so that they repeat, and rows of zeros."""
    n, d = draw(st.integers(2, 8)), draw(st.integers(1, 10)) if n_features is None else n_features
    X = draw(arrays(np.float64, (n, d), elements=halves))
    copies = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(-1, n - 1)), max_size=3))
    for to, of in copies:
        X[to] = 0 if of < 0 else X[of]
    return X


@st.composite
def edges(draw, n, m):
    """Edges in any order, some repeated, and their weights."""
    edge = st.tuples(st.integers(0, n - 1), st.integers(0, m - 1), halves, st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    drawn = draw(st.lists(edge, min_size=1, max_size=2 * n * m))
    sources, targets, values, weights = (np.array(column) for column in zip(*drawn, strict=True))
    weights = draw(st.sampled_from([weights, np.ones(len(weights))]))
    assume(weights.any())
    return sources, targets, values, weights


def kernel_of(kernel, constant):
    return lambda first, second: reference.kernel_values(kernel, first, second, gamma=0.3) + constant


def largest(K):
    return np.linalg.eigvalsh((K + K.T) / 2)[-1]


def assert_close(found, expected, labels):
    """Within 1e-6 of the largest expected score, or of the labels where scores vanish."""
    scale = max(np.abs(expected).max(), np.abs(labels).max())
    assert np.abs(found - expected).max() <= 1e-6 * scale


@settings(max_examples=150)
@given(nodes(), st.sampled_from(["linear", "rbf"]), st.booleans(), relations, losses, solvers, shares, st.data())
def test_every_solver_equals_the_naive_twin(X, kernel, constant, relation, loss, solver, share, data):
    assume(X.any() or constant or kernel == "rbf")
    sources, targets, y, weights = data.draw(edges(len(X), len(X)))
    rank_by = data.draw(st.sampled_from(["outgoing", "incoming"]))
    prior = data.draw(st.sampled_from([0.0, 0.5])) if relation != "reciprocal" else 0.0
    new = data.draw(arrays(np.float64, (2, X.shape[1]), elements=halves))
    values, everyone = kernel_of(kernel, constant), np.vstack([X, new])
    K, K_all = values(X, X), values(everyone, X)
    alpha = share * largest(K) ** 2
    graph = RelationGraph.from_edges(X, sources, targets, y, weights, probabilities=False)
    ranker = ConditionalRanker(
        relation,
        alpha=alpha,
        kernel=kernel,
        **loss_options(loss),
        gamma=0.3,
        constant=constant,
        rank_by=rank_by,
        solver=solver,
        prior="similarity" if prior else None,
        prior_weight=prior,
        tol=1e-12,
    ).fit(graph)
    ends = (sources, targets) if rank_by == "outgoing" else (targets, sources)
    expected = reference.naive_scores(
        K,
        *ends,
        y,
        alpha,
        relation=relation,
        **loss_options(loss, relation),
        weights=weights,
        K_queries=K_all,
        K_objects=K_all,
        prior_weight=prior,
        K_new=values(everyone, everyone),
    )
    assert_close(ranker.predict(everyone, everyone), expected, y)
    assert_close(ranker.predict(X), expected[: len(X), : len(X)], y)


@given(st.data(), st.sampled_from(["linear", "rbf"]), losses, solvers, shares)
def test_two_domains_equal_the_naive_twin(data, kernel, loss, solver, share):
    X, objects = data.draw(nodes()), data.draw(nodes())
    assume(kernel == "rbf" or (X.any() and objects.any()))
    sources, targets, y, weights = data.draw(edges(len(X), len(objects)))
    values = kernel_of(kernel, 0)
    K, K_domain = values(X, X), values(objects, objects)
    alpha = share * largest(K) * largest(K_domain)
    graph = RelationGraph.from_edges(X, sources, targets, y, weights, objects=objects)
    ranker = ConditionalRanker(alpha=alpha, kernel=kernel, gamma=0.3, solver=solver, tol=1e-12, **loss_options(loss))
    expected = reference.naive_scores(
        K, sources, targets, y, alpha, weights=weights, K_domain=K_domain, **loss_options(loss)
    )
    ranker.fit(graph)
    assert_close(ranker.predict(X, objects), expected, y)


@given(nodes(), relations, losses, st.data())
def test_order_and_splitting_of_edges_do_not_matter(X, relation, loss, data):
    """Edges in another order, and each as two of half its weight, are the same graph."""
    sources, targets, y, weights = data.draw(edges(len(X), len(X)))
    order = np.array(data.draw(st.permutations(range(len(y)))))
    params = {"kernel": "rbf", "gamma": 0.3, "alpha": 0.01, "solver": "primal", "tol": 1e-12}
    first, second, third = (
        ConditionalRanker(relation, **loss_options(loss), **params).fit(
            RelationGraph.from_edges(X, *given, probabilities=False)
        )
        for given in (
            (sources, targets, y, weights),
            (sources[order], targets[order], y[order], weights[order]),
            (np.tile(sources, 2), np.tile(targets, 2), np.tile(y, 2), np.tile(weights, 2) / 2),
        )
    )
    assert_close(second.predict(X), first.predict(X), y)
    assert_close(third.predict(X), first.predict(X), y)


@given(nodes(), st.booleans(), st.sampled_from([1e-3, 0.1, 10.0]), st.data())
def test_probabilities_of_two_directions_sum_to_one(X, constant, alpha, data):
    sources, targets, y, weights = data.draw(edges(len(X), len(X)))
    graph = RelationGraph.from_edges(X, sources, targets, y / 2, weights, probabilities=False)
    ranker = ConditionalRanker("reciprocal", "logistic", alpha, "rbf", gamma=0.3, constant=constant).fit(graph)
    new = data.draw(nodes(X.shape[1]))
    for first, second in ((X, X), (X, new), (new, new)):
        P, turned = ranker.predict_proba(first, second), ranker.predict_proba(second, first)
        np.testing.assert_array_equal(P + turned.T, 1)
        np.testing.assert_array_equal(1 - P, turned.T)
        np.testing.assert_allclose(P, 1 / (1 + np.exp(-ranker.predict(first, second))), atol=1e-9)
