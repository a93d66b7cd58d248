"""When a search may stop: a λ whose held-out loss has settled, and small λ once larger ones are clearly better."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# The loss of a λ counts as known at this relative residual; or at the next one, if it changed by less than this share
# of its standard error since the last look.
SURE_RESIDUAL = 5e-3
SETTLED_RESIDUAL, SETTLED_ERRORS = 5e-2, 0.1
# Smaller λ are not followed any further if a λ is worse than the best one by more than this many standard errors of the
# difference, and by more than this share of the loss.
OUT_ERRORS, OUT_SHARE = 2.0, 0.02


class Settling:
    """Follows the held-out rank losses of descending λ while they are iterated, and says which have iterated enough.

    Iterations are longest for small λ. So once a λ is known to be clearly worse than a larger one, all smaller λ are
    given up. Standard errors are those over conditioning nodes.

    Parameters
    ----------
    wrong : callable
        Wrongly ordered pairs (n_queries,) of a model with given weights.
    comparable : ndarray of shape (n_queries,)
        Comparable pairs of each conditioning node.
    n_alphas : int
        Number of λ.
    """

    def __init__(self, wrong: Callable[[np.ndarray], np.ndarray], comparable: np.ndarray, n_alphas: int):
        self.wrong, self.comparable, self.total = wrong, comparable, max(1.0, float(comparable.sum()))
        self.last: list[np.ndarray | None] = [None] * n_alphas
        self.seen: list[np.ndarray | None] = [None] * n_alphas
        self.known = np.zeros(n_alphas, bool)

    def __call__(self, number: int, places: np.ndarray, weights: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        """Look at the λ in some places; which of them have iterated enough."""
        for place, one, residual in zip(places, weights, residuals, strict=True):
            now, before = self.wrong(one), self.last[place]
            settled = before is not None and self._change(now, before) <= SETTLED_ERRORS * self._error(now)
            self.last[place], self.seen[place] = now, one
            self.known[place] = residual <= SURE_RESIDUAL or (residual <= SETTLED_RESIDUAL and settled)
        return self.known[places] | self.is_over

    def finish(self, place: int, weights: np.ndarray) -> np.ndarray:
        """Wrongly ordered pairs (n_queries,) with the final weights of a λ; not counted again if it ended at a look."""
        wrong, seen = self.last[place], self.seen[place]
        if wrong is None or seen is None or not np.array_equal(seen, weights):
            wrong = self.wrong(weights)
        self.last[place], self.known[place] = wrong, True
        return wrong

    @property
    def is_over(self) -> bool:
        """Whether a λ is clearly worse than a larger one, where all larger ones are known."""
        best: np.ndarray | None = None
        for now, known in zip(self.last, self.known, strict=True):
            if now is None or not known:
                return False
            if best is None or now.sum() < best.sum():
                best = now
            behind = float((now - best).sum())
            if behind > max(OUT_SHARE * float(best.sum()), OUT_ERRORS * self.total * self._error(now - best)):
                return True
        return False

    def _change(self, now: np.ndarray, before: np.ndarray) -> float:
        return abs(float((now - before).sum())) / self.total

    def _error(self, wrong: np.ndarray) -> float:
        """Standard error of the share of wrong pairs."""
        return float(np.linalg.norm(wrong - wrong.sum() / self.total * self.comparable)) / self.total
