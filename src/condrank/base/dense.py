"""Dense arrays from arrays that may be sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def dense(M: Any) -> np.ndarray:
    """M as a dense array, without a copy if it already is one."""
    return M.toarray() if sparse.issparse(M) else np.asarray(M)
