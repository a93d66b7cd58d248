"""Checks of arrays that users pass in: a ValueError names the argument, what was expected and what was given."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import row_blocks


def check_features(X: Any, name: str) -> Any:
    """X as a finite two-dimensional floating array. float32 and sparse stay as they are; no copy if none is needed."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        values = X.data
    else:
        X = values = np.asarray(X)
    if X.ndim != 2:
        hint = "; a single node is one row: reshape it to (1, n_features)" if X.ndim == 1 else ""
        raise ValueError(f"{name} must be two-dimensional (nodes × features), got {X.ndim} dimension(s){hint}")
    if 0 in X.shape:
        raise ValueError(f"{name} must have at least one row and one column, got shape {X.shape}")
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numeric, got dtype {values.dtype}; encode text and categories first")
    if values.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
        values = X.data if sparse.issparse(X) else X
    _check_finite(X, values, name)
    return X


def writable(X: Any) -> Any:
    """X, copied if it must not be written: some compiled loops take no such array, though they only read."""
    return X.copy() if isinstance(X, np.ndarray) and not X.flags.writeable else X


def _check_finite(X: Any, values: np.ndarray, name: str) -> None:
    # A finite sum proves that every entry is finite, without a temporary array. Only otherwise check every entry.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    n_bad, first = 0, None
    for rows in row_blocks(len(values), values[:1].size):
        bad = ~np.isfinite(values[rows])
        if first is None and bad.any():
            first = np.argwhere(bad)[0]
            first[0] += rows.start
        n_bad += int(bad.sum())
    if first is not None:
        if sparse.issparse(X):
            coo = X.tocoo()
            first = (coo.row[first[0]], coo.col[first[0]])
        row, col = int(first[0]), int(first[1])
        raise ValueError(
            f"{name} must be finite: {n_bad} entries are NaN or infinite, the first in row {row}, "
            f"column {col}; impute or drop them first"
        )
