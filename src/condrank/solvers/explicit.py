"""Edge-wise RLS and RankRLS: every observed edge is one example, as for an off-the-shelf learner. The paper's baseline.

The features of an edge are Π[z(v) z(v')ᵀ]. Their inner products are the Kronecker, symmetric or reciprocal kernel,
including the ½ of the last two. They are bilinear in z and z', so the mean over a conditioning node's edges can be
subtracted from z' alone. The minimiser of

    ½ Σ_e m_e (y_e - ȳ_v - ⟨W, Π[z (z' - z̄'_v)ᵀ]⟩)² + ½ λ‖W‖²

(means zero for regression, those of all edges with an intercept) comes from one dense p×p system of product features,
p = r r' or r(r ± 1)/2, or from one dense E×E system of edge kernel values. The memory of both grows with the fourth
power of the number of nodes. The other solvers need r×r arrays. Use this one to check them, and on small graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg

from condrank.base.blocks import row_blocks
from condrank.base.measured import BLOCK_ENTRIES
from condrank.models.model import Model
from condrank.nodes import Coordinates
from condrank.nodes.exact import spectrum
from condrank.objective.edge_loss import EdgeLoss
from condrank.objective.losses import Loss
from condrank.objective.relations import Relation
from condrank.observations import Edges, Observations
from condrank.observations.edges import all_edges
from condrank.problem.coordinates import fit_both
from condrank.problem.problem import Problem
from condrank.products.sampled import SampledProducts
from condrank.solvers.costs import listed_bytes, peak_with_coordinates
from condrank.solvers.intercept import Means
from condrank.solvers.product_features import n_product_features, product_features, product_weights, weight_matrix
from condrank.solvers.system import DEFAULTS, ONLY_DUAL, Cost, Options, Peak, Solution, Solver

MAX_BYTES = 4 * 2**30
FEATURES = ("auto", "product", "kernel")
# λ relative to the square of the mean example, above which the mean is subtracted from the system, not from examples.
ACCURATE = 1e-6


def solve_explicit(
    relation: Relation,
    loss: Loss,
    Z: np.ndarray,
    Z_objects: np.ndarray,
    edges: Edges,
    alpha: float,
    *,
    features: str = "auto",
    max_bytes: int = MAX_BYTES,
    rhs: np.ndarray | None = None,
) -> np.ndarray:
    """W (r, r') with scores zᵀWz', from a dense system over product features or over edges.

    Parameters
    ----------
    relation : Relation
        Ordinary, symmetric or reciprocal; two domains need the ordinary one.
    loss : Loss
        Regression, or ranking for each starting node of the edges.
    Z, Z_objects : ndarray of shapes (n, r) and (m, r')
        Coordinates of the training nodes and objects; the same for a single domain.
    edges : Edges of shape (n, m)
        Observed labels, minus the centre of a reciprocal relation's scale; `all_edges` makes them from a complete
        relation.
    alpha : float
        λ > 0, as in `condrank.solvers.closed_form`.
    features : {"auto", "product", "kernel"}
        "product" takes the p×p system of product features, "kernel" the E×E system of edge kernel values, "auto" the
        smaller one.
    max_bytes : int
        A system that needs more raises a ValueError before anything is allocated.
    rhs : ndarray of shape (r, r'), optional
        Right-hand side that replaces that of the labels; solved over the product features.

    Notes
    -----
    O(E p² + p³) time and one p×p array, or O(E² r + E³) and one E×E array, beside blocks of 32 MiB.
    """
    if features not in FEATURES:
        raise ValueError(f"features must be one of {list(FEATURES)}, got {features!r}")
    p, n_pairs = n_product_features(relation, Z.shape[1], Z_objects.shape[1]), edges.n_pairs
    if features == "auto":
        features = "product" if p <= n_pairs or rhs is not None else "kernel"
    needed = explicit_bytes(relation, Z.shape[1], Z_objects.shape[1], n_pairs, features)
    _check_size(needed, p if features == "product" else n_pairs, features, max_bytes)
    examples = _Examples(loss, np.asarray(Z, np.float64), np.asarray(Z_objects, np.float64), edges)
    if features == "kernel":
        return relation.project(examples.reduce(examples.coefficients(relation, alpha)))
    G, b = examples.products(relation, p)
    if loss.fits_intercept:
        sums = product_weights(relation, relation.project(examples.reduce(examples.root)))
        if alpha > ACCURATE * float(sums @ sums) / examples.total:
            G -= np.multiply.outer(sums / examples.total, sums)
        else:
            # The difference of the two would lose the digits that λ needs: the mean is subtracted from each example.
            G, b = examples.products(relation, p, sums / examples.total)
    b = b if rhs is None else product_weights(relation, rhs)
    return weight_matrix(relation, solve_positive(G, b, alpha), Z.shape[1], Z_objects.shape[1])


class ExplicitSystem:
    """`solve_explicit` as a system, with the parameters of `condrank.solvers.primal.PrimalSystem`."""

    def __init__(
        self,
        relation: Relation,
        loss: Loss,
        rows: Coordinates,
        cols: Coordinates,
        observations: Observations,
        prior_weight: float = 0.0,
        centre: float = 0.0,
    ):
        self.relation, self.loss, self.rows, self.cols = relation, loss, rows, cols
        self.prior_weight, self.offset = prior_weight, centre
        self.Z = rows.training()
        self.Z_objects = self.Z if cols is rows else cols.training()
        self.edges = all_edges(observations, centre)
        if prior_weight:
            similarity = rows.similarity(None, None)[self.edges.sources, self.edges.indices]
            self.edges = self.edges.with_values(self.edges.values - prior_weight * similarity)
        self.means = None
        if loss.fits_intercept:
            M = self.edges.matrix(self.edges.weights.astype(self.Z.dtype, copy=False))
            sums = relation.project(self.Z.T @ np.asarray(M @ self.Z_objects))
            self.means = Means.of(self.edges.values, self.edges.weights, sums)

    def solve(self, alpha: float, options: Options = DEFAULTS, rhs: np.ndarray | None = None) -> Solution:
        """W for one λ > 0, by one dense factorisation (with ``rhs``, over the product features)."""
        W = solve_explicit(self.relation, self.loss, self.Z, self.Z_objects, self.edges, alpha, rhs=rhs)
        return Solution(W.astype(self.Z.dtype, copy=False))

    def influence(self, W: np.ndarray) -> np.ndarray:
        """L_Ω of the values of W at the observed pairs, as for `condrank.solvers.primal.PrimalSystem`."""
        edges = self.edges
        products = SampledProducts(edges.indptr, edges.indices, edges.shape)
        weights = edges.weights.astype(self.Z.dtype, copy=False)
        return EdgeLoss(self.loss, edges, weights)(products.at_edges(self.Z @ W, self.Z_objects))

    def model(self, W: Any = None) -> Model:
        """Scores z(v)ᵀ W z(v') + τ k(v, v') + the centre of the scale + the intercept."""
        intercept = 0.0 if self.means is None else self.means.intercept(W)
        return Model(self.rows, self.cols, W, self.prior_weight, self.offset + intercept)


class ExplicitSolver(Solver):
    """One dense system over product features or over edges: the paper's baseline."""

    name = "explicit"
    serves = ("explicit",)
    is_direct = True

    def refuses(self, problem: Problem) -> str | None:
        """Refuses pairwise kernels and compared features."""
        if problem.settings.pairwise_kernel is not None:
            return ONLY_DUAL
        return "compared features are solved iteratively; use solver='auto'" if problem.settings.compared else None

    def cost(self, problem: Problem) -> Cost:
        """The cost of factorising the smaller system."""
        s = problem.sizes
        flops = s.flops + float(min(s.rows.most * s.cols.most, s.n_pairs)) ** 3

        def peak() -> Peak:
            after = listed_bytes(problem)[0]
            after += explicit_bytes(problem.settings.relation, s.rows.r, s.cols.r, s.n_pairs)
            after += s.itemsize * s.training + 8 * s.training * (s.itemsize < 8)
            return Peak(peak_with_coordinates(problem, after))

        return Cost(flops, peak)

    def build(self, problem: Problem, coordinates: Any = None, rank: int | None = None) -> ExplicitSystem:
        """Fit coordinates, and list every observation as an edge."""
        settings, (rows, cols) = problem.settings, coordinates or fit_both(problem)
        options = settings.prior_weight, settings.centre
        return ExplicitSystem(settings.relation, settings.loss, rows, cols, problem.observed, *options)


def explicit_bytes(relation: Relation, r: int, r_objects: int, n_pairs: int, features: str = "auto") -> int:
    """Bytes at the peak of `solve_explicit`: the system, factorised in place, and the blocks to build it from."""
    p = n_product_features(relation, r, r_objects)
    if features == "product" or (features == "auto" and p <= n_pairs):
        # The features of a block; for W = ±Wᵀ they are sums of two products, each with its factors.
        return 8 * (2 * p**2 + min(BLOCK_ENTRIES, n_pairs * p) * (4 if relation.sign else 1))
    # Kernel values of both ends, or of all four combinations of ends; and coordinates of both ends of each edge.
    both = 2 * n_pairs * (r + r_objects)
    return 8 * (n_pairs**2 + min(BLOCK_ENTRIES, n_pairs**2) * (3 if relation.sign else 2) + both)


def solve_positive(G: np.ndarray, rhs: np.ndarray, alpha: float) -> np.ndarray:
    """(G + λI)⁻¹ rhs for a positive semi-definite G, up to a part in the null space of G. Overwrites G.

    Uses Cholesky. If λ is so small that rounding errors of G would be divided by it, uses an eigendecomposition and
    drops the noise, as the coordinates of a singular kernel do. The dropped part has no influence on scores.
    """
    size = len(G)
    if not is_tiny(alpha, G):
        np.einsum("ii->i", G)[:] += alpha
        factor = linalg.cho_factor(G.T, lower=True, overwrite_a=True, check_finite=False)
        return linalg.cho_solve(factor, rhs, check_finite=False)
    s, V = spectrum(G)
    signal = s > size * np.finfo(np.float64).eps * s[-1]
    return V[:, signal] @ ((V[:, signal].T @ rhs) / (s[signal] + alpha))


def is_tiny(alpha: float, G: np.ndarray) -> bool:
    """Whether rounding errors of G would be divided by a λ that is as small as they are."""
    return alpha <= 1e-9 * float(np.trace(G))


class _Examples:
    """Edges as examples: √m (z, z' - z̄'_v) and √m (y - ȳ_v), where the means are zero for regression.

    With an intercept, ȳ is that of all edges. The mean of all products z z'ᵀ is not a product, so it is subtracted from
    the features or the kernel.
    """

    def __init__(self, loss: Loss, Z: np.ndarray, Z_objects: np.ndarray, edges: Edges):
        self.Z, self.Z_objects = Z, Z_objects
        self.sources, self.targets = edges.sources, edges.indices
        self.root = np.sqrt(edges.weights.astype(np.float64))
        y = edges.values.astype(np.float64)
        self.means = None
        if loss.centres_rows:
            M = edges.matrix(edges.weights.astype(np.float64))
            total = np.asarray(M.sum(axis=1)).ravel()
            total[total == 0] = 1  # a node without edges
            self.means = np.asarray(M @ Z_objects) / total[:, None]
            y = y - (np.bincount(self.sources, self.root**2 * y, minlength=len(total)) / total)[self.sources]
        self.total, self.loss = float(self.root @ self.root), loss
        self.y = self.centred(self.root * y)

    def centred(self, a: np.ndarray) -> np.ndarray:
        """a minus its part along √m, if the loss has an intercept; otherwise a."""
        if not self.loss.fits_intercept:
            return a
        return a - self.root * ((self.root @ a) / self.total)

    def part(self, block: slice) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of both ends of a block of edges; those of the starting node are multiplied by √m."""
        sources = self.sources[block]
        ends = self.Z_objects[self.targets[block]]
        if self.means is not None:
            ends = ends - self.means[sources]
        return self.root[block, None] * self.Z[sources], ends

    def blocks(self, row_size: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """All edges, one block at a time."""
        for block in row_blocks(len(self.y), row_size):
            yield block, *self.part(block)

    def kernel(self, relation: Relation) -> np.ndarray:
        """The E×E kernel between examples. O(E²r)."""
        everything = slice(0, len(self.y))
        starts, ends = self.part(everything)
        K = np.empty((len(starts), len(starts)))
        for block in row_blocks(*K.shape):
            part = K[block]
            np.multiply(starts[block] @ starts.T, ends[block] @ ends.T, out=part)
            if relation.sign:
                part += relation.sign * ((starts[block] @ ends.T) * (ends[block] @ starts.T))
                part *= 0.5
        return K

    def products(self, relation: Relation, p: int, mean: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """ΦᵀΦ (p, p) and Φᵀy (p,) of product features, minus their mean if one is given. O(Ep²), in blocks."""
        G, b = np.zeros((p, p)), np.zeros(p)
        for block, starts, ends in self.blocks(p):
            Phi = product_features(relation, starts, ends)
            if mean is not None:
                Phi -= np.multiply.outer(self.root[block], mean)
            G += Phi.T @ Phi
            b += Phi.T @ self.y[block]
            del Phi  # before the next block is made
        return G, b

    def coefficients(self, relation: Relation, alpha: float) -> np.ndarray:
        """(PKP + λ)⁻¹ y, with P the projection past √m if the loss has an intercept. O(E³).

        That is u - v (√mᵀu)/(√mᵀv) with u = (K + λ)⁻¹y and v = (K + λ)⁻¹√m: one more right-hand side.
        """
        K = self.kernel(relation)
        if not self.loss.fits_intercept:
            return solve_positive(K, self.y, alpha)
        if is_tiny(alpha, K):
            # A part of √m in the null space of K would be dropped as noise, so K itself is centred.
            K = np.apply_along_axis(self.centred, 0, np.apply_along_axis(self.centred, 1, K))
            return self.centred(solve_positive(K, self.y, alpha))
        u, v = solve_positive(K, np.column_stack([self.y, self.root]), alpha).T
        return self.centred(u - v * ((self.root @ u) / (self.root @ v)))

    def reduce(self, a: np.ndarray) -> np.ndarray:
        """Σ_e a_e z z'ᵀ, before the projection. O(Err')."""
        W = np.zeros((self.Z.shape[1], self.Z_objects.shape[1]))
        for block, starts, ends in self.blocks(sum(W.shape)):
            W += starts.T @ (a[block, None] * ends)
        return W


def _check_size(needed: int, size: int, features: str, max_bytes: int) -> None:
    if needed > max_bytes:
        what = "product features" if features == "product" else "observed edges"
        raise ValueError(
            f"the explicit solver needs about {needed / 2**30:.3g} GiB for a dense system over {size:,} {what}, more "
            f"than the {max_bytes / 2**30:.3g} GiB allowed; the other solvers of ConditionalRanker do not build one"
        )
