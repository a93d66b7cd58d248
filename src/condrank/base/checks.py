"""Checks of plain values that users pass in: a ValueError names the argument, what was expected and what was given."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

OUT_OF_SCALE = "the queries or objects must be nearer to the training nodes in scale"


def check_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raise if a parameter is not one of the allowed values."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}")


def check_number(name: str, value: Any, *, above: float = -np.inf, at_least: float = -np.inf) -> float:
    """The value as a float; raise if it is not a finite number within the bounds."""
    real = isinstance(value, Real) and not isinstance(value, bool) and _is_finite(value)
    if not real or float(value) <= above or float(value) < at_least:
        bound = (
            f" greater than {above:g}"
            if above > -np.inf
            else f" of at least {at_least:g}"
            if at_least > -np.inf
            else ""
        )
        raise ValueError(f"{name} must be a finite number{bound}, got {_short(value)}")
    return float(value)


def _is_finite(value: Real) -> bool:
    """Whether a number is finite as a float; a whole number or a fraction can be too large for one."""
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def _short(value: Any) -> str:
    """The value for a message, without the hundreds of digits of a very large whole number."""
    try:
        shown = repr(value)
    except ValueError:  # from Python, for whole numbers of more than 4,300 digits
        return "a number of thousands of digits"
    return shown if len(shown) <= 100 else f"{shown[:20]}… ({len(shown)} characters)"


def check_numbers(name: str, values: Any, *, above: float = -np.inf) -> list[float]:
    """The values as floats; raise if one is not a finite number within the bounds. There may be none."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a sequence of numbers, got {values!r}")
    return [check_number(name, value, above=above) for value in values]


def check_count(name: str, value: Any, at_least: int = 1) -> int:
    """The value as an int; raise if it is not a whole number of at least ``at_least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}")
    return int(value)


class FiniteScores:
    """A check that scores ABᵀ + C are finite, for blocks of rows of A. B (m, r) is read at most once.

    |aᵀb| ≤ ‖A‖‖B‖ bounds all scores of a block in O(n r), one product of BLAS without a copy. That proves nearly every
    block finite. If the scores are fewer than the entries of A and B, or the bound is too large, the scores are read
    themselves.

    Parameters
    ----------
    B : ndarray of shape (m, r), optional
        Vectors of the objects; without them every score is read.
    """

    def __init__(self, B: np.ndarray | None = None):
        self.B = B
        self._norm: float | None = None

    def __call__(self, scores: np.ndarray, A: np.ndarray | None = None) -> np.ndarray:
        """The scores (n, m); raise if one is not finite. ``A`` (n, r) are the vectors of the conditioning nodes."""
        if A is not None and self.B is not None:
            unread = A.size if self._norm is not None else A.size + self.B.size
            # Half of the largest number is left for C, and a millionth is more than rounding can hide.
            if unread < scores.size and self._bound(A) < float(np.finfo(scores.dtype).max) / 1e6:
                return scores
        return check_scores(scores)

    def _bound(self, A: np.ndarray) -> float:
        assert self.B is not None
        with np.errstate(over="ignore", invalid="ignore"):
            if self._norm is None:
                self._norm = _norm(self.B)
            return _norm(A) * self._norm


def _norm(A: np.ndarray) -> float:
    """√Σ a², inf or NaN if it cannot be represented."""
    flat = A.ravel(order="K")
    return float(np.sqrt(np.dot(flat, flat)))


def check_scores(scores: np.ndarray, below: bool = False) -> np.ndarray:
    """The scores; raise if one is not finite. One pass without a copy.

    With ``below``, -∞ is allowed: it stands for an object that is left out.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum proves that all are finite. Otherwise the sum may have overflowed on its own.
        if np.isfinite(scores.sum()) or (scores < np.inf if below else np.isfinite(scores)).all():
            return scores
    raise ValueError(f"scores overflow in {scores.dtype}: {OUT_OF_SCALE}")


def check_ids(ids: Any, n_nodes: int, name: str) -> np.ndarray:
    """The ids as an array; raise unless there is one for each node and all are different."""
    ids = np.asarray(ids)
    if ids.shape != (n_nodes,):
        raise ValueError(f"{name} must name each of the {n_nodes} nodes, got shape {ids.shape}")
    seen: set[Any] = set()
    for position, one in enumerate(ids.tolist()):
        if one in seen:
            raise ValueError(f"{name} must be unique, but {one!r} at position {position} occurred before")
        seen.add(one)
    return ids
