"""The objects of an index at one moment, and how they are stored in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condrank.models.inner_products import InnerProducts
from condrank.nodes import Nodes
from condrank.nodes.views import Views
from condrank.persistence.arrays import Arrays, Held
from condrank.persistence.ids import ids_from, ids_to


@dataclass(frozen=True)
class Snapshot:
    """The objects at one moment; adding or removing some makes a new snapshot.

    Attributes
    ----------
    objects : ndarray or sparse array of shape (n, p), or tuple of Nodes and None
        Vectors; or, if the model scores nodes itself, the nodes, with None for the training objects.
    n : int
        Number of positions given so far.
    gone : ndarray of int
        Removed positions, ascending.
    ids : ndarray of shape (n,) or None
        Ids by position.
    """

    objects: Any
    n: int
    gone: np.ndarray
    ids: np.ndarray | None

    def to_state(self, arrays: Arrays, scorer: Any) -> dict[str, Any]:
        """Objects, removed positions and ids. Training objects are not stored a second time."""
        objects = self.objects if isinstance(self.objects, tuple) else (self.objects,)
        parts = [_stored(part, scorer) for part in objects]
        stored: list[Any] = [part is not None for part in parts]
        for number, part in enumerate(parts):
            if isinstance(part, Views):
                stored[number] = Nodes(part).to_state(arrays.under(f"objects.{number}"))
            elif part is not None:
                arrays.matrix(f"objects.{number}", part)
        arrays.put("gone", self.gone.astype(np.int64))
        # The id of a removed object may have been used again, so only ids of objects in the index are unique.
        names = None if self.ids is None else np.delete(self.ids, self.gone)
        return {"n": self.n, "n_gone": len(self.gone), "stored": stored, "ids": ids_to(names, arrays)}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, products: InnerProducts | None, n_training: int) -> Snapshot:
        """A stored snapshot, for a model with these inner products (or None) and this number of training objects."""
        parts = [_part_from(there, held, f"objects.{number}") for number, there in enumerate(given["stored"])]
        if products is None:
            objects: Any = tuple(None if part is None else Nodes(part) for part in parts)
            n = sum(n_training if part is None else len(part) for part in objects)
        else:
            objects = _vectors(parts, products)
            n = objects.shape[0]
        gone = held.places("gone", given["n_gone"], n).astype(np.intp)
        if given["n"] != n or (np.diff(gone) <= 0).any():
            raise ValueError(f"{given['n']} positions and {len(gone)} removed ones do not agree with {n} objects")
        names = _spread(ids_from(given["ids"], n - len(gone), held), gone, n)
        if products is None and names is not None:
            objects = _with_ids(objects, names, n_training)
        return cls(objects, n, gone, names)


def _with_ids(parts: tuple[Nodes | None, ...], names: np.ndarray, n_training: int) -> tuple[Nodes | None, ...]:
    """Objects with their ids, by which the model recognises training nodes."""
    named, start = [], 0
    for part in parts:
        stop = start + (n_training if part is None else len(part))
        named.append(None if part is None else Nodes(part.base, None, names[start:stop], against_training=True))
        start = stop
    return tuple(named)


def _part_from(there: Any, held: Held, name: str) -> Any:
    """Stored objects: views, of which a file has the names, or an array; None for training objects."""
    if isinstance(there, dict):
        return Nodes.from_state(there, held.under(name)).base
    return held.matrix(name) if there else None


def _stored(objects: Any, scorer: Any) -> Any:
    """What is stored for some objects: None for training objects, which are in the ranker's part of the file."""
    cols = getattr(scorer, "cols", None)
    if objects is None or cols is None:
        return None
    if not isinstance(objects, Nodes):
        training = cols.nodes.rows
        return None if objects is training or (cols.nodes.is_view and _same_memory(objects, training)) else objects
    # For a precomputed kernel, only values against the training nodes mean the same in a file.
    return cols.given_data(objects) if cols.kernel.matrices else objects.rows


def _same_memory(one: Any, other: Any) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray) or one.dtype != other.dtype:
        return False
    return one.shape == other.shape and one.strides == other.strides and one.ctypes.data == other.ctypes.data


def _vectors(parts: list[Any], products: InnerProducts) -> Any:
    """Vectors of the objects; those of training objects are computed again."""
    (vectors,) = parts
    if vectors is None:
        if not products.in_node_data:
            raise ValueError("the vectors of its objects are missing")
        vectors = products.of_objects(None)
    if vectors.shape[1] != products.length:
        raise ValueError(f"objects must have vectors of length {products.length}, got {vectors.shape[1]}")
    return vectors


def _spread(names: np.ndarray | None, gone: np.ndarray, n: int) -> np.ndarray | None:
    """Ids at the positions of their objects."""
    if names is None or len(gone) == 0:
        return names
    spread = np.zeros(n, dtype=names.dtype)
    spread[np.delete(np.arange(n), gone)] = names
    return spread
