"""The dual solver as a system: kernel values of the nodes, an edge kernel, and conjugate gradients on the edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.nodes.values import KernelValues
from condrank.observations import Edges
from condrank.products.edge_kernels import edge_kernel
from condrank.products.kronecker import KroneckerEdges
from condrank.solvers.dual import DualSystem, solve_dual
from condrank.solvers.solution import Iteration, Solution


class DualFit:
    """Edge coefficients for any λ.

    Parameters
    ----------
    name : str
        Edge kernel: a relation's name (Kronecker) or one of `condrank.products.edge_kernels`.
    loss : {"regression", "ranking"}
        Ranking is conditioned on the starting nodes.
    rows, cols : KernelValues
        Of the conditioning nodes and of the objects; the same object for a single domain.
    edges : Edges
        The observed pairs.
    prior_weight, centre : float
        As for `condrank.solvers.preconditioned.PrimalSystem`.
    rank : int, optional
        Planned number of features of the preconditioner.
    """

    def __init__(
        self,
        name: str,
        loss: str,
        rows: KernelValues,
        cols: KernelValues,
        edges: Edges,
        prior_weight: float = 0.0,
        centre: float = 0.0,
        rank: int | None = None,
    ):
        edges = edges.astype(rows.K.dtype)
        self.rows, self.cols, self.edges, self.rank = rows, cols, edges, rank
        self.kernel = edge_kernel(name, rows.K, None if cols is rows else cols.K, edges)
        self.system = DualSystem(self.kernel, loss)
        self.labels = edges.values - edges.values.dtype.type(centre)
        if prior_weight:
            self.labels = self.labels - prior_weight * rows.K[edges.sources, edges.indices]

    def solve(self, alpha: float, iteration: Iteration) -> Solution:
        """Edge coefficients a for one λ > 0."""
        a, found = solve_dual(
            self.system,
            alpha,
            values=self.labels,
            tol=max(iteration.tol, 20 * float(np.finfo(self.labels.dtype).eps)),
            max_iter=iteration.max_iter,
            start=self._start(iteration.start),
            watch=iteration.watch,
            rank=self.rank,
        )
        return Solution(a, found.n_iter, found.converged)

    def _start(self, start: Any) -> np.ndarray | None:
        """c with a = Rc, from coefficients of these edges or from a sparse (n, m) array of other ones."""
        if start is None:
            return None
        if not isinstance(start, np.ndarray):
            if isinstance(self.kernel, KroneckerEdges):
                start = self.kernel.from_coefficients(start)
            else:
                start = np.asarray(start[self.edges.sources, self.edges.indices])
        return start / np.sqrt(self.edges.weights)
