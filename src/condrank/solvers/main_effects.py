"""A preconditioner for what a constant in the node kernels adds to the dual system: main effects of the nodes.

With K = K₀ + c the edge kernel is that of K₀ plus B C Bᵀ, where B has a 1 for each end of an edge and C is c times the
node kernel. Each main effect is as strong as its node has edges, so all n of them slow the iteration down, too many for
low rank. But they are only n (or n + m), and one factorisation of that size removes them exactly: with U = Rᵀ B, R the
root of the loss, and μ = λ + the mean of all other eigenvalues,

    P = U C Uᵀ + μ I,    P⁻¹ = (I - U S Uᵀ) / μ,    S = (μ I + C UᵀU)⁻¹ C,

where UᵀU is sparse, up to rank one or a sparse product. P is positive definite if C is, or if its negative eigenvalues
are small beside μ.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg, sparse

from condrank.base.blocks import one_thread_a_product
from condrank.base.measured import (
    EFFECTS_ROUNDING_EPS,
    ONE_THREAD_MOST_EFFECTS,
    PRECONDITIONER_COST_SHARE,
    SINGLE_TIME_PER_DOUBLE_TIME,
    SOLVED_FLOPS_PER_ENTRY,
    STEP_FLOPS,
    TIMES_FLOPS_PER_MULTIPLICATION,
    UNEVEN_ITERATIONS_FACTOR,
    UNEVEN_MEAN_SQUARES_FACTOR,
)
from condrank.problem.expected import Strengths, dual_steps, moment_steps
from condrank.products.kronecker import KroneckerEdges
from condrank.products.sampled import SampledProducts
from condrank.solvers.edge_preconditioner import EdgeSpectrum, kronecker
from condrank.solvers.krylov import Operator

if TYPE_CHECKING:
    from condrank.solvers.dual import DualSystem

# Sums of kernel values between these are far from overflow in single precision.
LEAST, MOST = 1e-15, 1e15
# Power steps that estimate the strongest main effect.
POWER_STEPS = 8
# Share of a strong constant that stays in the kernel of the effects, because the constant is an estimate, and what is
# left should be definite. The rest would cost the digits of single precision. Without it there are up to half as many
# iterations again.
KEPT = 0.1
# In single precision μ is raised by up to this factor to keep P⁻¹ definite. Beyond it, double precision is faster.
MOST_RAISED = 3.0
# Eigenvalues of a kernel from which the constant is subtracted.
MOST_EIGENVALUES = 32


class MainEffects:
    """P⁻¹ for the main effects of a dual system with a Kronecker edge kernel, for any λ.

    Parameters
    ----------
    system : DualSystem
        The system.

    Notes
    -----
    Each λ costs a factorisation of the n nodes (n + m of two domains), in single precision if P⁻¹ stays definite, and
    sparse products of O(n_pairs n). Applying P⁻¹ costs O(n_pairs + n²): little beside a product.
    """

    def __init__(self, system: DualSystem):
        kernel, edges, sign = kronecker(system), system.edges, kronecker(system).relation.sign
        self.system, (n, m) = system, edges.shape
        c, c_objects = system.constants
        sources, targets, weights = edges.sources, edges.indices, system.weights.astype(np.float64)
        # Ends of an edge that are main effects, and their signs; node kernels, their constants and factors.
        if system.loss.centres_rows:
            # Row effects are what the ranking loss centres away.
            self.ends, self.size = [(targets, 1)], m
            self.blocks = [(kernel.K, c, c / 2)] if sign else [(kernel.G, c_objects, c)]
        elif sign:
            self.ends, self.size = [(sources, 1), (targets, sign)], n
            self.blocks = [(kernel.K, c, c / 2)]
        else:
            self.ends, self.size = [(sources, 1), (n + targets, 1)], n + m
            self.blocks = [(kernel.K, c, c_objects), (kernel.G, c_objects, c)]
        # Where the sum of all effects is zero or centred away, the constant of C makes no difference but in rounding.
        # Elsewhere it stays, so that C is definite. That counts the constant twice, in one direction.
        self.without_constant = system.loss.centres_rows or system.loss.fits_intercept or sign < 0
        self.of_constant = 2 * c * c_objects * float(weights.sum())
        own = float(weights @ rest_diagonal(kernel, c, c_objects)) / max(1, edges.n_pairs)
        # Two directions of one pair share an eigenvector, with twice the eigenvalue.
        self.rest = max(0.0, own) / kernel.distinct_share
        first, second = self.ends[0][0], self.ends[-1][0]
        self.degrees = np.sum([np.bincount(end, weights, self.size) for end, _ in self.ends], axis=0)
        if system.loss.centres_rows:
            entries = weights * system.root.row_unit[sources]
            self._linked = sparse.csr_array((entries, (sources, targets)), shape=(n, m))
        else:
            linked = sparse.csr_array((self.ends[-1][1] * weights, (first, second)), shape=(self.size, self.size))
            self._linked = sparse.csr_array(linked + linked.T)

    def gram_times(self, X: np.ndarray) -> np.ndarray:
        """UᵀU X for X (size, k). O(n_pairs k)."""
        out = self._times(self._linked, X)
        if self.system.loss.centres_rows:
            out = self._times(sparse.csr_array(self._linked.T), out)
            np.negative(out, out=out)
        out += self.degrees.astype(X.dtype)[:, None] * X
        if self.system.loss.fits_intercept:
            sums = self._sums(self.system.weights).astype(X.dtype)
            out -= np.multiply.outer(sums, (sums @ X) / X.dtype.type(self.system.root.total))
        return out

    def _times(self, A: sparse.csr_array, X: np.ndarray) -> np.ndarray:
        """A X by the loops of sampled products, which take half the time of SciPy's."""
        products = SampledProducts(A.indptr, A.indices, (A.indptr.size - 1, len(X)), self.system.backend)
        return products.times(A.data.astype(X.dtype), X)

    def effects_kernel(self, dtype: np.dtype, kept: float = 1.0) -> np.ndarray:
        """C (size, size), the kernel of the main effects, with a share of the constant if it matters."""
        C = np.zeros((self.size, self.size), dtype=dtype) if len(self.blocks) > 1 else np.empty(0, dtype)
        at = 0
        for K, constant, factor in self.blocks:
            block = K.astype(dtype)
            if self.without_constant or kept < 1:
                block -= dtype.type(constant if self.without_constant else (1 - kept) * constant)
            block *= dtype.type(factor)
            if len(self.blocks) == 1:
                return block
            part = slice(at, at := at + len(K))
            C[part, part] = block
        return C

    def _sums(self, r: np.ndarray) -> np.ndarray:
        """Bᵀ r over the nodes. O(n_pairs)."""
        return np.asarray(sum(sign * np.bincount(end, r, self.size) for end, sign in self.ends))

    def at(self, alpha: float) -> Operator:
        """P⁻¹ for one λ, as a function of a vector on the edges."""
        mu = alpha + self.rest
        for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
            noise = EFFECTS_ROUNDING_EPS * float(np.finfo(dtype).eps)
            C = self.effects_kernel(dtype, 1.0 if noise * self.of_constant <= mu else KEPT)
            M = self.gram_times(C).T
            floor = noise * largest(M)
            if floor <= MOST_RAISED * mu:
                break
        mu = max(mu, floor)
        np.einsum("ii->i", M)[:] += dtype.type(mu)
        with one_thread_a_product() if self.size <= ONE_THREAD_MOST_EFFECTS else nullcontext():
            factors = linalg.lu_factor(M, overwrite_a=True, check_finite=False)
        system = self.system

        def inverse(c: np.ndarray) -> np.ndarray:
            x = linalg.lu_solve(factors, C @ self._sums(system.root(c)).astype(dtype), check_finite=False)
            f = sum(sign * x[end] for end, sign in self.ends)
            out = system.root.transposed(np.asarray(f).astype(c.dtype, copy=False))
            np.subtract(c, out, out=out)
            out /= c.dtype.type(mu)
            return out

        return inverse


def largest(M: np.ndarray) -> float:
    """Approximately the largest eigenvalue of a product of two positive semidefinite matrices, by power steps."""
    x, size = np.random.default_rng(0).normal(size=len(M)).astype(M.dtype), 0.0
    for _ in range(POWER_STEPS):
        x = M @ x
        size = float(np.linalg.norm(x))
        if not size:
            return 0.0
        x /= x.dtype.type(size)
    return size


def rest_diagonal(kernel: KroneckerEdges, c: float, c_objects: float) -> np.ndarray:
    """The kernel of each observed edge with itself, without constant and main effects. O(n_pairs)."""
    sources, targets, sign = kernel.edges.sources, kernel.edges.indices, kernel.relation.sign
    own = (kernel.K.diagonal() - c)[sources] * (kernel.G.diagonal() - c_objects)[targets]
    return (own + sign * (kernel.K[sources, targets] - c) ** 2) / 2 if sign else own


def rest_steps(
    system: DualSystem, spectrum: EdgeSpectrum | None, alpha: float, tol: float, uneven: bool = False
) -> float:
    """Expected iterations without constant and main effects, from means, mean squares and known eigenvalues. O(n²).

    ``uneven`` says that pairs are known unevenly, which takes more iterations.
    """
    kernel, edges = kronecker(system), system.edges
    weights = system.weights.astype(np.float64)
    c, c_objects = system.constants
    share, size = kernel.distinct_share, float(np.prod(edges.shape))
    square = np.prod([centred_square(K, one) for K, one in ((kernel.K, c), (kernel.G, c_objects))])
    square = float(weights.mean()) ** 2 * float(square) / (2 if kernel.relation.sign else 1)
    diagonal = float(weights @ rest_diagonal(kernel, c, c_objects)) / edges.n_pairs / share
    if not (c > 0 and c_objects > 0 and LEAST < diagonal < MOST and LEAST < square < MOST):
        return np.inf
    by_squares, by_values = (UNEVEN_MEAN_SQUARES_FACTOR, UNEVEN_ITERATIONS_FACTOR) if uneven else (1.0, 1.0)
    steps = by_squares * moment_steps(diagonal, square, share * edges.n_pairs, share * size, alpha, tol)
    if spectrum is None:
        return steps
    left = without_constant(spectrum.sigma, spectrum.Z, c)
    right = left if spectrum.Z_objects is spectrum.Z else without_constant(spectrum.tau, spectrum.Z_objects, c_objects)
    values = np.multiply.outer(left, right)
    if kernel.relation.sign:
        values = values[np.triu_indices(len(left), 0 if kernel.relation.sign > 0 else 1)]
    values = float(weights.mean()) * np.sort(values.ravel())[::-1]
    strengths = Strengths(values, np.ones(len(values)), np.nan, square)
    found = dual_steps(strengths, share * edges.n_pairs, share * size, alpha, tol, (0,), diagonal)
    return min(steps, by_values * float(found[0]))


def without_constant(sigma: np.ndarray, Z: np.ndarray, c: float) -> np.ndarray:
    """The eigenvalues that are left of the strongest σ, with ZᵀZ = diag(σ), after c is subtracted from the kernel."""
    k = min(len(sigma), MOST_EIGENVALUES)
    sigma, roots = sigma[:k].astype(np.float64), np.sqrt(sigma[:k].clip(1e-300)).astype(np.float64)
    along = Z[:, :k].sum(axis=0, dtype=np.float64) / roots
    return np.linalg.eigvalsh(np.diag(sigma) - c * np.multiply.outer(along, along))[::-1].clip(0)


def main_effects_cost(size: int, n_pairs: int, loops: str, steps: float, step: float) -> float:
    """Cost of a solve in ``steps`` iterations that cost ``step`` each, with the factorisation of ``size`` effects."""
    build = SINGLE_TIME_PER_DOUBLE_TIME * (size**3 / 3 + 2 * TIMES_FLOPS_PER_MULTIPLICATION[loops] * n_pairs * size)
    return build + STEP_FLOPS + steps * (step + STEP_FLOPS + SOLVED_FLOPS_PER_ENTRY * size**2)


def pays(cost: float, otherwise: float) -> bool:
    """Whether main effects are worth their factorisation."""
    return cost < PRECONDITIONER_COST_SHARE * otherwise


def n_effects(shape: tuple[int, int], ranking: bool, two_domains: bool) -> int:
    """Number of main effects: of the objects for the ranking loss, else of both sides."""
    n, m = shape
    return m if ranking or not two_domains else n + m


def centred_square(K: np.ndarray, c: float) -> float:
    """Sum of (K - c)², at least 0. O(n²), without a copy."""
    square, n = float(np.linalg.norm(K)) ** 2, len(K)
    return max(0.0, square - 2 * c * float(K.sum(dtype=np.float64)) + n * n * c * c)
