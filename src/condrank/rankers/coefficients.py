"""What a fitted ranker has learned, as arrays."""

from __future__ import annotations

import numpy as np

from condrank.models.compared import ComparedModel
from condrank.models.model import Model
from condrank.rankers.base import Ranker


class Coefficients(Ranker):
    """The weights of a fitted model, for the starting and the ending node of an edge whatever is ranked by."""

    @property
    def coef_(self) -> np.ndarray:
        """W for coordinates of the starting and of the ending node of an edge."""
        model = self._fitted()
        W = model.W if isinstance(model, Model | ComparedModel) else model.dual()
        W = W[0] if isinstance(model, ComparedModel) else W
        return W if self.rank_by == "outgoing" else W.T

    @property
    def compared_coef_(self) -> np.ndarray:
        """W_f of each compared feature, for the starting node's feature minus the ending node's."""
        model = self._fitted()
        if not isinstance(model, ComparedModel):
            raise AttributeError("compared_coef_ is for a ranker with compared features")
        return model.W[1:] if self.rank_by == "outgoing" else -model.W[1:]

    @property
    def dual_coef_(self) -> np.ndarray:
        """Dual coefficients of the pairs of training nodes, computed at each access by two matrix products."""
        model = self._fitted()
        if not len(self._objects):
            raise AttributeError("dual_coef_ is over training nodes, which partial_fit does not keep")
        A = model.dual()
        return A if self.rank_by == "outgoing" else A.T
