"""What every measure checks in its input, and how it combines queries."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from condrank.base.warn import warn
from condrank.metrics.inversions import above, row_blocks

Average = Literal["micro", "macro"] | None
Floats = NDArray[np.float64]


def ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> Floats:
    """Elementwise ratio, NaN where the denominator is zero."""
    return np.divide(numerator, denominator, out=np.full(len(numerator), np.nan), where=denominator > 0)


def macro(values: Floats, average: Average, name: str) -> Any:
    """One value per query, or the mean over the queries that have one."""
    if average is None:
        return values
    defined = values[~np.isnan(values)]
    if defined.size:
        return float(defined.mean())
    message = f"{name} is not defined for any of the {len(values)} queries; the average is set to NaN"
    warn(message, UndefinedMetricWarning)
    return float("nan")


def warn_if_all_relevant(
    relevance: NDArray[Any], relevant: float, average: Average, name: str, is_one: bool = True
) -> None:
    """Warn if all objects are relevant, because an average (``is_one``: 1) then says nothing about the scores."""
    if average is None or relevance.size == 0 or not above(np.fmin.reduce(relevance, axis=None), relevant):
        return
    always = "1" if is_one else "the same"
    warn(
        f"every observed relevance is above relevant={relevant:g}, so {name} is {always} for all scores; set "
        "relevant= to the highest value that is not relevant, or set Y_true to 0 instead of NaN if unobserved means "
        "not relevant",
        UserWarning,
    )


def check_average(average: object, *, micro: bool) -> None:
    """Raise for an average that a measure does not have."""
    known = ("micro", "macro", None) if micro else ("macro", None)
    if average not in known:
        reason = "; a measure of one ranking cannot be pooled over pairs" if average == "micro" else ""
        raise ValueError(f"average must be one of {known}, got {average!r}{reason}")


def check_k(k: object) -> None:
    """Raise if k is neither an integer of at least 1 nor None (all places)."""
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise ValueError(f"k must be an integer of at least 1, got {k!r}")


def validated(Y_true: ArrayLike, Y_score: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both as checked matrices with a row for each query."""
    relevance, scores = numeric(Y_true, "Y_true"), numeric(Y_score, "Y_score")
    if relevance.ndim not in (1, 2):
        expected = "(n_queries, n_objects) or (n_objects,)"
        raise ValueError(f"Y_true must have shape {expected}, got {relevance.shape}")
    if scores.shape != relevance.shape:
        raise ValueError(f"Y_score must have the shape of Y_true, {relevance.shape}, got {scores.shape}")
    relevance, scores = np.atleast_2d(relevance), np.atleast_2d(scores)
    check_scores(scores)
    check_relevances(relevance)
    return relevance, scores


def check_scores(scores: NDArray[Any]) -> None:
    """Raise if a score is not finite."""
    for rows in row_blocks(scores.shape):
        if not np.isfinite(scores[rows]).all():
            raise ValueError("Y_score must be finite, got NaN or infinity")


def check_relevances(relevance: NDArray[Any]) -> None:
    """Raise if a relevance is neither finite nor NaN."""
    for rows in row_blocks(relevance.shape):
        if np.isinf(relevance[rows]).any():
            raise ValueError("Y_true must be finite, or NaN where not observed, got infinity")


def numeric(values: ArrayLike, name: str) -> NDArray[Any]:
    """An array of real numbers, of a type that the compiled loops accept."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        got = f"{type(values).__name__} of dtype {array.dtype}"
        raise ValueError(f"{name} must be a dense array of real numbers, got {got}")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)
    return array.astype(np.uint8) if array.dtype.kind == "b" else array
