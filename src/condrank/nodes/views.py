"""Several views of the same nodes: features of different kinds and kernel matrices, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from condrank.base.arrays import check_features
from condrank.base.dask import is_dask


class Views:
    """Named arrays with a row for each node. Some are features, some kernel matrices: the kernel decides.

    Parameters
    ----------
    parts : dict of arrays of shape (n, d)
        Dense or sparse arrays of one number of rows.
    kernels : frozenset of str
        Names of those that are known to be kernel matrices, such as matrices that were read from a file.

    Attributes
    ----------
    shape : tuple
        Number of nodes, and number of columns of all views together.
    dtype : dtype
        The most precise floating type of the views.
    """

    def __init__(self, parts: Mapping[str, Any], kernels: frozenset[str] = frozenset()):
        self.parts, self.kernels = dict(parts), kernels
        first = next(iter(self.parts.values()))
        self.shape = first.shape[0], sum(part.shape[1] for part in self.parts.values())
        self.dtype = np.result_type(*(part.dtype for part in self.parts.values()))
        self.ndim = 2

    def __getitem__(self, rows: Any) -> Views:
        """The same views of some rows."""
        return Views({name: part[rows] for name, part in self.parts.items()}, self.kernels)

    def __len__(self) -> int:
        return self.shape[0]

    def astype(self, dtype: Any) -> Views:
        """The same views in another floating type."""
        parts = {name: part if part.dtype == dtype else part.astype(dtype) for name, part in self.parts.items()}
        return Views(parts, self.kernels)

    def __repr__(self) -> str:
        described = ", ".join(f"{name}: {part.shape[0]} × {part.shape[1]}" for name, part in self.parts.items())
        return f"Views({described})"


def check_views(given: Mapping[Any, Any], name: str) -> Views:
    """Checked views: a ValueError names the view that is wrong, or two whose lengths differ.

    Views of different precision get the finer one: a sum of kernels is as precise as the least precise of them.
    """
    if not given:
        raise ValueError(f"{name} must have at least one view, got an empty dict")
    parts, lengths = {}, {}
    for view, values in given.items():
        if not isinstance(view, str) or not view or "." in view:
            raise ValueError(f"the names of the views of {name} must be text without dots, got {view!r}")
        if is_dask(values):
            raise ValueError(
                f"view {view!r} of {name} must be in memory, got a Dask array; use its .compute(), or give the nodes "
                "as a single Dask array without views"
            )
        parts[view] = check_features(values, f"view {view!r} of {name}")
        lengths[view] = parts[view].shape[0]
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{view!r} has {n}" for view, n in lengths.items())
        raise ValueError(f"the views of {name} must have one row for each node, but {listed} rows")
    views = Views(parts)
    return views.astype(views.dtype)


def check_rows(X: Any, name: str) -> Any:
    """Features of nodes, or views of them, as finite floating arrays."""
    if not isinstance(X, Views):
        return check_features(X, name)
    return Views({view: check_features(part, f"view {view!r} of {name}") for view, part in X.parts.items()}, X.kernels)
