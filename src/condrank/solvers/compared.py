"""Compared features: steps on the diagonal, which no continuous node kernel has.

h(v, v') = z(v)ᵀ W₀ z(v') + Σ_f sign(x_f(v) - x_f(v')) z(v)ᵀ W_f z(v'), W₀ skew and every W_f symmetric, is reciprocal.
Its weights are one block each, solved for together by the iteration of `condrank.solvers.primal`. As the signs
square to one, each block alone has the closed form of the complete graph, which preconditions it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from condrank.models.compared import ComparedModel
from condrank.nodes import Coordinates
from condrank.objective.losses import REGRESSION, Loss
from condrank.objective.relations import RECIPROCAL, SYMMETRIC
from condrank.observations import Edges
from condrank.products.compared import compared_values, turn_by_signs
from condrank.solvers.complete_inverse import CompleteInverse
from condrank.solvers.krylov import Operator
from condrank.solvers.primal import PrimalSystem


class ComparedSystem(PrimalSystem):
    """Right-hand side, product and preconditioner for the blocks W₀, W_f, …: arrays of shape (1 + n_compared, r, r).

    Parameters
    ----------
    loss : Loss
        Regression or ranking, which is conditioned on the rows of the edges.
    rows : Coordinates
        Of the nodes.
    edges : Edges of shape (n, n)
        The observed pairs; of a complete graph all of them.
    compared : sequence of int
        Features that are compared.
    centre : float
        Taken from every label.
    dense : bool, optional
        As for `PrimalSystem`.

    Notes
    -----
    A product costs 1 + n_compared times that of `PrimalSystem`.
    """

    def __init__(
        self,
        loss: Loss,
        rows: Coordinates,
        edges: Edges,
        compared: Sequence[int],
        centre: float = 0.0,
        dense: bool | None = None,
    ):
        self.compared = tuple(compared)
        self.features = compared_values(rows.nodes, compared)
        self.signs = np.sign(self.features[:, edges.sources] - self.features[:, edges.indices])
        super().__init__(RECIPROCAL, loss, rows, rows, edges, centre=centre, dense=dense)
        self.signs = self.signs.astype(self.Z.dtype, copy=False)

    def single(self) -> ComparedSystem:
        """The same products in single precision; features are compared in their own."""
        twin: Any = super().single()
        twin.signs = self.signs.astype(np.float32)
        return twin

    def reduce(self, entries: np.ndarray) -> np.ndarray:
        """Blocks Π[Zᵀ S Z], and Π[Zᵀ (sign ∘ S) Z] for each compared feature."""
        turned = [self.reduce_to(RECIPROCAL, entries)]
        turned += [self.reduce_to(SYMMETRIC, sign * entries) for sign in self.signs]
        return np.stack(turned)

    def values(self, W: np.ndarray) -> np.ndarray:
        """h at the observed pairs."""
        out = super().values(W[0])
        for sign, block in zip(self.signs, W[1:], strict=True):
            out += sign * super().values(block)
        return out

    def apply(self, W: np.ndarray, alpha: float) -> np.ndarray:
        """The blocks of the normal equations' left side."""
        out = self._apply_dense(W) if self.dense else self.reduce(self.loss_operator(self.values(W)))
        out += alpha * W
        return out

    def _apply_dense(self, W: np.ndarray) -> np.ndarray:
        Z = self.Z
        F = (Z @ W[0]) @ Z.T
        for x, block in zip(self.features, W[1:], strict=True):
            F += turn_by_signs((Z @ block) @ Z.T, x, x)
        F = self.loss_operator.on_all(F)
        out = np.empty_like(W)
        out[0] = RECIPROCAL.project(Z.T @ (F @ Z))
        for x, block in zip(self.features, out[1:], strict=True):
            block[:] = SYMMETRIC.project(Z.T @ (turn_by_signs(F.copy(), x, x) @ Z))
        return out

    def preconditioner(self, loss: Loss, alpha: float, density: float) -> Operator:
        """The closed forms of W₀ and of W_f, each as if the others were not there."""
        skew = CompleteInverse(RECIPROCAL, loss, self.rows, self.cols, alpha / density)
        # Row means that the ranking loss takes out are those of turned values: none of the symmetric model's own.
        even = CompleteInverse(SYMMETRIC, REGRESSION, self.rows, self.cols, alpha / density)

        def inverse(R: np.ndarray) -> np.ndarray:
            blocks = [RECIPROCAL.project(skew(R[0])), *(SYMMETRIC.project(even(block)) for block in R[1:])]
            return np.stack(blocks) / density

        return inverse

    def model(self, W: Any = None) -> ComparedModel:
        """Scores of all blocks, and the centre of the scale."""
        return ComparedModel(self.rows, self.compared, W, self.offset)
