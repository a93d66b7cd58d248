"""Kernel matrices from files (CSV with or without ids, npy and npz, never with pickled objects) and frames."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from condrank.base.arrays import check_features
from condrank.frames.columns import as_objects, canonical, missing
from condrank.frames.dataframes import as_frame
from condrank.frames.formats import read_rows, read_text
from condrank.frames.ids import Ids, find_twice, shown
from condrank.frames.kinds import as_number

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

NAMES = ("kernel", "K")  # names of the matrix in a file with several arrays


def read_kernel(source: Any, name: str | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """A kernel matrix between nodes, and the ids of the nodes if it has them.

    Parameters
    ----------
    source : path-like, ndarray or data frame
        A CSV or TSV file with ids in the first row, in the first column, in both or in neither; an npy file; an npz
        file with the matrix as ``name``, and ids as "ids" if there are any. The column names of a frame are the ids;
        the index of a pandas frame, unless it just counts the rows, must name the same nodes in any order.
    name : str, optional
        Name of the matrix in an npz file; by default the only array, "kernel" or "K".

    Returns
    -------
    K : ndarray of shape (n, n)
        Finite. Whether it is symmetric and positive semi-definite is checked when a ranker is fitted.
    ids : ndarray of shape (n,) or None
        Strings if they come from a CSV file.
    """
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        ending = Path(path).suffix.lower()
        if ending in (".npy", ".npz"):
            K, ids = _read_arrays(str(path), name)
        elif ending in (".csv", ".tsv", ".txt") or path == "-":
            K, ids = _read_csv(str(path), "\t" if ending == ".tsv" else None)
        else:
            raise ValueError(f"{path} must be a .csv, .tsv, .npy or .npz file to be read as a kernel")
        what = str(path)
    else:
        what = "the kernel"
        frame = None if isinstance(source, np.ndarray) else as_frame(source, _refuse_names)
        K, ids = (np.asarray(source), None) if frame is None else _of_frame(frame)
    K = check_features(K, what)
    if not isinstance(K, np.ndarray) or K.shape[0] != K.shape[1]:
        raise ValueError(f"{what} must be a dense square matrix, got shape {K.shape}")
    if ids is not None:
        if ids.shape != (len(K),):
            raise ValueError(f"{what} must have an id for each of its {len(K)} nodes, got shape {ids.shape}")
        _check_ids(ids, what)
    return K, ids


def _check_ids(ids: np.ndarray, what: str) -> None:
    """Raise for a missing id, and for an id that two nodes share."""
    gone = missing(ids)
    if gone.any():
        raise ValueError(f"{what}: node {int(np.argmax(gone)) + 1} has no id; name it")
    twice = find_twice(ids, lambda row: f"{what}: node {row + 1}")
    if twice is not None:
        first, again = twice
        raise ValueError(
            f"{what}: nodes {first + 1} and {again + 1} both have the id {shown(ids, again)!r}; "
            "every node of a kernel must have its own id"
        )


def _refuse_names(names: list[Any]) -> None:
    """Raise if two columns of a frame name the same node."""
    _check_ids(canonical(as_objects(names), "ids"), "the kernel")


def _of_frame(frame: nw.DataFrame[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Kernel and ids of a frame, its rows in the order of its columns."""
    from narwhals.stable.v2 import maybe_get_index

    K, ids = frame.to_numpy(), canonical(as_objects(frame.columns), "ids")
    index: Any = maybe_get_index(frame)  # None except for pandas and similar frames
    if index is None or type(index).__name__ == "RangeIndex":
        return K, ids
    _check_ids(ids, "the kernel")
    rows = canonical(as_objects(list(index)), "ids")
    order = Ids(rows).places(ids)
    if len(rows) != len(ids) or sorted(order.tolist()) != list(range(len(ids))):
        raise ValueError(
            f"the kernel must have the same ids in its index as in its columns, got {rows.tolist()[:3]!r} … and "
            f"{ids.tolist()[:3]!r} …; use reset_index(drop=True) if the rows are in the order of the columns"
        )
    return K[order], ids


def _read_arrays(path: str, name: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded, None
        with loaded:
            held = loaded.files
            found = [one for one in ((name,) if name else NAMES) if one in held]
            others = [one for one in held if one != "ids"]
            if not found and (name is not None or len(others) != 1):
                wanted = f"an array {name!r}" if name else "one array, or one named 'kernel'"
                raise ValueError(f"it must have {wanted}, it has {held}")
            ids = canonical(loaded["ids"], "ids") if "ids" in held else None
            return loaded[found[0] if found else others[0]], ids
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as a kernel: {error}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None


def _read_csv(path: str, delimiter: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    rows = read_rows(read_text(path), path, delimiter)
    n_rows, n_cols = len(rows), len(rows[0])
    # A square with ids on both sides has a corner that is not a number.
    header = n_rows == n_cols + 1 or (n_rows == n_cols and n_rows > 1 and as_number(rows[0][0]) is None)
    named = n_cols == n_rows + 1 or (n_rows == n_cols and header)
    if abs(n_rows - n_cols) > 1:
        raise ValueError(
            f"{path} must be a square matrix, with or without ids in its first row or column, got {n_rows} × {n_cols}"
        )
    across, down = (rows[0][int(named) :] if header else None), ([row[0] for row in rows[int(header) :]])
    if header and named and across != down:
        first = next(i for i, (one, other) in enumerate(zip(across or [], down, strict=True)) if one != other)
        raise ValueError(f"{path}: ids of rows and columns must be the same, row {first + 2} is {down[first]!r}")
    cells = [row[int(named) :] for row in rows[int(header) :]]
    K = np.array([[as_number(one) for one in row] for row in cells], dtype=np.float64)  # None becomes NaN
    if np.isnan(K).any():
        i, j = np.argwhere(np.isnan(K))[0]
        raise ValueError(
            f"{path}, row {i + 1 + header}, column {j + 1 + named}: expected a number, got {cells[i][j]!r}"
        )
    ids = across if header else down if named else None
    return K, None if ids is None else as_objects(ids)
