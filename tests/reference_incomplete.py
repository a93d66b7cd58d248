"""An incomplete relation of twelve nodes, fits of it, and its naive twin, for the tests of several solvers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import reference
from condrank import ConditionalRanker
from condrank.objective.relations import RELATIONS

LOSSES = ("regression", "ranking")
SOLVERS = ("primal", "iterative", "auto", "explicit")
TOL = 1e-10
N = 12
GAMMA = 0.3

models = pytest.mark.parametrize(("relation", "loss"), [(r, loss) for r in RELATIONS for loss in LOSSES])
kernels = pytest.mark.parametrize("kernel", ["linear", "rbf"])
losses = pytest.mark.parametrize("loss", LOSSES)

RNG = np.random.default_rng(0)
X, NEW, Y = RNG.normal(size=(N, 4)), RNG.normal(size=(3, 4)), RNG.normal(size=(N, N)) + 2
EVERYONE = np.vstack([X, NEW])


def holes(observed, seed=1):
    """Y with a share of its entries observed; "no loops": all but the diagonal."""
    if observed == "no loops":
        return np.where(np.eye(N, dtype=bool), np.nan, Y)
    return np.where(np.random.default_rng(seed).random((N, N)) < observed, Y, np.nan)


def values(kernel, first, second):
    return reference.kernel_values(kernel, first, second, gamma=GAMMA)


def as_dense(M):
    """The dual solver keeps its coefficients sparse."""
    return M.toarray() if sparse.issparse(M) else M


def edge_list(labels):
    sources, targets = np.nonzero(~np.isnan(labels))
    return sources, targets, labels[sources, targets]


def fit(graph, relation="ordinary", loss="ranking", alpha=0.1, kernel="rbf", **params):
    params = {"gamma": GAMMA, "tol": TOL, "solver": "primal", **params}
    return ConditionalRanker(relation, loss, alpha, kernel, **params).fit(graph)


def naive(edges, alpha, kernel="rbf", nodes=X, constant=0.0, **options):
    """Naive scores between all nodes, training ones first."""
    K = values(kernel, nodes, nodes) + constant
    K_all = values(kernel, np.vstack([nodes, NEW]), nodes) + constant
    return reference.naive_scores(K, *edges, alpha, K_queries=K_all, K_objects=K_all, **options)
