"""Systems T x = f with a symmetric T that is expected, but not proven, to be well conditioned."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg

from condrank.base.measured import CHOLESKY_MOST_ROWS


class WellConditioned:
    """Solves T x = f to working precision, O(r²) for large r.

    Conjugate gradients with the diagonal as preconditioner need five to fifteen products with T. Small systems, and
    systems for which the iteration does not converge, use a Cholesky factor, O(r³/3).

    Parameters
    ----------
    T : ndarray of shape (r, r)
        Symmetric positive definite, C-ordered. Overwritten.
    """

    def __init__(self, T: np.ndarray):
        self.T, self.diagonal = T, T.diagonal().copy()
        self.factor: tuple[np.ndarray, bool] | None = None
        if len(T) <= CHOLESKY_MOST_ROWS:
            self._factorise()

    def solve(self, f: np.ndarray) -> np.ndarray:
        """T⁻¹f for a vector f."""
        if self.factor is None and (x := self._iterate(f)) is not None:
            return x
        return linalg.cho_solve(self.factor or self._factorise(), f, check_finite=False)

    def _factorise(self) -> tuple[np.ndarray, bool]:
        self.factor = linalg.cho_factor(self.T.T, lower=True, overwrite_a=True, check_finite=False)
        return self.factor

    def _iterate(self, f: np.ndarray) -> np.ndarray | None:
        if not f.any():
            return np.zeros_like(f)
        shape, dtype = self.T.shape, self.T.dtype

        def operator(product: Callable[[np.ndarray], np.ndarray]) -> LinearOperator:
            return LinearOperator(shape, matvec=product, dtype=dtype)  # pyright: ignore[reportCallIssue]

        x, failed = cg(
            # NumPy's product, not SciPy's symv: NumPy and SciPy have separate BLAS threads, which wait for each other.
            operator(lambda v: self.T @ v),
            f,
            rtol=4 * float(np.finfo(dtype).eps),
            maxiter=60,
            M=operator(lambda v: v / self.diagonal),
        )
        return None if failed else x
