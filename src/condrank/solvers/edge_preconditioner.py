"""A low-rank preconditioner of the dual system on the observed edges.

The strongest t products √(σ_p σ'_q) u_p(i) u'_q(j) of the node kernels' eigenvectors are features Φ (n_pairs, t) of the
edges with Φ Φᵀ ≈ K̄. With R the root of the loss and μ = λ + the mean diagonal of what is left, the preconditioner is

    P = Rᵀ Φ Φᵀ R + μ I,    P⁻¹ = (I - Rᵀ Φ (Φᵀ R Rᵀ Φ + μ I)⁻¹ Φᵀ R) / μ,

positive definite for every Φ. Φ is never held: Φ w and Φᵀ r are sampled products of rank k ≪ n with the eigenvectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from condrank.base.measured import AT_EDGES_FLOPS_PER_MULTIPLICATION, FEATURE_BLOCK_ENTRIES, GRAM_ROUNDING_EPS
from condrank.objective.relations import Relation
from condrank.problem.problem import n_eigenvectors
from condrank.products.kronecker import KroneckerEdges, loops_for
from condrank.products.sampled import SampledProducts
from condrank.solvers.krylov import Operator

if TYPE_CHECKING:
    from condrank.solvers.dual import DualSystem


def block_rows(t: int) -> int:
    """Pairs whose t features are held at a time."""
    return max(2 * t, FEATURE_BLOCK_ENTRIES // t)


def top_eigenpairs(K: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """σ (k,), descending, and Z (n, k) with ZᵀZ = diag(σ) and ZZᵀ ≤ K the part of K that k vectors hold best, nearly.

    A randomised Nyström approximation after one power step: two products O(n²k); eigsh takes ten times as long.
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
    # Directions below rounding (or negative, of an indefinite kernel) are left out: their share of ZZᵀ becomes zero.
    held = inner > 100 * np.finfo(K.dtype).eps * inner[-1]
    F = B @ (V[:, held] / np.sqrt(inner[held]))
    sigma, U = np.linalg.eigh(F.T @ F)
    return sigma[::-1][:k].clip(0), F @ U[:, ::-1][:, :k]


class EdgeSpectrum:
    """Eigenvectors of the node kernels and the strongest products of two of them, as features of edges.

    Products (p, q) come as a staircase: for each p, the q below ``stop[p]`` (from p on, symmetric; from p + 1 on,
    reciprocal), since σ' descends.
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
        """(p, first q, last q + 1) of about the t strongest products; ties at the end are all in."""
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
        The system, λ left open.
    spectrum : EdgeSpectrum
        Of its node kernels.
    t : int
        Number of features; ties at the end are all in.
    alpha : float
        The smallest λ it is meant for.

    Notes
    -----
    Building costs O(n_pairs t²) in blocks, in single precision where that leaves P⁻¹ definite; a further λ t³;
    applying O(n_pairs k + t²).
    """

    def __init__(self, system: DualSystem, spectrum: EdgeSpectrum, t: int, alpha: float):
        kernel, edges = kronecker(system), system.edges
        self.system, self.sign = system, kernel.relation.sign
        self.stairs = spectrum.stairs(t)
        self.p = np.concatenate([np.full(stop - start, p) for p, start, stop in self.stairs])
        self.q = np.concatenate([np.arange(start, stop) for _, start, stop in self.stairs])
        self.Z_objects = np.ascontiguousarray(spectrum.Z_objects[:, : self.q.max() + 1])
        self.Z = self.Z_objects if self.sign else np.ascontiguousarray(spectrum.Z[:, : self.p.max() + 1])
        # (z_p z_q' ± z_q z_p') of a pair p < q has length √2, and 2 z_p z_p' of a square length 2.
        self.scale = np.where(self.p == self.q, 0.5, np.sqrt(0.5)) if self.sign else np.ones(len(self.p))
        self.products = SampledProducts(edges.indptr, edges.indices, edges.shape, system.backend)
        weights = system.weights.astype(np.float64)
        trace = float(weights @ kernel.diagonal())
        strongest = self.Z[edges.sources, self.p[0]] * self.Z_objects[edges.indices, self.q[0]]
        largest = float(weights @ strongest.astype(np.float64) ** 2)
        # Rounding of the Gram matrix has to stay below μ, or P⁻¹ could lose its definiteness: where single precision
        # would have to raise μ for that, double precision takes over.
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
            # The rows' means: features of row i with Σ m z'(j) / √Σ m in the place of z'(j).
            means = self.products.times(system.weights, self.Z_objects) * system.root.row_unit[:, None]
            gram -= self._gram(np.arange(len(self.Z)), np.arange(len(self.Z)), None, dtype, means)
        self.gram = gram

    def _gram(
        self,
        rows: np.ndarray,
        cols: np.ndarray,
        root: np.ndarray | None,
        dtype: np.dtype,
        Z_objects: np.ndarray | None = None,
    ) -> np.ndarray:
        """Φᵀ M Φ (t, t) over pairs (rows, cols) of weight root², a block of pairs at a time. O(n_pairs t²)."""
        t = len(self.p)
        gram = np.zeros((t, t))
        Z = self.Z.astype(dtype, copy=False)
        Z_objects = (self.Z_objects if Z_objects is None else Z_objects).astype(dtype, copy=False)
        # Long blocks, so that the t² of adding them up stay small beside their t² a pair.
        step = block_rows(t)
        features, added = np.empty((min(step, len(rows)), t), dtype=dtype), np.empty((t, t), dtype=dtype)
        for first in range(0, len(rows), step):
            left, right = Z[rows[first : first + step]], Z_objects[cols[first : first + step]]
            if root is not None:
                # Both terms of a feature hold one factor of either side, so one side carries the weight.
                left = left * root[first : first + step, None].astype(dtype, copy=False)
            block = features[: len(left)]
            self._fill(left, right, block)
            gram += np.matmul(block.T, block, out=added)
        gram *= np.multiply.outer(self.scale, self.scale)
        return gram

    def _fill(self, left: np.ndarray, right: np.ndarray, block: np.ndarray) -> None:
        """z_p(i) z'_q(j), or z_p(i) z_q(j) ± z_q(i) z_p(j), for the pairs whose coordinates are given."""
        at = 0
        for p, start, stop in self.stairs:
            part = block[:, at : at + stop - start]
            np.multiply(left[:, p, None], right[:, start:stop], out=part)
            if self.sign:
                part += (self.sign * right[:, p, None]) * left[:, start:stop]
            at += stop - start

    def at(self, alpha: float) -> Operator:
        """P⁻¹ for one λ, as a function of a vector on the edges. t³, then O(n_pairs k + t²) a call."""
        system, p, q, sign = self.system, self.p, self.q, self.sign
        mu = max(alpha + self.tail, self.floor)
        inner = self.gram.copy()
        np.einsum("ii->i", inner)[:] += mu
        # (Φᵀ R Rᵀ Φ + μ I)⁻¹ = Fᵀ F, so that an iteration multiplies, in the threads of its other products.
        F = np.linalg.inv(np.linalg.cholesky(inner))
        del inner

        edges = system.edges
        dense = AT_EDGES_FLOPS_PER_MULTIPLICATION[
            loops_for(system.backend, edges.n_pairs, self.Z.shape[1])
        ] * edges.n_pairs > np.prod(edges.shape)
        at = edges.sources * edges.shape[1] + edges.indices if dense else None

        def inverse(c: np.ndarray) -> np.ndarray:
            M = self.Z.T @ self.products.times(system.root(c), self.Z_objects)
            w = (M[p, q] + sign * M[q, p] if sign else M[p, q]) * self.scale
            w = F.T @ (F @ w) * self.scale
            M[:] = 0
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
    """The system's kernel, which has to be a Kronecker one."""
    if not isinstance(system.kernel, KroneckerEdges):
        raise ValueError(f"the preconditioner needs a Kronecker edge kernel, got the {system.kernel.name} one")
    return system.kernel
