"""One global order or cycles: the Hodge split of a skew flow, and its cyclic triads."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

#: Values closer to zero than this share of the largest one are ties, so that rounding does not decide a game.
TIE_TOLERANCE = 1e-9


def skew_flow(Y: NDArray[np.float64], *, centre: float = 0.0, complete: bool = False) -> NDArray[np.float64]:
    """Skew part A = (Y - Yᵀ)/2 of the labels, NaN on the diagonal and where a pair is unobserved. O(n²).

    Parameters
    ----------
    Y : array of shape (n, n)
        Labels, NaN = unobserved.
    centre : float
        The label of a tie: 0, or ½ on the probability scale. Only used with ``complete``.
    complete : bool
        Whether to read the relation as reciprocal. A pair observed in one direction only is then known in the
        other direction too: A_ij = Y_ij - centre = -A_ji.

    Returns
    -------
    array of shape (n, n)
        The flow, A = -Aᵀ.
    """
    forth, back = Y - centre, Y.T - centre
    flow = (forth - back) / 2
    if complete:
        alone = np.isfinite(forth) & ~np.isfinite(back)
        flow = np.where(alone, forth, np.where(alone.T, -back, flow))
    np.fill_diagonal(flow, np.nan)
    return flow


@dataclass(frozen=True)
class HodgeSplit:
    """Least-squares split of a skew flow into score differences (gradient part) and a cyclic part.

    The scores minimise Σ (s_i - s_j - A_ij)² over the observed pairs; on a complete graph they are the row
    means of A. The two parts are orthogonal, so their shares of the energy Σ A² add up to one.

    Attributes
    ----------
    n_pairs : int
        Observed pairs.
    n_components : int
        Connected components of the graph of observed pairs, isolated nodes included. Scores are comparable
        only within a component, and sum to zero there.
    gradient_share, cyclic_share : float or None
        Shares of the energy; None if there is none.
    noise_floor : float or None
        Expected cyclic share of independent zero-mean noise. Score differences span n - n_components of
        ``n_pairs`` dimensions, and cyclic flows span the other dimensions. On a complete graph the floor is
        1 - 2/n, so a cyclic share near one means "no order", and only a share above the floor means "cycles".
        None without pairs; 0 for a forest, which has no cycles.
    noise_sd : float or None
        Standard deviation of that share under Gaussian noise.
    order_ceiling : float or None
        Gradient share that this flow would have if each pair kept its strength and agreed with the order of the
        scores. A crisp order without any cycle is not a pure gradient: on a complete graph its share is
        2(n + 1)/(3n), not 1.
    scores : array of shape (n,)
        The scores; the best node has the highest.
    """

    n_pairs: int
    n_components: int
    gradient_share: float | None
    cyclic_share: float | None
    noise_floor: float | None
    noise_sd: float | None
    order_ceiling: float | None
    scores: NDArray[np.float64] = field(compare=False, repr=False)

    @property
    def adjusted_gradient_share(self) -> float | None:
        """Gradient share beyond chance, 1 - cyclic_share / noise_floor.

        0 for noise, 1 for a pure gradient, negative for a flow that is more cyclic than noise.
        """
        if self.cyclic_share is None or not self.noise_floor:
            return None
        return 1.0 - self.cyclic_share / self.noise_floor


def hodge_split(flow: NDArray[np.float64]) -> HodgeSplit:
    """Split a skew flow into score differences and a cyclic part. One Cholesky factorisation, O(n³/3).

    Parameters
    ----------
    flow : array of shape (n, n)
        Skew flow as :func:`skew_flow` gives it, NaN = unobserved.

    Returns
    -------
    HodgeSplit
    """
    observed = np.isfinite(flow)
    np.fill_diagonal(observed, False)
    n, n_pairs = len(flow), int(observed.sum()) // 2
    n_components, component = connected_components(csr_array(observed), directed=False)
    strength = np.where(observed, flow, 0.0)
    energy = float(np.sum(strength**2)) / 2
    if energy == 0.0:
        floor, sd = _noise(n - n_components, n_pairs)
        return HodgeSplit(n_pairs, n_components, None, None, floor, sd, None, np.zeros(n))

    # The Laplacian is singular along the constants of each component. Adding the projection onto them makes it
    # definite. The solution is orthogonal to them and does not change.
    laplacian = np.diag(observed.sum(axis=1).astype(float)) - observed
    same = component[:, None] == component[None, :]
    factor = cho_factor(laplacian + same / same.sum(axis=1), lower=True)

    def gradient_energy(divergence: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = cho_solve(factor, divergence)
        return float(scores @ divergence), scores

    gradient, scores = gradient_energy(strength.sum(axis=1))
    share = float(np.clip(gradient / energy, 0.0, 1.0))
    place = np.empty(n)
    place[np.argsort(scores, kind="stable")] = np.arange(n)
    along = np.sign(place[:, None] - place[None, :]) * np.abs(strength)
    ceiling, _ = gradient_energy(along.sum(axis=1))
    floor, sd = _noise(n - n_components, n_pairs)
    return HodgeSplit(n_pairs, n_components, share, 1.0 - share, floor, sd, min(ceiling / energy, 1.0), scores)


def _noise(n_gradient: int, n_pairs: int) -> tuple[float | None, float | None]:
    # The gradient share of Gaussian noise is Beta(r/2, c/2) distributed, r and c the two dimensions.
    if n_pairs == 0:
        return None, None
    n_cyclic = n_pairs - n_gradient
    return n_cyclic / n_pairs, float(np.sqrt(2 * n_gradient * n_cyclic / (n_pairs + 2)) / n_pairs)


@dataclass(frozen=True)
class CyclicTriads:
    """Cyclic triads (a beats b beats c beats a) among the triads of nodes.

    Attributes
    ----------
    n_triads : int
        Triads with all three pairs observed.
    n_decided : int
        Number of these triads without a tie.
    n_cyclic : int
        Number of triads without a tie that are cyclic.
    share : float or None
        ``n_cyclic / n_decided``; None if there is none.
    expected : float
        Expected share if every game were a coin toss, ¼.
    expected_sd : float or None
        Standard deviation of the share under coin tosses. Triads that share a pair are uncorrelated, so it is
        √(3 / 16 n_decided) on any graph.
    """

    n_triads: int
    n_decided: int
    n_cyclic: int
    share: float | None
    expected: float
    expected_sd: float | None


def cyclic_triads(flow: NDArray[np.float64]) -> CyclicTriads:
    """Count cyclic triads as tr(T³)/3, with T_ij = 1 where i beats j. Three n×n products, O(n³).

    Parameters
    ----------
    flow : array of shape (n, n)
        Skew flow, NaN = unobserved, 0 = tie.

    Returns
    -------
    CyclicTriads
    """
    observed = np.isfinite(flow)
    np.fill_diagonal(observed, False)
    largest = float(np.max(np.abs(flow), where=observed, initial=0.0))
    beats = (observed & (flow > TIE_TOLERANCE * largest)).astype(float)
    n_triads = _trace_of_cube(observed.astype(float)) // 6
    n_decided = _trace_of_cube(beats + beats.T) // 6
    n_cyclic = _trace_of_cube(beats) // 3
    share = n_cyclic / n_decided if n_decided else None
    sd = float(np.sqrt(3 / (16 * n_decided))) if n_decided else None
    return CyclicTriads(n_triads, n_decided, n_cyclic, share, 0.25, sd)


def _trace_of_cube(adjacency: NDArray[np.float64]) -> int:
    return round(float(np.sum((adjacency @ adjacency) * adjacency.T)))
