"""Named arrays of a file: `Arrays` collects arrays to write, `Held` checks and returns arrays that were read.

Both have a prefix, so a class can name its arrays without knowing where in the file they are:
``arrays.under("rows").put("sigma", sigma)`` writes ``rows.sigma``, and ``held.under("rows").floats("sigma", None)``
reads it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

KINDS = {"f": "floating", "i": "whole", "b": "boolean"}


class Arrays:
    """Arrays to write, by name.

    Parameters
    ----------
    named : dict, optional
        The arrays so far, by their full names; shared with every `under`. By default an empty dict.
    name : str
        Name of this part of the file, used as prefix; empty for the whole file.
    """

    def __init__(self, named: dict[str, np.ndarray] | None = None, name: str = ""):
        self.named: dict[str, np.ndarray] = {} if named is None else named
        self.name = name

    def under(self, name: str) -> Arrays:
        """The same collection, with a prefix before every name."""
        return Arrays(self.named, _joined(self.name, name))

    def put(self, name: str, array: Any) -> None:
        """Add one array."""
        self.named[_joined(self.name, name)] = np.asarray(array)

    def put_all(self, arrays: dict[str, np.ndarray]) -> None:
        """Add several arrays by their names."""
        for name, array in arrays.items():
            self.put(name, array)

    def matrix(self, name: str, matrix: Any) -> None:
        """Add a dense or sparse matrix. A sparse one becomes the four arrays of its compressed rows."""
        if not sparse.issparse(matrix):
            self.put(name, matrix)
            return
        rows, parts = sparse.csr_array(matrix), self.under(name)
        for part in ("data", "indices", "indptr"):
            parts.put(part, getattr(rows, part))
        parts.put("shape", np.array(rows.shape, dtype=np.int64))


class Held:
    """The arrays of a file. Each is taken once and checked then: a ValueError names the array and what is wrong.

    Parameters
    ----------
    arrays : dict of ndarray
        As `condrank.persistence.read_file` returns them. Shared with every `under`; taking an array removes it.
    mmap : bool
        Arrays are read when they are used. Only the types and shapes of the large ones are checked, because checking
        values would read them.
    name : str
        Name of this part of the file, used as prefix; empty for the whole file.
    """

    def __init__(self, arrays: dict[str, np.ndarray], mmap: bool = False, name: str = ""):
        self._left, self.mmap, self.name = arrays, mmap, name

    def under(self, name: str) -> Held:
        """The same arrays, with a prefix before every name."""
        return Held(self._left, self.mmap, _joined(self.name, name))

    def __contains__(self, name: str) -> bool:
        return _joined(self.name, name) in self._left

    def left(self) -> list[str]:
        """Full names of the arrays that were not taken yet, sorted."""
        start = _joined(self.name, "")
        return sorted(name for name in self._left if name.startswith(start))

    def check_all_taken(self, what: str) -> None:
        """Raise if some arrays were not taken."""
        if self.left():
            raise ValueError(f"it holds arrays that no part of the {what} uses: {self.left()}")

    def rest(self) -> dict[str, np.ndarray]:
        """All arrays that are left, by their names without the prefix; the caller checks them."""
        start = _joined(self.name, "")
        return {name.removeprefix(start): self._left.pop(name) for name in self.left()}

    def pop(self, name: str) -> np.ndarray:
        """One array, without any check."""
        return self._left.pop(_joined(self.name, name))

    def take(self, name: str, kind: str, *shape: int | None) -> np.ndarray:
        """An array of a kind of numbers ("f", "i" or "b") and a shape. A length of None means any length except 0."""
        array = self.pop(name)
        fits = array.ndim == len(shape) and all(
            length == expected if expected is not None else length > 0
            for length, expected in zip(array.shape, shape, strict=True)
        )
        if not fits or array.dtype.kind != kind:
            lengths = ", ".join("any" if length is None else str(length) for length in shape)
            raise ValueError(
                f"{_joined(self.name, name)} must be {KINDS[kind]} of shape ({lengths}), "
                f"got {array.dtype} of shape {array.shape}"
            )
        return array

    def floats(self, name: str, *shape: int | None) -> np.ndarray:
        """A finite floating array."""
        array = self.take(name, "f", *shape)
        if not self.mmap and not np.isfinite(array).all():
            raise ValueError(f"{_joined(self.name, name)} must be finite")
        return array

    def positive(self, name: str, length: int | None) -> np.ndarray:
        """A finite floating vector with entries greater than zero."""
        array = self.floats(name, length)
        if not (array > 0).all():
            raise ValueError(f"{_joined(self.name, name)} must be greater than zero")
        return array

    def places(self, name: str, length: int | None, n: int) -> np.ndarray:
        """Positions of nodes, within 0..n - 1."""
        array = self.take(name, "i", length)
        if array.min(initial=0) < 0 or array.max(initial=0) >= n:
            raise ValueError(f"{_joined(self.name, name)} must lie within 0..{n - 1}")
        return array

    def matrix(self, name: str, least_rows: int = 1) -> Any:
        """A dense or sparse matrix, floating and finite, as `Arrays.matrix` stored it."""
        if name in self:
            empty = least_rows == 0 and len(self._left[_joined(self.name, name)]) == 0
            return self.floats(name, 0 if empty else None, None)
        parts = self.under(name)
        n, d = parts.take("shape", "i", 2).tolist()
        if n < 1 or d < 1:
            raise ValueError(f"{parts.name} must have at least one row and one column, got shape {(n, d)}")
        indptr = parts.take("indptr", "i", n + 1)
        indices = parts.take("indices", "i", int(indptr[-1]))
        matrix = sparse.csr_array((parts.floats("data", len(indices)), indices, indptr), shape=(n, d))
        matrix.check_format()
        return matrix


def _joined(first: str, second: str) -> str:
    return f"{first}.{second}" if first else second
