"""The plan of a fit: which solver runs, why, and what it will cost, before any work is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from condrank.base.checks import check_choice, check_number
from condrank.base.html import facts_of
from condrank.base.memory import readable
from condrank.problem.problem import Problem
from condrank.solvers import SOLVERS, solvers_for
from condrank.solvers.distributed_cost import check_distributed, distributed_coordinates
from condrank.solvers.early_stopping import EarlyStoppingSolver
from condrank.solvers.system import Solver


@dataclass(frozen=True)
class Plan:
    """What a fit will do.

    Attributes
    ----------
    solver : str
        Name of the solver that will run.
    reason : str
        Why it was chosen.
    coordinates : str
        Kind of the coordinates of the nodes.
    n_coordinates : int
        Upper bound of r, the number of coordinates.
    flops : float
        Estimated floating-point operations, each kind weighted by its speed relative to a matrix product.
    memory : int
        Estimated bytes at the peak, beyond the inputs.
    alternatives : dict of str to float
        Estimated flops of the solvers that were not chosen.
    rank : int
        Expected number of features of the preconditioner over the edges. The fit does not use more if that would take
        memory that the plan did not count.
    """

    solver: str
    reason: str
    coordinates: str
    n_coordinates: int
    flops: float
    memory: int
    alternatives: dict[str, float]
    rank: int = 0

    def __str__(self) -> str:
        others = "".join(f"; {name} would take {flops:.1e}" for name, flops in self.alternatives.items())
        return (
            f"{self.solver}: {self.reason}; {self.coordinates}, at most {self.n_coordinates} coordinates; "
            f"about {self.flops:.1e} flops and {readable(self.memory)}{others}"
        )

    def _repr_html_(self) -> str:
        """The plan as a table, for notebooks."""
        facts = {
            "solver": self.solver,
            "reason": self.reason,
            "coordinates": f"{self.coordinates}, at most {self.n_coordinates}",
            "flops": f"{self.flops:.1e}",
            "memory": readable(self.memory),
        }
        others = {f"flops of {name}": f"{flops:.1e}" for name, flops in self.alternatives.items()}
        return facts_of("Plan", facts | others)

    def to_state(self) -> dict[str, Any]:
        """The plan as plain values."""
        return asdict(self)

    @classmethod
    def from_state(cls, given: dict[str, Any]) -> Plan:
        """The plan of plain values, after checks."""
        plan = cls(**given)
        check_choice("solver of the plan", plan.solver, tuple(SOLVERS))
        for name in ("reason", "coordinates"):
            if not isinstance(getattr(plan, name), str):
                raise ValueError(f"{name} of the plan must be a string, got {getattr(plan, name)!r}")
        names = ("n_coordinates", "flops", "memory", "rank")
        for name, number in {name: getattr(plan, name) for name in names}.items() | plan.alternatives.items():
            check_number(f"{name} of the plan", number, at_least=0.0)
        return plan


def make_plan(problem: Problem, alphas: Sequence[float] | None = None) -> Plan:
    """Choose a solver for a problem and estimate its cost; with ``alphas``, for solving it for all these λ.

    The rule: consider the solvers that minimise the loss, that the parameter ``solver`` asks for, and that do not
    refuse the problem. Of these, ``"auto"`` takes a direct one if there is one, and otherwise the one with the fewest
    estimated operations. If all refuse, a ValueError says why.

    Only sizes are computed, with one exception: from a thousand nodes on, or if primal and dual compete for a fit that
    is not tiny, the kernel of at most 300 nodes is computed (milliseconds).
    """
    settings, asked = problem.settings, problem.settings.solver
    if problem.is_distributed:
        check_distributed(problem)
    able = _able(problem)
    compared = (_direct(able) if asked == "auto" else []) or able
    several = [settings.alpha] if alphas is None else [*alphas]
    costs = {solver.name: solver.path_cost(problem, several) for solver in compared}
    chosen = SOLVERS[min(costs, key=lambda name: costs[name].flops)]
    peak = costs[chosen.name].peak()
    reason = chosen.reason(problem) if asked in ("auto", "iterative") or settings.compared else "as asked for"
    if problem.is_distributed:
        widths, described = distributed_coordinates(problem)
        n_coordinates, reason = max(widths), chosen.reason(problem)
    else:
        n_coordinates, described = problem.sizes.n_coordinates, problem.sizes.described
    flops = _others(problem, chosen) | {name: cost.flops for name, cost in costs.items()}
    alternatives = {name: flops[name] for name in sorted(flops) if name != chosen.name}
    return Plan(chosen.name, reason, described, n_coordinates, flops[chosen.name], peak.memory, alternatives, peak.rank)


def _able(problem: Problem) -> list[Solver]:
    """The solvers that the parameter ``solver`` asks for and that do not refuse; a ValueError if all refuse."""
    asked = solvers_for(problem.settings.loss, problem.settings.solver)
    refusals = [solver.refuses(problem) for solver in asked]
    able = [solver for solver, refusal in zip(asked, refusals, strict=True) if refusal is None]
    if not able:
        reason = next(refusal for refusal in refusals if refusal is not None)
        raise ValueError(f"{reason}, got solver={problem.settings.solver!r}")
    return able


def _others(problem: Problem, chosen: Solver) -> dict[str, float]:
    """Flops of the solvers that "auto" would have compared, if ``solver`` asked for a solver by another word."""
    settings = problem.settings
    if problem.is_distributed or settings.solver == "auto" or isinstance(chosen, EarlyStoppingSolver):
        return {}
    auto = replace(problem, settings=replace(settings, solver="auto"))
    able = _able(auto)
    return {one.name: one.cost(problem).flops for one in _direct(able) or able}


def _direct(solvers: list[Solver]) -> list[Solver]:
    return [solver for solver in solvers if solver.is_direct]
