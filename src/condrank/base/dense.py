"""Dense arrays of what may be sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def dense(M: Any) -> np.ndarray:
    """M as a dense array; uncopied where it is one."""
    return M.toarray() if sparse.issparse(M) else np.asarray(M)
