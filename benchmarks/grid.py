"""Is the solver that `plan` chooses the best one? Sizes, densities, kernel widths and λ, every solver on each."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

import numpy as np

from benchmarks import data
from benchmarks.harness import Deadline, Row, suite
from benchmarks.plain import PlainDual
from condrank import ConditionalRanker, RelationGraph
from condrank.settings import read_settings
from condrank.solvers.preconditioned import DENSE_FROM, PrimalSystem
from condrank.solvers.solution import Iteration
from condrank.solvers.systems import make_system

# Runs are cut off by time, not by iterations: an unfinished run must be one that took longer.
MAX_ITER = 20_000
# Seconds of one run of the chosen solver, and of the whole grid: cases are in random order, so that those which are
# measured before the time is up are a fair sample.
RUN_LIMIT, GRID_LIMIT = 15.0, 420.0


@dataclass(frozen=True)
class Case:
    """One cell of the grid."""

    n: int
    density: float
    width: str
    alpha: float

    def __str__(self) -> str:
        return f"{self.density:.1%}, {self.width}, λ = {self.alpha:g}"


@dataclass(frozen=True)
class Run:
    """Seconds of one solver; unfinished ones took at least that long."""

    seconds: float
    finished: bool

    def __str__(self) -> str:
        return f"{'' if self.finished else '> '}{self.seconds:.3g} s"


def solve(solver: str, ranker: ConditionalRanker, graph: RelationGraph, limit: float) -> Run | None:
    """Time of one of our solvers from the features on; None where it is not available."""
    deadline = Deadline(limit)
    start = time.perf_counter()
    try:
        system = make_system(solver, read_settings(ranker, graph), graph.nodes, graph.objects, graph.relation)
    except (ImportError, ValueError):
        return None
    if solver == "dual" and isinstance(system, PrimalSystem):
        return None
    solution = system.solve(ranker.alpha, Iteration(ranker.tol, ranker.max_iter, None, deadline))
    return Run(time.perf_counter() - start, solution.converged)


def solve_plain(ranker: ConditionalRanker, graph: RelationGraph, limit: float) -> Run:
    """Time of plain dual CG with the products that suit the density."""
    start = time.perf_counter()
    system = PlainDual(graph, ranker.gamma, "ordinary", ranker.loss, graph.density >= DENSE_FROM)
    found = system.solve(ranker.alpha, ranker.tol, ranker.max_iter, Deadline(limit))
    return Run(time.perf_counter() - start, found.converged)


def run_case(case: Case, d: int, run_limit: float) -> tuple[str, dict[str, Run | None]]:
    """The chosen solver and the runs of all. The others need not run longer than the chosen one did."""
    graph = data.incomplete(case.n, d, max(10, int(case.density * case.n**2)))
    gamma = data.WIDTHS[case.width] / d
    ranker = ConditionalRanker(kernel="rbf", gamma=gamma, alpha=case.alpha, tol=1e-6, max_iter=MAX_ITER)
    chosen = ranker.plan(graph).solver
    runs = {chosen: solve(chosen, ranker, graph, run_limit)}
    if runs[chosen] is None:  # planned, but not there yet
        chosen = "primal"
        runs = {chosen: solve(chosen, ranker, graph, run_limit)}
    first = runs[chosen]
    assert first is not None
    repeats = 3 if first.seconds < 0.3 else 1
    limit = max(0.05, first.seconds)
    if repeats > 1:
        runs = {}  # that was a warm-up: every solver now runs equally often
    for _ in range(repeats):
        for name in ("primal", "dual", "plain"):
            if name == chosen and repeats == 1:
                continue
            found = solve_plain(ranker, graph, limit) if name == "plain" else solve(name, ranker, graph, limit)
            runs[name] = better(runs.get(name), found)
    return chosen, runs


def better(one: Run | None, other: Run | None) -> Run | None:
    """The faster of two runs, a finished one before an unfinished one."""
    found = [run for run in (one, other) if run is not None]
    return min(found, key=lambda run: (not run.finished, run.seconds)) if found else None


@suite(
    "Does the plan choose the best solver?", plot="scatter", axes=("chosen solver, seconds", "plain dual CG, seconds")
)
def grid(quick: bool) -> list[Row]:
    """Ordinary ranking, RBF kernel, relative residual 10⁻⁶. Measured is the chosen solver, the
    floor is the best of primal, dual and plain dual CG. Other solvers are stopped once they took longer than the
    chosen one: their times ("> …") are lower bounds, which leaves the ratio to the best one exact.
    """
    sizes, d = ((30,), 4) if quick else ((300, 1000, 2000), 10)
    densities, alphas = ((0.1, 0.5), (0.1,)) if quick else ((0.005, 0.02, 0.1, 0.5), (1.0, 0.1, 0.01))
    cases = [Case(*cell) for cell in itertools.product(sizes, densities, data.WIDTHS, alphas)]
    order = np.random.default_rng(0).permutation(len(cases))
    run_case(Case(sizes[0], densities[-1], "medium", 1.0), d, 5.0)  # warm up
    start, measured = time.perf_counter(), {}
    for index in order:
        if time.perf_counter() - start > GRID_LIMIT:
            break
        measured[cases[index]] = run_case(cases[index], d, RUN_LIMIT)
    rows = [case_row(case, *measured[case]) for case in cases if case in measured]
    return rows + summary(measured, len(cases))


def case_row(case: Case, chosen: str, runs: dict[str, Run | None]) -> Row:
    """The chosen solver against the best one."""
    best = min((run.seconds for run in runs.values() if run is not None and run.finished), default=None)
    note = "; ".join(f"{name} {run or 'not available'}" for name, run in runs.items())
    mine, plain = runs[chosen], runs["plain"]
    assert mine is not None
    assert plain is not None
    return Row(
        f"{case}: {chosen}",
        f"n={case.n:,}",
        mine.seconds,
        best,
        None if best is None else 1.5,
        note=note if mine.finished else f"{note}; the chosen solver did not finish",
        series=chosen,
        x=plain.seconds,
    )


def summary(measured: dict[Case, tuple[str, dict[str, Run | None]]], n_cases: int) -> list[Row]:
    """How often and how far the choice was off, against the best solver and against the plain one."""
    to_best, to_plain, undecided = [], [], 0
    for chosen, runs in measured.values():
        mine, plain = runs[chosen], runs["plain"]
        done = [run.seconds for run in runs.values() if run is not None and run.finished]
        if mine is None or not done:
            undecided += 1
            continue
        to_best.append(mine.seconds / min(done))
        if plain is not None and plain.finished:
            to_plain.append(mine.seconds / plain.seconds)
    rows = []
    for name, ratios, bar in (("chosen / best", to_best, 1.5), ("chosen / plain", to_plain, 1.0)):
        late = sum(ratio > bar for ratio in ratios)
        note = f"{late} of {len(measured)} cases over the bar; in {undecided} no solver finished; "
        note += f"{n_cases - len(measured)} of {n_cases} not run in time"
        rows.append(Row(f"worst {name}", "all", max(ratios, default=0.0), None, bar, unit="×", note=note))
    return rows
