"""Rows, or single values, that more are appended to, in growing memory, while others read those that were there."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

SPARE = 1.5  # room made at a time, in numbers of the rows needed: appending costs O(1) a row, on the whole


class GrowingRows:
    """Joins new rows to old ones: an array given before is never written to where it can be seen."""

    def __init__(self) -> None:
        self._room: np.ndarray | None = None

    def joined(self, rows: Any, new: Any) -> Any:
        """Old rows, as this gave them the last time, and new ones; in the old ones' type."""
        if sparse.issparse(rows) or sparse.issparse(new):
            both = [sparse.csr_array(one, dtype=rows.dtype) for one in (rows, new)]
            return sparse.csr_array(sparse.vstack(both)) if sparse.issparse(rows) else np.vstack([rows, new.toarray()])
        n = len(rows) + len(new)
        if self._room is None or n > len(self._room) or rows.dtype != self._room.dtype:
            self._room = np.empty((int(SPARE * n), *rows.shape[1:]), dtype=rows.dtype)
            self._room[: len(rows)] = rows
        self._room[len(rows) : n] = new
        return self._room[:n]
