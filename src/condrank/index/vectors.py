"""Scores of conditioning nodes for the objects of an index, in blocks: of stored vectors, or by the model itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.blocks import row_blocks
from condrank.base.measured import INDEX_BLOCK_LEAST_SCORES, INDEX_BLOCK_MOST_SCORES, INDEX_BLOCK_OBJECTS
from condrank.nodes import Nodes


class VectorScores:
    """Scores of stored vectors X (m, p) for query vectors Q (n, p), without the shift of each query."""

    def __init__(self, Q: np.ndarray, shift: np.ndarray, X: Any):
        self.Q, self.shift, self.X = Q, shift, X

    def __len__(self) -> int:
        return len(self.Q)

    def take(self, rows: Any) -> VectorScores:
        """The scores of some of the conditioning nodes."""
        return VectorScores(self.Q[rows], self.shift[rows], self.X)

    def negated(self) -> VectorScores:
        """The scores with the other sign: the worst objects become the best."""
        return VectorScores(-self.Q, -self.shift, self.X)

    def blocks(self, columns: np.ndarray | None) -> Iterator[tuple[slice, int, np.ndarray]]:
        """Rows, first column and scores of blocks of all objects, or of some. O(nmp) in all.

        The next block overwrites the scores. The products of a large block run in BLAS's threads.
        """
        m = self.X.shape[0] if columns is None else len(columns)
        width = max(INDEX_BLOCK_OBJECTS, min(m, INDEX_BLOCK_LEAST_SCORES // max(1, len(self.Q))))
        room = np.empty(min(INDEX_BLOCK_MOST_SCORES, max(1, len(self.Q)) * width), dtype=self.X.dtype)
        for block in row_blocks(m, 1, budget=width):
            X = self.X[block] if columns is None else self.X[columns[block]]
            for rows in row_blocks(len(self.Q), width, budget=INDEX_BLOCK_MOST_SCORES):
                shape = rows.stop - rows.start, X.shape[0]
                scores = room[: shape[0] * shape[1]].reshape(shape)
                if sparse.issparse(X):
                    scores[:] = (X @ self.Q[rows].T).T
                else:
                    np.matmul(self.Q[rows], X.T, out=scores)
                yield rows, block.start, scores


class ModelScores:
    """Complete scores by the model itself, if they are not inner products.

    Parameters
    ----------
    scorer : Scorer
        The model.
    queries : Nodes
        Conditioning nodes.
    parts : tuple of Nodes or None
        Objects; None means the training objects, which some models know only by position.
    n_training : int
        Number of training objects.
    sign : {1, -1}
        By what scores are multiplied.
    """

    def __init__(self, scorer: Any, queries: Nodes, parts: tuple[Nodes | None, ...], n_training: int, sign: int = 1):
        self.scorer, self.queries, self.parts, self.n_training, self.sign = scorer, queries, parts, n_training, sign
        self.shift = np.zeros(len(queries))

    def __len__(self) -> int:
        return len(self.queries)

    def take(self, rows: Any) -> ModelScores:
        """The scores of some of the conditioning nodes."""
        chosen = np.arange(len(self))[rows]
        return ModelScores(self.scorer, self.queries.take(chosen), self.parts, self.n_training, self.sign)

    def negated(self) -> ModelScores:
        """The scores with the other sign: the worst objects become the best."""
        return ModelScores(self.scorer, self.queries, self.parts, self.n_training, -self.sign)

    def blocks(self, columns: np.ndarray | None) -> Iterator[tuple[slice, int, np.ndarray]]:
        """As `VectorScores.blocks`, in blocks of objects that are small enough for their kernel values."""
        for rows, start, scores in self._blocks(columns):
            yield rows, start, scores if self.sign > 0 else -scores

    def _blocks(self, columns: np.ndarray | None) -> Iterator[tuple[slice, int, np.ndarray]]:
        first = start = 0
        for part in self.parts:
            m = self.n_training if part is None else len(part)
            chosen = np.arange(m) if columns is None else columns[(columns >= first) & (columns < first + m)] - first
            if part is None and known_by_place(self.scorer):
                for rows, scores in self.scorer.blocks(self.queries, None) if len(chosen) else ():
                    yield rows, start, scores[:, chosen]
            elif part is None and len(chosen) == m:
                for rows, scores in self.scorer.blocks(self.queries, None):
                    yield rows, start, np.array(scores)
            else:
                nodes = self.scorer.cols.nodes if part is None else part
                for block in row_blocks(len(chosen), self.n_training, budget=4 * INDEX_BLOCK_MOST_SCORES):
                    for rows, scores in self.scorer.blocks(self.queries, nodes.take(chosen[block])):
                        yield rows, start + block.start, np.array(scores)
            first, start = first + m, start + len(chosen)


def known_by_place(scorer: Any) -> bool:
    """Whether a model knows its training objects only by their position, and cannot score some of them as nodes."""
    cols = getattr(scorer, "cols", None)
    return cols is None or getattr(getattr(scorer, "kernel", None), "known_only", False)
