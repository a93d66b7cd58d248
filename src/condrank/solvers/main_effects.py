"""A preconditioner for what a constant in the node kernels adds to the dual system: main effects of the nodes.

With K = K₀ + c the edge kernel is that of K₀ plus B C Bᵀ, where B has a 1 for each end of an edge and C is c times the
node kernel. Each main effect is as strong as its node has edges, so all n of them slow the iteration down, too many for
low rank. With D the diagonal of BᵀMB for the weights M, the columns of U = Rᵀ B D^(-½) are nearly orthonormal if edges
are many and spread, and more so after a step (I - Δ/2) with Δ = UᵀU - I, which never makes one longer than 1. With
T = D^½ C D^½, μ the mean of all other eigenvalues, and N Nᵀ = μ (T + μ)⁻¹ this gives

    P⁻¹ = E Eᵀ / μ,    E = I - U (I - N) Uᵀ,

the inverse of U T Uᵀ + μ I if U is orthonormal, and positive semidefinite for every U and N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg, sparse

from condrank.base.measured import MAIN_EFFECTS_EIGENVECTORS
from condrank.problem.expected import moment_steps
from condrank.products.kronecker import KroneckerEdges
from condrank.solvers.edge_preconditioner import kronecker, top_eigenpairs
from condrank.solvers.krylov import Operator

if TYPE_CHECKING:
    from condrank.solvers.dual import DualSystem

# Below this squared length the direction of all main effects together is not in the system, as for ranking.
SHORTEST = 0.1
# Sums of kernel values between these are far from overflow in single precision.
LEAST, MOST = 1e-15, 1e15


class MainEffects:
    """P⁻¹ for the main effects of a dual system with a Kronecker edge kernel, for any λ.

    Parameters
    ----------
    system : DualSystem
        The system.

    Notes
    -----
    Building costs O(n² k) for a few eigenvectors k, and applying P⁻¹ costs O(n_pairs + n k): little beside a product.
    """

    def __init__(self, system: DualSystem):
        kernel, edges, sign = kronecker(system), system.edges, kronecker(system).relation.sign
        self.system, (n, m) = system, edges.shape
        c, c_objects = constant_part(kernel.K), constant_part(kernel.G)
        sources, targets, weights = edges.sources, edges.indices, system.weights.astype(np.float64)
        # Row effects are what the ranking loss centres away.
        self.ends: list[tuple[np.ndarray, int]] = [(targets, 1)]
        # Node kernels, what is subtracted from them, and the factor of the rest.
        blocks = [(kernel.K, c, c / 2)] if sign else [(kernel.G, c_objects, c)]
        if system.loss.centres_rows:
            degrees = np.bincount(targets, weights, m)
        elif sign:
            self.ends = [(sources, 1), (targets, sign)]
            blocks = [(kernel.K, c / 2, c / 2)]
            degrees = np.bincount(sources, weights, n) + np.bincount(targets, weights, n)
        else:
            self.ends = [(sources, 1), (n + targets, 1)]
            blocks.insert(0, (kernel.K, 0.0, c_objects))
            degrees = np.append(np.bincount(sources, weights, n), np.bincount(targets, weights, m))
        self.size = len(degrees)
        roots = np.sqrt(degrees.clip(0))
        self.inverse_roots = np.divide(1, roots, out=np.zeros_like(roots), where=roots > 1e-6 * roots.max(initial=0.0))
        self.rest = max(0.0, float(weights @ rest_diagonal(kernel, c, c_objects)) / max(1, edges.n_pairs))
        at, parts, self.own = 0, [], np.zeros(self.size)
        for K, subtracted, factor in blocks:
            part = slice(at, at + len(K))
            # A preconditioner need not be precise, so this copy is in single precision.
            T, scale = K.astype(np.float32), (np.sqrt(factor) * roots[part]).astype(np.float32)
            T -= np.float32(subtracted)
            T *= scale[:, None]
            T *= scale
            V = top_eigenpairs(T, min(len(K), MAIN_EFFECTS_EIGENVECTORS))[1].astype(np.float64)
            self.own[part] = (T.diagonal() - np.einsum("ij,ij->i", V, V)).clip(0)
            parts.append(V)
            at += len(K)
        self.V = np.asarray(linalg.block_diag(*parts))
        self.common, self.excess = np.zeros(self.size), 0.0
        if system.loss.centres_rows:
            entries = weights * system.root.row_unit[sources] * self.inverse_roots[targets]
            self._overlap = sparse.csr_array((entries, (sources, targets)), shape=(n, m))
        else:
            first, second = (end for end, _ in self.ends)
            entries = (sign or 1) * weights * self.inverse_roots[first] * self.inverse_roots[second]
            overlap = sparse.csr_array((entries, (first, second)), shape=(self.size, self.size))
            self._overlap = sparse.csr_array(overlap + overlap.T)
        # All main effects together are the one direction in which U is far from orthonormal: it gets its own length.
        unit = roots / max(float(np.linalg.norm(roots)), 1e-300)
        f = sum(factor * (self.inverse_roots * unit)[end] for end, factor in self.ends)
        square = float(np.linalg.norm(system.root.transposed(np.asarray(f).astype(system.weights.dtype))) ** 2)
        if square > SHORTEST:
            self.common, self.excess = unit, square - 1
            self.V += np.multiply.outer((np.sqrt(square) - 1) * unit, unit @ self.V)
        self.V += 0.5 * (self.overlap(self.V) - np.multiply.outer(self.excess * self.common, self.common @ self.V))

    def overlap(self, x: np.ndarray) -> np.ndarray:
        """Δ x, of two ends in one edge, or of two ends in one row whose mean is subtracted. O(n_pairs)."""
        if self.system.loss.centres_rows:
            return -(self._overlap.T @ (self._overlap @ x))
        return self._overlap @ x

    def spread(self, x: np.ndarray) -> np.ndarray:
        """U x over the edges. O(n_pairs)."""
        x = self._scaled(x) * self.inverse_roots
        f = sum(factor * x[end] for end, factor in self.ends)
        return self.system.root.transposed(np.asarray(f).astype(self.system.weights.dtype, copy=False))

    def gathered(self, c: np.ndarray) -> np.ndarray:
        """Uᵀ c over the nodes. O(n_pairs)."""
        r = self.system.root(c)
        total = sum(factor * np.bincount(end, r, self.size) for end, factor in self.ends)
        return self._scaled(np.asarray(total) * self.inverse_roots)

    def _scaled(self, x: np.ndarray) -> np.ndarray:
        """(I - Δ/2) x, but exactly (UᵀU)^(-½) x along the common direction. O(n_pairs)."""
        along = float(self.common @ x)
        out = x + ((1 + self.excess) ** -0.5 - 1 + 0.5 * self.excess) * along * self.common
        out -= 0.5 * self.overlap(x)
        return out

    def at(self, alpha: float) -> Operator:
        """P⁻¹ for one λ, as a function of a vector on the edges."""
        mu = alpha + self.rest
        roots = np.sqrt(mu + self.own)
        W = self.V / roots[:, None]
        squares, Q = np.linalg.eigh(W.T @ W)
        held = squares > 1e-12 * squares.max(initial=0.0)
        Q = W @ (Q[:, held] / np.sqrt(squares[held]))
        change = 1 / np.sqrt(1 + squares[held]) - 1
        outer = np.sqrt(mu) / roots

        def inverse(c: np.ndarray) -> np.ndarray:
            x = self.gathered(c)
            y = outer * x
            d = c - self.spread(x - (y + Q @ (change * (Q.T @ y)))).astype(c.dtype, copy=False)
            x = self.gathered(d)
            moved = outer * (x + Q @ (change * (Q.T @ x)))
            return (d - self.spread(x - moved).astype(c.dtype, copy=False)) / c.dtype.type(mu)

        return inverse


def constant_part(K: np.ndarray) -> float:
    """The constant in a node kernel: the mean of its values between different nodes, at least 0. O(n²)."""
    n = len(K)
    total = float(K.sum(dtype=np.float64)) - float(K.diagonal().sum(dtype=np.float64))
    return max(0.0, total / max(1, n * (n - 1)))


def rest_diagonal(kernel: KroneckerEdges, c: float, c_objects: float) -> np.ndarray:
    """The kernel of each observed edge with itself, without constant and main effects. O(n_pairs)."""
    sources, targets, sign = kernel.edges.sources, kernel.edges.indices, kernel.relation.sign
    own = (kernel.K.diagonal() - c)[sources] * (kernel.G.diagonal() - c_objects)[targets]
    return (own + sign * (kernel.K[sources, targets] - c) ** 2) / 2 if sign else own


def rest_steps(system: DualSystem, alpha: float, tol: float) -> float:
    """Expected iterations without constant and main effects, from means and mean squares as `moment_steps`. O(n²)."""
    kernel, edges = kronecker(system), system.edges
    weights = system.weights.astype(np.float64)
    c, c_objects = constant_part(kernel.K), constant_part(kernel.G)
    share, size = kernel.distinct_share, float(np.prod(edges.shape))
    square = np.prod([centred_square(K, one) for K, one in ((kernel.K, c), (kernel.G, c_objects))])
    square = float(weights.mean()) ** 2 * float(square) / (2 if kernel.relation.sign else 1)
    diagonal = float(weights @ rest_diagonal(kernel, c, c_objects)) / edges.n_pairs / share
    if not (c > 0 and c_objects > 0 and LEAST < diagonal < MOST and LEAST < square < MOST):
        return np.inf
    return moment_steps(diagonal, square, share * edges.n_pairs, share * size, alpha, tol)


def centred_square(K: np.ndarray, c: float) -> float:
    """Sum of (K - c)², at least 0. O(n²), without a copy."""
    square, n = float(np.linalg.norm(K)) ** 2, len(K)
    return max(0.0, square - 2 * c * float(K.sum(dtype=np.float64)) + n * n * c * c)
