"""Dense arrays from arrays that may be sparse, and products of dense arrays beside LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def dense(M: Any) -> np.ndarray:
    """M as a dense array, without a copy if it already is one."""
    return M.toarray() if sparse.issparse(M) else np.asarray(M)


def beside_lapack(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B by SciPy's BLAS, a matrix in Fortran order or a vector, for what is multiplied right after SciPy's LAPACK.

    The threads of NumPy's BLAS, which is another one, would first compete with those of SciPy's, which spin for some
    time after work.
    """
    from scipy import linalg

    functions: Any = linalg.get_blas_funcs
    a, turned = (A, 0) if A.flags.f_contiguous else (A.T, 1)  # in C order the transpose is in Fortran order
    if B.ndim == 1:
        return functions("gemv", (A, B))(1.0, a, B, trans=turned)
    b, other = (B, 0) if B.flags.f_contiguous else (B.T, 1)
    return functions("gemm", (A, B))(1.0, a, b, trans_a=turned, trans_b=other)
