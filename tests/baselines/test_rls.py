"""Edge-wise RLS and RankRLS against the naive twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import ExplicitRankRLS
from reference import naive_complete, naive_observed, naive_scores
from reference_baselines import LOSSES, RELATIONS, make_labels

pytestmark = pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")


@pytest.mark.parametrize("features", ["product", "kernel", "auto"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("holes", [0.0, 0.5])
def test_explicit_rls_is_the_naive_solution(relation, loss, features, holes):
    rng = np.random.default_rng(0)
    X, X_new, X_other = rng.standard_normal((9, 4)), rng.standard_normal((3, 4)), rng.standard_normal((2, 4))
    Y = make_labels(9, 9, rng, relation, holes)
    ranker = ExplicitRankRLS(relation, loss, 0.3, features).fit(X, Y)
    options = {"relation": relation, "loss": loss}
    np.testing.assert_allclose(ranker.predict(X), naive_observed(X @ X.T, Y, 0.3, **options), atol=1e-9)
    new = naive_observed(X @ X.T, Y, 0.3, K_queries=X_new @ X.T, K_objects=X_other @ X.T, **options)
    np.testing.assert_allclose(ranker.predict(X_new, X_other), new, atol=1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_explicit_rls_is_conditional_ranking(relation, loss):
    rng = np.random.default_rng(1)
    X, X_new = rng.standard_normal((12, 3)), rng.standard_normal((4, 3))
    Y = make_labels(12, 12, rng)  # neither symmetric nor reciprocal: the part is learned
    parameters = {"relation": relation, "loss": loss, "alpha": 0.01, "kernel": "rbf", "gamma": 0.3, "constant": True}
    expected = ConditionalRanker(**parameters).fit(X, Y)
    for features in ("product", "kernel"):
        ranker = ExplicitRankRLS(features=features, **parameters).fit(X, Y)
        np.testing.assert_allclose(ranker.coef_, expected.coef_, atol=1e-6)
        np.testing.assert_allclose(ranker.predict(X_new), expected.predict(X_new), atol=1e-7)


@pytest.mark.parametrize("features", ["product", "kernel"])
@pytest.mark.parametrize("loss", LOSSES)
def test_explicit_rls_of_two_domains_is_the_naive_solution(loss, features):
    rng = np.random.default_rng(2)
    X, X_objects = rng.standard_normal((7, 3)), rng.standard_normal((5, 2))
    K, G = rbf_kernel(X, gamma=0.5), rbf_kernel(X_objects, gamma=0.5)
    Y = make_labels(7, 5, rng, holes=0.3)
    graph = RelationGraph(X, Y, objects=X_objects)
    ranker = ExplicitRankRLS("ordinary", loss, 0.1, features, kernel="rbf", gamma=0.5).fit(graph)
    np.testing.assert_allclose(ranker.predict(graph), naive_observed(K, Y, 0.1, loss=loss, K_domain=G), atol=1e-9)
    with pytest.raises(ValueError, match="one domain"):
        ExplicitRankRLS("symmetric").fit(graph)


@pytest.mark.parametrize("features", ["product", "kernel"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 6), n_edges=st.integers(1, 20), d=st.integers(1, 3))
def test_explicit_rls_with_repeats_weights_and_loops_is_the_naive_solution(
    relation, loss, features, seed, n, n_edges, d
):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)).astype(float)  # repeated and zero nodes: singular kernels
    X[0, 0] = 1
    sources, targets = rng.integers(0, n, (2, n_edges))
    values, weights = rng.integers(-1, 2, n_edges).astype(float), rng.integers(0, 3, n_edges).astype(float)
    weights[0] = 1
    graph = RelationGraph.from_edges(X, sources, targets, values, weights)
    centre = graph.centre if relation == "reciprocal" else 0.0
    options = {"relation": relation, "loss": loss, "weights": weights, "centre": centre}
    expected = naive_scores(X @ X.T, sources, targets, values, 0.5, **options)
    ranker = ExplicitRankRLS(relation, loss, 0.5, features).fit(graph)
    np.testing.assert_allclose(ranker.predict(X), expected, atol=1e-8)


def test_probabilities_are_centred_where_only_some_are_known():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((8, 3))
    P = rng.random((8, 8))
    Y = np.triu(P, 1) + np.tril(1 - P.T, -1) + 0.5 * np.eye(8)
    Y[rng.random((8, 8)) < 0.4] = np.nan
    graph = RelationGraph(X, Y, probabilities=True)
    ranker = ExplicitRankRLS("reciprocal", "regression", 0.1).fit(graph)
    expected = naive_observed(X @ X.T, Y, 0.1, relation="reciprocal", loss="regression", centre=0.5)
    np.testing.assert_allclose(ranker.predict(X), expected, atol=1e-9)
    np.testing.assert_allclose(ranker.predict(X) + ranker.predict(X).T, 1, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_tiny_alpha_on_singular_features_ranks_as_the_closed_form(loss):
    # Strategies sum to one: centred product features have rank 6 of 9, and λ is far below rounding of the system.
    rng = np.random.default_rng(4)
    X = rng.dirichlet(np.ones(3), 12)
    Y = make_labels(12, 12, rng)
    product, kernel = (
        ExplicitRankRLS("ordinary", loss, 2.0**-40, features).fit(X, Y) for features in ("product", "kernel")
    )
    expected = ConditionalRanker("ordinary", loss, 2.0**-40).fit(X, Y).predict(X)
    expected, first, second = (
        F - F.mean(axis=1, keepdims=True) for F in (expected, product.predict(X), kernel.predict(X))
    )
    np.testing.assert_allclose(first, expected, atol=1e-6)
    np.testing.assert_allclose(second, expected, atol=1e-6)


def test_explicit_rls_of_a_complete_graph_is_the_naive_solution():
    rng = np.random.default_rng(18)
    X = rng.standard_normal((6, 2))
    Y = make_labels(6, 6, rng)
    np.testing.assert_allclose(ExplicitRankRLS().fit(X, Y).predict(X), naive_complete(X @ X.T, Y, 1.0), atol=1e-9)
