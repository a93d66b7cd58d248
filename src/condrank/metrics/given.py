"""What a measure is given: a matrix with holes, a sparse matrix, or a list of edges. All become rows of queries.

Unobserved entries have no influence on any measure, and ties are never broken by position. So the edges of a query can
be packed into a row without holes: every measure then has the same value as on the matrix, to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from condrank.metrics.checking import check_relevances, check_scores, numeric, validated
from condrank.metrics.edges import packed_rows
from condrank.metrics.inversions import row_blocks


class Block(NamedTuple):
    """Some queries, with their relevances (NaN: unobserved) and scores as two matrices of the same shape."""

    queries: Any
    relevance: NDArray[Any]
    scores: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Given:
    """Relevances and scores of the objects of some queries.

    Attributes
    ----------
    relevance, scores : ndarray of shape (n_queries, n_objects) or (n_edges,)
        Matrices; or values of edges, sorted by query.
    indptr : ndarray of int of shape (n_queries + 1,), or None
        Where the edges of each query start; None for matrices.
    """

    relevance: NDArray[Any]
    scores: NDArray[Any]
    indptr: NDArray[Any] | None = None

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.relevance) if self.indptr is None else len(self.indptr) - 1

    def blocks(self, least: int = 1) -> Iterator[Block]:
        """Blocks of queries that fit the processor's cache; without queries that have fewer than ``least`` edges."""
        if self.relevance.size == 0:
            return
        if self.indptr is None:
            for rows in row_blocks(self.relevance.shape):
                yield Block(rows, self.relevance[rows], self.scores[rows])
            return
        for part in packed_rows(self.indptr, least):
            yield Block(part.rows, part.take(self.relevance, np.nan), part.take(self.scores, 0.0))

    def observed(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Where the observed edges of each query start, (n_queries + 1,), and their relevances and scores."""
        known = ~np.isnan(self.relevance)
        if self.indptr is None:
            counts = np.count_nonzero(known, axis=1)
            return np.append(0, np.cumsum(counts)), self.relevance[known], self.scores[known]
        if known.all():
            return self.indptr, self.relevance, self.scores
        before = np.append(0, np.cumsum(known))
        return before[self.indptr], self.relevance[known], self.scores[known]


def read_given(Y_true: Any, Y_score: Any, groups: ArrayLike | None = None) -> Given:
    """Checked relevances and scores, in one of three forms.

    Parameters
    ----------
    Y_true, Y_score : array-like of shape (n_queries, n_objects) or (n_objects,), or scipy sparse arrays
        Matrices with NaN in ``Y_true`` where not observed; or two sparse matrices that store the same entries, the
        observed ones; or, with ``groups``, values of edges, (n_edges,).
    groups : array-like of shape (n_edges,), optional
        Query of each edge: numbers or strings. Queries are then in sorted order.
    """
    stored = [sparse.issparse(one) for one in (Y_true, Y_score)]
    if any(stored):
        if groups is not None:
            raise ValueError("groups is for values of edges: leave it out for sparse matrices, whose rows are queries")
        if not all(stored):
            name, kind = ("Y_score", type(Y_score)) if stored[0] else ("Y_true", type(Y_true))
            raise ValueError(f"Y_true and Y_score must both be sparse, or neither, got {name} as {kind.__name__}")
        return _of_sparse(Y_true, Y_score)
    if groups is None:
        return Given(*validated(Y_true, Y_score))
    return _of_groups(numeric(Y_true, "Y_true"), numeric(Y_score, "Y_score"), np.asarray(groups))


def _of_sparse(Y_true: Any, Y_score: Any) -> Given:
    true, score = _by_rows(Y_true, "Y_true"), _by_rows(Y_score, "Y_score")
    if true.shape != score.shape:
        raise ValueError(f"Y_score must have the shape of Y_true, {true.shape}, got {score.shape}")
    if not (np.array_equal(true.indptr, score.indptr) and np.array_equal(true.indices, score.indices)):
        raise ValueError(
            f"Y_score must store the same entries as Y_true, zeros too: {true.nnz} observed pairs, got {score.nnz} "
            "stored scores, or others"
        )
    return _checked(true.data, score.data, true.indptr)


def _by_rows(Y: Any, name: str) -> Any:
    """A sparse matrix in compressed rows, columns sorted; an error for an entry that is stored twice."""
    n_stored = Y.nnz
    rows = Y if Y.format == "csr" else Y.tocsr()
    if not rows.has_sorted_indices:
        rows = rows.sorted_indices()
    if rows.nnz != n_stored or not rows.has_canonical_format:
        raise ValueError(f"{name} must store every pair once; for repeated pairs pass values of edges with groups=")
    return rows


def _of_groups(relevance: NDArray[Any], scores: NDArray[Any], groups: NDArray[Any]) -> Given:
    for name, given in (("Y_true", relevance), ("Y_score", scores), ("groups", groups)):
        if given.ndim != 1 or len(given) != len(relevance):
            raise ValueError(f"with groups, {name} must have shape (n_edges,) as Y_true, got {given.shape}")
    fresh = groups[1:] != groups[:-1]
    if (groups[1:] < groups[:-1]).any():
        order = np.argsort(groups, kind="stable")
        relevance, scores, groups = relevance[order], scores[order], groups[order]
        fresh = groups[1:] != groups[:-1]
    starts = np.flatnonzero(np.append(True, fresh)) if len(groups) else np.empty(0, np.intp)
    return _checked(relevance, scores, np.append(starts, len(groups)))


def _checked(relevance: NDArray[Any], scores: NDArray[Any], indptr: NDArray[Any]) -> Given:
    relevance, scores = numeric(relevance, "Y_true"), numeric(scores, "Y_score")
    if relevance.dtype.kind in "iu":  # rows are filled up with NaN
        if relevance.size and max(abs(int(relevance.min())), abs(int(relevance.max()))) > 2**53:
            raise ValueError("integers in Y_true must be at most 2**53 for edges; subtract a constant from all of them")
        relevance = relevance.astype(np.float64)
    check_scores(scores[None])
    check_relevances(relevance[None])
    return Given(relevance, scores, indptr)
