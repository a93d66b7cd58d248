"""The grid of a search: λ, kernel widths γ and prior weights τ, checked; and the rank losses over it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.checks import check_choice, check_numbers
from condrank.fitting.reading import stops_early
from condrank.kernels.shorthand import NAMES

#: Kernels by name that have a width.
WIDE = ("rbf", "laplacian", "chi2", "poly", "sigmoid")
DEFAULT_ALPHAS = np.logspace(-4, 4, 17)


@dataclass(frozen=True)
class Grid:
    """The values that a search tries, in every combination.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Values of λ.
    gammas : list of float or None
        Kernel widths γ.
    prior_weights : list of float
        Weights τ of the prior; [0] without a prior.
    """

    alphas: np.ndarray
    gammas: list[float | str | None]
    prior_weights: list[float]

    @property
    def middle(self) -> float:
        """The median λ (the lower of two): a fit is planned with it before λ is chosen."""
        return float(np.sort(self.alphas)[(len(self.alphas) - 1) // 2])

    @property
    def nearest_to_one(self) -> float:
        """The λ to use if nothing can be held out to choose it by."""
        return float(self.alphas[np.argmin(np.abs(np.log(self.alphas)))])


def read_grid(ranker: Any) -> Grid:
    """The grid of a `condrank.ConditionalRankerCV`; a ValueError names the first parameter that is wrong."""
    check_choice("select", ranker.select, ("pooled", "median"))
    if stops_early(ranker.solver):
        raise ValueError(f"solver={ranker.solver!r} stops by a held-out loss of its own: there is no λ to choose")
    if ranker.prior_weights is not None and ranker.prior is None:
        raise ValueError("prior_weights needs prior='similarity'")
    if ranker.gammas is not None and (not isinstance(ranker.kernel, str) or ranker.kernel not in WIDE):
        named = isinstance(ranker.kernel, str) and ranker.kernel in NAMES
        what = "has none" if named else "is an expression: search its widths by GridSearchCV, as kernel__gamma"
        raise ValueError(f"gammas needs a kernel with a width by name, such as 'rbf'; kernel={ranker.kernel!r} {what}")
    alphas = DEFAULT_ALPHAS if ranker.alphas is None else _checked("alphas", ranker.alphas, above=0.0)
    gammas: list[float | str | None] = [ranker.gamma]
    if ranker.gammas is not None:
        gammas = [*_checked("gammas", ranker.gammas, above=0.0).tolist()]
    taus = [ranker.prior_weight] if ranker.prior is not None else [0.0]
    if ranker.prior_weights is not None:
        taus = _checked("prior_weights", ranker.prior_weights).tolist()
    return Grid(alphas, gammas, taus)


def rank_losses(counts: np.ndarray) -> np.ndarray:
    """Rank losses from wrong and comparable pairs along the last axis; NaN if no pair is comparable."""
    wrong, comparable = counts[..., 0], counts[..., 1]
    return np.divide(wrong, comparable, out=np.full(wrong.shape, np.nan), where=comparable > 0)


def _checked(name: str, values: Iterable[float], above: float = -np.inf) -> np.ndarray:
    checked = check_numbers(name, values, above=above)
    if not checked:
        raise ValueError(f"{name} must not be empty")
    return np.array(checked)
