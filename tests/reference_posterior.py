"""Graphs with their naive posteriors, for the tests of standard deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from condrank import ConditionalRanker, RelationGraph
from reference import naive_posterior

ALPHA = 0.3
GAMMA = 0.3
N, N_QUERIES, N_OBJECTS = 9, 4, 5


def rbf(X, X_other=None):
    """The kernel of the tests."""
    return rbf_kernel(X, X if X_other is None else X_other, gamma=GAMMA)


@dataclass
class Case:
    """A fitted ranker, nodes to ask for, and the covariances of all their scores by the whole edge kernel."""

    ranker: Any
    queries: np.ndarray
    objects: np.ndarray
    new: np.ndarray
    known: np.ndarray
    noise: float

    @property
    def n_queries(self):
        return len(self.queries)

    def places(self, rows, cols):
        """Positions of pairs among all pairs of new nodes."""
        return np.asarray(rows) * len(self.objects) + np.asarray(cols)

    def variances(self):
        """Variances of all pairs of new nodes."""
        return self.new.diagonal().reshape(len(self.queries), len(self.objects))


def labels(rng, relation, n=N):
    """Labels of all pairs that suit a relation, with noise in both directions."""
    Y = rng.normal(size=(n, n))
    if relation == "symmetric":
        return Y + Y.T + 0.1 * rng.normal(size=(n, n))
    return Y - Y.T + 0.1 * rng.normal(size=(n, n)) if relation == "reciprocal" else Y


def observed(rng, Y, holes, weighted):
    """Sources, targets, values and weights of what is observed of Y."""
    sources, targets = (places.ravel() for places in np.indices(Y.shape))
    if holes:
        kept = rng.random(Y.size) < 0.5
        kept[:3] = True
        sources, targets = sources[kept], targets[kept]
    weights = rng.uniform(0.5, 2, len(sources)) if weighted else None
    return sources, targets, Y[sources, targets], weights


def make_case(relation, loss, *, fit_intercept=False, holes=False, weighted=False, prior=0.0, seed=0, **params):
    """A case with an RBF kernel."""
    rng = np.random.default_rng(seed)
    X, queries, objects = (rng.normal(size=(size, 3)) for size in (N, N_QUERIES, N_OBJECTS))
    Y = labels(rng, relation)
    sources, targets, values, weights = observed(rng, Y, holes, weighted)
    graph = RelationGraph(X, Y)
    if holes or weighted:
        graph = RelationGraph.from_edges(X, sources, targets, values, weights=weights)
    similarity = {"prior": "similarity", "prior_weight": prior} if prior else {}
    ranker = ConditionalRanker(
        relation,
        loss,
        ALPHA,
        kernel="rbf",
        gamma=GAMMA,
        fit_intercept=fit_intercept,
        tol=1e-12,
        **similarity,
        **params,
    ).fit(graph)
    options = {
        "relation": relation,
        "loss": loss,
        "weights": weights,
        "prior_weight": prior,
        "fit_intercept": fit_intercept and relation != "reciprocal",
    }
    known, noise = naive_posterior(rbf(X), sources, targets, values, ALPHA, **options)
    new, _ = naive_posterior(
        rbf(X),
        sources,
        targets,
        values,
        ALPHA,
        K_queries=rbf(queries, X),
        K_objects=rbf(objects, X),
        K_own=rbf(queries),
        K_own_objects=rbf(objects),
        K_new=rbf(queries, objects),
        **options,
    )
    return Case(ranker, queries, objects, new, known, noise)
