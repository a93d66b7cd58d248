"""Checks of what users pass in: a clear ValueError, naming the argument, what was expected and what came."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.nodes.store import Nodes


def check_node_data(X: Any, name: str) -> Any:
    """Features; or texts, one a node, as a column of objects that a `NodeTransformer` encodes."""
    if not sparse.issparse(X):
        given = X if isinstance(X, list | tuple) else np.asarray(X).tolist() if np.ndim(X) == 1 else []
        if len(given) and all(isinstance(one, str) for one in given):
            return np.array(given, dtype=object)[:, None]
    return check_features(X, name)


def check_features(X: Any, name: str) -> Any:
    """A finite two-dimensional floating array; float32 and sparse input stay what they are, uncopied where possible."""
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


def _check_finite(X: Any, values: np.ndarray, name: str) -> None:
    # A finite sum proves every entry finite without a temporary; only otherwise look entry by entry.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    bad = ~np.isfinite(values)
    if bad.any():
        where = np.argwhere(bad)[0]
        if sparse.issparse(X):
            coo = X.tocoo()
            where = (coo.row[where[0]], coo.col[where[0]])
        row, col = int(where[0]), int(where[1])
        raise ValueError(
            f"{name} must be finite: {int(bad.sum())} entries are NaN or infinite, the first in row {row}, "
            f"column {col}; impute or drop them before"
        )


def check_labels(values: np.ndarray, name: str, dtype: np.dtype) -> np.ndarray:
    """Floating labels without infinities; NaN is left to the caller. Whole numbers and booleans take ``dtype``."""
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numeric, got dtype {values.dtype}")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(values.sum()) and np.isinf(values).any():
            raise ValueError(f"{name} must not be infinite: {int(np.isinf(values).sum())} entries are")
    return values


def check_ids(ids: Any, n_nodes: int, name: str) -> np.ndarray:
    """One name a node, all different."""
    ids = np.asarray(ids)
    if ids.shape != (n_nodes,):
        raise ValueError(f"{name} must name each of the {n_nodes} nodes, got shape {ids.shape}")
    seen: set[Any] = set()
    for position, one in enumerate(ids.tolist()):
        if one in seen:
            raise ValueError(f"{name} must be different from each other, {one!r} at position {position} came before")
        seen.add(one)
    return ids


def positions(given: Any, nodes: Nodes, name: str) -> np.ndarray:
    """Positions of nodes given by id (where nodes have ids) or by position."""
    given = np.asarray(given)
    if given.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {given.shape}")
    if len(given) == 0:
        return np.zeros(0, dtype=np.int64)
    if nodes.ids is not None:
        place = {one: position for position, one in enumerate(nodes.ids.tolist())}
        found = np.fromiter((place.get(one, -1) for one in given.tolist()), dtype=np.int64, count=len(given))
        if (found < 0).any():
            edge = int(np.argmax(found < 0))
            raise ValueError(
                f"{name} has {int((found < 0).sum())} id(s) that no node has, the first is {given.tolist()[edge]!r} "
                f"at position {edge}; the nodes' ids are like {nodes.ids.tolist()[0]!r}"
            )
        return found
    if given.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be whole numbers (positions of nodes) as the nodes have no ids, got {given.dtype}"
        )
    wrong = (given < 0) | (given >= len(nodes))
    if wrong.any():
        edge = int(np.argmax(wrong))
        raise ValueError(f"{name} must lie within 0..{len(nodes) - 1}, got {given[edge]} at position {edge}")
    return given.astype(np.int64, copy=False)


def choose(index: Any, nodes: Nodes) -> np.ndarray:
    """Positions chosen by an index: an array, list, mask, slice, Ellipsis, one position, or ids."""
    n = len(nodes)
    if index is Ellipsis:
        return np.arange(n)
    if isinstance(index, slice):
        return np.arange(n)[index]
    index = np.atleast_1d(np.asarray(index))
    if index.ndim != 1:
        raise IndexError(f"a graph takes a one-dimensional index, got shape {index.shape}")
    if index.dtype == bool:
        if len(index) != n:
            raise IndexError(f"a mask must have one entry for each of the {n} nodes, got {len(index)}")
        return np.flatnonzero(index)
    if index.dtype.kind in "iu":
        if len(index) and (index.min() < -n or index.max() >= n):
            raise IndexError(f"positions must lie within 0..{n - 1}, got {index.min()}..{index.max()}")
        return np.where(index < 0, index + n, index)
    if nodes.ids is None and len(index):
        raise IndexError(f"the nodes have no ids: index them by position, got dtype {index.dtype}")
    try:
        return positions(index, nodes, "index")
    except ValueError as error:
        raise IndexError(str(error)) from None
