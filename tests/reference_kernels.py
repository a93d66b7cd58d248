"""The naive twin of kernel expressions: one value at a time, from the formulas."""

from __future__ import annotations

import numpy as np

from condrank.kernels import (
    RBF,
    Constant,
    Cosine,
    Custom,
    Identity,
    Laplacian,
    Linear,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Sum,
    Unit,
    Weighted,
)
from reference import kernel_values

NAMES = {Linear: "linear", RBF: "rbf", Laplacian: "laplacian", Cosine: "cosine", Polynomial: "poly"}


def naive_kernel(kernel, views, first, second, known):
    """Values (len(first), len(second)) between nodes given by their positions in the views.

    Parameters
    ----------
    kernel : Kernel
        An expression.
    views : dict of ndarray
        Features (n, d) or kernel matrices (n, n) of all nodes, by name; None names the only view.
    first, second : sequence of int
        Positions of nodes.
    known : collection of int
        Positions of the training nodes, which have an identity.
    """
    known = set(np.asarray(known).tolist())

    def pair(kernel, i, j):
        if isinstance(kernel, Sum):
            return sum(pair(part, i, j) for part in kernel.kernels)
        if isinstance(kernel, Product):
            return np.prod([pair(part, i, j) for part in kernel.kernels])
        if isinstance(kernel, Weighted):
            return kernel.weight * pair(kernel.kernel, i, j)
        if isinstance(kernel, Power):
            return pair(kernel.kernel, i, j) ** kernel.exponent
        if isinstance(kernel, Unit):
            lengths = pair(kernel.kernel, i, i) * pair(kernel.kernel, j, j)
            return pair(kernel.kernel, i, j) / np.sqrt(lengths) if lengths else 0.0
        if isinstance(kernel, Constant):
            return 1.0
        if isinstance(kernel, Identity):
            return float(i == j and i in known)
        X = views[kernel.view]
        if isinstance(kernel, Precomputed):
            return X[i, j]
        x, y = X[[i]], X[[j]]
        if isinstance(kernel, Custom):
            return kernel.function(x, y)[0, 0] if kernel.on == "matrices" else kernel.function(x[0], y[0])
        weights = getattr(kernel, "feature_weights", None)
        if weights is not None:
            x, y = x * np.array(weights), y * np.array(weights)
        gamma = median_width(kernel, X[sorted(known)]) if getattr(kernel, "gamma", None) == "median" else None
        given = {"gamma": getattr(kernel, "gamma", None) if gamma is None else gamma}
        given |= {name: getattr(kernel, name) for name in ("degree", "coef0") if hasattr(kernel, name)}
        return kernel_values(NAMES[type(kernel)], x, y, **given)[0, 0]

    return np.array([[pair(kernel, i, j) for j in second] for i in first])


def median_width(kernel, X):
    """One over the median distance between different rows, by loops."""
    power = 2 if isinstance(kernel, RBF) else 1
    found = [np.sum(np.abs(x - y) ** power) for i, x in enumerate(X) for y in X[:i]]
    return 1 / np.median([one for one in found if one > 0])
