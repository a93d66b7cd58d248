"""Early stopping: unpreconditioned Krylov iterations, which regularise by the number of their steps.

The paper trains with λ = 0 and stops early. That effect comes from the plain Krylov sequence, which fits the large
eigenvalues first; preconditioned iterations are for solving a given λ, and have no such order.
"""

from __future__ import annotations

from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.krylov import krylov
from condrank.solvers.preconditioned import PrimalSystem
from condrank.solvers.solution import Iteration, Solution


class EarlyStopping:
    """Plain CG or BiCGSTAB on the system of a complete or an incomplete graph, λ = 0 allowed.

    Parameters
    ----------
    system : ClosedForm or PrimalSystem
        Gives the right-hand side and the product: O(r²) an iteration on a complete graph.
    method : {"cg", "bicgstab"}
        The paper's is BiCGSTAB, which takes two products an iteration.
    """

    def __init__(self, system: ClosedForm | PrimalSystem, method: str):
        self.system, self.method = system, method
        self.rows, self.cols = system.rows, system.cols

    def solve(self, alpha: float, iteration: Iteration) -> Solution:
        """The iterate at which the callback stopped, or the last one."""
        found = krylov(
            lambda W: self.system.apply(W, alpha),
            self.system.rhs,
            method=self.method,
            start=iteration.start,
            tol=iteration.tol,
            max_iter=iteration.max_iter,
            watch=iteration.watch,
        )
        # Running out of iterations is what early stopping is for.
        return Solution(found.x, found.n_iter, True)
