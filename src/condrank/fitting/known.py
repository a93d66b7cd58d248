"""Which pairs of training nodes are known: what ``exclude="known"`` leaves out of a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from condrank.models import EdgeModel
from condrank.nodes import Nodes
from condrank.nodes.store import SameBase, recognise
from condrank.observations import Complete, Edges, Observations
from condrank.persistence.arrays import Arrays, Held

KNOWN = "known"  # as the value of exclude
NOT_KEPT = (
    "exclude='known' needs the pairs of training, which this ranker does not keep (a baseline, partial_fit, Dask, or a "
    "model that was saved without them); pass exclude= one sequence of objects for each conditioning node"
)


@dataclass(frozen=True, eq=False)
class KnownPairs:
    """The training objects that each conditioning node of training has an edge with.

    Attributes
    ----------
    indptr, indices : ndarray of int or None
        Compressed sparse rows, as in `condrank.observations.Edges`, whose arrays they share; None if every pair of a
        complete relation is known.
    """

    indptr: np.ndarray | None
    indices: np.ndarray | None

    @classmethod
    def of(cls, observed: Observations) -> KnownPairs | None:
        """The pairs of observations with a row for each conditioning node; None if they are not on this machine.

        In a complete relation that stores few values, the others being zero, the stored pairs are the known ones.
        """
        if isinstance(observed, Edges):
            return cls(*observed.known())
        if isinstance(observed, Complete) and sparse.issparse(observed.Y):
            Y: Any = sparse.csr_array(observed.Y)
            return cls(Y.indptr, Y.indices)
        return cls(None, None) if isinstance(observed.is_complete, bool) and observed.is_complete else None

    def places(self, rows: np.ndarray, found: np.ndarray, n_objects: int) -> list[np.ndarray]:
        """Positions, ascending, among some objects of what is known for each conditioning node; none for a new node.

        O(m + known) for each conditioning node, O(known) if the objects are those of training in their order.

        Parameters
        ----------
        rows : ndarray of int, shape (n_queries,)
            Positions of the conditioning nodes among those of training; -1 for new ones.
        found : ndarray of int, shape (m,)
            Positions of the objects among those of training; -1 for new ones.
        n_objects : int
            Number of objects of training.
        """
        in_order = len(found) == n_objects and np.array_equal(found, np.arange(n_objects))
        places = []
        for row in rows.tolist():
            mine = self.row(row, n_objects)
            places.append(mine if in_order else np.flatnonzero(np.isin(found, mine)))
        if self.indptr is None and (rows >= 0).any() and (found >= 0).all():
            raise ValueError(
                "exclude='known' leaves nothing to rank: every pair of the training graph is known; leave exclude out, "
                "or rank new objects"
            )
        return places

    @property
    def n_pairs(self) -> int | None:
        """Number of known pairs; None if every pair is known."""
        return None if self.indices is None else len(self.indices)

    def row(self, row: int, n_objects: int) -> np.ndarray:
        """Positions of the known training objects of the training node at a position; none for -1."""
        if row < 0:
            return np.zeros(0, dtype=np.intp)
        if self.indptr is None or self.indices is None:
            return np.arange(n_objects)
        return np.sort(self.indices[self.indptr[row] : self.indptr[row + 1]]).astype(np.intp)

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """The pairs as arrays; `from_state` reads them."""
        if self.indptr is None or self.indices is None:
            return {"every": True}
        small = len(self.indices) == 0 or self.indices.max() < 2**31
        arrays.put("indptr", self.indptr.astype(np.int64))
        arrays.put("indices", self.indices.astype(np.int32 if small else np.int64))
        return {"every": False}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, shape: tuple[int, int]) -> KnownPairs:
        """Stored pairs of ``shape`` conditioning nodes and objects."""
        if given["every"] is True:
            return cls(None, None)
        indptr = held.take("indptr", "i", shape[0] + 1)
        if indptr[0] != 0 or (np.diff(indptr) < 0).any():
            raise ValueError("the known pairs must be in the order of the conditioning nodes")
        return cls(indptr, held.places("indices", int(indptr[-1]), shape[1]))


def known_from(given: dict[str, Any], held: Held, model: Any) -> KnownPairs | None:
    """The known pairs of a stored ranker: stored by themselves, or those whose coefficients its model has."""
    if "known" in given:
        shape = len(model.rows.nodes), len(model.cols.nodes)
        return KnownPairs.from_state(given["known"], held.under("known"), shape)
    return KnownPairs.of(model.kernel.edges) if isinstance(model, EdgeModel) else None


def known_places(fitted: Any, queries: Nodes, objects: Nodes) -> list[np.ndarray]:
    """Positions among objects of what is known for each conditioning node, by the pairs of a fitted state.

    Nodes are recognised by their place in the training graph, by id, or by their features if all are those of training.
    """
    known, rows = known_rows(fitted, queries)
    found = np.arange(len(objects)) if objects is fitted.objects else _recognised(objects, fitted.model.cols.nodes)
    return known.places(rows, found, len(fitted.objects))


def known_rows(fitted: Any, queries: Nodes) -> tuple[KnownPairs, np.ndarray]:
    """Known pairs, and the position of each conditioning node in training; a ValueError if they are not kept."""
    known: KnownPairs | None = getattr(fitted, "known", None)
    if known is None or not len(fitted.objects):
        raise ValueError(NOT_KEPT)
    return known, _recognised(queries, fitted.model.rows.nodes)


def _recognised(nodes: Nodes, trained: Nodes) -> np.ndarray:
    return recognise(nodes, trained, SameBase(trained.base))


def is_known(exclude: Any) -> bool:
    """Whether ``exclude`` asks for the known pairs; a ValueError for any other text."""
    if not isinstance(exclude, str):
        return False
    if exclude != KNOWN:
        raise ValueError(f"exclude must be a sequence of objects, or 'known', got {exclude!r}")
    return True
