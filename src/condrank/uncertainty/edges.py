"""The posterior over the observed edges: what the labels take away from the variance of the prior.

With t = k̄(p, edges), the variance of a score is σ²/λ [k̄(p, p) - tᵀR(RᵀK̄R + λI)⁻¹Rᵀt], where RRᵀ = L is the loss.
For few edges RᵀK̄R + λI is factorised once. For many, each t is one more right-hand side of the dual system of the fit,
whose preconditioner is built once and kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from condrank.base.blocks import row_blocks
from condrank.base.measured import CACHED_ENTRIES
from condrank.nodes.exact import spectrum
from condrank.objective.edge_loss import LossRoot
from condrank.objective.losses import Loss
from condrank.objective.relations import Relation
from condrank.observations import Edges
from condrank.products.kronecker import KroneckerEdges, bilinear
from condrank.solvers.dual import DualSystem, solve_dual
from condrank.solvers.dual_plan import plan_preconditioner
from condrank.uncertainty.functionals import Functionals
from condrank.uncertainty.places import Placed

# Relative residual of a solution over the edges. The variance is a difference, so it is tighter than for weights.
TOLERANCE = 1e-8
MOST_ITERATIONS = 5000
# From this many edges on, variances are tried in single precision, which takes half of the time. The bound of their
# relative error is one for the worst rounding: it was 100 times the error in all tests.
SINGLE_LEAST_PAIRS, SINGLE_MOST_ERROR = 1000, 1e-3


class EdgePosterior:
    """Variances, covariances and draws over the edges, in units of σ², without the variance of the prior.

    Parameters
    ----------
    relation : Relation
        Ordinary, symmetric or reciprocal.
    loss : Loss
        A quadratic loss.
    K, G : ndarray of shapes (n, n) and (m, m)
        Kernel values of the training nodes and objects; one array for both in a single domain.
    edges : Edges
        The observed pairs.
    weights : ndarray of shape (n_pairs,)
        Their weights in the loss.
    alpha : float
        λ.
    factorised : bool
        Whether to factorise the system, O(n_pairs³/3), instead of iterating.
    """

    def __init__(
        self,
        relation: Relation,
        loss: Loss,
        K: np.ndarray,
        G: np.ndarray,
        edges: Edges,
        weights: np.ndarray,
        alpha: float,
        factorised: bool,
    ):
        self.relation, self.loss, self.K, self.G, self.alpha = relation, loss, K, G, alpha
        self.edges, self.sources, self.targets = edges, edges.sources, edges.indices
        self.weights = weights.astype(np.float64, copy=False)
        self.total = float(self.weights.sum())
        self.way = "one factorisation of the edges" if factorised else "adjoint solves"
        self.factorised = factorised
        self.unit = self._unit()
        kernel = KroneckerEdges(relation, K, None if G is K else G, edges)
        self.system = DualSystem(kernel, loss, weights=weights.astype(K.dtype, copy=False))
        self.mean: np.ndarray | None = None
        if loss.fits_intercept:
            self.mean = kernel.product((self.weights / self.total).astype(K.dtype)).astype(np.float64)

    @property
    def n_factorised(self) -> int | None:
        """The number of rows of what is factorised; None if solutions are iterated."""
        return self.edges.n_pairs if self.factorised else None

    @cached_property
    def factor(self) -> np.ndarray:
        """The lower factor C of RᵀK̄R + λI = CCᵀ."""
        return linalg.cholesky(self._matrix(np.float64), lower=True, overwrite_a=True, check_finite=False)

    @cached_property
    def rough(self) -> tuple[np.ndarray, float]:
        """The same in single precision, and a bound of the relative error of tᵀR(CCᵀ)⁻¹Rᵀt: ε‖CCᵀ‖/λ."""
        H = self._matrix(np.float32)
        bound = float(np.finfo(np.float32).eps) * float(np.linalg.norm(H)) / self.alpha
        return linalg.cholesky(H, lower=True, overwrite_a=True, check_finite=False), bound

    def _matrix(self, dtype: Any) -> np.ndarray:
        """RᵀK̄R + λI, (n_pairs, n_pairs)."""
        K = self.K.astype(dtype, copy=False)
        G = K if self.G is self.K else self.G.astype(dtype, copy=False)
        H = self._against_edges(K[self.sources], G[self.targets])
        root = np.sqrt(self.weights).astype(dtype)
        H *= root
        H *= root[:, None]
        H = self._centred_columns(self._centred(H))
        np.einsum("ii->i", H)[:] += self.alpha
        return H

    def _unit(self) -> np.ndarray | None:
        """The entries (n_pairs,) of orthonormal columns s of what the loss centres; None if it centres nothing.

        An edge is in one column only: in that of its conditioning node, or of all edges.
        """
        root = np.sqrt(self.weights)
        if self.loss.fits_intercept:
            return root / np.linalg.norm(root)
        if not self.loss.centres_rows:
            return None
        totals = np.bincount(self.sources, weights=self.weights, minlength=self.edges.shape[0])
        return root / np.sqrt(totals[self.sources])

    def _centred(self, rows: np.ndarray) -> np.ndarray:
        """Rows (P, n_pairs) without their part along s; in place."""
        if self.unit is None:
            return rows
        unit = self.unit.astype(rows.dtype)
        for block in row_blocks(*rows.shape, budget=CACHED_ENTRIES):
            part = rows[block]
            if self.loss.fits_intercept:
                part -= np.multiply.outer(part @ unit, unit)
            else:
                starts, place = self._groups
                part -= np.add.reduceat(part * unit, starts, axis=1).take(place, axis=1) * unit
        return rows

    def _centred_columns(self, columns: np.ndarray) -> np.ndarray:
        """Columns (n_pairs, P) without their part along s; in place. Sums over rows take less time than a copy."""
        if self.unit is None:
            return columns
        unit = self.unit.astype(columns.dtype)[:, None]
        if self.loss.fits_intercept:
            columns -= unit * (unit.T @ columns)
            return columns
        for edges in self._runs:
            part, own = columns[edges], unit[edges]
            part -= own * (own.T @ part)
        return columns

    @cached_property
    def _runs(self) -> list[slice]:
        """The edges of each conditioning node that has some."""
        ends = self.edges.indptr
        return [slice(first, last) for first, last in itertools.pairwise(ends.tolist()) if last > first]

    @cached_property
    def _groups(self) -> tuple[np.ndarray, np.ndarray]:
        """The first edge of each conditioning node that has some, and the number of such nodes before each edge."""
        counts = np.diff(self.edges.indptr)
        filled = counts > 0
        return self.edges.indptr[:-1][filled], np.repeat(np.arange(np.count_nonzero(filled)), counts[filled])

    def _against_edges(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """k̄ between pairs, given by kernel values of both ends, and the observed edges: (P, n_pairs)."""
        # `take` gathers columns faster than an index does.
        t = left.take(self.sources, axis=1)
        t *= right.take(self.targets, axis=1)
        if self.relation.sign:
            other = left.take(self.targets, axis=1)
            other *= right.take(self.sources, axis=1)
            t = t + other if self.relation.sign > 0 else t - other
            t *= 0.5
        return t

    def _solve(self, t: np.ndarray) -> np.ndarray:
        """R(RᵀK̄R + λI)⁻¹Rᵀt for rows t, (P, n_pairs)."""
        if not self.factorised:
            return np.stack([self._iterate(one) for one in t])
        root = np.sqrt(self.weights)
        c = linalg.cho_solve((self.factor, True), self._centred(root * t).T, check_finite=False)
        return root * self._centred(c.T.copy())

    def _iterate(self, t: np.ndarray) -> np.ndarray:
        values = t.astype(self.system.weights.dtype, copy=False)
        options: Any = {"tol": TOLERANCE, "max_iter": MOST_ITERATIONS, "preconditioner": self._preconditioner}
        return solve_dual(self.system, self.alpha, values=values, **options)[0]

    @cached_property
    def _preconditioner(self) -> Any:
        """The preconditioner of all solutions, planned once; "auto" if none pays."""
        built = plan_preconditioner(self.system, self.alpha, TOLERANCE).build()
        return "auto" if built is None else built

    def _halves(self, t: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """C⁻¹Rᵀt for rows t with RᵀK̄R + λI = CCᵀ, (n_pairs, P): half of the work of a solution."""
        t *= np.sqrt(self.weights).astype(t.dtype)
        return linalg.solve_triangular(factor, self._centred(t).T, lower=True, overwrite_b=True, check_finite=False)

    def _rows(self, asked: Functionals, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray | float]:
        """t of functionals, (P, n_pairs), less the mean over the edges, and what that adds to the prior."""
        products = [
            (left.astype(dtype, copy=False), right.astype(dtype, copy=False)) for left, right, _ in asked.products()
        ]
        t = np.asarray(sum(self._against_edges(left, right) for left, right in products))
        if self.mean is None:
            return t, 0.0
        shift = asked.constants * (t @ (self.weights / self.total).astype(dtype))
        return t - (asked.constants * self.mean).astype(dtype), shift

    def quadratic(self, asked: Functionals, prior: Any = 0.0) -> np.ndarray:
        """Variances of functionals minus ``prior``, those of the prior, (P,).

        A large system is factorised in single precision first, in half of the time. The error of what the labels take
        away is then bounded. If it is too large for the variance that is left, all is done in double precision.
        """
        if self.factorised and self.edges.n_pairs >= SINGLE_LEAST_PAIRS and "factor" not in self.__dict__:
            factor, bound = self.rough
            taken, found = self._taken(asked, factor)
            if np.all(bound * taken <= SINGLE_MOST_ERROR * self.alpha * (found + prior)):
                return found
        return self._taken(asked, self.factor if self.factorised else None)[1]

    def _taken(self, asked: Functionals, factor: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """What the labels take away from the variance, (P,), in units of σ²/λ; and `quadratic`."""
        t, shift = self._rows(asked, np.float64 if factor is None else factor.dtype)
        if factor is None:
            taken = np.einsum("ij,ij->i", t, self._solve(t))
        else:
            halves = self._halves(t, factor)
            taken = np.einsum("ij,ij->j", halves, halves).astype(np.float64)
        return taken, (self._own(asked) - 2 * shift - taken) / self.alpha + self._constant(asked)

    def gram(self, asked: Functionals) -> np.ndarray:
        """Covariances of functionals minus those of the prior, (P, P)."""
        t, shift = self._rows(asked)
        if self.factorised:
            halves = self._halves(t, self.factor)
            taken = halves.T @ halves
        else:
            taken = t @ self._solve(t).T
        moved = np.add.outer(shift, shift) if isinstance(shift, np.ndarray) else 0.0
        return (self._own(asked) - moved - (taken + taken.T) / 2) / self.alpha + self._constant(asked)

    def _own(self, asked: Functionals) -> float:
        if self.mean is None:
            return 0.0
        return asked.constants**2 * float(self.mean @ self.weights) / self.total

    def _constant(self, asked: Functionals) -> float:
        return 0.0 if self.mean is None else asked.constants**2 / self.total

    def draw_scores(self, first: Placed, second: Placed, n: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Scores (n_first, n_second) of the posterior around its mean, n times (Matheron's rule).

        The prior is drawn at the edges and at the pairs asked for, together. What a fit to these labels and noise would
        predict is subtracted. O(N³) once for the N nodes together, and one solution for each draw.
        """
        sign, (n_rows, n_cols) = self.relation.sign, self.edges.shape
        if sign:
            start = n_rows, n_rows + len(first)
            C = C_objects = _root(self.K, [first, second])
        else:
            start = n_rows, n_cols
            C, C_objects = _root(self.K, [first]), _root(self.G, [second])
        root = LossRoot(self.loss, self.edges, self.weights)
        left, right = first.rows, second.rows
        for _ in range(n):
            X = rng.standard_normal((C.shape[1], C_objects.shape[1])) / np.sqrt(self.alpha)
            X = self.relation.project(X)
            CX = C @ X
            at_edges = np.empty(len(self.sources))
            for block in row_blocks(len(at_edges), C_objects.shape[1]):
                ends = C_objects[self.targets[block]]
                at_edges[block] = np.einsum("ij,ij->i", CX[self.sources[block]], ends)
            noise = rng.standard_normal(len(at_edges)) / root.roots
            a = self._solve((at_edges + noise)[None])[0]
            A = self.edges.matrix(a)
            A = sparse.csr_array((A + sign * A.T) * 0.5) if sign else A
            scores = CX[start[0] : start[0] + len(first)] @ C_objects[start[1] :].T - bilinear(left, A, right)
            if self.mean is not None:
                ours = at_edges - self._fitted(A)
                scores += float(rng.standard_normal()) / self.total**0.5 - float(self.weights @ ours) / self.total
            yield scores

    def _fitted(self, A: sparse.csr_array) -> np.ndarray:
        return bilinear(self.K, A, self.G)[self.sources, self.targets]


def _root(K: np.ndarray, others: list[Placed]) -> np.ndarray:
    """C with CCᵀ the kernel of the training nodes and of others, in this order."""
    sizes = [len(K), *(len(one) for one in others)]
    ends = np.cumsum([0, *sizes])
    whole = np.empty((ends[-1], ends[-1]))
    whole[: len(K), : len(K)] = K
    for i, one in enumerate(others, start=1):
        rows = slice(ends[i], ends[i + 1])
        whole[rows, : len(K)] = one.rows
        whole[: len(K), rows] = one.rows.T
        for j, other in enumerate(others[:i], start=1):
            part = one.kernel(other)
            whole[rows, ends[j] : ends[j + 1]] = part
            whole[ends[j] : ends[j + 1], rows] = part.T
    sigma, Q = spectrum(whole)
    return Q * np.sqrt(np.maximum(sigma, 0.0))
