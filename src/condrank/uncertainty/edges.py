"""The posterior over the observed edges: what the labels take away from the variance of the prior.

With t = k̄(p, edges), the variance of a score is σ²/λ [k̄(p, p) - tᵀR(RᵀK̄R + λI)⁻¹Rᵀt], where RRᵀ = L is the loss.
For few edges RᵀK̄R + λI is factorised once. For many, each t is one more right-hand side of the dual system of the fit,
whose preconditioner is built once and kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from condrank.base.blocks import row_blocks
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
        self.factor: np.ndarray | None = None
        self.system: DualSystem | None = None
        self.unit = self._unit()
        if factorised:
            train = self._against_edges(K[self.sources], G[self.targets])
            self.mean = train @ (self.weights / self.total) if loss.fits_intercept else None
            root = np.sqrt(self.weights)
            train *= root
            train *= root[:, None]
            train = self._centred(self._centred(train).T)
            np.einsum("ii->i", train)[:] += alpha
            self.factor = linalg.cholesky(train, lower=True, overwrite_a=True, check_finite=False)
        else:
            kernel = KroneckerEdges(relation, K, None if G is K else G, edges)
            self.system = DualSystem(kernel, loss, weights=weights.astype(K.dtype, copy=False))
            self.mean = None
            if loss.fits_intercept:
                self.mean = kernel.product((self.weights / self.total).astype(K.dtype)).astype(np.float64)

    def _unit(self) -> Any:
        """Orthonormal columns s, (n_pairs, groups), of what the loss centres; None if it centres nothing."""
        root = np.sqrt(self.weights)
        if self.loss.fits_intercept:
            return (root / np.linalg.norm(root))[:, None]
        if not self.loss.centres_rows:
            return None
        totals = np.bincount(self.sources, weights=self.weights, minlength=self.edges.shape[0])
        entries = root / np.sqrt(totals[self.sources])
        place = np.arange(len(root))
        return sparse.csr_array((entries, (place, self.sources)), shape=(len(root), len(totals)))

    def _centred(self, rows: np.ndarray) -> np.ndarray:
        """Rows (P, n_pairs) without their part along s."""
        if self.unit is None:
            return rows
        along = np.asarray((self.unit.T @ rows.T).T) if sparse.issparse(self.unit) else rows @ self.unit
        return rows - np.asarray((self.unit @ along.T).T)

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
        if self.factor is None:
            return np.stack([self._iterate(one) for one in t])
        root = np.sqrt(self.weights)
        c = linalg.cho_solve((self.factor, True), self._centred(root * t).T, check_finite=False)
        return root * self._centred(c.T)

    def _iterate(self, t: np.ndarray) -> np.ndarray:
        system = self.system
        assert system is not None
        values = t.astype(system.weights.dtype, copy=False)
        options: Any = {"tol": TOLERANCE, "max_iter": MOST_ITERATIONS, "preconditioner": self._preconditioner}
        return solve_dual(system, self.alpha, values=values, **options)[0]

    @cached_property
    def _preconditioner(self) -> Any:
        """The preconditioner of all solutions, planned once; "auto" if none pays."""
        assert self.system is not None
        built = plan_preconditioner(self.system, self.alpha, TOLERANCE).build()
        return "auto" if built is None else built

    def _halves(self, t: np.ndarray) -> np.ndarray:
        """C⁻¹Rᵀt for rows t with RᵀK̄R + λI = CCᵀ, (n_pairs, P): half of the work of a solution."""
        reduced = self._centred(np.sqrt(self.weights) * t).T
        return linalg.solve_triangular(self.factor, reduced, lower=True, overwrite_b=True, check_finite=False)

    def _rows(self, asked: Functionals) -> tuple[np.ndarray, np.ndarray | float]:
        """t of functionals, (P, n_pairs), less the mean over the edges, and what that adds to the prior."""
        t = sum(self._against_edges(left, right) for left, right, _ in asked.products())
        if self.mean is None:
            return np.asarray(t), 0.0
        share = self.weights / self.total
        shift = asked.constants * (t @ share)
        return t - asked.constants * self.mean, shift

    def quadratic(self, asked: Functionals) -> np.ndarray:
        """Variances of functionals minus those of the prior, (P,)."""
        t, shift = self._rows(asked)
        if self.factor is None:
            taken = np.einsum("ij,ij->i", t, self._solve(t))
        else:
            halves = self._halves(t)
            taken = np.einsum("ij,ij->j", halves, halves)
        return (self._own(asked) - 2 * shift - taken) / self.alpha + self._constant(asked)

    def gram(self, asked: Functionals) -> np.ndarray:
        """Covariances of functionals minus those of the prior, (P, P)."""
        t, shift = self._rows(asked)
        halves = None if self.factor is None else self._halves(t)
        taken = t @ self._solve(t).T if halves is None else halves.T @ halves
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
