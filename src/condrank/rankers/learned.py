"""The fitted attributes of a ranker: how the fit went, and what it learned, as arrays."""

from __future__ import annotations

import numpy as np

from condrank.fitting.plan import Plan
from condrank.models.compared import ComparedModel
from condrank.models.model import Model
from condrank.rankers.base import fitted_of
from condrank.rankers.embedding import Embedding


class Learned(Embedding):
    """Fitted attributes. Weights are always for the starting and the ending node of an edge, in this order."""

    @property
    def alpha_(self) -> float:
        """λ of the model."""
        return self._state("alpha")

    @property
    def intercept_(self) -> float:
        """The constant that was fitted to the labels without a penalty; 0.0 if there is none."""
        return self._state("intercept")

    @property
    def solver_(self) -> str:
        """The solver that ran."""
        return self._state("solver")

    @property
    def plan_(self) -> Plan:
        """The plan of the fit."""
        return self._state("plan")

    @property
    def n_iter_(self) -> int | None:
        """Number of iterations; None for a closed form."""
        self._state("plan")
        return self.fitted_.n_iter

    @property
    def history_(self) -> list[float]:
        """Validation rank loss after each iteration of early stopping."""
        return list(self._state("history"))

    @property
    def coef_(self) -> np.ndarray:
        """W, for the coordinates of the starting and of the ending node of an edge."""
        model = fitted_of(self).model
        W = model.W if isinstance(model, Model | ComparedModel) else model.dual()
        W = W[0] if isinstance(model, ComparedModel) else W
        return W if self.rank_by == "outgoing" else W.T

    @property
    def compared_coef_(self) -> np.ndarray:
        """W_f of each compared feature, for the sign of the starting node's feature minus the ending node's."""
        model = fitted_of(self).model
        if not isinstance(model, ComparedModel):
            raise AttributeError("compared_coef_ needs a ranker with compared features")
        return model.W[1:] if self.rank_by == "outgoing" else -model.W[1:]

    @property
    def dual_coef_(self) -> np.ndarray:
        """Dual coefficients of the pairs of training nodes, computed by two matrix products at each access."""
        model = fitted_of(self).model
        if not len(fitted_of(self).objects):
            raise AttributeError("dual_coef_ needs the training nodes, which partial_fit does not keep")
        A = model.dual()
        return A if self.rank_by == "outgoing" else A.T
