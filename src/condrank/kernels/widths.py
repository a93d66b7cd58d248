"""Kernel widths from the data: the median distance between training nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel, euclidean_distances, manhattan_distances

from condrank.base.arrays import writable

#: The distance in the exponent of each kernel that has a width.
MEDIANS = {
    "rbf": lambda X: euclidean_distances(X, squared=True),
    "laplacian": manhattan_distances,
    "chi2": lambda X: -additive_chi2_kernel(writable(X)),
}
#: At most this many rows should be compared.
SAMPLED_ROWS = 1000


def median_width(name: str, X: Any) -> float:
    """Median of the non-zero distances in the exponent of a kernel; 1 if all rows are equal. O(n²d)."""
    if sparse.issparse(X):
        X = X.toarray() if name == "chi2" else X
    elif name != "chi2":
        X = X - X.mean(axis=0)  # keeps rounding small beside the distances
    distance = MEDIANS[name](X)
    distance = distance[np.triu_indices(len(distance), 1)]
    # Distances of equal rows are computed as rounding noise.
    distance = distance[distance > 64 * float(np.finfo(X.dtype).eps) * distance.max(initial=0.0)]
    return float(np.median(distance)) if len(distance) else 1.0
