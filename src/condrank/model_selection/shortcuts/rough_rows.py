"""Left-out rows whose scores only decide an order: in single precision where that is enough, else in double.

Scores of a row by a model without it are differences of labels and residuals. If little is left of a difference, it is
rounding noise, and its order is that of the labels: it would look like a good model. So the error is measured on some
rows that are also computed in double precision. Scores that differ by less than a multiple of it are ties. A row whose
scores differ by little more is computed in double precision.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from condrank.base.blocks import in_threads, row_blocks
from condrank.base.measured import CACHED_ENTRIES, ROUGH_LEAST_MULTIPLICATIONS
from condrank.metrics import pair_counts
from condrank.model_selection.shortcuts.labels import round_to
from condrank.model_selection.shortcuts.leave_query_out import LeaveQueryOut

# Rows that are computed in both precisions.
CHECKED = 8
# Scores of a row are rounded to multiples of so many of the largest errors found, for its labels.
MARGIN = 8.0
# These multiples are at most this share of the standard deviation of the row's scores. About that share of its pairs of
# objects are then ties, which count ½, as nearly half of them are wrong.
NEAR = 1e-3
# Most pairs of objects in another order, or (as a half) tied, in the checked rows: where most scores are far below the
# largest ones of their row, its standard deviation says little.
MOST_WRONG = 5e-4
# If more than this share of the rows needs double precision, all of them are computed in it.
MOST_EXACT = 0.25
# A row's labels are taken for at least this share of the largest of all.
LEAST_LABELS = 0.3
# Factors around 1 within which λ and eigenvalues, and labels, have squares and quotients in single precision.
RANGE, LABELS = 1e15, 1e10


class RoughRows:
    """The scores of `LeaveQueryOut` for rankings, in little more than half the time.

    Parameters
    ----------
    exact : LeaveQueryOut
        The rows in double precision, without an intercept.
    """

    intercept = False

    def __init__(self, exact: LeaveQueryOut):
        self.exact = exact
        with np.errstate(over="ignore", under="ignore"):
            self.single: LeaveQueryOut = _in_single(exact, {})
        self.single.leaves_failed = True
        n = len(exact.basis.U)
        self.checked = np.unique(np.linspace(0, n - 1, min(n, CHECKED)).round().astype(int))
        self.sample = exact.taking(self.checked)
        # The error of a row with small labels or none comes from the labels of the others.
        most = float(exact.noise.largest.max())
        self.largest = np.maximum(exact.noise.largest, LEAST_LABELS * most)
        g = exact.basis.sigma if exact.relation.sign else exact.g
        self.top = float(exact.basis.sigma[-1] * g[-1]) if len(g) else 0.0
        self.has_normal_labels = 1 / LABELS < most < LABELS

    def settled(self, alpha: float) -> np.ndarray:
        """Scores of every row for rankings, (n, m), with ties where they differ only by rounding noise."""
        if not (self.has_normal_labels and all(1 / RANGE < size < RANGE for size in self._sizes(alpha))):
            return self.exact.settled(alpha)
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            scores = self.single.scores(alpha)
            known = self.sample.settled(alpha)
            errors = np.abs(scores[self.checked] - known).max(axis=1)
            level = float((errors / self.largest[self.checked]).max())
            unclear = np.flatnonzero(~_round(scores, level * self.largest))
        if len(unclear) > MOST_EXACT * len(scores) or not self._in_order(scores, known, unclear):
            return self.exact.settled(alpha)
        if len(unclear):
            scores = scores.astype(np.float64)
            scores[unclear] = self.exact.taking(unclear).settled(alpha)
        return scores

    def _sizes(self, alpha: float) -> tuple[float, float, float]:
        """λ, the largest eigenvalue of the edge kernel, and λ relative to it."""
        return alpha, self.top, alpha / self.top if self.top else 0.0

    def _in_order(self, scores: np.ndarray, known: np.ndarray, unclear: np.ndarray) -> bool:
        """Whether the checked rows that stay in single precision order nearly all pairs of objects as they should."""
        clear = ~np.isin(self.checked, unclear)
        wrong, comparable = pair_counts(known[clear], scores[self.checked[clear]])
        return bool(comparable.sum() > 0 and wrong.sum() <= MOST_WRONG * comparable.sum())


def roughly(shortcut: Any) -> Any:
    """Left-out rows in single precision if their products are large and in double precision, otherwise as given."""
    if not isinstance(shortcut, LeaveQueryOut) or shortcut.intercept:
        return shortcut
    n, r = shortcut.basis.U.shape
    large = 2 * n * r * r >= ROUGH_LEAST_MULTIPLICATIONS and shortcut.basis.U.dtype == np.float64
    return RoughRows(shortcut) if large else shortcut


def _round(scores: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Round scores in place to multiples of the errors (n,) of their rows, or of the last digit's, if that is larger.

    Returns for which rows this is fine enough; never for those with NaN or without any digits.
    """
    fine, eps = np.zeros(len(scores), dtype=bool), np.finfo(scores.dtype).eps

    def work(block: slice) -> None:
        part = scores[block]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            last = eps * np.maximum(part.max(axis=1), -part.min(axis=1))
            steps = (MARGIN * np.maximum(errors[block], last)).astype(scores.dtype)
            fine[block] = (steps > 0) & (steps <= NEAR * part.std(axis=1))
            round_to(part, steps[:, None])

    in_threads(work, row_blocks(*scores.shape, budget=CACHED_ENTRIES))
    return fine


def _in_single(one: Any, known: dict[int, Any]) -> Any:
    """A copy of a shortcut, or of a part of it, with its arrays in single precision."""
    if id(one) in known:
        return known[id(one)]
    found = one
    if isinstance(one, np.ndarray):
        found = one.astype(np.float32) if one.dtype == np.float64 else one
    elif isinstance(one, list):
        found = [_in_single(part, known) for part in one]
    elif isinstance(one, dict):
        found = {key: _in_single(part, known) for key, part in one.items()}
    elif type(one).__module__.startswith(__package__ or ""):
        found = copy(one)
        known[id(one)] = found
        vars(found).update({name: _in_single(part, known) for name, part in vars(one).items()})
    known[id(one)] = found
    return found
