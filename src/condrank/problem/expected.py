"""Expected iterations of each solver, from eigenvalues of the node kernels: exact, or estimated from a sample.

The observed pairs are treated as a random sample of all pairs. That gives the condition number of three iterations up
to a factor of about two: plain and preconditioned conjugate gradients over the edges, and conjugate gradients on W. For
W, pairs that are known unevenly are counted as `condrank.problem.known_pairs` sees them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from condrank.base.measured import PRIMAL_ITERATIONS_CONDITION_POWER, PRIMAL_ITERATIONS_FACTOR
from condrank.objective.relations import Relation

# Number of eigenvalues kept one by one, and of groups of the rest. All products of two are formed, so both are small.
APART, POOLED = 24, 40


class Strengths(NamedTuple):
    """Eigenvalues of the edge kernel over all n m pairs, descending, each repeated ``counts`` times.

    ``trace`` is their sum and ``square`` their sum of squares. ``missed`` bounds those that the preconditioner
    cannot remove.
    """

    values: np.ndarray
    counts: np.ndarray
    trace: float
    square: float
    missed: float = 0.0


def edge_strengths(relation: Relation, sigma: np.ndarray, tau: np.ndarray, k: tuple[int, int]) -> Strengths:
    """All products of an eigenvalue of each side; ``k`` says how many eigenvectors of each side can be computed."""
    left, left_counts = _pooled(sigma)
    right, right_counts = _pooled(tau)
    values = np.multiply.outer(left, right).ravel()
    counts = np.multiply.outer(left_counts, right_counts)
    order = np.argsort(-values)
    square, trace = float(np.sum(sigma**2) * np.sum(tau**2)), float(np.sum(sigma) * np.sum(tau))
    if relation.sign:
        # Half of the products; those of an eigenvalue with itself occur once (symmetric) or never (reciprocal). This
        # matters: the square of the largest, which a constant makes huge, may be most of all sums.
        np.einsum("ii->i", counts)[:] += relation.sign * left_counts
        counts /= 2
        square = (square + relation.sign * float(np.sum(sigma**4))) / 2
        trace = (trace + relation.sign * float(np.sum(sigma**2))) / 2
    counts = counts.ravel()
    missed = max(sigma[0] * tau[k[1]] if k[1] < len(tau) else 0.0, tau[0] * sigma[k[0]] if k[0] < len(sigma) else 0.0)
    return Strengths(values[order], counts[order], trace, square, float(missed))


def _pooled(sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and their counts: the largest one by one, the others as means of groups of growing length."""
    if len(sigma) <= APART + POOLED:
        return sigma, np.ones(len(sigma))
    bounds = np.unique(np.geomspace(APART, len(sigma), POOLED + 1).round().astype(int))
    lengths = np.diff(bounds)
    means = np.add.reduceat(sigma, bounds[:-1]) / lengths
    return np.append(sigma[:APART], means), np.append(np.ones(APART), lengths)


def dual_steps(
    strengths: Strengths,
    n_pairs: float,
    size: float,
    alpha: float,
    tol: float,
    ranks: tuple[int, ...] = (0,),
    diagonal: float | None = None,
) -> np.ndarray:
    """Iterations over the edges with the strongest t features removed by the preconditioner, for each t of ``ranks``.

    The rest of K̄ after l features has mean eigenvalue τ_l (its diagonal). Like a sample covariance it spreads over
    τ_l (1 ± √y_l)², y_l = n_pairs mean square entry / τ_l². The iteration spends one step on each of l - t strong
    directions and ½ √κ_l log(2/tol) on the rest, for the best l. ``diagonal`` is the diagonal of K̄ if it is known.
    """
    s, counts = np.append(0.0, strengths.values), np.append(0.0, strengths.counts)
    taken = np.cumsum(counts)
    diagonal = strengths.trace / size if diagonal is None else diagonal
    tail = (diagonal - np.cumsum(s * counts) / size).clip(0)
    spread = np.sqrt(n_pairs * (strengths.square - np.cumsum(s**2 * counts)).clip(0)) / size
    # Products with an eigenvector that was not computed are never removed: the strongest of them bounds the rest.
    following = np.maximum(np.append(s[1:], s[-1]), strengths.missed) * n_pairs / size
    # Two bounds of the largest: from the spread, and from the strongest product left (safe if tail is only rounding).
    safe = np.maximum(tail, 1e-30)
    upper = np.minimum((np.sqrt(safe) + spread / np.sqrt(safe)) ** 2, (np.sqrt(safe) + np.sqrt(following)) ** 2)
    upper = np.maximum(upper, tail + following)
    lower = ((np.sqrt(safe) - spread / np.sqrt(safe)).clip(0) ** 2).max()
    steps = 0.5 * np.sqrt((alpha + upper) / (alpha + lower)) * np.log(2 / tol)
    return np.array([np.min(steps + (taken - t).clip(0)) for t in ranks])


def moment_steps(diagonal: float, square: float, n_pairs: float, size: float, alpha: float, tol: float) -> float:
    """`dual_steps` without a preconditioner, from only the mean and the mean square of the eigenvalues."""
    root, spread = np.sqrt(max(diagonal, 1e-30)), np.sqrt(n_pairs * square) / size
    upper, lower = (root + spread / root) ** 2, max(0.0, root - spread / root) ** 2
    return 0.5 * float(np.sqrt((alpha + upper) / (alpha + lower))) * float(np.log(2 / tol))


def primal_steps(
    strengths: Strengths, n_pairs: int, size: int, alpha: float, tol: float, extremes: tuple[float, float] = (1.0, 1.0)
) -> float:
    """Iterations on W, preconditioned by the closed form of the complete graph.

    With s = σσ'/(σσ' + λ/ρ), ρ = n_pairs/size, the preconditioned system is √s (UᵀMU/ρ) √s + 1 - s for the mask M. In
    l directions U the sampled part spreads over (1 ± √y)², y = (1 - ρ) l/n_pairs. The largest eigenvalue follows from
    l = Σ s. The smallest is the minimum of that of the l strongest directions and 1 - s of the rest, for the best l.
    ``extremes`` are the least and the most share of ρ with which a direction is known (`KnownShares`): they replace 1.
    """
    density = n_pairs / size
    least, most = extremes
    s = strengths.values / (strengths.values + alpha / density)
    dimension, taken = float(s @ strengths.counts), np.append(0.0, np.cumsum(strengths.counts))
    largest = min((np.sqrt(most) + np.sqrt((1 - density) * dimension / n_pairs)) ** 2, max(most, 1 / density))
    known = (np.sqrt(least) - np.sqrt((1 - density) * taken / n_pairs)).clip(0) ** 2
    smallest = float(np.minimum(known, np.append(1 - s, 1.0)).max())
    condition = float(largest) / smallest
    return (
        0.5 * float(np.log(2 / tol)) * PRIMAL_ITERATIONS_FACTOR * condition ** (PRIMAL_ITERATIONS_CONDITION_POWER / 2)
    )


@dataclass(frozen=True)
class Expected:
    """Expected iterations on W (``primal``), and over the edges (``dual``) for each number of preconditioner features.

    The numbers of features are in ``ranks``; 0 means no preconditioner. ``without_effects`` is what is expected over
    the edges if the constants in the node kernels, and the main effects that they give, are removed.
    """

    primal: float
    ranks: tuple[int, ...]
    dual: np.ndarray
    without_effects: float = np.inf

    @classmethod
    def by_sizes(cls, n_pairs: int, size: int, alpha: float) -> Expected:
        """From sizes alone, without computing kernel values: as measured with RBF kernels of medium width."""
        alpha = max(alpha, 1e-12)
        primal = min(max(6 / (n_pairs / size * alpha) ** 0.5, 8.0), 1000.0)
        return cls(primal, (0,), np.array([min(max(0.4 * (n_pairs / alpha) ** 0.5, 10.0), 4000.0)]))

    @classmethod
    def by_look(
        cls,
        strengths: Strengths,
        n_pairs: int,
        size: int,
        alpha: float,
        tol: float,
        ranks: tuple[int, ...],
        distinct: float = 1.0,
        extremes: tuple[float, float] = (1.0, 1.0),
    ) -> Expected:
        """From the eigenvalues of the node kernels, and how unevenly pairs are known (``extremes``, for W).

        ``distinct`` is the share of the pairs that is left if both directions of a pair count as one. Labels of a
        symmetric or reciprocal relation in both directions have half as many degrees of freedom: the iteration over the
        edges is that of the pairs without direction, each with twice the kernel.
        """
        primal = primal_steps(strengths, n_pairs, size, alpha, tol, extremes)
        return cls(primal, ranks, dual_steps(strengths, distinct * n_pairs, distinct * size, alpha, tol, ranks))

    def dual_at(self, rank: int) -> np.ndarray:
        """Iterations over the edges with this number of features, (1,)."""
        return self.dual[[self.ranks.index(rank)]]

    def over_edges(self, factor: float) -> Expected:
        """The same with more iterations over the edges."""
        return replace(self, dual=factor * self.dual, without_effects=factor * self.without_effects)
