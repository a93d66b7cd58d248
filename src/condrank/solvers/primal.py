"""Incomplete graphs: conjugate gradients on W, preconditioned by the closed form of the complete graph.

With observed edges Ω and weights m ≥ 0, W solves

    Π[Zᵀ L_Ω(Z W Zᵀ) Z] + λ W = Π[Zᵀ L_Ω(Y) Z],

where L_Ω multiplies the observed entries by their weights. For ranking it first subtracts each row's weighted mean over
its observed entries (the paper's L = I - QQᵀ), with an intercept the weighted mean of all observed entries. If every
pair were observed with the mean weight ρ, the solution would be the closed form at λ/ρ, divided by ρ: that is the
preconditioner. Products run in single precision, and the solution is refined to double.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, cast

import numpy as np

from condrank.base.measured import (
    DENSE_FROM_SHARE_OF_PAIRS,
    REFINED_TIME_PER_DOUBLE_TIME,
    STARTED_ITERATIONS_PER_LOG,
)
from condrank.models.model import Model
from condrank.nodes import Coordinates, ExactKernel
from condrank.objective.edge_loss import EdgeLoss
from condrank.objective.losses import Loss
from condrank.objective.relations import Relation
from condrank.observations import Edges
from condrank.observations.edges import all_edges
from condrank.problem.coordinates import check_alpha, fit_both
from condrank.problem.known_pairs import degree_weights
from condrank.problem.problem import Problem
from condrank.problem.sizes import single_precision_pays
from condrank.products.sampled import SampledProducts
from condrank.solvers.complete_inverse import CompleteInverse
from condrank.solvers.costs import CG_ARRAYS, has_dense_products, iterated_bytes, iteration_flops, peak_with_coordinates
from condrank.solvers.distributed_cost import distributed_cost, distributed_reason
from condrank.solvers.intercept import Seen
from condrank.solvers.iterations import expected
from condrank.solvers.krylov import Operator
from condrank.solvers.refinement import refined
from condrank.solvers.system import DEFAULTS, ONLY_DUAL, Cost, Options, Peak, Solution, Solver


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
        Subtracted from every label.
    dense : bool, optional
        Whether products compute all n×m values, or only the observed ones; by default whichever is faster.

    Notes
    -----
    A product costs four dense matrix products, or O(n_pairs r + nr²) for only the observed values.
    """

    def __init__(
        self,
        relation: Relation,
        loss: Loss,
        rows: Coordinates,
        cols: Coordinates,
        edges: Edges,
        prior_weight: float = 0.0,
        centre: float = 0.0,
        dense: bool | None = None,
    ):
        self.relation, self.loss, self.rows, self.cols, self.edges = relation, loss, rows, cols, edges
        self.prior_weight, self.offset = prior_weight, centre
        n, m = edges.shape
        self.total = float(edges.weights.sum(dtype=np.float64))
        self.density = self.total / (n * m)
        self.dense = edges.n_pairs >= DENSE_FROM_SHARE_OF_PAIRS * n * m if dense is None else dense
        # LAPACK stores eigenvectors by columns. Sampled products read rows, and would copy them each time.
        order = "K" if self.dense else "C"
        self.Z = np.asarray(rows.training(), order=order)
        self.Z_objects = self.Z if cols is rows else np.asarray(cols.training(), order=order)
        self.products = SampledProducts(edges.indptr, edges.indices, edges.shape)
        self.weights = edges.weights.astype(self.Z.dtype, copy=False)
        self.loss_operator = EdgeLoss(loss, edges, self.weights)
        labels = edges.values.astype(self.Z.dtype) - self.Z.dtype.type(centre)
        if prior_weight:
            labels -= prior_weight * self.similarity()
        self.seen = Seen(labels, self.weights) if loss.fits_intercept else None
        # Π[ZᵀMZ'], by which products with all values subtract the mean of the observed ones.
        self.sums: np.ndarray | None = None
        if self.dense and loss.fits_intercept:
            self.sums = self._reduce_all(self.loss_operator.mask)
            # As a dense product this takes less time, which makes up for some of that of the sums.
            self.rhs = self._reduce_all(np.asarray(edges.matrix(self.loss_operator(labels)).toarray()))
        else:
            self.rhs = self.reduce(self.loss_operator(labels))

    def similarity(self) -> np.ndarray:
        """The node kernel at the observed pairs. An exact kernel is read directly, because a clipped one is not ZZᵀ."""
        if isinstance(self.rows, ExactKernel):
            return self.rows.similarity(None, None)[self.edges.sources, self.edges.indices]
        return self.products.at_edges(self.Z, self.Z_objects)

    def reduce(self, entries: np.ndarray) -> np.ndarray:
        """Π[Zᵀ S Z'] for the sparse S with these entries at the observed pairs."""
        return self.reduce_to(self.relation, entries)

    def reduce_to(self, relation: Relation, entries: np.ndarray) -> np.ndarray:
        """`reduce` with the projection of a relation."""
        return relation.project(self.Z.T @ self.products.times(entries, self.Z_objects))

    def _reduce_all(self, F: np.ndarray) -> np.ndarray:
        """Π[Zᵀ F Z'] for a dense n×m array."""
        return self.relation.project(self.Z.T @ (F @ self.Z_objects))

    def values(self, W: np.ndarray) -> np.ndarray:
        """The model's values z(v)ᵀ W z(v') at the observed pairs."""
        return self.products.at_edges(self.Z @ W, self.Z_objects)

    def apply(self, W: np.ndarray, alpha: float) -> np.ndarray:
        """Π[Zᵀ L_Ω(Z W Z'ᵀ) Z'] + λW."""
        if self.dense:
            out = self.Z.T @ (self.loss_operator.on_all((self.Z @ W) @ self.Z_objects.T) @ self.Z_objects)
            out = self.relation.project(out)
            if self.sums is not None:
                self.loss_operator.mean = float(np.vdot(self.sums, W)) / self.total
                out -= out.dtype.type(self.loss_operator.mean) * self.sums
        else:
            out = self.reduce(self.loss_operator(self.values(W)))
        out += alpha * W
        return out

    def preconditioner(self, loss: Loss, alpha: float, density: float) -> Operator:
        """The inverse of the system if every pair were observed with weight ``density``."""
        inverse = CompleteInverse(self.relation, loss, self.rows, self.cols, self.visible(alpha / density))
        # Without the projection, rounding errors outside the relation's space would grow in each iteration.
        return lambda R: self.relation.project(inverse(R)) / density

    def visible(self, alpha: float) -> float:
        """λ of the preconditioner: not too large to add to σσ', and not so small that rounding hides it.

        One that is hidden would divide the rounding errors of row means by almost 0.
        """
        largest = float(self.rows.sigma[-1]) * float(self.cols.sigma[-1])
        numbers = np.finfo(self.rows.nodes.dtype)
        return min(max(alpha, float(numbers.eps) ** 1.5 * largest), float(numbers.max) * float(numbers.eps))

    def solve(self, alpha: float, options: Options = DEFAULTS, rhs: np.ndarray | None = None) -> Solution:
        """W for one λ > 0, to a relative residual of ``options.tol``."""
        largest = float(self.rows.sigma[-1]) * float(self.cols.sigma[-1]) * self.density
        check_alpha(alpha, self.Z.dtype)
        single = None if self.Z.dtype == np.float32 or not single_precision_pays(alpha, largest) else self.single()
        found = refined(
            lambda W: self.apply(W, alpha),
            None if single is None else lambda W: single.apply(W, alpha),
            self.rhs if rhs is None else rhs,
            precondition=self.preconditioner(self.loss, alpha, self.density),
            start=options.start,
            tol=max(options.tol, 20 * float(np.finfo(self.Z.dtype).eps)),
            max_iter=options.max_iter,
            watch=options.watch,
        )
        if self.seen is not None and found.applied:
            self.seen.keep(found.x, self.loss_operator.mean)
        return Solution(found.x, found.n_iter, found.converged)

    def influence(self, W: np.ndarray) -> np.ndarray:
        """L_Ω of the values of W at the observed pairs: for W = S⁻¹T, ∂⟨T, W⟩/∂y (n_pairs,) of the labels."""
        return self.loss_operator(self.values(W))

    def single(self) -> PrimalSystem:
        """The same products in single precision."""
        twin = copy(self)
        twin.Z = self.Z.astype(np.float32)
        twin.Z_objects = twin.Z if self.Z_objects is self.Z else self.Z_objects.astype(np.float32)
        twin.weights = self.weights.astype(np.float32)
        twin.loss_operator = EdgeLoss(self.loss, self.edges, twin.weights)
        twin.sums = None if self.sums is None else self.sums.astype(np.float32)
        return twin

    def model(self, W: Any = None) -> Any:
        """Scores z(v)ᵀ W z(v') + τ k(v, v') + the centre of the scale + the intercept."""
        return Model(self.rows, self.cols, W, self.prior_weight, self.offset + self.intercept(W))

    def intercept(self, W: Any) -> float:
        """c for weights W; 0 without an intercept, or if W is not known yet."""
        return 0.0 if self.seen is None or W is None else self.seen.intercept(W, self.values)


class PrimalSolver(Solver):
    """Conjugate gradients on W, preconditioned by the closed form of the complete graph."""

    name = "primal"
    serves = ("auto", "iterative", "primal")
    iterates = True

    def refuses(self, problem: Problem) -> str | None:
        """Refuses only pairwise kernels."""
        return ONLY_DUAL if problem.settings.pairwise_kernel is not None else None

    def cost(self, problem: Problem) -> Cost:
        """The cost of coordinates and of the expected iterations."""
        if problem.is_distributed:
            return distributed_cost(problem)
        dense = has_dense_products(problem)
        step = REFINED_TIME_PER_DOUBLE_TIME * iteration_flops(problem, dense)
        return Cost(problem.sizes.flops + expected(problem).primal * step, lambda: self._peak(problem, dense))

    def path_cost(self, problem: Problem, alphas: Sequence[float]) -> Cost:
        """One set of coordinates, and for each λ iterations that start close to the solution."""
        own = self.cost(problem)
        if problem.is_distributed or len(alphas) == 1:
            return own
        step = REFINED_TIME_PER_DOUBLE_TIME * iteration_flops(problem, has_dense_products(problem))
        steps = [expected(problem.at(float(alpha))).primal for alpha in alphas]
        few = len(steps) + STARTED_ITERATIONS_PER_LOG * float(np.log(steps).sum())
        return replace(own, flops=problem.sizes.flops + few * step)

    def _peak(self, problem: Problem, dense: bool) -> Peak:
        s, settings = problem.sizes, problem.settings
        single = s.in_single_precision(settings.alpha)
        after = iterated_bytes(problem, vectors=1 + CG_ARRAYS, dense=dense, single=single)
        if settings.loss.fits_intercept:
            # A matrix of the preconditioner, and the sums that dense products need.
            after += s.itemsize * s.square + (s.itemsize + 4 * single) * s.square * dense
        return Peak(peak_with_coordinates(problem, after))

    def reason(self, problem: Problem) -> str:
        """Compared features or partitions need it, or its preconditioner suits the graph."""
        if problem.is_distributed:
            return distributed_reason(problem)
        if problem.settings.compared:
            return compared_reason(problem)
        density = f"{problem.graph.density:.2%} of the pairs are observed"
        return f"{density}: the closed form of the complete graph is a good preconditioner"

    def build(self, problem: Problem, coordinates: Any = None, rank: int | None = None) -> PrimalSystem:
        """Fit coordinates, weighted by degree if degrees are uneven, and set up products over the observed pairs."""
        if coordinates is None:
            one_domain = problem.queries is problem.objects
            coordinates = fit_both(problem, degree_weights(problem.observed, one_domain))
        return primal_system(problem, *coordinates)


def primal_system(problem: Problem, rows: Any, cols: Any) -> PrimalSystem:
    """The system on W of an incomplete graph: with compared features, on a cluster, or on one machine."""
    settings, observed = problem.settings, cast(Any, problem.observed)
    if settings.compared:
        from condrank.solvers.compared import ComparedSystem

        return ComparedSystem(settings.loss, rows, all_edges(observed), settings.compared, settings.centre)
    options = settings.prior_weight, settings.centre
    if problem.is_distributed:
        from condrank.solvers.distributed import DistributedSystem

        return DistributedSystem(settings.relation, settings.loss, rows, cols, observed, *options)
    return PrimalSystem(settings.relation, settings.loss, rows, cols, all_edges(observed), *options)


def compared_reason(problem: Problem) -> str:
    """Why compared features are solved on W."""
    blocks = "each adds a block of weights, preconditioned by the closed form of the complete graph"
    return f"{len(problem.settings.compared)} compared: {blocks}"
