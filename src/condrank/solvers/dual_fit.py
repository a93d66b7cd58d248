"""The dual solver: kernel values of the nodes, an edge kernel, and conjugate gradients over the edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from condrank.base.measured import (
    JUDGED_PRODUCTS_PER_ALPHA,
    SINGLE_TIME_PER_DOUBLE_TIME,
    STEP_FLOPS,
)
from condrank.models.edge import EdgeModel
from condrank.nodes.values import KernelValues
from condrank.objective.losses import Loss
from condrank.observations import Edges
from condrank.observations.edges import all_edges
from condrank.problem.coordinates import kernel_values
from condrank.problem.problem import Problem
from condrank.products.edge_kernels import edge_kernel
from condrank.products.kronecker import KroneckerEdges
from condrank.solvers.dual import DualSystem, solve_dual
from condrank.solvers.dual_cost import dual_flops, dual_peak, refuses_edges
from condrank.solvers.dual_path import solve_dual_path
from condrank.solvers.intercept import Seen
from condrank.solvers.iterations import edge_product_flops, expected
from condrank.solvers.shifted import PathWatch
from condrank.solvers.system import DEFAULTS, Cost, Options, Solution, Solver


class DualFit:
    """A dual system that gives edge coefficients for any λ.

    Parameters
    ----------
    name : str
        Edge kernel: the name of a relation (Kronecker kernel) or of one in `condrank.products.edge_kernels`.
    loss : Loss
        Regression, or ranking for each starting node.
    rows, cols : KernelValues
        Kernel values of the conditioning nodes and of the objects; one instance for both in a single domain.
    edges : Edges
        The observed pairs.
    prior_weight, centre : float
        As for `condrank.solvers.primal.PrimalSystem`.
    rank : int, optional
        Planned number of features of the preconditioner.
    """

    def __init__(
        self,
        name: str,
        loss: Loss,
        rows: KernelValues,
        cols: KernelValues,
        edges: Edges,
        prior_weight: float = 0.0,
        centre: float = 0.0,
        rank: int | None = None,
    ):
        edges = edges.astype(rows.K.dtype)
        self.rows, self.cols, self.edges, self.rank = rows, cols, edges, rank
        self.prior_weight, self.offset = prior_weight, centre
        self.kernel = edge_kernel(name, rows.K, None if cols is rows else cols.K, edges)
        self.system = DualSystem(self.kernel, loss)
        self.labels = edges.values - edges.values.dtype.type(centre)
        if prior_weight:
            K = rows.K if rows.kept is None else rows.similarity(None, None)
            self.labels = self.labels - prior_weight * K[edges.sources, edges.indices]
        self.seen = Seen(self.labels, self.system.weights) if loss.fits_intercept else None

    def solve(self, alpha: float, options: Options = DEFAULTS, rhs: np.ndarray | None = None) -> Solution:
        """Edge coefficients a for one λ > 0; ``rhs`` replaces the labels of the edges."""
        a, found = solve_dual(
            self.system,
            alpha,
            values=self.labels if rhs is None else rhs,
            tol=max(options.tol, 20 * float(np.finfo(self.labels.dtype).eps)),
            max_iter=options.max_iter,
            start=self._start(options.start),
            watch=options.watch,
            rank=self.rank,
        )
        if self.seen is not None and found.applied:
            self.seen.keep(a, self.system.root.mean)
        return Solution(a, found.n_iter, found.converged)

    def solve_path(
        self, alphas: Any, options: Options = DEFAULTS, watch: PathWatch | None = None
    ) -> Iterator[tuple[int, Solution]]:
        """Places in ``alphas`` and edge coefficients, from large λ to small: see `solve_dual_path`."""
        tol = max(options.tol, 20 * float(np.finfo(self.labels.dtype).eps))
        options = replace(options, tol=tol)
        return solve_dual_path(self.system, self.labels, np.asarray(alphas, np.float64), options, watch, self.rank)

    def _start(self, start: Any) -> np.ndarray | None:
        """c with a = Rc, from coefficients of these edges, or of other edges as a sparse (n, m) array."""
        if start is None:
            return None
        if not isinstance(start, np.ndarray):
            if isinstance(self.kernel, KroneckerEdges):
                start = self.kernel.from_coefficients(start)
            else:
                start = np.asarray(start[self.edges.sources, self.edges.indices])
        return start / np.sqrt(self.edges.weights)

    def model(self, W: Any = None) -> EdgeModel:
        """Scores Σ_e a_e k̄(e, (v, v')) + τ k(v, v') + the centre of the scale + the intercept."""
        intercept = 0.0
        if self.seen is not None and W is not None:
            intercept = self.seen.intercept(W, self.kernel.product)
        return EdgeModel(self.rows, self.cols, self.kernel, W, self.prior_weight, self.offset + intercept)


class DualSolver(Solver):
    """Conjugate gradients on the coefficients of the observed edges, for exact kernels and for pairwise kernels."""

    name = "dual"
    serves = ("auto", "iterative", "dual")
    iterates = over_edges = True

    def refuses(self, problem: Problem) -> str | None:
        """Refuses clip=True, which needs an eigendecomposition, and explicit features unless solver='dual'."""
        return refuses_edges(problem)

    def cost(self, problem: Problem) -> Cost:
        """The cost of a product with the edge kernel for each expected iteration, and of the preconditioner."""
        return Cost(dual_flops(problem), lambda: dual_peak(problem))

    def path_cost(self, problem: Problem, alphas: Sequence[float]) -> Cost:
        """One sequence for all λ, as long as the smallest needs."""
        if len(alphas) == 1:
            return self.cost(problem)
        longest = max(float(expected(problem.at(float(alpha))).dual[0]) for alpha in alphas)
        step = SINGLE_TIME_PER_DOUBLE_TIME * edge_product_flops(problem) + STEP_FLOPS
        flops = 2 * step * (longest + JUDGED_PRODUCTS_PER_ALPHA * len(alphas))
        return Cost(flops, lambda: dual_peak(problem, n_alphas=len(alphas)))

    def reason(self, problem: Problem) -> str:
        """A pairwise kernel needs it, or it is cheaper than an eigendecomposition."""
        kernel = problem.settings.pairwise_kernel
        if kernel is not None:
            return f"the {kernel} edge kernel is solved over the edges"
        density = f"{problem.graph.density:.2%} of the pairs are observed"
        return f"{density}: iterating over the edges is cheaper than an eigendecomposition"

    def build(self, problem: Problem, coordinates: Any = None, rank: int | None = None) -> DualFit:
        """Compute the kernel values of the nodes, and bind the edge kernel to the observed pairs."""
        settings = problem.settings
        name = settings.pairwise_kernel or settings.relation.name
        rows, cols = coordinates or kernel_values(problem)
        edges, options = all_edges(problem.observed), (settings.prior_weight, settings.centre, rank)
        return DualFit(name, settings.loss, rows, cols, edges, *options)
