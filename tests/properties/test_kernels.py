"""Models with kernel expressions against brute force on the whole edge kernel, in every form of graph and solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from condrank import ConditionalRanker, RelationGraph
from condrank.kernels import (
    RBF,
    Constant,
    Cosine,
    Custom,
    Identity,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Unit,
)
from condrank.model_selection import left_out_scores
from condrank.objective.relations import RELATIONS
from reference_kernels import naive_kernel

N, M = 9, 3  # nodes of the training graph, and new ones
EVERYONE = np.arange(N + M)
TRAIN, NEW = EVERYONE[:N], EVERYONE[N:]


def rbf_on_matrices(X, Y):
    return np.exp(-0.3 * ((X[:, None] - Y[None]) ** 2).sum(axis=2))


def make_views(seed, singular=False):
    rng = np.random.default_rng(seed)
    features, other = rng.normal(size=(N + M, 3)), np.abs(rng.normal(size=(N + M, 4)))
    if singular:
        features[1] = features[0]
    of_kernel = rng.normal(size=(N + M, N + M))
    return {"x": features, "y": other, "k": of_kernel @ of_kernel.T / (N + M) + 0.1}


EXPRESSIONS = [
    RBF("median", view="x") + 0.3 * Constant(),
    0.5 * Linear(view="x") + 2 * Cosine(view="y") + 4 * Constant(),
    Unit(Precomputed(view="k")) ** 4 + 0.1 * Constant(),
    RBF(0.2, view="x") + 0.7 * Identity(),
    RBF(0.2, view="x") * (Linear(view="y") + Identity()) + Precomputed(view="k"),
    Unit(Polynomial(view="y", degree=2)) + Laplacian(0.3, view="x", feature_weights=(1.0, 0.0, 2.0)) ** 2,
    Custom(rbf_on_matrices, on="matrices", view="x") + 0.2 * Constant(),
    0.5 * (Linear(view="x") + Constant()) + Identity(),
    Linear(view="x") ** 2 + 0.0 * RBF(view="y"),
    Identity() + Constant(),
]


def in_both(kernel, views):
    """Kernel matrices of the training nodes, and of all nodes against them, by loops."""
    return naive_kernel(kernel, views, TRAIN, TRAIN, TRAIN), naive_kernel(kernel, views, EVERYONE, TRAIN, TRAIN)


@given(
    kernel=st.sampled_from(EXPRESSIONS),
    relation=st.sampled_from([*RELATIONS]),
    loss=st.sampled_from(["regression", "ranking"]),
    form=st.sampled_from(["complete", "holes", "edges", "dual", "explicit"]),
    rank_by=st.sampled_from(["outgoing", "incoming"]),
    singular=st.booleans(),
    seed=st.integers(0, 2**31 - 1),
)
@settings(max_examples=150, deadline=None)
@pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
def test_any_expression_gives_the_scores_of_brute_force(kernel, relation, loss, form, rank_by, singular, seed):
    rng, views = np.random.default_rng(seed), make_views(seed, singular)
    Y, weights = rng.normal(size=(N + M, N + M)), None
    if form == "edges":
        sources, targets = rng.integers(0, N, size=(2, 40))
        values, weights = rng.normal(size=40), rng.uniform(0.5, 2, size=40)
        graph = RelationGraph.from_edges(views, sources, targets, values, weights)
        train = graph[TRAIN]
    else:
        if form != "complete":
            Y[rng.random(Y.shape) < 0.4] = np.nan
            Y[0, 1] = 1.0
        graph = RelationGraph(views, Y)
        train = graph[TRAIN]
        sources, targets = np.nonzero(~np.isnan(Y[:N, :N]))
        values = Y[sources, targets]
    if rank_by == "incoming":
        sources, targets = targets, sources
    K, K_all = in_both(kernel, views)
    alpha = 0.1 * max(1.0, float(np.linalg.eigvalsh(K)[-1]))
    solver = form if form in ("dual", "explicit") else "auto"
    ranker = ConditionalRanker(relation, loss, alpha, kernel, rank_by=rank_by, solver=solver, tol=1e-12, max_iter=5000)
    ranker.fit(train)
    options = {"relation": relation, "loss": loss, "weights": weights, "K_queries": K_all, "K_objects": K_all}
    expected = reference.naive_scores(K, sources, targets, values, alpha, **options)
    found = ranker.predict(graph)
    scale = max(np.abs(expected).max(), 1e-12)
    tolerance = 1e-8 if form == "complete" else 1e-6
    assert np.abs(found - expected).max() <= tolerance * scale


@given(
    kernels=st.tuples(st.sampled_from(EXPRESSIONS), st.sampled_from(EXPRESSIONS)),
    loss=st.sampled_from(["regression", "ranking"]),
    complete=st.booleans(),
    rank_by=st.sampled_from(["outgoing", "incoming"]),
    seed=st.integers(0, 2**31 - 1),
)
@settings(max_examples=60, deadline=None)
def test_two_domains_have_kernels_of_their_own(kernels, loss, complete, rank_by, seed):
    rng, first, second = np.random.default_rng(seed), make_views(seed), make_views(seed + 1)
    Y = rng.normal(size=(N + M, N + M))
    if not complete:
        Y[rng.random(Y.shape) < 0.3] = np.nan
        Y[0, 1] = 1.0
    whole = RelationGraph(first, Y, objects=second)
    train = whole[TRAIN, TRAIN]
    sources, targets = np.nonzero(~np.isnan(Y[:N, :N]))
    values = Y[sources, targets]
    (K, K_all), (G, G_all) = (in_both(kernel, views) for kernel, views in zip(kernels, (first, second), strict=True))
    ranker = ConditionalRanker(
        "ordinary", loss, 0.5, kernels[0], object_kernel=kernels[1], rank_by=rank_by, tol=1e-12, max_iter=5000
    ).fit(train)
    if rank_by == "incoming":
        sources, targets, (K, K_all), (G, G_all) = targets, sources, (G, G_all), (K, K_all)
    expected = reference.naive_scores(
        K, sources, targets, values, 0.5, loss=loss, K_domain=G, K_queries=K_all, K_objects=G_all
    )
    assert np.abs(ranker.predict(whole) - expected).max() <= 1e-6 * max(np.abs(expected).max(), 1e-12)


@given(
    kernel=st.sampled_from([one for one in EXPRESSIONS if not one.depends_on_training]),
    relation=st.sampled_from([*RELATIONS]),
    loss=st.sampled_from(["regression", "ranking"]),
    cv=st.sampled_from(["leave-query-out", "leave-node-out", "leave-edge-out"]),
    prior=st.booleans(),
    seed=st.integers(0, 2**31 - 1),
)
@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
def test_left_out_scores_are_those_of_refitting(kernel, relation, loss, cv, prior, seed):
    kernel = kernel.mapped(lambda leaf: RBF(0.4, view=leaf.view) if getattr(leaf, "gamma", 0) == "median" else leaf)
    rng, n = np.random.default_rng(seed), 6
    views = {name: X[:n, :n] if name == "k" else X[:n] for name, X in make_views(seed).items()}
    Y = rng.normal(size=(n, n))
    if relation != "ordinary":
        Y = Y + RELATIONS[relation].sign * Y.T
    graph = RelationGraph(views, Y)
    given = {"prior": "similarity", "prior_weight": 0.7} if prior and relation != "reciprocal" else {}
    ranker = ConditionalRanker(relation, loss, 0.8, kernel, tol=1e-13, max_iter=5000, **given)
    found = left_out_scores(ranker, graph, cv)
    i, j = rng.integers(0, n, size=2)
    if cv == "leave-node-out":
        rest = np.delete(np.arange(n), i)
        expected = ranker.fit(graph[rest]).predict(graph)[i]
        found = found[i]
    else:
        left = Y.copy()
        if cv == "leave-query-out":
            left[i] = np.nan
        else:
            left[i, j] = np.nan
            if relation != "ordinary":
                left[j, i] = np.nan
        expected = ranker.fit(RelationGraph(views, left, probabilities=False)).predict(graph)
        found, expected = (found[i], expected[i]) if cv == "leave-query-out" else (found[i, [j]], expected[i, [j]])
    if loss == "ranking" and cv != "leave-edge-out":
        found, expected = found - found.mean(), expected - expected.mean()
    elif loss == "ranking":
        return  # one score of a row says nothing about an order
    np.testing.assert_allclose(found, expected, atol=1e-6 * max(1.0, np.abs(expected).max()))
