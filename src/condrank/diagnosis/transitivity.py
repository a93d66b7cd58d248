"""Shares of triples of nodes that violate a kind of transitivity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from condrank.diagnosis.cycles import TIE_TOLERANCE

#: With more triples, nodes are sampled. A complete graph with 300 nodes has this many.
TRIPLE_BUDGET = 300**3


@dataclass(frozen=True)
class StochasticTransitivity:
    """Shares of triples (i, j, k) with P_ij ≥ ½ and P_jk ≥ ½ that violate stochastic transitivity.

    Attributes
    ----------
    n_triples : int
        Ordered triples of different nodes with all three pairs observed and P_ij, P_jk ≥ ½.
    weak, moderate, strong : float or None
        Share with P_ik < ½, P_ik < min(P_ij, P_jk), P_ik < max(P_ij, P_jk). Independent continuous noise
        gives ½, ⅔ and ⅚. For a crisp relation without ties all three are equal. None without triples.
    n_nodes_used : int
        Nodes used; fewer than all if there were too many triples.
    """

    n_triples: int
    weak: float | None
    moderate: float | None
    strong: float | None
    n_nodes_used: int


@dataclass(frozen=True)
class TTransitivity:
    """Shares of triples (i, j, k) with R_ij > 0 and R_jk > 0 that violate R_ik ≥ T(R_ij, R_jk).

    Attributes
    ----------
    n_triples : int
        Ordered triples of different nodes with all three edges observed and R_ij, R_jk > 0.
    minimum, product, lukasiewicz : float or None
        Share violated for T(a, b) = min(a, b), ab and max(a + b - 1, 0). Each is at most the one before. None
        without triples.
    scaled : bool
        Whether labels were scaled to [0, 1] first by (y - min)/(max - min). Labels inside [0, 1] are not scaled.
    n_nodes_used : int
        Nodes used; fewer than all if there were too many triples.
    """

    n_triples: int
    minimum: float | None
    product: float | None
    lukasiewicz: float | None
    scaled: bool
    n_nodes_used: int


def stochastic_transitivity(
    flow: NDArray[np.float64], *, max_triples: int = TRIPLE_BUDGET, random_state: object = 0
) -> StochasticTransitivity:
    """Count violations of weak, moderate and strong stochastic transitivity of P = (1 + A / max|A|)/2.

    O(Σ degree²), at most n³, in blocks of at most n×n. None of the three depends on the scale of A: a positive
    multiple of the flow, for example probabilities minus ½, has the same violations.

    Parameters
    ----------
    flow : array of shape (n, n)
        Skew flow A, NaN = unobserved.
    max_triples : int
        If there are more, a random sample of nodes with about this many triples is used.
    random_state : int, Generator or None
        Seed of the sample.

    Returns
    -------
    StochasticTransitivity
    """
    flow = _induced_sample(flow, max_triples, random_state)
    largest = float(np.max(np.abs(flow), where=np.isfinite(flow), initial=0.0))
    slack = TIE_TOLERANCE * largest
    counts = np.zeros(4, dtype=np.int64)
    for first, second, direct in _triples(flow, -slack):
        # NaN (unobserved, or i = k) compares false everywhere.
        counts += (
            np.count_nonzero(np.isfinite(direct)),
            np.count_nonzero(direct < -slack),
            np.count_nonzero(direct < np.minimum(first, second) - slack),
            np.count_nonzero(direct < np.maximum(first, second) - slack),
        )
    return StochasticTransitivity(*_shares(counts), n_nodes_used=len(flow))


def t_transitivity(
    R: NDArray[np.float64], *, max_triples: int = TRIPLE_BUDGET, random_state: object = 0
) -> TTransitivity:
    """Count violations of T-transitivity for the minimum, the product and the Łukasiewicz t-norm.

    O(Σ degree²), at most n³, in blocks of at most n×n. The relation need not be symmetric.

    Parameters
    ----------
    R : array of shape (n, n)
        Labels, NaN = unobserved; loops are ignored.
    max_triples : int
        If there are more, a random sample of nodes with about this many triples is used.
    random_state : int, Generator or None
        Seed of the sample.

    Returns
    -------
    TTransitivity
    """
    R = R.copy()
    np.fill_diagonal(R, np.nan)
    known = R[np.isfinite(R)]
    scaled = bool(known.size and (known.min() < 0.0 or known.max() > 1.0))
    if scaled:
        # Labels without spread cannot be scaled; a constant relation is transitive for every T.
        spread = known.max() - known.min()
        R = (R - known.min()) / spread if spread > 0 else R - known.min()
    R = _induced_sample(R, max_triples, random_state)
    counts = np.zeros(4, dtype=np.int64)
    for first, second, direct in _triples(R, TIE_TOLERANCE):
        bound = direct + TIE_TOLERANCE
        counts += (
            np.count_nonzero(np.isfinite(direct)),
            np.count_nonzero(bound < np.minimum(first, second)),
            np.count_nonzero(bound < first * second),
            np.count_nonzero(bound < np.maximum(first + second - 1.0, 0.0)),
        )
    n_triples, minimum, product, lukasiewicz = _shares(counts)
    return TTransitivity(n_triples, minimum, product, lukasiewicz, scaled, len(R))


def _triples(M: NDArray[np.float64], least: float) -> Iterator[tuple[NDArray, NDArray, NDArray]]:
    """For each j: column M_ij and row M_jk of all i, k with both at least ``least``, and the block M_ik."""
    premise = np.greater_equal(M, least)
    for j in range(len(M)):
        sources, targets = np.flatnonzero(premise[:, j]), np.flatnonzero(premise[j])
        if sources.size and targets.size:
            yield M[sources, j][:, None], M[j, targets][None, :], M[np.ix_(sources, targets)]


def _shares(counts: NDArray[np.int64]) -> tuple[int, float | None, float | None, float | None]:
    n_triples, first, second, third = map(int, counts)
    if n_triples == 0:
        return 0, None, None, None
    return n_triples, first / n_triples, second / n_triples, third / n_triples


def _induced_sample(M: NDArray[np.float64], max_triples: int, random_state: object) -> NDArray[np.float64]:
    """Submatrix on a random sample of nodes with about ``max_triples`` triples; M itself if it has no more.

    The limit counts paths i-j-k, not nodes. A sparse graph keeps all its nodes, because a sample of them would
    lose nearly every triple.
    """
    observed = np.isfinite(M)
    n_paths = float(observed.sum(axis=0, dtype=float) @ observed.sum(axis=1, dtype=float))
    if n_paths <= max_triples:
        return M
    size = min(len(M), max(3, int(len(M) * (max_triples / n_paths) ** (1 / 3))))
    rng = np.random.default_rng(random_state)  # type: ignore[arg-type]
    index = np.sort(rng.choice(len(M), size=size, replace=False))
    return M[np.ix_(index, index)]
