"""Rankings: the best objects for each conditioning node, found without keeping all scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.base.checks import check_choice, check_scores
from condrank.base.html import table_of
from condrank.models.model import Model
from condrank.nodes import Nodes
from condrank.rankers.restrictions import Restriction

SHOWN_QUERIES, SHOWN_PLACES = 5, 10  # in a notebook


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best objects for each conditioning node, best first; or the worst, worst first.

    Attributes
    ----------
    indices : ndarray of int, shape (n_queries, top)
        Positions of the objects; -1 where a conditioning node has fewer objects than another.
    scores : ndarray of shape (n_queries, top)
        Their scores, descending (worst first: ascending); equal scores are ordered by position. -∞ for no object.
    ids : ndarray of shape (n_queries, top) or None
        Their ids, if the objects have ids.
    query_ids : ndarray of shape (n_queries,) or None
        Ids of the conditioning nodes.
    std : ndarray of shape (n_queries, top) or None
        Standard deviations of the scores, if they were asked for; NaN for no object.
    top_probability : ndarray of shape (n_queries, top) or None
        Probability that the object is the best (worst first: the worst) of all that could be ranked for the
        conditioning node, if it was asked for; 0 for no object.
    """

    indices: np.ndarray
    scores: np.ndarray
    ids: np.ndarray | None = None
    query_ids: np.ndarray | None = None
    std: np.ndarray | None = None
    top_probability: np.ndarray | None = None

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
        """A pandas table with one row per conditioning node and object: query, rank, object, score.

        Then std and top_probability, if they were asked for.
        """
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
        columns |= {name: values.ravel() for name, values in self.sure().items()}
        return pd.DataFrame(columns)

    def sure(self) -> dict[str, np.ndarray]:
        """``std`` and ``top_probability`` by name, if they were asked for."""
        given = {"std": self.std, "top_probability": self.top_probability}
        return {name: values for name, values in given.items() if values is not None}

    def _repr_html_(self) -> str:
        """The first places of the first conditioning nodes as a table, for notebooks."""
        rows = []
        for query in range(min(len(self), SHOWN_QUERIES)):
            name = query if self.query_ids is None else self.query_ids[query]
            sure = [values[query][self.indices[query] >= 0] for values in self.sure().values()]
            rows += [
                (name, place, one, f"{score:.4g}", *(f"{values[place - 1]:.3g}" for values in sure))
                for place, (one, score) in enumerate(self[query][:SHOWN_PLACES], start=1)
            ]
        n_queries, top = self.indices.shape
        more = n_queries > SHOWN_QUERIES or top > SHOWN_PLACES
        below = f"{n_queries} conditioning nodes, {top} objects each" if more else ""
        return table_of(("query", "rank", "object", "score", *self.sure()), rows, below)

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


ORDERS = ("best", "worst")


def rank_objects(
    scorer: Any,
    queries: Nodes | None,
    objects: Nodes | None,
    top: int,
    names: Nodes,
    order: str = "best",
    restriction: Restriction | None = None,
    each: list[np.ndarray] | None = None,
) -> Ranking:
    """The ``top`` objects for each conditioning node. Scores are computed in blocks.

    Parameters
    ----------
    scorer : Scorer
        The model.
    queries, objects : Nodes or None
        Conditioning nodes and objects; None means those of training.
    top : int
        Length of a ranking.
    names : Nodes
        The objects with their ids.
    order : {"best", "worst"}
        Which objects come first.
    restriction : Restriction, optional
        Objects to leave out, or the only ones to rank.
    each : list of ndarray, optional
        The only objects to rank for each conditioning node.
    """
    check_choice("order", order, ORDERS)
    indices, scores = [], []
    for _, block, _ in candidate_scores(scorer, queries, objects, order, restriction, each):
        best = top_indices(block, top)
        indices.append(best)
        scores.append(np.take_along_axis(block, best, axis=1))
    if not indices:
        indices, scores = [np.empty((0, min(top, len(names))), dtype=np.intp)], [np.empty((0, min(top, len(names))))]
    found, values = np.concatenate(indices), np.concatenate(scores)
    query_ids = None if queries is None else queries.ids
    if restriction is None:
        values = -values if order == "worst" else values
        return Ranking(found, values, None if names.ids is None else names.ids[found], query_ids)
    found = found if restriction.columns is None else restriction.columns[found]
    return ranking_of(np.where(np.isfinite(values), found, -1), values, names.ids, query_ids, order)


def candidate_scores(
    scorer: Any,
    queries: Nodes | None,
    objects: Nodes | None,
    order: str,
    restriction: Restriction | None,
    each: list[np.ndarray] | None,
) -> Iterator[tuple[slice, np.ndarray, np.ndarray | None]]:
    """Scores of what can be ranked, largest best, a block of conditioning nodes at a time; the parameters as above.

    Objects that are left out have -∞. If only some objects can be ranked, the last entry has their positions.
    """
    for rows, block in finite_blocks(scorer, queries, objects):
        block = -block if order == "worst" else block
        if restriction is not None:
            block = _restricted(block, rows, restriction, each)
        yield rows, block, None if restriction is None else restriction.columns


def _restricted(scores: np.ndarray, rows: slice, restriction: Restriction, each: list[np.ndarray] | None) -> np.ndarray:
    """A copy of a block of scores, with -∞ for what is left out, or only the columns of the candidates."""
    scores = np.array(scores) if restriction.columns is None else scores[:, restriction.columns]
    restriction.exclude(rows, 0, scores)
    for row, places in enumerate([] if each is None else each[rows]):
        barred = np.ones(scores.shape[1], dtype=bool)
        barred[places] = False
        scores[row, barred] = -np.inf
    return scores


def ranking_of(
    places: np.ndarray, values: np.ndarray, ids: np.ndarray | None, query_ids: np.ndarray | None, order: str
) -> Ranking:
    """A ranking that is as wide as the longest row, from places (-1 for no object) and values, largest first.

    The values are scores; for the order "worst" they are negated scores.
    """
    width = int((places >= 0).sum(axis=1).max(initial=0)) if len(places) else places.shape[1]
    places, values = places[:, :width], values[:, :width]
    missing = places < 0
    if order == "worst":
        values = np.where(missing, -np.inf, -values)
    if ids is None:
        return Ranking(places, values, None, query_ids)
    names = ids[np.where(missing, 0, places)] if len(ids) else np.empty(places.shape, dtype=ids.dtype)
    if missing.any():
        names = names.astype(object)
        names[missing] = None
    return Ranking(places, values, names, query_ids)


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
