"""A preconditioner on trial: if the residual falls much more slowly than expected, the iteration goes on without it.

Expected iterations treat the edges as a random sample of all pairs. On a graph far from that, features of the edges may
not be near their expected strengths, and a preconditioner then costs more than it saves.
"""

from __future__ import annotations

import numpy as np

from condrank.base.measured import TRIAL_ITERATIONS, TRIAL_LEAST_PROGRESS_SHARE
from condrank.solvers.krylov import Operator


class Trial:
    """P⁻¹ that watches the residuals it is given.

    Parameters
    ----------
    precondition : callable
        P⁻¹.
    expected : float
        Expected iterations to ``tol``.
    tol : float
        Relative residual.

    Attributes
    ----------
    failed : bool
        After some iterations, the logarithm of the residual had fallen by only a small share of what was expected.
    """

    def __init__(self, precondition: Operator, expected: float, tol: float):
        self.precondition, self.expected, self.tol = precondition, expected, tol
        self.sizes: list[float] = []
        self.failed = False

    def __call__(self, residual: np.ndarray) -> np.ndarray:
        """P⁻¹ times the residual."""
        if len(self.sizes) <= TRIAL_ITERATIONS:
            self.sizes.append(float(np.linalg.norm(residual)))
            if len(self.sizes) > TRIAL_ITERATIONS:
                progress = np.log(self.sizes[0] / max(min(self.sizes), 1e-300))
                hoped = -np.log(self.tol) * TRIAL_ITERATIONS / max(self.expected, TRIAL_ITERATIONS)
                self.failed = bool(progress < TRIAL_LEAST_PROGRESS_SHARE * hoped)
        return self.precondition(residual)
