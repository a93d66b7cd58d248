"""Solvers compute the weights of a model for a problem. They do not use scikit-learn estimators or files, or print.

A new solver is one file and one line here. `condrank.solvers.system.Solver` says what it has to implement.
"""

from __future__ import annotations

from condrank.objective.losses import Loss
from condrank.solvers.closed_form import ClosedFormSolver
from condrank.solvers.dual_fit import DualSolver
from condrank.solvers.early_stopping import EarlyStoppingSolver
from condrank.solvers.explicit import ExplicitSolver
from condrank.solvers.logistic import NewtonSolver
from condrank.solvers.logistic_dual import DualNewtonSolver
from condrank.solvers.primal import PrimalSolver
from condrank.solvers.system import Solver

#: Every solver, by name.
SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        ClosedFormSolver(),
        PrimalSolver(),
        DualSolver(),
        NewtonSolver(),
        DualNewtonSolver(),
        EarlyStoppingSolver(),
        ExplicitSolver(),
    )
}

__all__ = ["SOLVERS", "solvers_for"]


def solvers_for(loss: Loss, asked: str) -> list[Solver]:
    """The solvers that minimise a loss and serve a value of the parameter ``solver``; a ValueError if there is none."""
    found = [solver for solver in SOLVERS.values() if loss in solver.losses and asked in solver.serves]
    if not found:
        method = "least squares" if loss.is_quadratic else "Newton's method"
        raise ValueError(f"loss={loss.name!r} is solved by {method}: use solver='auto', got {asked!r}")
    return found
