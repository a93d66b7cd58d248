"""Sums over nodes from which the coordinates of explicit features follow. Blocks of nodes can be added to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.checks import check_number
from condrank.base.dense import dense
from condrank.persistence.arrays import Arrays, Held


class FeatureSums:
    """Σω, the mean μ and the scatter Σω(φ - μ)(φ - μ)ᵀ of features φ, and AᵀΦ and Aᵀ1 for factors A of the nodes.

    Any number of blocks can be added, in any order. Products are in the features' floating type, sums in double
    precision. Features are shifted to their mean before they are multiplied, so the part of 1 outside their span
    follows from the scatter without cancellation.

    Parameters
    ----------
    n_features : int
        p, the number of columns of Φ.
    n_factors : sequence of int
        Number k of columns of each A.

    Attributes
    ----------
    total : float
        Σω; without weights, the number of nodes.
    mean : ndarray of shape (p,)
        μ.
    scatter : ndarray of shape (p, p)
        Scatter of the features around μ.
    factors : list of ndarray of shape (k, p)
        AᵀΦ.
    counts : list of ndarray of shape (k,)
        Aᵀ1.
    """

    def __init__(self, n_features: int, n_factors: Sequence[int] = ()):
        self.total = 0.0
        self.mean = np.zeros(n_features)
        self.scatter = np.zeros((n_features, n_features))
        self.factors = [np.zeros((k, n_features)) for k in n_factors]
        self.counts = [np.zeros(k) for k in n_factors]
        self._shifted = np.empty((0, n_features))

    def add(self, features: Any, weights: np.ndarray | None = None, factors: Sequence[Any] = ()) -> None:
        """Add a block of b nodes: their features (b, p), their weights (b,) and their rows of each A. O(bp²).

        An overflow raises no error here. The eigendecomposition of the sums raises one.
        """
        if features.shape[0]:
            with np.errstate(over="ignore", invalid="ignore"):
                self._add(features, weights, factors)

    def _add(self, features: Any, weights: np.ndarray | None, factors: Sequence[Any]) -> None:
        for total, count, A in zip(self.factors, self.counts, factors, strict=True):
            product = A.astype(features.dtype, copy=False).T @ features
            total += dense(product)
            count += A.T @ np.ones(A.shape[0])
        weight = np.ones(features.shape[0], features.dtype) if weights is None else weights.astype(features.dtype)
        total = float(weight.sum(dtype=np.float64))
        if sparse.issparse(features):
            shift = np.zeros(len(self.mean))
            weighed = features if weights is None else sparse.diags_array(weight) @ features
            products = (features.T @ weighed).toarray().astype(np.float64, copy=False)
        else:
            # Any shift near the mean is good enough: the difference is corrected below.
            shift = (self.mean if self.total else weight @ features / total).astype(features.dtype)
            features = np.subtract(features, shift, out=self._room(features))
            weighed = features if weights is None else features * np.sqrt(weight)[:, None]
            products = (weighed.T @ weighed).astype(np.float64, copy=False)
        sums = np.asarray(weight @ features, dtype=np.float64)
        products -= np.outer(sums, sums / total)
        self._join(total, shift + sums / total, products)

    def _room(self, features: np.ndarray) -> np.ndarray:
        """An array for shifted features. All blocks reuse it, because new memory would cost as much as the shift."""
        if len(self._shifted) < len(features) or self._shifted.dtype != features.dtype:
            self._shifted = np.empty(features.shape, dtype=features.dtype)
        return self._shifted[: len(features)]

    def _join(self, total: float, mean: np.ndarray, scatter: np.ndarray) -> None:
        """Add the sums of other nodes, and the scatter between the two means."""
        together = self.total + total
        step = mean - self.mean
        self.scatter += scatter
        self.scatter += np.outer(step, step * (self.total * total / together))
        self.mean = self.mean + step * (total / together)
        self.total = together

    def joined(self, other: FeatureSums, places: Sequence[np.ndarray], n_factors: Sequence[int]) -> FeatureSums:
        """Sums over both sets of nodes, as a new object. O(p² + kp).

        Parameters
        ----------
        other : FeatureSums
            Sums over other nodes.
        places : sequence of ndarray
            For each A of ``other``, the column of the joined A that each of its columns becomes. The columns of this A
            come first.
        n_factors : sequence of int
            Number of columns of each joined A.
        """
        out = FeatureSums(len(self.mean), n_factors)
        out._join(self.total, self.mean, self.scatter)
        out._join(other.total, other.mean, other.scatter)
        for i, place in enumerate(places):
            k = len(self.counts[i])
            out.factors[i][:k], out.counts[i][:k] = self.factors[i], self.counts[i]
            out.factors[i][place] += other.factors[i]
            out.counts[i][place] += other.counts[i]
        return out

    def to_state(self, arrays: Arrays) -> dict[str, Any]:
        """All sums; `from_state` reads them."""
        arrays.put("mean", self.mean)
        arrays.put("scatter", self.scatter)
        for number, (factors, counts) in enumerate(zip(self.factors, self.counts, strict=True)):
            arrays.put(f"factors{number}", factors)
            arrays.put(f"counts{number}", counts)
        return {"total": float(self.total)}

    @classmethod
    def from_state(
        cls, given: dict[str, Any], held: Held, n_features: int, n_factors: Sequence[int] = ()
    ) -> FeatureSums:
        """Stored sums over this many features and factors."""
        sums = cls(n_features)
        sums.total = check_number(f"total of {held.name}", given["total"], above=0.0)
        sums.mean = held.floats("mean", n_features)
        sums.scatter = held.floats("scatter", n_features, n_features)
        sums.factors = [held.floats(f"factors{number}", k, n_features) for number, k in enumerate(n_factors)]
        sums.counts = [held.floats(f"counts{number}", k) for number, k in enumerate(n_factors)]
        return sums

    def close(self) -> FeatureSums:
        """Free the array for blocks. It is made again if more blocks are added."""
        self._shifted = self._shifted[:0].copy()
        return self

    @property
    def ones(self) -> np.ndarray:
        """Φᵀω, (p,)."""
        return self.total * self.mean

    def gram(self) -> np.ndarray:
        """Φᵀ diag(ω) Φ, (p, p), a new array."""
        with np.errstate(over="ignore", invalid="ignore"):
            gram = np.outer(self.ones, self.mean)
            gram += self.scatter
        return gram

    def outside(self, span: np.ndarray, dtype: np.dtype) -> tuple[float, bool]:
        """‖1 - Φ·span‖² with weights ω, zero if it is rounding noise; and whether that is certain.

        Its two parts, n(1 - μᵀspan)² and spanᵀ scatter span, are not negative, so their sum does not cancel. It is
        certain if it is clearly zero or well above the noise.
        """
        eps = float(np.finfo(dtype).eps)
        energy = self.total * (1 - float(self.mean @ span)) ** 2 + max(0.0, float(span @ self.scatter @ span))
        noise = eps * float(np.abs(span) @ np.sqrt(np.diag(self.scatter).clip(0))) ** 2
        zero = self.total * (1000 * eps) ** 2
        return (0.0 if energy <= max(zero, noise) else energy), energy <= zero or energy > noise / eps**0.5
