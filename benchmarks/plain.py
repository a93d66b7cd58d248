"""The floor of incomplete graphs: plain conjugate gradients on the dual system, as in pairwise kernel methods.

K̄ is the Kronecker (symmetric, reciprocal) kernel between the observed edges. L is the identity or, for ranking, the
projector that subtracts each node's mean. The system is (L K̄ L + λ) a = L y. A product with K̄ is K S K at the
observed edges, where S is sparse with entries a: by two dense products, or by the vec trick with compiled loops.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.data import SIGN
from condrank import RelationGraph
from condrank.objective.edge_loss import EdgeLoss
from condrank.objective.losses import get_loss
from condrank.products.sampled import SampledProducts
from condrank.solvers.krylov import Iterated, krylov
from condrank.solvers.system import Watch


class PlainDual:
    """The dual system of one graph with an RBF kernel, or with given kernels if ``gamma`` is None.

    A product costs O(n m (n + m)) for n × m pairs, or O(n_edges n). ``dtype`` is the precision of the products.
    """

    def __init__(
        self, graph: RelationGraph, gamma: float | None, relation: str, loss: str, dense: bool, dtype: type = np.float64
    ):
        def kernel(rows: np.ndarray) -> np.ndarray:
            return (rows if gamma is None else rbf_kernel(rows, gamma=gamma)).astype(dtype, copy=False)

        self.K = kernel(graph.nodes.rows)
        self.G = self.K if graph.objects is graph.nodes else kernel(graph.objects.rows)
        self.sign, self.dense, self.dtype = SIGN[relation], dense, dtype
        self.edges = edges = graph.relation
        self.centre = EdgeLoss(get_loss(loss), edges, edges.weights)
        self.products = SampledProducts(edges.indptr, edges.indices, edges.shape)
        self.place = edges.sources, edges.indices
        self.S = np.zeros(edges.shape, dtype) if dense else None

    def kernel_times(self, a: np.ndarray) -> np.ndarray:
        """K̄ a at the observed edges."""
        if self.S is not None:
            self.S[self.place] = a
            S = (self.S + self.sign * self.S.T) / 2 if self.sign else self.S
            return ((self.K @ S) @ self.G)[self.place]
        turned = np.ascontiguousarray(self.products.times(a, self.G).T)
        f = self.products.at_edges(self.K, turned)
        return (f + self.sign * self.products.at_edges(turned, self.K)) / 2 if self.sign else f

    def apply(self, a: np.ndarray, alpha: float) -> np.ndarray:
        """(L K̄ L + λ) a."""
        return self.centre(self.kernel_times(self.centre(a))) + alpha * a

    def solve(self, alpha: float, tol: float, max_iter: int, watch: Watch | None = None) -> Iterated:
        """CG without a preconditioner."""
        rhs = self.centre(self.edges.values).astype(self.dtype, copy=False)
        return krylov(lambda a: self.apply(a, alpha), rhs, tol=tol, max_iter=max_iter, watch=watch)

    def values(self, a: np.ndarray) -> np.ndarray:
        """The values of the model at the observed edges."""
        return self.kernel_times(self.centre(a))
