"""What a posterior needs of the labels: the size of their noise, and which pairs were observed with which weights.

The labels are y = f + noise with precision L/σ² and f has the prior covariance σ²/λ k̄. So y has the covariance
σ²(L⁺ + K̄/λ), and the largest likelihood is at σ² = q/ν, where q = (y - f)ᵀL(y - f) + λ‖h‖² is twice the objective at
the solution. ν counts the labels, less one for each constant without a prior: of every conditioning node for ranking,
of all pairs for an intercept (restricted maximum likelihood).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from condrank.base.checks import check_number
from condrank.models.edge import EdgeModel
from condrank.objective.edge_loss import EdgeLoss
from condrank.objective.losses import Loss
from condrank.observations import Edges
from condrank.persistence.arrays import Arrays, Held
from condrank.problem.settings import Settings
from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.explicit import ExplicitSystem

NOT_KNOWN = (
    "standard deviations need the size of the noise of the labels, which cannot be computed from {what}; fit the graph "
    "in one piece, on one machine"
)


@dataclass(frozen=True)
class Evidence:
    """The noise of the labels, and the observed pairs.

    Attributes
    ----------
    noise_variance : float
        σ² of a label of weight one; 1 for the logistic loss, whose outcomes have no noise of their own.
    edges : Edges or None
        The observed pairs with their weights; None for a complete graph.
    """

    noise_variance: float
    edges: Edges | None = None

    @classmethod
    def of(cls, system: Any, model: Any, settings: Settings) -> Evidence:
        """The evidence of a fit. O(n_pairs r), or O(r²) for a complete graph."""
        if isinstance(system, ClosedForm):
            return cls(_complete_noise(system, model.W))
        inner = getattr(system, "system", system)  # Newton's method has a system of its own
        edges = getattr(system, "edges", None)
        edges = getattr(inner, "edges", None) if edges is None else edges
        if not isinstance(edges, Edges):
            raise ValueError(NOT_KNOWN.format(what="a graph on a cluster"))
        if not settings.loss.is_quadratic:
            return cls(1.0, edges)
        if isinstance(system, ExplicitSystem):
            model = replace(model, prior_weight=0.0, offset=0.0)  # its edges have labels without both
        return cls(_edge_noise(edges, model, settings), edges)

    @property
    def n_pairs(self) -> int:
        """Number of observed pairs that are listed; 0 for a complete graph."""
        return 0 if self.edges is None else self.edges.n_pairs

    def to_state(self, arrays: Arrays, with_edges: bool) -> dict[str, Any]:
        """Plain values; the edges are added to ``arrays``, unless the model has them already."""
        edges = None
        if with_edges and self.edges is not None:
            edges = self.edges.to_state(arrays)
        values = {"noise_variance": float(self.noise_variance), "complete": self.edges is None}
        return values | {"edges": edges}

    @classmethod
    def from_state(cls, given: dict[str, Any], held: Held, own: Edges | None) -> Evidence:
        """Stored evidence; ``own`` are the edges of the model, if it has them."""
        noise = check_number("noise_variance", given["noise_variance"], at_least=0.0)
        edges = own if given["edges"] is None else Edges.from_state(given["edges"], held)
        if (edges is None) != given["complete"]:
            raise ValueError("uncertainty must have the observed pairs, unless the graph is complete")
        return cls(noise, edges)


def _complete_noise(system: ClosedForm, W: np.ndarray) -> float:
    """σ² of a complete graph: q = yᵀLy - ⟨ZᵀL(y)Z, W⟩."""
    if system.energy is None:
        raise ValueError(NOT_KNOWN.format(what="sums over the nodes, or a graph on a cluster"))
    n, m = system.rows.n_nodes, system.cols.n_nodes
    q = system.energy - float(np.vdot(system.rhs.astype(np.float64, copy=False), W.astype(np.float64, copy=False)))
    return max(0.0, q) / degrees_of_freedom(system.loss, n * m, n)


def degrees_of_freedom(loss: Loss, n_pairs: int, n_rows: int) -> int:
    """ν: labels less constants without a prior; at least one."""
    return max(1, n_pairs - (n_rows if loss.centres_rows else 1 if loss.fits_intercept else 0))


def _edge_noise(edges: Edges, model: Any, settings: Settings) -> float:
    """σ² from the residuals at the edges."""
    fitted = model.at_edges(model.rows.nodes, model.cols.nodes, edges).astype(np.float64)
    residual = edges.values.astype(np.float64) - fitted
    if isinstance(model, EdgeModel):
        size = float(model.W.astype(np.float64) @ model.kernel.product(model.W))
    else:
        size = float(np.linalg.norm(model.W.astype(np.float64, copy=False))) ** 2
    lost = EdgeLoss(settings.loss, edges, edges.weights.astype(np.float64))
    q = float(residual @ lost(residual)) + settings.alpha * size
    n_rows = int(np.count_nonzero(np.diff(edges.indptr)))
    return q / degrees_of_freedom(settings.loss, edges.n_pairs, n_rows)


def loss_weights(edges: Edges, model: Any, settings: Settings) -> np.ndarray:
    """Weights of the edges in the quadratic approximation of the loss at the solution: m, or m p(1 - p) of games."""
    weights = edges.weights.astype(np.float64)
    if settings.loss.is_quadratic:
        return weights
    p = expit(model.at_edges(model.rows.nodes, model.cols.nodes, edges).astype(np.float64))
    return np.maximum(weights * p * (1 - p), np.finfo(np.float64).tiny)
