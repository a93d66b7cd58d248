"""Does `plan` choose the best solver? Every solver is run for many sizes, densities, kernel widths and λ.

``python -m benchmarks.grid --seed 1 --features 5`` uses other nodes than those to which constants were fitted.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks import data
from benchmarks.harness import Deadline, Row, suite
from benchmarks.plain import PlainDual
from benchmarks.shapes import drugs
from condrank import ConditionalRanker, RelationGraph
from condrank.base.measured import DENSE_FROM_SHARE_OF_PAIRS
from condrank.fitting.reading import read_settings
from condrank.problem.problem import Problem
from condrank.solvers import SOLVERS
from condrank.solvers.system import Options

# Runs are cut off by time, not by iterations, so that an unfinished run is always a longer one.
MAX_ITER = 20_000
# Limits in seconds for a run of the chosen solver, and for the whole grid. Cases are in random order, so that the cases
# measured within the limit are a fair sample.
RUN_LIMIT, GRID_LIMIT = 10.0, 360.0
# Bars for chosen / best and chosen / plain. A bar also holds if the difference is within the noise (seconds).
TO_BEST, TO_PLAIN, NOISE = 1.5, 1.05, 0.003
TRIED = ("primal", "dual", "plain")
# Densities and λ for each size. The largest size has fewer cases, because each takes seconds.
GRID = {
    300: ((0.005, 0.02, 0.1, 0.5), (1.0, 0.1, 0.01)),
    1000: ((0.005, 0.02, 0.1, 0.5), (1.0, 0.1, 0.01)),
    2000: ((0.005, 0.02, 0.2), (1.0, 0.05)),
}
# Numbers of nodes whose pairs are known in blocks (five times as many conditioning nodes as objects), their unevenness,
# densities and λ. Features of the edges are then far from those of a random sample, on which the plan counts.
UNEVEN = {
    300: ((1.0, 4.0), (0.1, 0.4), (1.0, 0.1)),
    1500: ((1.0, 4.0), (0.1, 0.4), (1.0, 0.1)),
}
QUICK_UNEVEN = {40: ((4.0,), (0.4,), (0.1,))}
QUICK = {30: ((0.1, 0.5), (0.1,))}


@dataclass(frozen=True)
class Case:
    """One cell of the grid."""

    n: int
    density: float
    width: str
    alpha: float
    uneven: float | None = None

    def __str__(self) -> str:
        shape = "" if self.uneven is None else f"unevenness {self.uneven:g}, "
        return f"{shape}{self.density:.1%}, {self.width}, λ = {self.alpha:g}"

    def graph(self, d: int, seed: int) -> RelationGraph:
        """Pairs drawn at random, or in blocks."""
        if self.uneven is None:
            return data.incomplete(self.n, d, max(10, int(self.density * self.n**2)), seed=seed)
        return drugs(self.n, max(8, self.n // 5), self.density, self.uneven, seed=seed)


@dataclass(frozen=True)
class Run:
    """Seconds of one solver; an unfinished run would have taken longer."""

    seconds: float
    finished: bool

    def __str__(self) -> str:
        return f"{'' if self.finished else '> '}{self.seconds:.3g} s"


@dataclass(frozen=True)
class Measured:
    """The chosen solver, the seconds to choose it, and the runs of all solvers."""

    chosen: str
    planning: float
    runs: dict[str, Run]

    @property
    def mine(self) -> float:
        """Seconds to choose a solver and to run it."""
        return self.planning + self.runs[self.chosen].seconds

    @property
    def best(self) -> float | None:
        """Seconds of the fastest solver that finished."""
        return min((run.seconds for run in self.runs.values() if run.finished), default=None)

    def within(self, other: float, bar: float) -> bool:
        """Whether the chosen solver is within a bar of other seconds, up to noise."""
        return self.runs[self.chosen].finished and (self.mine <= bar * other or self.mine - other <= NOISE)


def cells(sizes: dict[int, tuple[tuple[float, ...], tuple[float, ...]]]) -> list[Case]:
    """All cases of a grid."""
    return [
        Case(n, *cell)
        for n, (densities, alphas) in sizes.items()
        for cell in itertools.product(densities, data.WIDTHS, alphas)
    ]


def uneven_cells(sizes: dict[int, tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]]) -> list[Case]:
    """All uneven cases of a grid, with kernels of medium width."""
    return [
        Case(n, density, "medium", alpha, uneven)
        for n, parts in sizes.items()
        for uneven, density, alpha in itertools.product(*parts)
    ]


def solve(name: str, ranker: ConditionalRanker, graph: RelationGraph, limit: float) -> Run:
    """Time of one solver, starting from the features. Plain dual CG uses the products that suit the density."""
    start, deadline = time.perf_counter(), Deadline(limit)
    if name == "plain":
        assert ranker.gamma is not None
        system = PlainDual(graph, ranker.gamma, "ordinary", ranker.loss, graph.density >= DENSE_FROM_SHARE_OF_PAIRS)
        done = system.solve(ranker.alpha, ranker.tol, ranker.max_iter, deadline).converged
    else:
        system = SOLVERS[name].build(Problem(graph, read_settings(ranker, graph)))
        done = system.solve(ranker.alpha, Options(ranker.tol, ranker.max_iter, None, deadline)).converged
    return Run(time.perf_counter() - start, done)


def run_case(case: Case, d: int, seed: int) -> Measured:
    """Run the chosen solver first, then the others, none longer than the fastest so far.

    The ratio to the fastest solver is exact all the same.
    """
    graph = case.graph(d, seed)
    gamma = data.WIDTHS[case.width] / graph.nodes.rows.shape[1]
    ranker = ConditionalRanker(kernel="rbf", gamma=gamma, alpha=case.alpha, tol=1e-6, max_iter=MAX_ITER)
    planning, chosen, runs = np.inf, "", {}
    for number in itertools.count():
        start = time.perf_counter()
        chosen = ranker.plan(graph).solver
        planning = min(planning, time.perf_counter() - start)
        for name in sorted(TRIED, key=lambda name: name != chosen):
            fastest = min((run.seconds for run in runs.values() if run.finished), default=RUN_LIMIT)
            # Runs may take a little longer than the fastest, because short runs are noisy.
            found = solve(name, ranker, graph, RUN_LIMIT if name == chosen else fastest + 0.02)
            if name not in runs or (not found.finished, found.seconds) < (
                not runs[name].finished,
                runs[name].seconds,
            ):
                runs[name] = found
        if number == (3 if runs[chosen].seconds < 0.1 else 1 if runs[chosen].seconds < 1 else 0):
            return Measured(chosen, planning, runs)
    raise AssertionError


def measure(cases: list[Case], d: int, seed: int) -> Iterator[tuple[Case, Measured]]:
    """Measure cases in random order until the time is up."""
    run_case(Case(cases[0].n, 0.5, "medium", 1.0), d, seed)  # warm up
    start = time.perf_counter()
    for index in np.random.default_rng(0).permutation(len(cases)):
        if time.perf_counter() - start > GRID_LIMIT:
            return
        yield cases[index], run_case(cases[index], d, seed)


@suite(
    "Does the plan choose the best solver?", plot="scatter", axes=("chosen solver, seconds", "plain dual CG, seconds")
)
def grid(quick: bool) -> list[Row]:
    """Ordinary ranking, RBF kernel, relative residual 10⁻⁶. Measured is the chosen solver with the time to choose it.
    The floor is the best of primal, dual and plain dual CG. Other solvers are stopped once they take longer than the
    fastest so far. Their times ("> …") are lower bounds; the ratio to the best solver is exact all the same. Cases
    with an unevenness have two domains and pairs that are known in blocks: 1 is like a collection of assays, 4 leaves
    blocks almost empty.
    """
    cases, d = (cells(QUICK) + uneven_cells(QUICK_UNEVEN), 4) if quick else (cells(GRID) + uneven_cells(UNEVEN), 10)
    measured = dict(measure(cases, d, seed=0))
    return [case_row(case, measured[case]) for case in cases if case in measured] + summary(measured, len(cases))


def case_row(case: Case, measured: Measured) -> Row:
    """A row that compares the chosen solver with the best one."""
    note = "; ".join(f"{name} {run}" for name, run in measured.runs.items())
    note += f"; choosing {1e3 * measured.planning:.1f} ms"
    if not measured.runs[measured.chosen].finished:
        note += "; the chosen solver did not finish"
    return Row(
        f"{case}: {measured.chosen}",
        f"n={case.n:,}",
        measured.mine,
        measured.best,
        None if measured.best is None else TO_BEST,
        note=note,
        series=measured.chosen,
        x=measured.runs["plain"].seconds,
    )


def summary(measured: dict[Case, Measured], n_cases: int) -> list[Row]:
    """How often, and by how much, the chosen solver was slower than the best and than the plain one."""
    decided = {case: one for case, one in measured.items() if one.best is not None}
    rest = f"in {len(measured) - len(decided)} of {len(measured)} no solver finished; "
    rest += f"{n_cases - len(measured)} of {n_cases} not run in time"
    to_best = [(one.within(one.best or 0.0, TO_BEST), one.mine / (one.best or 1.0)) for one in decided.values()]
    # A plain run that was cut off is longer than the fastest run.
    plain = [(one, one.runs["plain"]) for one in decided.values()]
    to_plain = [(one.within(run.seconds, TO_PLAIN), one.mine / run.seconds) for one, run in plain if run.finished]
    slower = sum(not held for held, _ in to_plain)
    rows = []
    for name, held, noise in (
        (f"share within {TO_BEST:g} × of the best", [held for held, _ in to_best], NOISE),
        ("share not slower than plain", [True] * (len(decided) - slower) + [False] * slower, NOISE),
    ):
        missed = f"{held.count(False)} of {len(held)} over it, by more than {1e3 * noise:.0f} ms; {rest}"
        rows.append(Row(name, "all", float(np.mean(held)) if held else None, None, None, unit="share", note=missed))
    for name, ratios, bar in (("best", to_best, TO_BEST), ("plain", to_plain, TO_PLAIN)):
        worst = max((ratio for held, ratio in ratios if not held), default=None)
        largest = max((ratio for _, ratio in ratios), default=0.0)
        note = f"{largest:.3g} × counting differences below {1e3 * NOISE:.0f} ms"
        rows.append(Row(f"worst chosen / {name}", "all", worst or min(largest, bar), None, bar, unit="×", note=note))
    return rows


def main(seed: int = 1, features: int = 10, sizes: str = "300,1000,2000", uneven: bool = True) -> None:
    """Print each case when it is measured, and then the summary."""
    cases = cells({n: GRID[n] for n in map(int, sizes.split(",") if sizes else ())})
    cases += uneven_cells(UNEVEN) if uneven else []
    measured: dict[Case, Measured] = {}
    for case, one in measure(cases, features, seed):
        measured[case] = one
        row = case_row(case, one)
        print(
            f"{row.size} {row.name}: {'undecided' if row.ratio is None else f'{row.ratio:.2f}'} ({row.note})",
            flush=True,
        )
    for row in summary(measured, len(cases)):
        value = "none" if row.measured is None else f"{row.measured:.3g}"
        print(f"{row.name}: {value} ({row.note})")


if __name__ == "__main__":
    import typer

    typer.run(main)
