"""Node kernels of every kind, with training nodes, new nodes and labels, for the tests of complete graphs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import reference
from condrank import ConditionalRanker

RELATIONS = ("ordinary", "symmetric", "reciprocal")
LOSSES = ("regression", "ranking")
LAMBDAS = (1e-6, 1e-3, 1.0)  # as a share of the largest eigenvalue of the edge kernel

MODELS = [(r, loss) for r in RELATIONS for loss in LOSSES]
models = pytest.mark.parametrize(("relation", "loss"), MODELS)


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
