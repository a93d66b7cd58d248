"""The posterior of the weights of an incomplete graph: H⁻¹ by one factorisation, or by adjoint solves.

H = Π[Zᵀ L_Ω(Z · Z') Z'] + λI is the system of the fit, so the variance φᵀH⁻¹φ of a score takes one more solution of it,
with φ as right-hand side. Its error is the square of the error of the solution, so a loose tolerance is enough. Few
weights are factorised once instead. A draw of the weights is H⁻¹ times a draw of covariance H: noise at the edges and
in the weights, and one more solution (Matheron's rule, written for the weights).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from condrank.base.blocks import row_blocks
from condrank.objective.edge_loss import LossRoot
from condrank.objective.relations import RECIPROCAL, SYMMETRIC
from condrank.solvers.krylov import krylov
from condrank.solvers.primal import PrimalSystem
from condrank.solvers.product_features import n_product_features, product_features, weight_matrix
from condrank.solvers.system import Options
from condrank.uncertainty.estimating import estimate
from condrank.uncertainty.functionals import Functionals

# Relative residual of an adjoint solve.
TOLERANCE = 1e-6
# Residual of a draw whose sampling error is some percent, relative to the noise √λ ξ of the prior: all that a draw has
# in directions that no label decides. Relative to the whole right-hand side it would be too loose for a small λ.
ESTIMATE_RESIDUAL = 0.01
MOST_ITERATIONS = 2000
# Larger relative residuals are reached in single precision alone.
SINGLE_LEAST_RESIDUAL = 1e-3


class SolvedPosterior:
    """Variances, covariances and draws by solutions of the system of the fit, in units of σ².

    Parameters
    ----------
    system : PrimalSystem
        The system, over edges with the weights of the loss at the solution.
    alpha : float
        λ.
    """

    way = "adjoint solves"

    def __init__(self, system: PrimalSystem, alpha: float):
        self.system, self.alpha, self.loss = system, alpha, system.loss
        compared = getattr(system, "compared", ())
        self.n_blocks = 1 + len(compared)
        self.total = system.total
        self.mean: np.ndarray | None = None
        if self.loss.fits_intercept:
            self.mean = system.reduce(system.weights) / system.total

    def solve(self, rhs: np.ndarray, tol: float = TOLERANCE) -> np.ndarray:
        """H⁻¹ times weights."""
        rhs = rhs.astype(self.system.Z.dtype, copy=False)
        return self.system.solve(self.alpha, Options(tol, MOST_ITERATIONS), rhs).W.astype(np.float64, copy=False)

    def _loosely(self, rhs: np.ndarray, tol: float) -> np.ndarray:
        """H⁻¹ times weights, by single precision alone: a residual that it can reach needs no refinement."""
        single, alpha = self._single, self.alpha
        return krylov(
            lambda W: single.apply(W.astype(np.float32), alpha).astype(np.float64),
            rhs.astype(np.float64, copy=False),
            precondition=self.system.preconditioner(self.loss, alpha, self.system.density),
            tol=tol,
            max_iter=MOST_ITERATIONS,
        ).x

    @cached_property
    def _single(self) -> PrimalSystem:
        return self.system.single()

    def _values(self, asked: Functionals, W: np.ndarray) -> np.ndarray:
        """Functionals of W, less the mean over the edges if there is an intercept."""
        values = asked.values(W)
        return values if self.mean is None else values - asked.constants * float(np.vdot(self.mean, W))

    def _weights(self, asked: Functionals, place: int, products: Any) -> np.ndarray:
        phi = asked.weights(place, products, self.n_blocks)
        return phi if self.mean is None else phi - asked.constants * self.mean

    @property
    def _constant(self) -> float:
        return 0.0 if self.mean is None else 1 / self.total

    n_factorised: int | None = None

    def quadratic(self, asked: Functionals, prior: Any = 0.0) -> np.ndarray:
        """Variances of functionals, (P,): P solutions."""
        products, out = asked.products(), np.empty(len(asked))
        for place in range(len(asked)):
            phi = self._weights(asked, place, products)
            out[place] = float(np.vdot(phi, self.solve(phi)))
        return out + asked.constants**2 * self._constant

    def gram(self, asked: Functionals) -> np.ndarray:
        """Covariances of functionals, (P, P): P solutions."""
        products, out = asked.products(), np.empty((len(asked), len(asked)))
        for place in range(len(asked)):
            out[place] = self._values(asked, self.solve(self._weights(asked, place, products)))
        return (out + out.T) / 2 + asked.constants**2 * self._constant

    def estimate(self, asked: Functionals, most: int, rng: np.random.Generator) -> np.ndarray:
        """Variances of many functionals, (P,), from at most ``most`` draws: few if there are no compared features."""
        if self.n_blocks == 1:
            return estimate(self, asked, most, rng) + asked.constants**2 * self._constant
        total = np.zeros(len(asked))
        for W, _ in self.draws_of(most, rng):
            total += self._values(asked, W) ** 2
        return total / most + asked.constants**2 * self._constant

    def draws_of(
        self, n: int, rng: np.random.Generator, residual: float | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Weights W with covariance H⁻¹ and HW, n times: n solutions.

        ``residual`` is that of a solution relative to the noise of the prior; by default as for an estimate.
        """
        system = self.system
        residual = ESTIMATE_RESIDUAL if residual is None else residual
        root = LossRoot(self.loss, system.edges, system.weights)
        relations = [system.relation] if self.n_blocks == 1 else [RECIPROCAL, *[SYMMETRIC] * (self.n_blocks - 1)]
        shape = (system.Z.shape[1], system.Z_objects.shape[1])
        for _ in range(n):
            noise = root(rng.standard_normal(system.edges.n_pairs).astype(system.Z.dtype, copy=False))
            prior = [relation.project(rng.standard_normal(shape)) for relation in relations]
            xi = np.sqrt(self.alpha) * (np.stack(prior) if self.n_blocks > 1 else prior[0])
            rhs = system.reduce(noise) + xi
            tol = max(TOLERANCE, residual * float(np.linalg.norm(xi) / np.linalg.norm(rhs)))
            yield (self.solve(rhs, tol) if tol < SINGLE_LEAST_RESIDUAL else self._loosely(rhs, tol)), rhs

    def draws(self, n: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, float]]:
        """Weights with covariance H⁻¹ and the constant that belongs to them, n times: n solutions."""
        for W, _ in self.draws_of(n, rng, 0.0):
            constant = 0.0
            if self.mean is not None:
                constant = float(rng.standard_normal()) * self._constant**0.5 - float(np.vdot(self.mean, W))
            yield W, constant


class FactorisedPosterior(SolvedPosterior):
    """The same for few weights, p ≤ a few thousand: one Cholesky factor of H. O(n_pairs p² + p³), once.

    The weights are those of product features, in which Π is built in: p = rr', or r(r ± 1)/2.
    """

    way = "one factorisation of the weights"

    def __init__(self, system: PrimalSystem, alpha: float):
        super().__init__(system, alpha)
        edges, Z = system.edges, system.Z.astype(np.float64, copy=False)
        Z_objects = system.Z_objects.astype(np.float64, copy=False)
        self.sizes = self._sizes(system)
        p, root = sum(self.sizes), np.sqrt(system.weights.astype(np.float64))
        H, sums = np.zeros((p, p)), np.zeros(p)
        rows = np.zeros((edges.shape[0], p)) if self.loss.centres_rows else None
        sources, targets = edges.sources, edges.indices
        signs = getattr(system, "signs", None)
        for block in row_blocks(edges.n_pairs, p):
            part = self._features(
                Z[sources[block]], Z_objects[targets[block]], None if signs is None else signs[:, block]
            )
            part *= root[block, None]
            H += part.T @ part
            part *= root[block, None]
            if rows is not None:
                np.add.at(rows, sources[block], part)
            sums += part.sum(axis=0)
        if rows is not None:
            totals = np.bincount(sources, weights=root**2, minlength=len(rows))
            filled = totals > 0
            rows = rows[filled] / np.sqrt(totals[filled])[:, None]
            H -= rows.T @ rows
        elif self.loss.fits_intercept:
            H -= np.multiply.outer(sums, sums / system.total)
        self.sums = sums / system.total
        np.einsum("ii->i", H)[:] += alpha
        self.factor = linalg.cholesky(H, lower=True, overwrite_a=True, check_finite=False)
        self.n_factorised = len(H)

    @staticmethod
    def _sizes(system: PrimalSystem) -> list[int]:
        """Number of product features of each block of weights."""
        r, r_objects = system.Z.shape[1], system.Z_objects.shape[1]
        compared = len(getattr(system, "compared", ()))
        relations = [system.relation] if not compared else [RECIPROCAL, *[SYMMETRIC] * compared]
        return [n_product_features(relation, r, r_objects) for relation in relations]

    @classmethod
    def n_weights(cls, system: PrimalSystem) -> int:
        """p, the number of weights to factorise."""
        return sum(cls._sizes(system))

    def _features(self, left: np.ndarray, right: np.ndarray, signs: Any) -> np.ndarray:
        if len(self.sizes) == 1:
            return product_features(self.system.relation, left, right)
        even = product_features(SYMMETRIC, left, right)
        parts = [product_features(RECIPROCAL, left, right), *(sign[:, None] * even for sign in signs)]
        return np.column_stack(parts)

    def _rows(self, asked: Functionals) -> np.ndarray:
        """L⁻¹φ of functionals, (p, P), with H = LLᵀ."""
        phi = sum(self._features(left, right, signs) for left, right, signs in asked.products())
        if self.mean is not None:
            phi = phi - asked.constants * self.sums
        return linalg.solve_triangular(self.factor, np.asarray(phi).T, lower=True, check_finite=False)

    def quadratic(self, asked: Functionals, prior: Any = 0.0) -> np.ndarray:
        """Variances of functionals, (P,). O(Pp²)."""
        rows = self._rows(asked)
        return np.einsum("ij,ij->j", rows, rows) + asked.constants**2 * self._constant

    def gram(self, asked: Functionals) -> np.ndarray:
        """Covariances of functionals, (P, P). O(Pp² + P²p)."""
        rows = self._rows(asked)
        return rows.T @ rows + asked.constants**2 * self._constant

    def draws(self, n: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, float]]:
        """Weights with covariance H⁻¹ and the constant that belongs to them, n times. O(p²) each, exact."""
        r, r_objects = self.system.Z.shape[1], self.system.Z_objects.shape[1]
        ends = np.cumsum(self.sizes)[:-1]
        for _ in range(n):
            noise = rng.standard_normal(len(self.factor))
            w = linalg.solve_triangular(self.factor, noise, lower=True, trans=1, check_finite=False)
            if len(self.sizes) == 1:
                W = weight_matrix(self.system.relation, w, r, r_objects)
            else:
                first, *others = np.split(w, ends)
                W = np.stack(
                    [weight_matrix(RECIPROCAL, first, r, r), *(weight_matrix(SYMMETRIC, o, r, r) for o in others)]
                )
            constant = 0.0
            if self.mean is not None:
                constant = float(rng.standard_normal()) * self._constant**0.5 - float(np.vdot(self.mean, W))
            yield W, constant
