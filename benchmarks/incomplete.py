"""Incomplete graphs: the closed form as preconditioner, compared with plain conjugate gradients on the dual system."""

from __future__ import annotations

import time

import numpy as np

from benchmarks import data
from benchmarks.harness import Deadline, Row, cut_short, suite
from benchmarks.intercepts import intercept_rows
from benchmarks.plain import PlainDual
from condrank import ConditionalRanker, RelationGraph
from condrank.fitting.reading import read_settings
from condrank.objective.edge_loss import EdgeLoss
from condrank.objective.losses import get_loss
from condrank.problem.problem import Problem
from condrank.solvers.primal import PrimalSolver, PrimalSystem
from condrank.solvers.system import Options

TOL = 1e-6
ALPHA = 0.1
# Plain iterations are cut off after this many seconds. Their time is then a lower bound, and the ratio an upper bound.
LIMIT = 60.0
# A plain run longer than this many seconds is not repeated: warming up does not matter for it.
ONCE = 20.0


def fit(graph: RelationGraph, gamma: float, loss: str, tol: float = TOL) -> ConditionalRanker:
    """Fit condrank's ranker."""
    with cut_short():
        return ConditionalRanker(loss=loss, kernel="rbf", gamma=gamma, alpha=ALPHA, tol=tol, max_iter=5000).fit(graph)


def plain(graph: RelationGraph, gamma: float, loss: str, dense: bool, limit: float) -> tuple[np.ndarray, int, bool]:
    """Values at the edges by plain CG, its number of iterations, and whether it was cut off."""
    deadline = Deadline(limit)
    system = PlainDual(graph, gamma, "ordinary", loss, dense)
    found = system.solve(ALPHA, TOL, 20_000, deadline)
    return system.values(found.x), found.n_iter, deadline.passed


def compare(graph: RelationGraph, gamma: float, loss: str, dense: bool, bar: float, limit: float) -> tuple[Row, int]:
    """A row that compares our fit with plain dual CG, and the iterations of plain CG.

    Each is the better of two runs, but a long plain run is done once. The two residuals belong to different systems, so
    the note has the errors of both at the edges, compared with a more precise solution.
    """
    seconds, floor = float("inf"), float("inf")
    values, n_plain, cut = np.empty(0), 0, False
    for _ in range(2):
        start = time.perf_counter()
        ranker = fit(graph, gamma, loss)
        seconds = min(seconds, time.perf_counter() - start)
        if n_plain and floor > ONCE:
            continue
        start = time.perf_counter()
        values, n_plain, cut = plain(graph, gamma, loss, dense, limit)
        floor = min(floor, time.perf_counter() - start)
    exact = seen(fit(graph, gamma, loss, 1e-9).predict(graph)[places(graph)], graph, loss)
    both = ranker.predict(graph)[places(graph)], values
    errors = [np.linalg.norm(seen(found, graph, loss) - exact) / np.linalg.norm(exact) for found in both]
    # The solver that ran, not the planned one.
    solver = "primal" if isinstance(ranker.fitted_.system, PrimalSystem) else ranker.solver_
    note = f"{solver}, {ranker.n_iter_} iterations against {n_plain}; errors {errors[0]:.0e}, {errors[1]:.0e}"
    note += f"; plain was cut off after {limit:.0f} s: the ratio is an upper bound" if cut else ""
    kind = "dense products" if dense else "the vec trick"
    size = f"n={len(graph):,}, {graph.n_edges:,} edges"
    return Row(f"{loss}: plain dual CG with {kind}", size, seconds, floor, bar, note=note), n_plain


def places(graph: RelationGraph) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the observed edges."""
    return graph.relation.sources, graph.relation.indices


def seen(values: np.ndarray, graph: RelationGraph, loss: str) -> np.ndarray:
    """The part of values at the edges that the loss depends on: for ranking, deviations from each node's mean."""
    return EdgeLoss(get_loss(loss), graph.relation, graph.relation.weights)(values)


@suite("Incomplete graphs against plain dual conjugate gradients")
def incomplete(quick: bool) -> list[Row]:
    """RBF kernel, λ = 0.1, relative residual 10⁻⁶. Times include everything: kernel, eigendecomposition, iterations.
    Measured is condrank; the floor is plain CG on the dual system. A bar of 0.1 means ten times faster. Edge-wise
    products without preconditioner are extrapolated: seconds per iteration, from a few iterations, times the iterations
    of plain CG. The notes have the errors of the values at the edges, of condrank and of plain CG, compared with a more
    precise solution. The floor of a fit with an intercept, to 10⁻⁸, is the fit without one.
    """
    d, (n, n_edges), (n_sparse, sparse_edges), limit = (
        (5, (60, 1500), (80, 300), 1.0) if quick else (10, (1000, 500_000), (2000, 50_000), LIMIT)
    )
    gamma, rows = 1 / d, []
    compare(data.incomplete(n_sparse // 5, d, sparse_edges // 5), gamma, "ranking", False, 1.0, 1.0)  # warm up
    for loss in ("regression", "ranking"):
        graph = data.incomplete(n, d, n_edges)
        row, n_plain = compare(graph, gamma, loss, True, 0.1, limit)
        rows.append(row)
        start = time.perf_counter()
        system = PlainDual(graph, gamma, "ordinary", loss, dense=False)
        ready = time.perf_counter() - start
        deadline = Deadline(limit)
        system.solve(ALPHA, 0.0, 4, deadline)
        floor = ready + deadline.per_iteration * n_plain
        note = f"extrapolated from {deadline.per_iteration:.2g} s an iteration × {n_plain}"
        rows.append(Row(f"{loss}: edge-wise products", row.size, row.measured, floor, 0.01, note=note))
    for loss in ("regression", "ranking"):
        graph = data.incomplete(n_sparse, d, sparse_edges)
        rows.append(compare(graph, gamma, loss, False, 0.5, limit)[0])
    options = {"kernel": "rbf", "gamma": gamma, "alpha": ALPHA, "max_iter": 5000}
    few, sparse = data.incomplete(n, d, n_edges), data.incomplete(n_sparse, d, sparse_edges)
    for relation in ("ordinary", "symmetric"):
        rows += intercept_rows(f"primal, {relation}", few, 3, relation=relation, solver="primal", **options)
        rows += intercept_rows(f"dual, {relation}", sparse, 3, relation=relation, solver="dual", **options)
    return rows


@suite("Iterations with and without the closed form as preconditioner")
def iterations(quick: bool) -> list[Row]:
    """Iterations to a relative residual of 10⁻⁸, RBF kernel of three widths: preconditioned (measured) and plain dual
    conjugate gradients (floor).
    """
    n, d, cap = (30, 5, 500) if quick else (300, 10, 5000)
    models = [("ordinary", "regression"), ("ordinary", "ranking"), ("symmetric", "ranking")]
    observed = {"all but loops": None, "90 %": 0.9, "30 %": 0.3, "5 %": 0.05}
    rows = []
    for width, factor in data.WIDTHS.items():
        main = width == "medium"
        for share_name, share in observed.items():
            if not main and share not in (0.9, 0.05):
                continue
            for relation, loss in models if main else models[:1]:
                graph = without_loops(n, d, relation) if share is None else sampled(n, d, share, relation)
                for alpha in (1.0, 0.01):
                    gamma = factor / d
                    ranker = ConditionalRanker(relation, loss, alpha, "rbf", gamma, tol=1e-8, max_iter=cap)
                    system = PrimalSolver().build(Problem(graph, read_settings(ranker, graph)))
                    few = system.solve(alpha, Options(1e-8, cap)).n_iter
                    plain = PlainDual(graph, gamma, relation, loss, dense=True).solve(alpha, 1e-8, cap)
                    rows.append(
                        Row(
                            f"{relation} {loss}, {share_name}, λ = {alpha:g}, {width}",
                            f"n={n}",
                            few,
                            plain.n_iter,
                            unit="iterations",
                            note="" if plain.converged else "plain was cut off",
                        )
                    )
    return rows


def without_loops(n: int, d: int, relation: str) -> RelationGraph:
    """A graph with every pair except loops."""
    Y = data.complete(n, d, relation).to_dense().copy()
    np.fill_diagonal(Y, np.nan)
    return RelationGraph(data.nodes(n, d), Y)


def sampled(n: int, d: int, share: float, relation: str) -> RelationGraph:
    """A graph with a share of the pairs; both directions or none if the relation is symmetric or reciprocal."""
    if relation == "ordinary":
        return data.incomplete(n, d, int(share * n * n), relation)
    Y = data.complete(n, d, relation).to_dense().copy()
    drawn = np.triu(np.random.default_rng(6).random((n, n)))
    Y[(drawn + np.triu(drawn, 1).T) > share] = np.nan
    return RelationGraph(data.nodes(n, d), Y)
