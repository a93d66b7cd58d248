"""Exact search of the best objects for each conditioning node: every object is scored, one block at a time.

Many conditioning nodes are shared out among threads, and each thread multiplies and selects on its own. Products in
BLAS's threads with a selection in ours took twice the processor time, because BLAS's threads wait by spinning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.blocks import in_threads, n_processors, row_blocks
from condrank.base.checks import OUT_OF_SCALE, check_scores
from condrank.base.measured import INDEX_THREADS_LEAST_QUERIES
from condrank.index.selection import Best
from condrank.index.vectors import VectorScores
from condrank.rankers.restrictions import Restriction


def search(scores: Any, k: int, restriction: Restriction) -> tuple[np.ndarray, np.ndarray]:
    """Positions and scores (n, k), best first, ties by position; -1 and -∞ if there are fewer than k objects.

    Parameters
    ----------
    scores : VectorScores or ModelScores
        Scores for n conditioning nodes.
    k : int
        Number of objects to find for each.
    restriction : Restriction
        Objects to leave out, or the only ones to rank.
    """
    if k == 0:
        return np.zeros((len(scores), 0), dtype=np.intp), np.zeros((len(scores), 0), dtype=scores.shift.dtype)
    n, threads = len(scores), n_processors()
    if not isinstance(scores, VectorScores) or threads == 1 or n < INDEX_THREADS_LEAST_QUERIES * threads:
        return _search(scores, k, restriction)
    parts = [np.arange(part.start, part.stop) for part in row_blocks(n, 1, budget=-(-n // threads))]
    found: list[Any] = [None] * len(parts)

    def search_part(number: int) -> None:
        found[number] = _search(scores.take(parts[number]), k, restriction.take(parts[number]))

    in_threads(search_part, range(len(parts)), products=True)
    return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])


def _search(scores: Any, k: int, restriction: Restriction) -> tuple[np.ndarray, np.ndarray]:
    """`search` in the thread that calls."""
    best, n_objects = None, 0
    for rows, start, block in scores.blocks(restriction.columns):
        n_objects = max(n_objects, start + block.shape[1])
        if best is None:
            best = Best(len(scores), k, block.dtype)
        restriction.exclude(rows, start, block)
        best.update(rows, start, block)
    if best is None:
        best = Best(len(scores), k, np.dtype(np.float64))
    _check_none_lost(best.places, n_objects, restriction)
    return finished(best.places, best.scores, scores.shift, restriction.columns)


def _check_none_lost(places: np.ndarray, n_objects: int, restriction: Restriction) -> None:
    """Raise if a ranking is short although there are objects: their scores were -∞, as if they were left out."""
    found = (places >= 0).sum(axis=1)
    short = np.flatnonzero(found < places.shape[1])
    if not len(short):
        return
    rows = restriction.rows[~np.isin(restriction.excluded, restriction.gone)]
    left_out = np.bincount(rows, minlength=len(places))
    allowed = n_objects - len(restriction.gone) - left_out
    if (found[short] < np.minimum(allowed[short], places.shape[1])).any():
        raise ValueError(f"scores overflow: {OUT_OF_SCALE}")


def finished(
    places: np.ndarray, scores: np.ndarray, shift: np.ndarray, columns: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and complete scores, sorted again: adding the shift may round two scores to the same value."""
    if columns is not None:
        places = np.where(places >= 0, columns[places] if len(columns) else -1, -1)
    scores = scores + shift[:, None].astype(scores.dtype)
    check_scores(np.where(places >= 0, scores, 0.0))
    last = np.where(places >= 0, places, np.iinfo(np.intp).max)
    order = np.lexsort((last, -scores), axis=1)
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(scores, order, axis=1)


def search_each(scores: Any, k: int, restriction: Restriction, each: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Search among the candidates of each conditioning node."""
    found = []
    for row, columns in enumerate(each):
        one = np.array([row])
        found.append(search(scores.take(one), k, restriction.take(one).among(columns)))
    places, values = zip(*found, strict=True) if found else (np.zeros((0, k), dtype=np.intp), np.zeros((0, k)))
    return np.concatenate(places), np.concatenate(values)
