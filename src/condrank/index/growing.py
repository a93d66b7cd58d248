"""Arrays of rows or values that grow at the end, while other threads read the earlier rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

SPARE = 1.5  # memory allocated relative to the rows needed, so that appending costs amortised O(1) per row


class GrowingRows:
    """Appends new rows to old ones. The rows of an array that was returned before never change."""

    def __init__(self) -> None:
        self._room: np.ndarray | None = None

    def joined(self, rows: Any, new: Any) -> Any:
        """Old rows, as returned the last time, followed by new ones, in the type of the old ones."""
        if sparse.issparse(rows) or sparse.issparse(new):
            both = [sparse.csr_array(one, dtype=rows.dtype) for one in (rows, new)]
            return sparse.csr_array(sparse.vstack(both)) if sparse.issparse(rows) else np.vstack([rows, new.toarray()])
        n = len(rows) + len(new)
        if self._room is None or n > len(self._room) or rows.dtype != self._room.dtype:
            self._room = np.empty((int(SPARE * n), *rows.shape[1:]), dtype=rows.dtype)
            self._room[: len(rows)] = rows
        self._room[len(rows) : n] = new
        return self._room[:n]
