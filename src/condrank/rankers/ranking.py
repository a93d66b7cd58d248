"""Rankings: the best objects for each conditioning node, found without keeping all scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.checks import check_scores
from condrank.models.model import Model
from condrank.nodes import Nodes


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best objects for each conditioning node, best first.

    Attributes
    ----------
    indices : ndarray of int, shape (n_queries, top)
        Positions of the objects.
    scores : ndarray of shape (n_queries, top)
        Their scores, descending; equal scores are ordered by position.
    ids : ndarray of shape (n_queries, top) or None
        Their ids, if the objects have ids.
    query_ids : ndarray of shape (n_queries,) or None
        Ids of the conditioning nodes.
    """

    indices: np.ndarray
    scores: np.ndarray
    ids: np.ndarray | None = None
    query_ids: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, query: int) -> list[tuple[Any, float]]:
        """Ids (or positions) and scores of the objects for one conditioning node, best first."""
        names = self.indices if self.ids is None else self.ids
        kept = self.indices[query] >= 0  # an index may have fewer objects for some conditioning nodes
        return list(zip(names[query][kept].tolist(), self.scores[query][kept].tolist(), strict=True))

    def __iter__(self) -> Iterator[list[tuple[Any, float]]]:
        return (self[query] for query in range(len(self)))

    def to_frame(self) -> Any:
        """A pandas table with one row per conditioning node and object: query, rank, object, score."""
        try:
            import pandas as pd
        except ModuleNotFoundError:
            raise ImportError("to_frame needs pandas: pip install 'condrank[frames]'") from None
        n_queries, top = self.indices.shape
        queries = np.arange(n_queries) if self.query_ids is None else self.query_ids
        objects = self.indices if self.ids is None else self.ids
        columns = {
            "query": np.repeat(queries, top),
            "rank": np.tile(np.arange(1, top + 1), n_queries),
            "object": objects.ravel(),
            "score": self.scores.ravel(),
        }
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        names = self.indices if self.ids is None else self.ids
        lines = []
        for query in range(min(len(self), 5)):
            name = query if self.query_ids is None else self.query_ids[query]
            ranked = ", ".join(f"{o} ({s:.3g})" for o, s in zip(names[query], self.scores[query], strict=True))
            lines.append(f"{name}: {ranked}")
        if len(self) > 5:
            lines.append(f"… and {len(self) - 5} more")
        return "\n".join(lines)


def rank_objects(scorer: Any, queries: Nodes | None, objects: Nodes | None, top: int, names: Nodes) -> Ranking:
    """The ``top`` best objects for each conditioning node. Scores are computed in blocks; ``names`` has the ids."""
    indices, scores = [], []
    for _, block in finite_blocks(scorer, queries, objects):
        best = top_indices(block, top)
        indices.append(best)
        scores.append(np.take_along_axis(block, best, axis=1))
    if not indices:
        indices, scores = [np.empty((0, min(top, len(names))), dtype=np.intp)], [np.empty((0, min(top, len(names))))]
    found = np.concatenate(indices)
    ids = None if names.ids is None else names.ids[found]
    return Ranking(found, np.concatenate(scores), ids, None if queries is None else queries.ids)


def finite_blocks(scorer: Any, queries: Nodes | None, objects: Nodes | None) -> Iterator[tuple[slice, np.ndarray]]:
    """The blocks of a scorer; a ValueError if a score is not finite. A `Model` checks its own, at less cost."""
    if isinstance(scorer, Model):
        yield from scorer.blocks(queries, objects, check=True)
        return
    for block, scores in scorer.blocks(queries, objects):
        yield block, check_scores(scores)


def top_indices(scores: np.ndarray, top: int) -> np.ndarray:
    """Positions of the ``top`` largest entries of each row, best first, ties by position.

    O(m + top log top) for a row of m entries.
    """
    n_objects = scores.shape[1]
    top = min(top, n_objects)
    if top == n_objects:
        return np.argsort(-scores, axis=1, kind="stable")
    best = np.argpartition(scores, n_objects - top, axis=1)[:, n_objects - top :]
    best.sort(axis=1)  # so that the stable sort below breaks ties by position
    values = np.take_along_axis(scores, best, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    best = np.take_along_axis(best, order, axis=1)
    # If objects left out have the same score as the last place, the partition chose arbitrarily: choose by position.
    last = np.take_along_axis(scores, best[:, -1:], axis=1)
    for row in np.flatnonzero((scores >= last).sum(axis=1) > top):
        best[row] = np.argsort(-scores[row], kind="stable")[:top]
    return best


def without_self(
    itself: np.ndarray, indices: np.ndarray, scores: np.ndarray, top: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rankings of length ``top`` without the object that is the conditioning node itself."""
    kept = indices != itself[:, None]
    kept[np.flatnonzero(kept.all(axis=1)), -1] = False  # all rows lose one place: the last, if the node is not there
    shape = (len(indices), indices.shape[1] - 1)
    return indices[kept].reshape(shape)[:, :top], scores[kept].reshape(shape)[:, :top]
