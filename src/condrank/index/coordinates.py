"""Search coordinates y of objects and w of conditioning nodes, with wᵀy near their score but for a shift of each node.

Inner products are no metric, and scores may depend on other directions than those in which the vectors of objects
differ most. Two changes leave every ranking as it is: x → x - μ shifts all scores of a conditioning node by the same
amount, and x → Tx, q → T⁻ᵀq changes no score. μ is the mean of the objects. T balances objects and conditioning nodes:
in search coordinates both vary along the same axes by the same amount, most along the first axes. Axes that hardly any
score depends on are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank.base.measured import BALANCE_LEAST_AXIS_SHARE
from condrank.index.vectors import ModelScores, VectorScores
from condrank.nodes import Nodes
from condrank.persistence.arrays import Arrays, Held

Scores = VectorScores | ModelScores
Scored = Callable[[Nodes, Any], Scores]  # scores of conditioning nodes for objects as an index holds them
LARGEST = np.float32(1e15)  # a sum of products of numbers up to this one is finite in single precision


class VectorCoordinates:
    """Search coordinates y = T(x - μ) and w = T⁻ᵀq of vectors x and q with scores qᵀx.

    Parameters
    ----------
    mean : ndarray of shape (p,)
        Mean μ of the objects.
    to_object, to_query : ndarray of shape (p, s)
        Tᵀ and T⁻¹, for rows of vectors.
    """

    name = "vectors"

    def __init__(self, mean: np.ndarray, to_object: np.ndarray, to_query: np.ndarray):
        self.mean, self.to_object, self.to_query = mean, to_object, to_query

    def of_objects(self, X: np.ndarray, places: Any) -> np.ndarray:
        """Coordinates (m, s) of the objects at some places (a slice or positions) of X (n, p). O(mps)."""
        rows = X[places]
        return single((rows - self.mean.astype(rows.dtype)) @ self.to_object.astype(rows.dtype))

    def of_queries(self, scores: Any) -> np.ndarray:
        """Coordinates (n, s) of the conditioning nodes of some scores, each scaled to length 1. O(nps)."""
        return single(unit(scores.Q @ self.to_query.astype(scores.Q.dtype)))

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """The maps."""
        for part in ("mean", "to_object", "to_query"):
            arrays.put(part, getattr(self, part))
        return {"coordinates": self.name}

    @classmethod
    def from_state(cls, held: Held, p: int) -> VectorCoordinates:
        """Stored maps of vectors of length p."""
        to_object = small_floats(held, "to_object", p, None)
        return cls(small_floats(held, "mean", p), to_object, small_floats(held, "to_query", *to_object.shape))


class ScoreCoordinates:
    """Search coordinates from scores alone, for models that are no inner products of short vectors.

    H (m₀, n₀) are the scores of a sample of objects for a sample of conditioning nodes, without the mean of each node.
    With its singular values H = √(m₀n₀) U diag(l) Vᵀ, an object is placed by its scores for the sampled nodes,
    y = diag(l)^-½ Vᵀ h / √n₀, and a conditioning node by its scores for the sampled objects,
    w = diag(l)^-½ Uᵀ h / √m₀. Their inner products are the scores if these have the rank of the sample; otherwise they
    are near, and the objects that are found have to be scored by the model.

    Parameters
    ----------
    scored : callable
        Scores of conditioning nodes for objects.
    asked : Nodes of length n₀
        The sampled conditioning nodes.
    asked_at, seen_at : ndarray of int, of length n₀ and m₀
        Their positions among the training nodes, and the positions of the sampled objects in the index.
    mean : ndarray of shape (n₀,)
        Mean score of the sampled objects for each sampled conditioning node.
    to_object, to_query : ndarray of shape (n₀, s) and (m₀, s)
        V diag(l)^-½ / √n₀ and U diag(l)^-½ / √m₀, but for a common factor.
    """

    name = "scores"

    def __init__(
        self,
        scored: Scored,
        asked: Nodes,
        asked_at: np.ndarray,
        seen_at: np.ndarray,
        mean: np.ndarray,
        to_object: np.ndarray,
        to_query: np.ndarray,
    ):
        self._scored, self._asked, self.asked_at, self.seen_at = scored, asked, asked_at, seen_at
        self.mean, self.to_object, self.to_query = mean, to_object, to_query

    @classmethod
    def fit(
        cls, scored: Scored, nodes: Nodes, asked_at: np.ndarray, objects: Any, seen_at: np.ndarray
    ) -> ScoreCoordinates:
        """Coordinates from the objects at some positions and the training nodes at others. O(m₀ n₀ min(m₀, n₀))."""
        asked = nodes.take(asked_at)
        H = gathered(scored(asked, objects), seen_at).T.astype(np.float64)
        mean = H.mean(axis=0)
        U, lengths, Vt = np.linalg.svd((H - mean) / np.sqrt(H.size), full_matrices=False)
        kept = lengths > BALANCE_LEAST_AXIS_SHARE * max(lengths[0], np.finfo(float).tiny)
        kept[0] = True
        scale = np.sqrt(np.maximum(lengths[kept], np.finfo(float).tiny))
        to_object, to_query = Vt[kept].T / scale / np.sqrt(len(asked)), U[:, kept] / scale / np.sqrt(len(H))
        return cls(scored, asked, asked_at, seen_at, mean, to_object / scale[0], to_query)

    def of_objects(self, objects: Any, places: Any) -> np.ndarray:
        """Coordinates (m, s) of the objects at some places; n₀ scores for each."""
        places = np.arange(places.start, places.stop) if isinstance(places, slice) else places
        H = gathered(self._scored(self._asked, objects), places).T
        return single((H - self.mean.astype(H.dtype)) @ self.to_object.astype(H.dtype))

    def of_queries(self, scores: Any) -> np.ndarray:
        """Coordinates (n, s) of the conditioning nodes of some scores, each scaled to length 1; m₀ scores for each."""
        H = gathered(scores, self.seen_at)
        return single(unit((H - H.mean(axis=1, keepdims=True)) @ self.to_query.astype(H.dtype)))

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """Positions of the samples, and the maps."""
        for part in ("asked_at", "seen_at"):
            arrays.put(part, getattr(self, part).astype(np.int64))
        for part in ("mean", "to_object", "to_query"):
            arrays.put(part, getattr(self, part))
        return {"coordinates": self.name}

    @classmethod
    def from_state(cls, held: Held, scored: Scored, nodes: Nodes, n: int) -> ScoreCoordinates:
        """Stored coordinates, for a model with these training nodes and an index with n positions."""
        asked_at = held.places("asked_at", None, len(nodes)).astype(np.intp)
        seen_at = held.places("seen_at", None, n).astype(np.intp)
        if (np.diff(seen_at) <= 0).any():
            raise ValueError("seen_at must be ascending")
        to_object = small_floats(held, "to_object", len(asked_at), None)
        maps = small_floats(held, "mean", len(asked_at)), to_object
        to_query = small_floats(held, "to_query", len(seen_at), to_object.shape[1])
        return cls(scored, nodes.take(asked_at), asked_at, seen_at, *maps, to_query)


Coordinates = VectorCoordinates | ScoreCoordinates


def balance(objects: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """μ (p,), Tᵀ and T⁻¹ (p, s), from a sample of objects and from vectors with the second moments of the queries.

    For the covariance C of the objects and second moments D of the queries, T C Tᵀ and T⁻ᵀ D T⁻¹ are diag(l) but for
    a factor, with l descending: l² are the eigenvalues of C^½ D C^½. The factor makes the extent of the objects along
    the first axis 1, so that large and small features fit into single precision.
    """
    mean = objects.mean(axis=0)
    extent, axes = np.linalg.eigh((objects - mean).T @ (objects - mean) / len(objects))
    kept = extent > max(extent[-1], np.finfo(float).tiny) * 1e-12
    if not kept.any() or not queries.any():
        one = np.eye(objects.shape[1])
        return mean, one, one  # all objects equal, or all scores zero: nothing to balance
    root = np.sqrt(extent[kept])
    half, inverse = axes[:, kept] * root, axes[:, kept] / root
    seen = queries @ half
    squares, turn = np.linalg.eigh(seen.T @ seen)
    lengths = np.sqrt(np.maximum(squares, 0.0))
    kept = lengths > BALANCE_LEAST_AXIS_SHARE * lengths[-1]
    scale, turn = np.sqrt(lengths[kept] / lengths[-1]), turn[:, kept]
    return mean, inverse @ turn * scale, half @ turn / scale


def gathered(scores: Any, places: np.ndarray) -> np.ndarray:
    """Scores (n, m) of the objects at some ascending places, without the shift of each conditioning node."""
    out: np.ndarray | None = None
    for rows, start, block in scores.blocks(places):
        if out is None:
            out = np.empty((len(scores), len(places)), dtype=block.dtype)
        out[rows, start : start + block.shape[1]] = block
    return np.empty((len(scores), len(places))) if out is None else out


def unit(W: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1, which changes no ranking; rows of zeros stay."""
    largest = np.abs(W).max(axis=1, keepdims=True, initial=0.0)
    W = W / np.where(largest > 0, largest, 1)  # first, because squares of small or large numbers are 0 or infinite
    lengths = np.linalg.norm(W, axis=1, keepdims=True)
    return W / np.where(lengths > 0, lengths, 1)


def single(Y: np.ndarray) -> np.ndarray:
    """Coordinates in single precision. Numbers out of its range, as of a damaged file, are cut: none is infinite."""
    return np.ascontiguousarray(np.nan_to_num(np.clip(Y, -LARGEST, LARGEST)), dtype=np.float32)


def small_floats(held: Held, name: str, *shape: int | None) -> np.ndarray:
    """A finite array, checked even with ``mmap``, as it is small."""
    array = held.floats(name, *shape)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")
    return np.array(array)
