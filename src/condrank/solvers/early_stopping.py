"""Early stopping: Krylov iterations without preconditioner, regularised by the number of steps.

The paper trains with λ = 0 and stops early. This regularises because the plain Krylov sequence fits the large
eigenvalues first. Preconditioned iterations have no such order: they are for solving a given λ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.problem.coordinates import fit_both
from condrank.problem.problem import Problem
from condrank.solvers.closed_form import ClosedForm, reduced_bytes
from condrank.solvers.costs import (
    has_dense_products,
    iterated_bytes,
    iteration_flops,
    krylov_arrays,
    peak_with_coordinates,
    reduction_flops,
)
from condrank.solvers.distributed_cost import distributed_cost, distributed_reason
from condrank.solvers.krylov import krylov
from condrank.solvers.primal import PrimalSystem, primal_system
from condrank.solvers.system import DEFAULTS, ONLY_DUAL, Cost, Options, Peak, Solution, Solver


class EarlyStopping:
    """Plain CG or BiCGSTAB on the system of a complete or an incomplete graph; λ = 0 is allowed.

    Parameters
    ----------
    system : ClosedForm or PrimalSystem
        Gives the right-hand side and the product. On a complete graph an iteration costs O(r²).
    method : {"cg", "bicgstab"}
        The paper uses BiCGSTAB, which needs two products per iteration.
    """

    def __init__(self, system: ClosedForm | PrimalSystem, method: str):
        self.system, self.method = system, method
        self.rows, self.cols = system.rows, system.cols

    def solve(self, alpha: float, options: Options = DEFAULTS, rhs: np.ndarray | None = None) -> Solution:
        """The iterate at which ``options.watch`` stopped, or the last one."""
        found = krylov(
            lambda W: self.system.apply(W, alpha),
            self.system.rhs if rhs is None else rhs,
            method=self.method,
            start=options.start,
            tol=options.tol,
            max_iter=options.max_iter,
            watch=options.watch,
        )
        # Stopping before convergence is the purpose, so it is no failure.
        return Solution(found.x, found.n_iter, True)

    def model(self, W: Any = None) -> Any:
        """The model of the system."""
        return self.system.model(W)


class EarlyStoppingSolver(Solver):
    """Plain iterations, stopped by the loss on held-out nodes."""

    name = "early_stopping"
    serves = ("early_stopping",)
    iterates = True

    def refuses(self, problem: Problem) -> str | None:
        """Refuses pairwise kernels, because it iterates on W."""
        return ONLY_DUAL if problem.settings.pairwise_kernel is not None else None

    def cost(self, problem: Problem) -> Cost:
        """The cost of ``max_iter`` iterations."""
        if problem.is_distributed:
            return distributed_cost(problem)
        s, settings = problem.sizes, problem.settings
        if reduces(problem):
            steps = settings.max_iter * 10.0 * s.rows.most * s.cols.most
            flops = s.flops + reduction_flops(problem) + steps
        else:
            products = settings.max_iter * (2 if settings.method == "bicgstab" else 1)
            flops = s.flops + products * iteration_flops(problem, has_dense_products(problem))
        return Cost(flops, lambda: Peak(peak_with_coordinates(problem, self._bytes(problem))))

    def _bytes(self, problem: Problem) -> int:
        s = problem.sizes
        if reduces(problem):
            own = s.itemsize if s.rows.exact else 8
            # The right-hand side, the iteration with its best iterate, and a product with one temporary array.
            return max(reduced_bytes(problem), own * s.square * (1 + krylov_arrays(problem) + 2))
        vectors, dense = 1 + krylov_arrays(problem), has_dense_products(problem)
        return iterated_bytes(problem, vectors=vectors, dense=dense, single=False)

    def reason(self, problem: Problem) -> str:
        """The user asked for early stopping."""
        return distributed_reason(problem) if problem.is_distributed else "as asked for"

    def build(self, problem: Problem, coordinates: Any = None, rank: int | None = None) -> EarlyStopping:
        """The system of a complete graph, or of the observed pairs of an incomplete one."""
        settings, observed = problem.settings, problem.observed
        rows, cols = coordinates or fit_both(problem)
        if observed.is_complete and not settings.compared:
            options = settings.prior_weight, settings.centre
            system = ClosedForm(settings.relation, settings.loss, rows, cols, observed, *options)
        else:
            system = primal_system(problem, rows, cols)
        return EarlyStopping(system, settings.method)


def reduces(problem: Problem) -> bool:
    """Whether labels are reduced to r×r sums, as on complete graphs; iterations over them are cheap."""
    return problem.is_complete and not problem.settings.compared
