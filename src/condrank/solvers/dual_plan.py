"""Whether a preconditioner of the dual system pays, and of which rank: told from the spectrum, before any iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from condrank.solvers.edge_preconditioner import EdgePreconditioner, EdgeSpectrum, kronecker, n_eigenvectors
from condrank.solvers.kronecker import AT_EDGES, TIMES, KroneckerEdges, loops_for

if TYPE_CHECKING:
    from condrank.solvers.dual import DualSystem

# Eigenvectors of the first look, and how many times the full look's cost a plain solve has to be worth it.
FIRST_LOOK, LOOK = 8, 10
RANKS = (64, 128, 256, 512, 1024, 2048)
# Fewest edges worth a thought.
FEW_EDGES = 500
# Costs in multiplications of a dense matrix product (measured): one of a triangular solve and of an
# orthogonalisation, an entry of Φ, and the fixed part of any step.
SOLVE, QR, BUILD, CALL = 15, 10, 20, 5e7
# A wrong estimate must not cost: the preconditioner has to promise this much.
MARGIN = 0.7


@dataclass(frozen=True)
class RankPlan:
    """How many features the preconditioner should have, and why.

    Attributes
    ----------
    ranks : tuple of int
        Numbers of features considered; 0: no preconditioner.
    iterations, costs : ndarray
        Expected iterations, and cost in multiplications of a dense matrix product, of each.
    rank : int
        The cheapest.
    """

    system: DualSystem
    spectrum: EdgeSpectrum | None
    alpha: float
    ranks: tuple[int, ...]
    iterations: np.ndarray
    costs: np.ndarray
    rank: int

    def build(self) -> EdgePreconditioner | None:
        """The preconditioner, or None where none is expected to pay."""
        if self.spectrum is None or not self.rank:
            return None
        return EdgePreconditioner(self.system, self.spectrum, self.rank, self.alpha)


def plan_preconditioner(system: DualSystem, alpha: float, tol: float = 1e-6) -> RankPlan:
    """Choose the number of features by the cost of building, applying and iterating, from the spectrum alone.

    A first look at a few eigenvectors settles problems that plain iterations solve at once (narrow kernels, large λ);
    for the others the eigenvectors cost O(n²k), less than an iteration or two.
    """
    kernel, edges = system.kernel, system.edges
    if not isinstance(kernel, KroneckerEdges) or edges.n_pairs < FEW_EDGES or alpha <= 0:
        return RankPlan(system, None, alpha, (0,), np.array([np.nan]), np.array([np.nan]), 0)
    step = kernel.cost + CALL
    spectrum = EdgeSpectrum(kernel.relation, kernel.K, kernel.G, FIRST_LOOK)
    iterations = expected_iterations(system, spectrum, alpha, tol, (0,))
    (n, m), k = edges.shape, n_eigenvectors(max(edges.shape))
    look = 2 * k * (n**2 + m**2 * (kernel.G is not kernel.K)) + QR * (n + m) * k**2
    if iterations[0] * step < LOOK * (look + CALL):
        return RankPlan(system, None, alpha, (0,), iterations, iterations * step, 0)
    spectrum = EdgeSpectrum(kernel.relation, kernel.K, kernel.G)
    most = min(len(spectrum.strengths), edges.n_pairs // 2)
    ranks = (0, *(t for t in RANKS if t <= most))
    iterations = expected_iterations(system, spectrum, alpha, tol, ranks)
    k = len(spectrum.sigma) + len(spectrum.tau)
    t = np.array(ranks, dtype=float)
    loops = loops_for(system.backend, edges.n_pairs, k // 2)
    sampled = (TIMES[loops] * edges.n_pairs + min(AT_EDGES[loops] * edges.n_pairs, n * m)) * k / 2
    apply = (t > 0) * (CALL + sampled + (n + m) * k**2 / 2 + SOLVE * t**2)
    build = (t > 0) * CALL + edges.n_pairs * (t**2 / 4 + BUILD * t) + t**3 / 3
    costs = build + iterations * (step + apply)
    best = int(np.argmin(costs))
    rank = ranks[best] if costs[best] < MARGIN * costs[0] else 0
    return RankPlan(system, spectrum, alpha, ranks, iterations, costs, rank)


def expected_iterations(
    system: DualSystem, spectrum: EdgeSpectrum, alpha: float, tol: float, ranks: tuple[int, ...]
) -> np.ndarray:
    """Iterations of conjugate gradients to ``tol`` with the strongest t features taken out, for each t.

    The edges are taken as a random sample. What l features leave of K̄ then has mean eigenvalue τ_l (its diagonal) and
    spreads as a sample covariance does, over τ_l (1 ± √y_l)², y_l = n_pairs mean square entry / τ_l². The iteration
    spends one step on each of l - t strong directions and ½ √κ_l log(2/tol) on the rest, for the best l.
    """
    kernel, edges = kronecker(system), system.edges
    size, n_pairs = float(np.prod(edges.shape)), edges.n_pairs
    weights = edges.weights.astype(np.float64)
    weight = weights.mean()
    s = weight * np.append(0.0, spectrum.strengths)
    tail = (float(weights @ kernel.diagonal()) / n_pairs - np.cumsum(s) / size).clip(0)
    square = float(np.linalg.norm(kernel.K) * np.linalg.norm(kernel.G)) ** 2
    if kernel.relation.sign:
        square = (square + kernel.relation.sign * float(np.sum(spectrum.sigma.astype(np.float64) ** 4))) / 2
    square = (weight**2 * square - np.cumsum(s**2)).clip(0) / size**2
    spread = np.sqrt(n_pairs * square)
    # Products with an eigenvector that was not computed are never taken out: the strongest bounds all that follow.
    missed = 0.0
    if len(spectrum.sigma) < len(kernel.K) or len(spectrum.tau) < len(kernel.G):
        missed = weight * float(max(spectrum.sigma[0] * spectrum.tau[-1], spectrum.sigma[-1] * spectrum.tau[0]))
    following = np.maximum(np.append(s[1:], s[-1]), missed) * n_pairs / size
    # Two bounds of the largest: by the spread, and by the strongest product left (safe where tail is mere rounding).
    safe = np.maximum(tail, 1e-30)
    upper = np.minimum((np.sqrt(safe) + spread / np.sqrt(safe)) ** 2, (np.sqrt(safe) + np.sqrt(following)) ** 2)
    upper = np.maximum(upper, tail + following)
    lower = ((np.sqrt(safe) - spread / np.sqrt(safe)).clip(0) ** 2).max()
    steps = 0.5 * np.sqrt((alpha + upper) / (alpha + lower)) * np.log(2 / tol)
    return np.array([(steps[t:] + np.arange(len(s) - t)).min() for t in ranks])
