"""Checks of node data, labels, edges and indices: a ValueError names the argument, what was expected and given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.arrays import check_features
from condrank.frames.ids import Ids, listed_ids
from condrank.frames.table import Table
from condrank.nodes.store import Nodes
from condrank.nodes.views import Views, check_views


def check_node_data(X: Any, name: str) -> Any:
    """Features or views; or data for a `NodeTransformer`: a table, or one text per node, as a column of objects."""
    if isinstance(X, Table | Views):
        return X
    if isinstance(X, Mapping):
        return check_views(X, name)
    if not sparse.issparse(X):
        given = X if isinstance(X, list | tuple) else np.asarray(X).tolist() if np.ndim(X) == 1 else []
        if len(given) and all(isinstance(one, str) for one in given):
            return np.array(given, dtype=object)[:, None]
    return check_features(X, name)


def check_labels(values: np.ndarray, name: str, dtype: np.dtype) -> np.ndarray:
    """Floating labels without infinities. NaN is left to the caller. Integers and booleans become ``dtype``."""
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numeric, got dtype {values.dtype}")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(values.sum()) and np.isinf(values).any():
            raise ValueError(f"{name} must not be infinite: {int(np.isinf(values).sum())} entries are")
    return values


def positions(given: Any, nodes: Nodes, name: str, ids: Ids | None = None) -> np.ndarray:
    """Positions of nodes, given by id if the nodes have ids, otherwise by position.

    ``ids`` are the ids of the nodes, prepared once for many calls.
    """
    given = np.asarray(listed_ids(given))
    if given.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {given.shape}")
    if len(given) == 0:
        return np.zeros(0, dtype=np.int64)
    if nodes.ids is not None:
        names = ids or Ids(nodes.ids)
        found = names.places(given, lambda position: f"{name}, position {position}")
        if (found < 0).any():
            edge = int(np.argmax(found < 0))
            raise ValueError(
                f"{name} has {int((found < 0).sum())} id(s) that no node has, the first is {given.tolist()[edge]!r} "
                f"at position {edge}; {names.advice(given, edge)}"
            )
        return found
    if given.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be whole numbers (positions of nodes), because the nodes have no ids, got {given.dtype}"
        )
    wrong = (given < 0) | (given >= len(nodes))
    if wrong.any():
        edge = int(np.argmax(wrong))
        raise ValueError(f"{name} must lie within 0..{len(nodes) - 1}, got {given[edge]} at position {edge}")
    return given.astype(np.int64, copy=False)


def check_edges(
    nodes: Nodes, others: Nodes, sources: Any, targets: Any, values: Any, weights: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Checked columns of an edge list: positions of starting and ending nodes, labels, and weights or None."""
    source, target = positions(sources, nodes, "sources"), positions(targets, others, "targets")
    value = check_labels(np.asarray(values), "values", nodes.dtype)
    weight = None if weights is None else check_labels(np.asarray(weights), "weights", nodes.dtype)
    for name, column in (("targets", target), ("values", value), ("weights", weight)):
        if column is not None and column.shape != source.shape:
            raise ValueError(f"{name} must have one entry for each of the {len(source)} sources, got {column.shape}")
    if np.isnan(value).any():
        raise ValueError(f"values must not be NaN: edge {int(np.argmax(np.isnan(value)))} is; leave such edges out")
    if weight is not None and not (weight >= 0).all():
        edge = int(np.argmin(weight >= 0))
        raise ValueError(f"weights must not be negative or NaN: edge {edge} has weight {weight[edge]}")
    return source, target, value, weight


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
