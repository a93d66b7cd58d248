"""Closed forms on complete graphs: all relations and quadratic losses from one eigendecomposition.

With Z (n, r), ZᵀZ = diag(σ), b = Zᵀ1, D = σσᵀ + λ (elementwise) and Π the relation's projection, the minimiser of

    ½‖L(Y - Z W Zᵀ)‖² + ½ λ‖W‖²,   W = Π[W],

where L is the identity (regression), or subtracts the mean of all pairs (an intercept) or of each row (ranking), is

    regression            W = Π[ZᵀYZ] / D
    with an intercept     W = (R + t bbᵀ) / D,     R = Π[Zᵀ (Y - ȳ) Z]
    ranking               W = (R + Π[w bᵀ]) / D,   R = Π[Zᵀ Y C Z]

with a number t and a vector w that cost O(r²). For the symmetric and the reciprocal relation w comes from one
well-conditioned system. The paper states that no efficient closed form is known for the ranking loss with these two
relations. The same inverse, applied to any right-hand side R, is the preconditioner on incomplete graphs.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import n_processors, one_thread_a_product, row_blocks
from condrank.base.measured import BLOCK_ENTRIES, CACHED_ENTRIES, NUMPY_EIGH_MOST_NODES
from condrank.models.model import Model
from condrank.nodes import Coordinates, ExactKernel
from condrank.objective.losses import Loss
from condrank.objective.relations import Relation
from condrank.observations import Complete, Factored
from condrank.observations.complete import SUMMED_MOST_COLUMNS
from condrank.problem.coordinates import check_alpha, fit_both
from condrank.problem.problem import Problem
from condrank.solvers.complete_inverse import CompleteInverse
from condrank.solvers.costs import peak_with_coordinates, reduction_flops
from condrank.solvers.damping import damping_factors
from condrank.solvers.distributed_cost import distributed_cost, distributed_reason, is_edge_list
from condrank.solvers.system import DEFAULTS, ONLY_DUAL, Cost, Options, Peak, Solution, Solver


class ClosedForm:
    """A complete graph reduced to r×r sums, from which W follows for any λ.

    Parameters
    ----------
    relation : Relation
        Ordinary, symmetric or reciprocal; two domains need the ordinary one.
    loss : Loss
        Regression, or ranking for each row of the observations.
    rows, cols : Coordinates
        Fitted coordinates of the conditioning nodes and of the objects; one instance for both in a single domain.
    observations : Complete or Factored, of shape (n, m)
        The relation, known for every pair.
    prior_weight : float
        τ of the similarity prior: the model learns corrections of τ k(v, v').
    offset : float
        Added to the scores: the centre of the relation's scale, which the projection removes from the labels.

    Notes
    -----
    The reduction costs two matrix products; a further λ costs O(rr').
    """

    def __init__(
        self,
        relation: Relation,
        loss: Loss,
        rows: Coordinates,
        cols: Coordinates,
        observations: Any,
        prior_weight: float = 0.0,
        offset: float = 0.0,
    ):
        self.relation, self.loss, self.rows, self.cols = relation, loss, rows, cols
        self.prior_weight, self.offset = prior_weight, offset
        self.mean = 0.0
        #: Sum of the squared labels, centred as in the loss, from which the noise is estimated; None if not known.
        self.energy: float | None = None
        self.rhs = relation.project(self._reduce(observations, prior_weight))

    def _reduce(self, observations: Any, prior_weight: float) -> np.ndarray:
        """ZᵀYZ' (regression), less ȳbb'ᵀ (intercept) or ZᵀYCZ' (ranking), minus the prior, before the projection."""
        rows, cols = self.rows, self.cols
        if self.loss.fits_intercept:
            reduced, total = observations.reduced_and_total(rows, cols)
            self.mean = self._mean(total, prior_weight)
        else:
            reduced = observations.reduced(rows, cols)
        G = rows.rotate(reduced)
        G = cols.rotate(G.T).T
        sums = rows.rotate(observations.reduced_sums(rows)) if self.loss.centres_rows else np.empty(0)
        with np.errstate(over="ignore", invalid="ignore"):  # squares of very large labels: then the noise is not known
            energy = self._energy(observations, G, sums)
        self.energy = energy if energy is not None and np.isfinite(energy) else None
        if self.loss.centres_rows:
            if prior_weight:
                # τ(diag(σ²) - (σb)bᵀ/m): the second term joins the row sums.
                sums = sums - prior_weight * rows.sigma * rows.ones
            sums = sums / cols.n_nodes
            for block in row_blocks(*G.shape, budget=CACHED_ENTRIES):
                G[block] -= np.multiply.outer(sums[block], cols.ones)
        elif self.loss.fits_intercept:
            for block in row_blocks(*G.shape, budget=CACHED_ENTRIES):
                G[block] -= np.multiply.outer(self.mean * rows.ones[block], cols.ones)
        if prior_weight:
            np.einsum("ii->i", G)[:] -= prior_weight * rows.sigma**2
        return G

    def _energy(self, observations: Any, G: np.ndarray, sums: np.ndarray) -> float | None:
        """Σ y² of the labels minus prior and centre, less what the loss centres; one pass over the labels.

        The products with the prior τK = τZZᵀ are sums over G = ZᵀYZ and the row sums ZᵀY1.
        """
        squares = observations.squares()
        if squares is None:
            return None
        energy, of_rows = squares
        rows, n_pairs, weight = self.rows, self.rows.n_nodes * self.cols.n_nodes, self.prior_weight
        sigma, b = rows.sigma.astype(np.float64), rows.ones.astype(np.float64)
        if weight:
            energy += weight * (weight * float(sigma @ sigma) - 2 * float(np.trace(G, dtype=np.float64)))
        if self.loss.centres_rows:
            if weight:
                of_rows += weight * (weight * float(sigma @ (b * b)) - 2 * float(b @ sums))
            return energy - of_rows / self.cols.n_nodes
        if self.loss.fits_intercept:
            return energy - n_pairs * self.mean**2
        if self.offset:
            energy += self.offset * (self.offset * n_pairs - 2 * observations.total())
        return energy

    def _mean(self, total: float, prior_weight: float) -> float:
        """The mean of Y - τK over all pairs, from the sum of Y."""
        rows = self.rows
        if prior_weight and isinstance(rows, ExactKernel):
            # Not |b|²: a clipped kernel is not ZZᵀ.
            blocks = row_blocks(rows.n_nodes, rows.n_nodes)
            sums = [rows.similarity(rows.nodes.block(block), None).sum(dtype=np.float64) for block in blocks]
            total -= prior_weight * float(sum(sums))
        elif prior_weight:
            total -= prior_weight * float(rows.ones @ rows.ones)
        return total / (rows.n_nodes * self.cols.n_nodes)

    def solve(self, alpha: float, options: Options = DEFAULTS, rhs: np.ndarray | None = None) -> Solution:
        """W (r, r') for one λ. Allocates one r×r' array for the result."""
        check_alpha(alpha, self.rows.sigma.dtype, float(self.rows.sigma[-1]) * float(self.cols.sigma[-1]))
        # Only vectors are multiplied, and NumPy's threads would wait for those of SciPy's, which have just multiplied.
        with one_thread_a_product() if max(self.rhs.shape) > NUMPY_EIGH_MOST_NODES else nullcontext():
            inverse = CompleteInverse(self.relation, self.loss, self.rows, self.cols, alpha)
            W = inverse(self.rhs, centred=True, last=True) if rhs is None else inverse(rhs, last=True)
        # The r×r arithmetic of explicit features is in double precision, also for single-precision features.
        return Solution(W.astype(self.rows.nodes.dtype, copy=False))

    def apply(self, W: np.ndarray, alpha: float) -> np.ndarray:
        """Π[Zᵀ L(Z W Z'ᵀ) Z'] + λW = Π[σ W (diag(σ') - bbᵀ/m)] + λW, where bbᵀ/m is for ranking only. O(rr').

        With an intercept, b times the mean value bᵀWb'/(nm) times b'ᵀ is subtracted instead.
        """
        out = W * self.cols.sigma
        if self.loss.centres_rows:
            means = (W @ self.cols.ones) / self.cols.n_nodes
            for block in row_blocks(*out.shape, budget=CACHED_ENTRIES):
                out[block] -= np.multiply.outer(means[block], self.cols.ones)
        out *= self.rows.sigma[:, None]
        if self.loss.fits_intercept:
            mean = W.dtype.type(self._value(W))
            for block in row_blocks(*out.shape, budget=CACHED_ENTRIES):
                out[block] -= np.multiply.outer(mean * self.rows.ones[block], self.cols.ones)
        out = self.relation.project(out)
        out += alpha * W
        return out

    def influence(self, alpha: float, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """∂/∂Y (n, m) of zᵀWz' for coordinates z (r,) and z' (r',): L(Z S⁻¹[Π[z z'ᵀ]] Z'ᵀ), S the system at λ.

        S⁻¹ divides by D and adds w bᵀ/D. As σσ'/D has few factors, so has the result before the means are subtracted:
        O((nr + mr')k + nmk + rr') for k factors, instead of two products O(nr² + nmr).
        """
        inverse = CompleteInverse(self.relation, self.loss, self.rows, self.cols, alpha)
        added = inverse.correction(left, right)
        terms = [(left, right), *([] if added is None else [added])]
        U, V = damping_factors(self.rows.sigma, self.cols.sigma, alpha)
        starts = np.hstack([U * (one / self.rows.sigma)[:, None] for one, _ in terms])
        ends = np.hstack([V * (other / self.cols.sigma)[:, None] for _, other in terms])
        if self.cols is self.rows:
            starts, ends = np.hsplit(self.rows.training() @ np.hstack([starts, ends]), 2)
        else:
            starts, ends = self.rows.training() @ starts, self.cols.training() @ ends
        if self.relation.sign:  # Π of the result
            starts, ends = np.hstack([starts, self.relation.sign * ends]), 0.5 * np.hstack([ends, starts])
        if self.loss.centres_rows:
            ends = ends - ends.mean(axis=0)
        elif self.loss.fits_intercept:
            mean = starts.mean(axis=0) @ ends.mean(axis=0)
            starts = np.column_stack([starts, np.ones(len(starts))])
            ends = np.column_stack([ends, np.full(len(ends), -mean)])
        return starts @ ends.T

    def _value(self, W: np.ndarray) -> float:
        """bᵀWb'/(nm), the mean of the values of the model over all pairs."""
        b, b_objects = (side.ones.astype(np.float64, copy=False) for side in (self.rows, self.cols))
        return float(b @ (W @ b_objects)) / (self.rows.n_nodes * self.cols.n_nodes)

    def model(self, W: Any = None) -> Model:
        """Scores z(v)ᵀ W z(v') + τ k(v, v') + the centre of the scale + the intercept."""
        intercept = 0.0
        if self.loss.fits_intercept and W is not None:
            intercept = self.mean - self._value(W)
        return Model(self.rows, self.cols, W, self.prior_weight, self.offset + intercept)


class ClosedFormSolver(Solver):
    """W from one eigendecomposition and a division, for graphs in which every pair is known."""

    name = "closed_form"
    serves = ("auto", "closed_form")
    is_direct = True

    def refuses(self, problem: Problem) -> str | None:
        """Refuses incomplete graphs, compared features and pairwise kernels."""
        settings, graph = problem.settings, problem.graph
        if problem.is_distributed:
            return "the edges are in partitions" if is_edge_list(problem) else None
        if settings.pairwise_kernel is not None:
            return ONLY_DUAL
        if settings.compared:
            return "compared features have no closed form; use solver='auto'"
        if not graph.is_complete:
            return (
                f"solver='closed_form' needs a complete graph, but {graph.density:.2%} of the pairs are observed "
                "(or some are repeated or have weights other than one); use solver='auto'"
            )
        return None

    def cost(self, problem: Problem) -> Cost:
        """The cost of coordinates and of reducing the labels."""
        if problem.is_distributed:
            return distributed_cost(problem)
        s = problem.sizes
        flops = s.flops + reduction_flops(problem)
        return Cost(flops, lambda: Peak(peak_with_coordinates(problem, self._bytes(problem))))

    def reason(self, problem: Problem) -> str:
        """The graph is complete."""
        if problem.is_distributed:
            return distributed_reason(problem)
        dense = isinstance(problem.observed, Complete)
        return "the graph is complete" if dense else "the relation is factored: every pair is known"

    def build(self, problem: Problem, coordinates: Any = None, rank: int | None = None) -> ClosedForm:
        """Fit coordinates and reduce the labels to them."""
        settings, observed = problem.settings, problem.observed
        if coordinates is None:
            factors = ((), ())
            if isinstance(observed, Factored):
                factors = observed.factors_of(problem.queries is problem.objects)
            coordinates = fit_both(problem, factors=factors)
        rows, cols = coordinates
        options = settings.prior_weight, settings.centre
        return ClosedForm(settings.relation, settings.loss, rows, cols, observed, *options)

    def _bytes(self, problem: Problem) -> int:
        """Bytes beside the coordinates: the labels reduced to r×r', rotated, and W."""
        s = problem.sizes
        own = s.itemsize if s.rows.exact else 8
        centres = problem.settings.loss.centres is not None
        # Each thread has a block of 1/D and, if the loss centres, of the right-hand side or (not all at once) their
        # product.
        threads = min(n_processors(), max(1, s.square // CACHED_ENTRIES))
        blocks = own * min(s.square, CACHED_ENTRIES) * threads * (2 if centres else 1)
        solving = own * s.square + max(own * s.square + blocks, (own + s.itemsize) * s.square * (own > s.itemsize))
        return max(reduced_bytes(problem), solving)


def reduced_bytes(problem: Problem) -> int:
    """Bytes to reduce the labels of a complete graph to r×r' and to rotate them."""
    s = problem.sizes
    rows, cols, size, relation = s.rows, s.cols, s.itemsize, problem.observed
    own = size if rows.exact else 8
    reducing = own * s.square
    if isinstance(relation, Complete):
        sparse_side = rows.sparse or cols.sparse
        if sparse.issparse(relation.Y) or sparse_side:
            # The sum; a block of rows times Z' (which SciPy copies for sparse features); its product with Z.
            block = min(rows.n, max(1, BLOCK_ENTRIES // max(cols.n, cols.r)))
            reducing = (8 + size) * s.square + size * block * (cols.r + cols.n * sparse_side)
        elif cols.block:
            # YΦ' is a sum over blocks of Φ', and each product is as large as the sum.
            reducing = max(2 * size * rows.n * cols.r + cols.block, size * rows.n * cols.r + 16 * s.square + rows.block)
        else:
            summed = problem.settings.loss.fits_intercept and cols.r <= SUMMED_MOST_COLUMNS
            reducing = size * (rows.n * cols.r + s.square + cols.n * cols.r * summed)
    return max(reducing, 0 if rows.exact else 2 * own * s.square)
