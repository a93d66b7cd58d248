"""Two-step kernel ridge regression: first over the conditioning nodes, then over the objects."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from condrank.base.checks import check_number, check_numbers
from condrank.baselines.base import WeightedBaseline
from condrank.graph import RelationGraph
from condrank.models.model import Model
from condrank.rankers.base import fitted_of
from condrank.rankers.checks import as_graph


class TwoStepRidge(WeightedBaseline):
    """Predict F = K (K + λI)⁻¹ Y (G + μI)⁻¹ G, with the kernel K of the conditioning nodes and G of the objects.

    The first ridge regression predicts labels for new conditioning nodes, with one task per object. The second predicts
    from these labels for new objects. In a single domain G = K. Complete graphs only.

    Cost: an eigendecomposition of each kernel and two matrix products.

    Parameters
    ----------
    alpha : float
        λ of the conditioning nodes, > 0.
    alpha_objects : float or None
        μ of the objects, > 0; None means the same as alpha.
    kernel, gamma, degree, coef0, kernel_params
        Node kernel and its parameters, for both sides, as in `condrank.ConditionalRanker`.
    constant : bool
        Append a constant coordinate to z.
    fit_intercept : bool
        Learn from Y - c and add c to the scores, where c is the mean of all training labels. Two steps minimise no
        single objective over c, so this c is a definition: predictions go to the mean as λ and μ grow.
    object_kernel : str, Kernel or callable, optional
        Kernel of the objects of a second domain; by default ``kernel``.
    clip : bool
        Leave out negative eigenvalues of the kernels instead of refusing them.

    Attributes
    ----------
    coef_ : ndarray of shape (r, r')
        W = Zᵀ(Y - c)Z' / ((σ + λ)(σ' + μ)ᵀ), elementwise, of h(v, v') = z(v)ᵀ W z(v') + c.
    intercept_ : float
        c; 0.0 without an intercept.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        alpha_objects: float | None = None,
        kernel: str | Callable[..., Any] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        constant: bool = False,
        fit_intercept: bool = False,
        object_kernel: str | Callable[..., Any] | None = None,
        clip: bool = False,
    ):
        super().__init__(kernel, gamma, degree, coef0, kernel_params, object_kernel)
        self.alpha = alpha
        self.alpha_objects = alpha_objects
        self.constant = constant
        self.fit_intercept = fit_intercept
        self.clip = clip

    @property
    def intercept_(self) -> float:
        """The mean of the training labels; 0.0 without an intercept."""
        return float(self._state("model").offset)

    def fit(self, X: Any, Y: Any = None) -> TwoStepRidge:
        """Learn from a complete graph, or from node features X (n_nodes, n_features) and their relation Y."""
        graph = as_graph(X, Y)
        alpha, alpha_objects = self.check_alphas(graph)
        rows, cols = self.coordinates(graph)
        relation: Any = graph.relation
        W = rows.rotate(relation.reduce(rows.basis, cols.basis))
        W = cols.rotate(W.T).T
        mean = 0.0
        if self.fit_intercept:
            mean = relation.total() / relation.n_edges
            W = W - np.multiply.outer(mean * rows.ones, cols.ones)
        self.keep_at(Model(rows, cols, W, offset=mean), alpha, alpha_objects, graph)
        return self

    def path(self, alphas: Iterable[float]) -> Iterator[TwoStepRidge]:
        """Fitted rankers with λ = μ for other values of λ, from the eigendecompositions of this fit. O(r r') each."""
        fitted_of(self)
        reduced, graph = self._reduced, self._graph
        for alpha in check_numbers("alphas", alphas, above=0.0):
            ranker = copy.copy(self)
            ranker.alpha, ranker.alpha_objects = alpha, None
            ranker.keep_at(reduced, alpha, alpha, graph)
            yield ranker

    def keep_at(self, reduced: Model, alpha: float, alpha_objects: float, graph: Any) -> None:
        """Keep the labels in coordinates, and the model that they give for λ and μ."""
        self._reduced = reduced
        W = reduced.W / np.multiply.outer(reduced.rows.sigma + alpha, reduced.cols.sigma + alpha_objects)
        self._keep_scorer(reduced.with_weights(W), graph.objects, graph.n_features_in_, graph)

    def check_alphas(self, graph: RelationGraph) -> tuple[float, float]:
        """λ and μ, after checks; a ValueError if the graph is not complete."""
        alpha = check_number("alpha", self.alpha, above=0.0)
        alpha_objects = alpha
        if self.alpha_objects is not None:
            alpha_objects = check_number("alpha_objects", self.alpha_objects, above=0.0)
        if not graph.is_complete:
            raise ValueError(
                f"two-step ridge needs a complete graph, but only {graph.density:.1%} of the pairs are observed "
                "exactly once; use ExplicitRankRLS, NearestNeighbours or ConditionalRanker for incomplete graphs"
            )
        return alpha, alpha_objects
