"""Labels of data frames: an index names the rows, columns name the features or the nodes of a kernel matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.dask import is_dask
from condrank.frames.columns import as_objects, canonical
from condrank.frames.ids import Ids, find_twice, shown


def is_frame(given: Any) -> bool:
    """Whether it is a data frame, of any library. Looks at its attributes, so no library is imported."""
    if isinstance(given, np.ndarray) or is_dask(given):
        return False
    # Attributes of the type: those of a lazy frame may have to be computed.
    return all(hasattr(type(given), name) for name in ("columns", "shape", "__array__"))


def row_labels(frame: Any) -> np.ndarray | None:
    """The index of a pandas frame or series as ids; None if it only counts the rows, or there is no index."""
    index = getattr(frame, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    labels = canonical(as_objects(list(index)), "ids")
    # Texts as a list of ids would have them.
    return np.asarray(labels.tolist()) if all(isinstance(one, str) for one in labels.tolist()) else labels


def column_labels(frame: Any) -> np.ndarray | None:
    """Names of the columns; None if they only count the columns."""
    names = getattr(frame, "column_names", None)
    names = frame.columns if names is None else names
    if type(names).__name__ == "RangeIndex":
        return None
    return canonical(as_objects(list(names)), "names of columns")


def order_of(labels: np.ndarray, wanted: np.ndarray, what: str, of: str) -> np.ndarray:
    """Positions of wanted labels among others that must be the same in any order; the first that differ are named.

    Parameters
    ----------
    labels, wanted : ndarray
        The labels that there are, and the order that is needed.
    what, of : str
        Names of both in errors.
    """
    twice = find_twice(labels, lambda row: f"{what}, position {row}")
    if twice is not None:
        raise ValueError(f"{what} must name every node once, but {shown(labels, twice[1])!r} occurs again")
    order = Ids(labels).places(wanted)
    extra = Ids(wanted).places(labels) < 0
    if (order < 0).any() or extra.any():
        parts = []
        if (order < 0).any():
            first = int(np.argmax(order < 0))
            parts.append(f"it lacks {shown(wanted, first)!r} ({int((order < 0).sum())} in all)")
        if extra.any():
            parts.append(f"it has {shown(labels, int(np.argmax(extra)))!r} ({int(extra.sum())} in all), unknown there")
        raise ValueError(f"{what} must have the labels of {of}, in any order: {' and '.join(parts)}")
    return order


def is_square(frame: Any) -> bool:
    """Whether index and columns of a frame name the same nodes, in any order: a kernel matrix."""
    rows, columns = row_labels(frame), column_labels(frame)
    if rows is None or columns is None or len(rows) != len(columns):
        return False
    if find_twice(rows, str) is not None or find_twice(columns, str) is not None:
        return False
    return bool((Ids(rows).places(columns) >= 0).all())


def square_of(frame: Any) -> np.ndarray:
    """The values of a kernel matrix, its columns in the order of its index."""
    rows, columns = row_labels(frame), column_labels(frame)
    assert rows is not None
    assert columns is not None
    return np.asarray(frame)[:, order_of(columns, rows, "the columns of a kernel", "its index")]


def index_ids(frame: Any) -> np.ndarray | None:
    """The index of a table of nodes as ids, if it names them: it has a name itself, or is not of whole numbers.

    Whole numbers without a name are what is left of counted rows when some of them are chosen.
    """
    if not is_frame(frame):
        return None
    labels = row_labels(frame)
    if labels is None or (labels.dtype.kind in "iu" and frame.index.name is None):
        return None
    return labels
