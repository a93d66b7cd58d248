"""Compared features: scores that jump where two nodes are equal, as no continuous node kernel does.

h(v, v') = z(v)ᵀ W₀ z(v') + Σ_f sign(x_f(v) - x_f(v')) z(v)ᵀ W_f z(v') is reciprocal for a skew W₀ and symmetric W_f.
The iteration of `condrank.solvers.primal` solves for all these blocks of weights together. As the signs square to one,
each block alone has the closed form of the complete graph, which is its preconditioner.
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
from condrank.products.compared import compared_values, multiply_by_signs
from condrank.solvers.complete_inverse import CompleteInverse
from condrank.solvers.krylov import Operator
from condrank.solvers.primal import PrimalSystem


class ComparedSystem(PrimalSystem):
    """Right-hand side, product and preconditioner for the blocks W₀, W_f, …: arrays of shape (1 + n_compared, r, r).

    Parameters
    ----------
    loss : Loss
        Regression, or ranking for each starting node of the edges.
    rows : Coordinates
        Coordinates of the nodes.
    edges : Edges of shape (n, n)
        The observed pairs; all pairs for a complete graph.
    compared : sequence of int
        Indices of the compared features.
    centre : float
        Subtracted from every label.
    dense : bool, optional
        As for `PrimalSystem`.

    Notes
    -----
    A product costs 1 + n_compared times as much as one of `PrimalSystem`.
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
        """The same products in single precision. The features are compared in their own precision."""
        twin: Any = super().single()
        twin.signs = self.signs.astype(np.float32)
        return twin

    def reduce(self, entries: np.ndarray) -> np.ndarray:
        """The blocks Π[Zᵀ S Z], and Π[Zᵀ (sign ∘ S) Z] for each compared feature."""
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
        """The left side of the normal equations, in blocks."""
        out = self._apply_dense(W) if self.dense else self.reduce(self.loss_operator(self.values(W)))
        out += alpha * W
        return out

    def _apply_dense(self, W: np.ndarray) -> np.ndarray:
        Z = self.Z
        F = (Z @ W[0]) @ Z.T
        for x, block in zip(self.features, W[1:], strict=True):
            F += multiply_by_signs((Z @ block) @ Z.T, x, x)
        F = self.loss_operator.on_all(F)
        out = np.empty_like(W)
        out[0] = RECIPROCAL.project(Z.T @ (F @ Z))
        for x, block in zip(self.features, out[1:], strict=True):
            block[:] = SYMMETRIC.project(Z.T @ (multiply_by_signs(F.copy(), x, x) @ Z))
        return out

    def preconditioner(self, loss: Loss, alpha: float, density: float) -> Operator:
        """The closed forms of W₀ and of each W_f, as if the other blocks did not exist."""
        skew = CompleteInverse(RECIPROCAL, loss, self.rows, self.cols, self.visible(alpha / density))
        # The ranking loss subtracts row means of values times signs, not of the values: regression is closer to it.
        even = CompleteInverse(SYMMETRIC, REGRESSION, self.rows, self.cols, self.visible(alpha / density))

        def inverse(R: np.ndarray) -> np.ndarray:
            blocks = [RECIPROCAL.project(skew(R[0])), *(SYMMETRIC.project(even(block)) for block in R[1:])]
            return np.stack(blocks) / density

        return inverse

    def model(self, W: Any = None) -> ComparedModel:
        """The model: scores of all blocks plus the centre of the scale."""
        return ComparedModel(self.rows, self.compared, W, self.offset)
