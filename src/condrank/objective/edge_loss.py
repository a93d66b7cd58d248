"""The loss over observed edges: L as an operator on edge values, and its root R with R Rᵀ = L."""

from __future__ import annotations

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.base.measured import CACHED_ENTRIES
from condrank.objective.losses import Loss
from condrank.observations import Edges
from condrank.observations.rows import Rows


class EdgeLoss:
    """L_Ω: subtract the weighted mean that the loss centres (of each row, or of all pairs), multiply by the weights.

    Parameters
    ----------
    loss : Loss
        Defines what is centred.
    edges : Edges of shape (n, m)
        The observed pairs.
    weights : ndarray of shape (n_pairs,)
        Weights of the pairs, in the precision of the products.

    Attributes
    ----------
    mean : float
        The mean of all pairs that was subtracted last, if the loss fits an intercept.
    """

    mean: float = 0.0

    def __init__(self, loss: Loss, edges: Edges, weights: np.ndarray):
        self.loss, self.edges, self.weights = loss, edges, weights
        self.rows = Rows(edges.indptr)
        self.totals, self.total = self.rows.sums(weights), weights.sum()
        self._mask: np.ndarray | None = None

    def __call__(self, entries: np.ndarray) -> np.ndarray:
        """L_Ω of entries at the observed pairs. O(n_pairs)."""
        weighted = self.weights * entries
        if self.loss.centres_rows:
            weighted -= self.weights * self.rows.spread(self.rows.sums(weighted) / self.totals)
        elif self.loss.fits_intercept:
            mean = weighted.sum() / self.total
            weighted -= self.weights * mean
            self.mean = float(mean)
        return weighted

    def on_all(self, F: np.ndarray) -> np.ndarray:
        """L_Ω of a dense n×m array, in place: zero where nothing was observed. O(nm).

        The mean of all pairs is left in. `condrank.solvers.primal` subtracts it in O(rr'), without another pass.
        """
        totals = np.ones(len(F), dtype=F.dtype)
        totals[self.rows.filled] = self.totals
        for block in row_blocks(*F.shape, budget=CACHED_ENTRIES):
            part, mask = F[block], self.mask[block]
            part *= mask
            if self.loss.centres_rows:
                part -= mask * (part.sum(axis=1) / totals[block])[:, None]
        return F

    @property
    def mask(self) -> np.ndarray:
        """The weights as a dense array, made on first use."""
        if self._mask is None:
            self._mask = np.asarray(self.edges.matrix(self.weights).toarray())
        return self._mask


class LossRoot:
    """R = √M (I - s sᵀ) with s = √m/√Σm within each row, or over all pairs, so that R Rᵀ = L_Ω.

    R = √M if the loss centres nothing.

    Parameters
    ----------
    loss : Loss
        Defines what is centred.
    edges : Edges of shape (n, m)
        The observed pairs.
    weights : ndarray of shape (n_pairs,), optional
        Positive weights instead of those of the edges.

    Attributes
    ----------
    roots : ndarray of shape (n_pairs,)
        √m.
    row_unit : ndarray of shape (n,)
        1/√Σm of each row; 0 for a row without edges.
    total : float
        Σm over all pairs.
    mean : float
        The weighted mean of the last f of Rᵀ f, if the loss fits an intercept.
    """

    mean: float = 0.0

    def __init__(self, loss: Loss, edges: Edges, weights: np.ndarray | None = None):
        self.loss = loss
        self.weights = edges.weights if weights is None else weights
        self.roots, self._rows = np.sqrt(self.weights), Rows(edges.indptr)
        self.row_unit = np.zeros(edges.shape[0])
        self.row_unit[self._rows.filled] = 1 / np.sqrt(self._rows.sums(self.weights.astype(np.float64)))
        self._unit = self.roots * self._rows.spread(self.row_unit[self._rows.filled].astype(self.roots.dtype))
        self.total = float(self.weights.sum(dtype=np.float64))

    def __call__(self, c: np.ndarray) -> np.ndarray:
        """R c. O(n_pairs)."""
        return self.roots * self._centred(c)

    def transposed(self, f: np.ndarray) -> np.ndarray:
        """Rᵀ f. O(n_pairs)."""
        if self.loss.fits_intercept:
            self.mean = float(self.weights @ f) / self.total
            return self.roots * (f - f.dtype.type(self.mean))
        return self._centred(self.roots * f)

    def _centred(self, c: np.ndarray) -> np.ndarray:
        """c minus its part along s, in each row or over all pairs."""
        if self.loss.fits_intercept:
            along = self.roots * c.dtype.type((self.roots @ c) / self.total)
            return np.subtract(c, along, out=along)
        if not self.loss.centres_rows:
            return c
        along = self._rows.spread(self._rows.sums(self._unit * c))
        along *= self._unit
        return np.subtract(c, along, out=along)
