"""Measures constants of the plan: where dense products become faster than sampled ones, and the cost of an eigh."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks import data
from benchmarks.complete import eigen_jobs
from benchmarks.harness import Row, measure, suite
from condrank import ConditionalRanker
from condrank.base.measured import DENSE_FROM_SHARE_OF_PAIRS, EIGH_FLOPS_PER_CUBED_NODE, SAMPLED_SPEED_PER_DENSE_SPEED
from condrank.fitting.reading import read_settings
from condrank.objective.losses import get_loss
from condrank.problem.problem import Problem
from condrank.solvers.primal import PrimalSolver, PrimalSystem


@suite("Dense or sampled products", plot="curves", axes=("share of pairs observed", "seconds a product of the system"))
def products(quick: bool) -> list[Row]:
    """One product of the system of an incomplete graph, RBF kernel, ordinary ranking: with all n×n values (dense), or
    only those at the edges (sampled). This suite sets three constants of condrank.base.measured, which are the floors
    of their rows: DENSE_FROM_SHARE_OF_PAIRS, the share at which both take the same time; SAMPLED_SPEED_PER_DENSE_SPEED,
    the speed of the sampled loops relative to a matrix product; and EIGH_FLOPS_PER_CUBED_NODE, the time of an
    eigendecomposition in n³ operations of a matrix product.
    """
    sizes, densities = ((64,), (0.05, 0.2, 0.5)) if quick else ((1000, 2000), (0.005, 0.01, 0.02, 0.05, 0.1, 0.2))
    rows, constants = [], []
    for n in sizes:
        speeds, gaps, size = [], [], f"n={n:,}"
        A, B = data.nodes(n, n), data.nodes(n, n, seed=1)
        K = rbf_kernel(data.nodes(n, 10))
        bare = measure({"product": lambda A=A, B=B: A @ B} | eigen_jobs(K), 2)
        # Coordinates depend only on the nodes, so one eigendecomposition is enough for all densities.
        ranker = ConditionalRanker(kernel="rbf")
        first = data.incomplete(n, 10, n)
        rows_of = PrimalSolver().build(Problem(first, read_settings(ranker, first))).rows
        for density in densities:
            edges = data.incomplete(n, 10, int(density * n * n)).relation
            relation = read_settings(ranker, first).relation
            systems = {
                how: PrimalSystem(relation, get_loss("ranking"), rows_of, rows_of, edges, dense=how == "dense")
                for how in ("dense", "sampled")
            }
            W = data.nodes(len(rows_of.sigma), len(rows_of.sigma), seed=2)
            Z, some = systems["sampled"].Z, systems["sampled"].products
            times = measure(
                {how: lambda s=system, W=W: s.apply(W, 1.0) for how, system in systems.items()}
                | {"loops": lambda s=some, Z=Z, v=edges.values: (s.at_edges(Z, Z), s.times(v, Z))},
                2,
            )
            gaps.append(np.log(times["sampled"] / times["dense"]))
            speeds.append((4.0 * len(edges.values) * n / times["loops"]) / (2.0 * n**3 / bare["product"]))
            for how in systems:
                name = f"{how}, n={n:,}"
                rows.append(Row(f"{name}, {density:.1%}", size, times[how], times["dense"], series=name, x=density))
        eigen = min(seconds for name, seconds in bare.items() if name != "product")
        constants += [
            crossing_row(np.array(densities), np.array(gaps), size),
            Row("speed of sampled loops", size, float(np.median(speeds)), SAMPLED_SPEED_PER_DENSE_SPEED, unit="share"),
            Row("eigh in n³ of a product", size, 2 * eigen / bare["product"], EIGH_FLOPS_PER_CUBED_NODE, unit="×"),
        ]
    return rows + constants


def crossing_row(densities: np.ndarray, gaps: np.ndarray, size: str) -> Row:
    """The density at which both products take the same time, interpolated between two measured densities."""
    above = np.flatnonzero(gaps > 0)
    if len(above) == 0 or above[0] == 0:
        note = "dense never faster" if len(above) == 0 else "dense always faster"
        return Row("crossing of dense and sampled", size, None, DENSE_FROM_SHARE_OF_PAIRS, unit="share", note=note)
    high = above[0]
    at = np.interp(0.0, gaps[high - 1 : high + 1], np.log(densities[high - 1 : high + 1]))
    return Row("crossing of dense and sampled", size, float(np.exp(at)), DENSE_FROM_SHARE_OF_PAIRS, unit="share")


@suite("LAPACK drivers", plot="curves", axes=("n", "seconds"))
def eigh(quick: bool) -> list[Row]:
    """Eigendecomposition of an RBF kernel matrix, in place, by each driver. Floor: one n×n product."""
    rows = []
    for dtype in (np.float64, np.float32):
        for n in (40, 80) if quick else (250, 500, 1000, 2000):
            K = rbf_kernel(data.nodes(n, 20)).astype(dtype)
            times = measure({"product": lambda K=K: K @ K} | eigen_jobs(K), 2)
            for name in eigen_jobs(K):
                label = f"{name}, {np.dtype(dtype).name}"
                rows.append(Row(label, f"n={n:,}", times[name], times["product"], series=label, x=n))
    return rows
