"""Incomplete graphs: conjugate gradients on W, preconditioned by the closed form of the complete graph.

With observed edges Ω and weights m ≥ 0, W solves

    Π[Zᵀ L_Ω(Z W Zᵀ) Z] + λ W = Π[Zᵀ L_Ω(Y) Z],

where L_Ω multiplies the observed entries by their weights (regression), after each row's weighted mean over its
observed entries was taken out (ranking: the paper's L = I - QQᵀ). Were every pair observed with the mean weight ρ, the
solution would be the closed form at λ/ρ divided by ρ: that is the preconditioner. Products are taken in single
precision, and their solution is refined to double.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from condrank.base.blocks import CACHED, row_blocks
from condrank.nodes import Coordinates, ExactKernel
from condrank.objective.relations import Relation
from condrank.observations import Edges
from condrank.observations.rows import Rows
from condrank.products.sampled import SampledProducts
from condrank.solvers.closed_form import CompleteInverse
from condrank.solvers.krylov import Operator
from condrank.solvers.refinement import pays, refined
from condrank.solvers.solution import Iteration, Solution

# Share of observed pairs from which on dense products are faster than sampled ones (benchmarks/products.py).
DENSE_FROM = 0.065


class PrimalSystem:
    """The system above for one graph: right-hand side, product and preconditioner.

    Parameters
    ----------
    relation, loss, rows, cols
        As for `condrank.solvers.closed_form.ClosedForm`.
    edges : Edges of shape (n, m)
        The observed pairs, their labels and weights.
    prior_weight : float
        τ of the similarity prior.
    centre : float
        Taken from every label.
    dense : bool, optional
        Form all n×m values in every product, or only the observed ones; by default what is faster.

    Notes
    -----
    A product costs four dense matrix products, or O(n_pairs r + nr²) with sampled ones.
    """

    def __init__(
        self,
        relation: Relation,
        loss: str,
        rows: Coordinates,
        cols: Coordinates,
        edges: Edges,
        prior_weight: float = 0.0,
        centre: float = 0.0,
        dense: bool | None = None,
    ):
        self.relation, self.loss, self.rows, self.cols, self.edges = relation, loss, rows, cols, edges
        n, m = edges.shape
        self.density = float(edges.weights.sum(dtype=np.float64) / (n * m))
        self.dense = edges.n_pairs >= DENSE_FROM * n * m if dense is None else dense
        # LAPACK's eigenvectors come by columns; sampled products read rows, and would copy them each time.
        order = "K" if self.dense else "C"
        self.Z = np.asarray(rows.training(), order=order)
        self.Z_objects = self.Z if cols is rows else np.asarray(cols.training(), order=order)
        self.products = SampledProducts(edges.indptr, edges.indices, edges.shape)
        self.weights = edges.weights.astype(self.Z.dtype, copy=False)
        self.loss_operator = EdgeLoss(loss, edges, self.weights)
        labels = edges.values.astype(self.Z.dtype) - self.Z.dtype.type(centre)
        if prior_weight:
            labels -= prior_weight * self._similarity()
        self.rhs = self.reduce(self.loss_operator(labels))

    def _similarity(self) -> np.ndarray:
        """The node kernel at the observed pairs; of an exact kernel itself, as a clipped one is not ZZᵀ."""
        if isinstance(self.rows, ExactKernel):
            return self.rows.similarity(None, None)[self.edges.sources, self.edges.indices]
        return self.products.at_edges(self.Z, self.Z_objects)

    def reduce(self, entries: np.ndarray) -> np.ndarray:
        """Π[Zᵀ S Z'] for the sparse S with these entries at the observed pairs."""
        return self.reduce_to(self.relation, entries)

    def reduce_to(self, relation: Relation, entries: np.ndarray) -> np.ndarray:
        """`reduce` with the projection of a relation."""
        return relation.project(self.Z.T @ self.products.times(entries, self.Z_objects))

    def values(self, W: np.ndarray) -> np.ndarray:
        """The model's values z(v)ᵀ W z(v') at the observed pairs."""
        return self.products.at_edges(self.Z @ W, self.Z_objects)

    def apply(self, W: np.ndarray, alpha: float) -> np.ndarray:
        """Π[Zᵀ L_Ω(Z W Z'ᵀ) Z'] + λW."""
        if self.dense:
            out = self.Z.T @ (self.loss_operator.on_all((self.Z @ W) @ self.Z_objects.T) @ self.Z_objects)
            out = self.relation.project(out)
        else:
            out = self.reduce(self.loss_operator(self.values(W)))
        out += alpha * W
        return out

    def preconditioner(self, loss: str, alpha: float, density: float) -> Operator:
        """The inverse, were every pair observed with weight ``density``."""
        inverse = CompleteInverse(self.relation, loss, self.rows, self.cols, alpha / density)
        # Rounding errors outside of the relation's space would grow from one iteration to the next.
        return lambda R: self.relation.project(inverse(R)) / density

    def solve(self, alpha: float, iteration: Iteration) -> Solution:
        """W for one λ > 0, to a relative residual of the iteration's tolerance."""
        largest = float(self.rows.sigma[-1]) * float(self.cols.sigma[-1]) * self.density
        single = None if self.Z.dtype == np.float32 or not pays(alpha, largest) else self.single()
        found = refined(
            lambda W: self.apply(W, alpha),
            None if single is None else lambda W: single.apply(W, alpha),
            self.rhs,
            precondition=self.preconditioner(self.loss, alpha, self.density),
            start=iteration.start,
            tol=max(iteration.tol, 20 * float(np.finfo(self.Z.dtype).eps)),
            max_iter=iteration.max_iter,
            watch=iteration.watch,
        )
        return Solution(found.x, found.n_iter, found.converged)

    def single(self) -> PrimalSystem:
        """The same products in single precision."""
        twin = copy(self)
        twin.Z = self.Z.astype(np.float32)
        twin.Z_objects = twin.Z if self.Z_objects is self.Z else self.Z_objects.astype(np.float32)
        twin.weights = self.weights.astype(np.float32)
        twin.loss_operator = EdgeLoss(self.loss, self.edges, twin.weights)
        return twin


class EdgeLoss:
    """L_Ω: weights, and for the ranking loss each row's weighted mean taken out before."""

    def __init__(self, loss: str, edges: Edges, weights: np.ndarray):
        self.loss, self.edges, self.weights = loss, edges, weights
        self.rows = Rows(edges.indptr)
        self.totals = self.rows.sums(weights)
        self._mask: np.ndarray | None = None

    def __call__(self, entries: np.ndarray) -> np.ndarray:
        """L_Ω of entries at the observed pairs. O(n_pairs)."""
        weighted = self.weights * entries
        if self.loss == "ranking":
            weighted -= self.weights * self.rows.spread(self.rows.sums(weighted) / self.totals)
        return weighted

    def on_all(self, F: np.ndarray) -> np.ndarray:
        """L_Ω of a dense n×m array, in place: zero where nothing was observed. O(nm)."""
        totals = np.ones(len(F), dtype=F.dtype)
        totals[self.rows.filled] = self.totals
        for block in row_blocks(*F.shape, budget=CACHED):
            part, mask = F[block], self.mask[block]
            part *= mask
            if self.loss == "ranking":
                part -= mask * (part.sum(axis=1) / totals[block])[:, None]
        return F

    @property
    def mask(self) -> np.ndarray:
        """The weights as a dense array, made when first needed."""
        if self._mask is None:
            self._mask = np.asarray(self.edges.matrix(self.weights).toarray())
        return self._mask
