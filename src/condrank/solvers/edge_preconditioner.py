"""A low-rank preconditioner of the dual system on the observed edges.

The strongest t products √(σ_p σ'_q) u_p(i) u'_q(j) of eigenvectors of the node kernels are features Φ (n_pairs, t) of
the edges, with Φ Φᵀ ≈ K̄. With R the root of the loss and μ = λ + the mean diagonal of K̄ - Φ Φᵀ, the preconditioner is

    P = Rᵀ Φ Φᵀ R + μ I,    P⁻¹ = (I - Rᵀ Φ (Φᵀ R Rᵀ Φ + μ I)⁻¹ Φᵀ R) / μ,

positive definite for every Φ. Φ is never stored: Φ w and Φᵀ r are sampled products of rank k ≪ n with the eigenvectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from condrank.base.measured import AT_EDGES_FLOPS_PER_MULTIPLICATION, FEATURE_BLOCK_ENTRIES, GRAM_ROUNDING_EPS
from condrank.objective.relations import Relation
from condrank.problem.problem import n_eigenvectors
from condrank.products.cost import loops_for
from condrank.products.kronecker import KroneckerEdges
from condrank.products.sampled import SampledProducts
from condrank.solvers.krylov import Operator

if TYPE_CHECKING:
    from condrank.solvers.dual import DualSystem


def block_rows(t: int) -> int:
    """Number of pairs whose t features are in memory at a time."""
    return max(2 * t, FEATURE_BLOCK_ENTRIES // t)


def top_eigenpairs(K: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """σ (k,), descending, and Z (n, k) with ZᵀZ = diag(σ), such that ZZᵀ ≤ K is nearly the best of rank k.

    A randomised Nyström approximation after one power step, by two products of O(n²k). eigsh takes ten times as long.
    """
    n = len(K)
    if n <= 4 * k:
        sigma, Q = np.linalg.eigh(K)
        sigma, Q = sigma[::-1][:k].clip(0), Q[:, ::-1][:, :k]
        return sigma, Q * np.sqrt(sigma)
    sketch = np.random.default_rng(0).standard_normal((n, k + 8), dtype=np.float64).astype(K.dtype, copy=False)
    Q = np.linalg.qr(K @ sketch).Q
    B = K @ Q
    inner, V = np.linalg.eigh(Q.T @ B)
    # Directions below rounding (or negative, if the kernel is indefinite) are dropped: they add nothing to ZZᵀ.
    held = inner > 100 * np.finfo(K.dtype).eps * inner[-1]
    F = B @ (V[:, held] / np.sqrt(inner[held]))
    sigma, U = np.linalg.eigh(F.T @ F)
    return sigma[::-1][:k].clip(0), F @ U[:, ::-1][:, :k]


class EdgeSpectrum:
    """Eigenvectors of the node kernels and the strongest products of two of them, as features of edges.

    As σ' descends, the strongest products (p, q) form a staircase: for each p all q up to some end, starting at 0
    (ordinary), p (symmetric) or p + 1 (reciprocal).
    """

    def __init__(self, relation: Relation, K: np.ndarray, G: np.ndarray, k: int | None = None):
        self.relation = relation
        self.sigma, self.Z = top_eigenpairs(K, k or n_eigenvectors(len(K)))
        self.tau, self.Z_objects = (self.sigma, self.Z) if G is K else top_eigenpairs(G, k or n_eigenvectors(len(G)))
        strength = np.multiply.outer(self.sigma, self.tau)
        if relation.sign:
            strength = np.triu(strength, k=0 if relation.sign > 0 else 1)
        self.strengths = np.sort(strength.ravel())[::-1].astype(np.float64)
        self.strengths = self.strengths[: np.count_nonzero(self.strengths > 1e-12 * self.strengths[0])]
        self._strength = strength

    def stairs(self, t: int) -> list[tuple[int, int, int]]:
        """(p, first q, last q + 1) of about the t strongest products; all ties at the end are included."""
        least = self.strengths[min(t, len(self.strengths)) - 1]
        stairs = []
        for p, row in enumerate(self._strength):
            kept = np.flatnonzero(row >= least)
            if len(kept):
                stairs.append((p, int(kept[0]), int(kept[-1]) + 1))
        return stairs


class EdgePreconditioner:
    """P⁻¹ of a dual system with a Kronecker edge kernel, from t features, for any λ.

    Parameters
    ----------
    system : DualSystem
        The system.
    spectrum : EdgeSpectrum
        Spectrum of its node kernels.
    t : int
        Number of features; all ties at the end are included.
    alpha : float
        The smallest λ that it will be used with.

    Notes
    -----
    Building costs O(n_pairs t²), in blocks, and in single precision if P⁻¹ stays definite. A further λ costs t³, and
    applying P⁻¹ costs O(n_pairs k + t²).
    """

    def __init__(self, system: DualSystem, spectrum: EdgeSpectrum, t: int, alpha: float):
        kernel, edges = kronecker(system), system.edges
        self.system, self.sign = system, kernel.relation.sign
        self.stairs = spectrum.stairs(t)
        self.p = np.concatenate([np.full(stop - start, p) for p, start, stop in self.stairs])
        self.q = np.concatenate([np.arange(start, stop) for _, start, stop in self.stairs])
        self.Z_objects = np.ascontiguousarray(spectrum.Z_objects[:, : self.q.max() + 1])
        self.Z = self.Z_objects if self.sign else np.ascontiguousarray(spectrum.Z[:, : self.p.max() + 1])
        # For p < q, z_p z_q' ± z_q z_p' has length √2. For p = q it is 2 z_p z_p', of length 2.
        self.scale = np.where(self.p == self.q, 0.5, np.sqrt(0.5)) if self.sign else np.ones(len(self.p))
        self.products = SampledProducts(edges.indptr, edges.indices, edges.shape, system.backend)
        weights = system.weights.astype(np.float64)
        trace = float(weights @ kernel.diagonal())
        strongest = self.Z[edges.sources, self.p[0]] * self.Z_objects[edges.indices, self.q[0]]
        largest = float(weights @ strongest.astype(np.float64) ** 2)
        # The rounding error of the Gram matrix has to stay below μ, or P⁻¹ might not be definite. If single precision
        # would have to raise μ for that, double precision is used.
        taken = float(weights.mean() * spectrum.strengths[: len(self.p)].sum()) / np.prod(edges.shape)
        expected = max(0.0, trace / max(1, edges.n_pairs) - taken)
        for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
            self.floor = GRAM_ROUNDING_EPS * float(np.finfo(dtype).eps) * largest
            if dtype == np.float32 and self.floor > alpha + expected:
                continue
            gram = self._gram(edges.sources, edges.indices, np.sqrt(system.weights), dtype)
            self.tail = max(0.0, trace - float(np.trace(gram))) / max(1, edges.n_pairs)
            if self.floor <= alpha + self.tail:
                break
        if system.loss.centres_rows:
            # The part of the row means: the features of row i with Σ m z'(j) / √Σ m instead of z'(j).
            means = self.products.times(system.weights, self.Z_objects) * system.root.row_unit[:, None]
            gram -= self._gram(np.arange(len(self.Z)), np.arange(len(self.Z)), None, dtype, means)
        elif system.loss.fits_intercept:
            means = self._reduced(system.weights).astype(np.float64) / np.sqrt(system.root.total)
            gram -= np.multiply.outer(means, means)
        self.gram = gram

    def _gram(
        self,
        rows: np.ndarray,
        cols: np.ndarray,
        root: np.ndarray | None,
        dtype: np.dtype,
        Z_objects: np.ndarray | None = None,
    ) -> np.ndarray:
        """Φᵀ M Φ (t, t) over pairs (rows, cols) with weights root², one block of pairs at a time. O(n_pairs t²)."""
        t = len(self.p)
        gram = np.zeros((t, t))
        Z = self.Z.astype(dtype, copy=False)
        Z_objects = (self.Z_objects if Z_objects is None else Z_objects).astype(dtype, copy=False)
        # Blocks are long, so that adding a t×t matrix costs little beside the t² operations of each pair.
        step = block_rows(t)
        features, added = np.empty((min(step, len(rows)), t), dtype=dtype), np.empty((t, t), dtype=dtype)
        for first in range(0, len(rows), step):
            left, right = Z[rows[first : first + step]], Z_objects[cols[first : first + step]]
            if root is not None:
                # Both terms of a feature have one factor of each side, so it is enough to weight one side.
                left = left * root[first : first + step, None].astype(dtype, copy=False)
            block = features[: len(left)]
            self._fill(left, right, block)
            gram += np.matmul(block.T, block, out=added)
        gram *= np.multiply.outer(self.scale, self.scale)
        return gram

    def _reduced(self, entries: np.ndarray) -> np.ndarray:
        """Φᵀ times entries (n_pairs,) of the edges, (t,). O(n_pairs k)."""
        p, q, sign = self.p, self.q, self.sign
        M = self.Z.T @ self.products.times(entries, self.Z_objects)
        return (M[p, q] + sign * M[q, p] if sign else M[p, q]) * self.scale

    def _fill(self, left: np.ndarray, right: np.ndarray, block: np.ndarray) -> None:
        """Write z_p(i) z'_q(j), or z_p(i) z_q(j) ± z_q(i) z_p(j), into a block, from the coordinates of its pairs."""
        at = 0
        for p, start, stop in self.stairs:
            part = block[:, at : at + stop - start]
            np.multiply(left[:, p, None], right[:, start:stop], out=part)
            if self.sign:
                part += (self.sign * right[:, p, None]) * left[:, start:stop]
            at += stop - start

    def at(self, alpha: float) -> Operator:
        """P⁻¹ for one λ, as a function of a vector on the edges. Costs t³, and O(n_pairs k + t²) for each call."""
        system, p, q, sign = self.system, self.p, self.q, self.sign
        mu = max(alpha + self.tail, self.floor)
        inner = self.gram.copy()
        np.einsum("ii->i", inner)[:] += mu
        # (Φᵀ R Rᵀ Φ + μ I)⁻¹ = Fᵀ F: an iteration then multiplies by F, in the same threads as its other products.
        F = np.linalg.inv(np.linalg.cholesky(inner))
        del inner

        edges = system.edges
        dense = AT_EDGES_FLOPS_PER_MULTIPLICATION[
            loops_for(system.backend, edges.n_pairs, self.Z.shape[1])
        ] * edges.n_pairs > np.prod(edges.shape)
        at = edges.sources * edges.shape[1] + edges.indices if dense else None

        def inverse(c: np.ndarray) -> np.ndarray:
            w = self._reduced(system.root(c))
            w = F.T @ (F @ w) * self.scale
            M = np.zeros((self.Z.shape[1], self.Z_objects.shape[1]), dtype=self.Z.dtype)
            M[p, q] = w
            if sign:
                M += sign * M.T
            if at is not None:
                f = (self.Z @ M @ self.Z_objects.T).ravel()[at]
            else:
                f = self.products.at_edges(self.Z @ M, self.Z_objects)
            return (c - system.root.transposed(f)) / c.dtype.type(mu)

        return inverse


def kronecker(system: DualSystem) -> KroneckerEdges:
    """The kernel of the system; a ValueError if it is not a Kronecker kernel."""
    if not isinstance(system.kernel, KroneckerEdges):
        raise ValueError(f"the preconditioner needs a Kronecker edge kernel, got the {system.kernel.name} kernel")
    return system.kernel
