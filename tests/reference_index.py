"""Rankers, objects and conditioning nodes for the tests of indexes, and what an index should answer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph

RNG = np.random.default_rng(0)
N, D = 24, 4
X = RNG.normal(size=(N, D))
Y = X @ RNG.normal(size=(D, D)) @ X.T + 0.1 * RNG.normal(size=(N, N))
HOLES = np.where(RNG.random((N, N)) < 0.5, Y, np.nan)
SKEW = Y - Y.T
SKEW_HOLES = np.where(np.isnan(HOLES) | np.isnan(HOLES.T), np.nan, SKEW)
QUERIES = RNG.normal(size=(9, D))
OBJECTS = RNG.normal(size=(57, D))
IDS = np.array([f"n{i}" for i in range(N)])
NAMES = np.array([f"o{i}" for i in range(len(OBJECTS))])
LABELS = {"ordinary": Y, "symmetric": Y + Y.T, "reciprocal": SKEW}

FITTED = {
    f"{relation} {loss} {kernel} {rank_by}": (
        ConditionalRanker(relation, loss, kernel=kernel, rank_by=rank_by, constant=constant),
        LABELS[relation],
    )
    for (relation, loss, kernel, rank_by), constant in zip(
        itertools.product(LABELS, ("ranking", "regression"), ("linear", "rbf"), ("outgoing", "incoming")),
        itertools.cycle([False, True, True]),
        strict=False,
    )
} | {
    "prior": (ConditionalRanker("symmetric", prior="similarity", prior_weight=0.3), Y + Y.T),
    "prior, constant, weights": (
        ConditionalRanker(prior="similarity", constant=True, feature_weights=[1.0, 0.5, 2.0, 0.0]),
        Y,
    ),
    "prior, cosine, constant": (ConditionalRanker(kernel="cosine", prior="similarity", constant=True), Y),
    "prior, rbf": (ConditionalRanker(kernel="rbf", prior="similarity"), Y),
    "compared": (ConditionalRanker("reciprocal", kernel="rbf", compared=[1, 3]), SKEW_HOLES),
    "poly2D": (ConditionalRanker(kernel="rbf", pairwise_kernel="poly2D"), HOLES),
    "mlpk": (ConditionalRanker(kernel="rbf", pairwise_kernel="mlpk"), HOLES),
    "dual": (ConditionalRanker("reciprocal", kernel="rbf", solver="dual"), SKEW_HOLES),
    "logistic": (ConditionalRanker("reciprocal", "logistic", constant=True), np.sign(SKEW_HOLES)),
    "probabilities": (ConditionalRanker("reciprocal", "regression", constant=True), 1 / (1 + np.exp(-SKEW))),
}
KINDS = ("exact", "approximate")
BY_MODEL = ("prior, rbf", "compared", "poly2D", "mlpk", "dual")


def fitted(name):
    ranker, labels = FITTED[name]
    return ConditionalRanker(**ranker.get_params()).fit(RelationGraph(X, labels, ids=IDS))


def linear(**options):
    return ConditionalRanker(**options).fit(RelationGraph(X, Y, ids=IDS))


def assert_same(found, expected):
    np.testing.assert_array_equal(found.indices, expected.indices)
    tolerance = 1e-4 if found.scores.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(found.scores, expected.scores, rtol=tolerance, atol=tolerance)
    for one, other in ((found.ids, expected.ids), (found.query_ids, expected.query_ids)):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one, other)


def naive_top(scores, k, allowed):
    """Positions of the k best allowed objects of each row, -1 where there are fewer."""
    found = np.full((len(scores), k), -1)
    for row, values in enumerate(scores):
        order = [place for place in np.argsort(-values, kind="stable") if allowed[row, place]][:k]
        found[row, : len(order)] = order
    return found[:, : max(1, (found >= 0).sum(axis=1).max())]


def make(ranker, objects, kind, **options):
    if kind == "approximate":
        pytest.importorskip("faiss")
        options = {"recall": 1.0} | options  # scans all lists
    return ranker.index(objects, kind=kind, **options)


def naive_lists(Y, centroids, W, count, probes):
    """The best objects of the first lists, one query at a time; an object lies in the list of the nearest centroid."""
    lists = np.array([np.argmin(((one - centroids) ** 2).sum(axis=1)) for one in Y])
    found = np.full((len(W), count), -1)
    for row, query in enumerate(W):
        scanned = np.argsort(-(centroids @ query), kind="stable")[:probes]
        places = np.flatnonzero(np.isin(lists, scanned))
        best = places[np.argsort(-(Y[places] @ query), kind="stable")][:count]
        found[row, : len(best)] = best
    return found
