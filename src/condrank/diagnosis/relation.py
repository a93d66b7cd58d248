"""The symmetric and skew parts of the labels of a relation, and their levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

#: Two directions whose sum differs from one by at most this are read as probabilities.
PROBABILITY_TOLERANCE = 1e-8


@dataclass(frozen=True)
class RelationParts:
    """Energies (sums of squares) of the parts of a relation, over the pairs seen in both directions.

    With S = (Y + Yᵀ)/2 and A = (Y - Yᵀ)/2, the energy of the labels is exactly
    Σ Y² = ``constant`` + ``symmetric`` + ``skew``: the mean of all labels, S about that mean, and A. The mean
    is separate because no ranking depends on it: labels 1..5 are not symmetric just because they are all
    positive.

    Attributes
    ----------
    n_pairs : int
        Unordered pairs of different nodes with both directions observed, without loops.
    scale : {"as given", "probability"}
        ``"probability"``: labels lie in [0, 1] and the two directions of each pair sum to one; ½ was subtracted
        first.
    offset : float
        What was subtracted from the labels first: ½ on the probability scale, else 0.
    mean : float or None
        Mean of the labels of these pairs, after the offset was subtracted. None without pairs.
    constant, symmetric, skew : float
        The three energies, each summed over both directions.
    """

    n_pairs: int
    scale: Literal["as given", "probability"]
    offset: float
    mean: float | None
    constant: float
    symmetric: float
    skew: float

    @property
    def skew_share(self) -> float | None:
        """Share of the skew part in the variation (energy without the constant); None if nothing varies."""
        variation = self.symmetric + self.skew
        return self.skew / variation if variation > 0 else None

    @property
    def symmetric_share(self) -> float | None:
        """Share of the symmetric part in the variation; None if nothing varies."""
        share = self.skew_share
        return None if share is None else 1.0 - share

    @property
    def skew_energy_share(self) -> float | None:
        """Share of the skew part in all energy, including the constant."""
        energy = self.constant + self.symmetric + self.skew
        return self.skew / energy if energy > 0 else None


def relation_parts(Y: NDArray[np.float64]) -> RelationParts:
    """Split labels into constant, symmetric and skew part over the pairs observed in both directions. O(n²).

    Parameters
    ----------
    Y : array of shape (n, n)
        Labels, row = conditioning node, NaN = unobserved.

    Returns
    -------
    RelationParts
    """
    upper = np.triu_indices(len(Y), 1)
    forth, back = Y[upper], Y.T[upper]
    both = np.isfinite(forth) & np.isfinite(back)
    forth, back = forth[both], back[both]
    n_pairs = len(forth)
    if n_pairs == 0:
        return RelationParts(0, "as given", 0.0, None, 0.0, 0.0, 0.0)
    known = Y[np.isfinite(Y)]
    probability = bool(
        known.min() >= 0.0 and known.max() <= 1.0 and np.max(np.abs(forth + back - 1.0)) <= PROBABILITY_TOLERANCE
    )
    offset = 0.5 if probability else 0.0
    symmetric = (forth + back) / 2 - offset
    mean = float(symmetric.mean())
    energies = 2.0 * np.array([n_pairs * mean**2, np.sum((symmetric - mean) ** 2), np.sum(((forth - back) / 2) ** 2)])
    # Rounding in the means leaves tiny energies; a share of two of them would be meaningless.
    scale = max(float(np.sum(forth**2 + back**2)), float(energies.sum()))
    energies[energies <= 1e-20 * scale] = 0.0
    return RelationParts(n_pairs, "probability" if probability else "as given", offset, mean, *map(float, energies))


@dataclass(frozen=True)
class Values:
    """Levels of the observed labels, without loops (they are often filled in and not observed).

    Attributes
    ----------
    kind : {"none", "constant", "crisp", "graded", "valued"}
        No label; one level; two or three levels; four to ten; or more. Averages of repeated edges do not count as
        levels: if there are duplicates, labels are crisp if three levels hold at least nine tenths of them.
    n_levels : int
        How many different values there are.
    levels : tuple of float
        The values in ascending order if there are at most ten. Otherwise the three commonest values of crisp
        labels, or an empty tuple.
    minimum, maximum : float or None
        Range of the labels.
    """

    kind: Literal["none", "constant", "crisp", "graded", "valued"]
    n_levels: int
    levels: tuple[float, ...]
    minimum: float | None
    maximum: float | None


def describe_values(Y: NDArray[np.float64], *, two_domain: bool = False, n_duplicates: int = 0) -> Values:
    """Levels of the labels. O(n m log(n m)), because all observed labels are sorted.

    Parameters
    ----------
    Y : array of shape (n, m)
        Labels, NaN = unobserved.
    two_domain : bool
        Whether rows and columns are different nodes, so that the diagonal has no loops.
    n_duplicates : int
        How many repeated edges were averaged.

    Returns
    -------
    Values
    """
    observed = np.isfinite(Y)
    if not two_domain and observed.sum() > np.trace(observed):
        observed = observed & ~np.eye(len(Y), dtype=bool)
    known = Y[observed]
    if known.size == 0:
        return Values("none", 0, (), None, None)
    minimum, maximum = float(known.min()), float(known.max())
    # 0.1 + 0.2 and 0.3 are one level.
    decimals = 12 - int(np.ceil(np.log10(max(abs(minimum), abs(maximum), np.finfo(float).tiny))))
    rounded = np.round(known, decimals) if abs(decimals) < 300 else known
    levels, counts = np.unique(rounded + 0.0, return_counts=True)  # + 0.0 makes one level of 0 and -0
    n_levels = len(levels)
    kind: Literal["constant", "crisp", "graded", "valued"]
    kind = "constant" if n_levels == 1 else "crisp" if n_levels <= 3 else "graded" if n_levels <= 10 else "valued"
    shown = levels if n_levels <= 10 else levels[:0]
    if n_levels > 3 and n_duplicates > 0:
        commonest = np.sort(np.argsort(-counts, kind="stable")[:3])
        if counts[commonest].sum() >= 0.9 * counts.sum():
            kind, shown = "crisp", levels[commonest]
    return Values(kind, n_levels, tuple(shown.tolist()), minimum, maximum)


def are_games(
    values: NDArray[np.float64], weights: NDArray[np.float64], repeats: NDArray[np.int_] | None, scale: str
) -> bool:
    """Whether labels of merged edges are shares of won games: every pair has a whole number of half points. O(pairs).

    A won game is two half points, a tie is one. If weights are not whole numbers, because old games count less, only
    pairs with a single game can tell: they must be at least a tenth, and all of them a win, a tie or a loss.

    Parameters
    ----------
    values, weights : array of shape (n_pairs,)
        Mean label and total weight of each pair.
    repeats : array of shape (n_pairs,) or None
        How many edges each pair has; None means one.
    scale : {"as given", "probability"}
        Whether labels are from -1 to 1, or from 0 to 1, as in `RelationParts`.
    """
    if len(values) == 0:
        return False
    share = values.astype(np.float64) if scale == "probability" else (values.astype(np.float64) + 1.0) / 2.0
    # Means were rounded to the precision of the labels.
    rounding = 32 * np.finfo(np.result_type(values.dtype, np.float32)).eps
    if share.min() < -rounding or share.max() > 1.0 + rounding:
        return False
    games = np.asarray(weights, dtype=np.float64)
    if not _are_whole(games, rounding * games):
        single = np.ones(len(share), dtype=bool) if repeats is None else repeats == 1
        if single.sum() < 0.1 * len(share):
            return False
        share, games = share[single], np.ones(int(single.sum()))
    return _are_whole(2.0 * share * games, rounding * games)


def _are_whole(numbers: NDArray[np.float64], tolerance: NDArray[np.float64]) -> bool:
    return bool(np.all(np.abs(numbers - np.round(numbers)) <= np.minimum(tolerance, 0.01)))
