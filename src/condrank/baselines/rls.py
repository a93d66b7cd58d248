"""Edge-wise RLS and RankRLS, the paper's c.reg and c.rank on explicit edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from condrank.base.checks import check_choice, check_number
from condrank.baselines.base import WeightedBaseline
from condrank.graph import RelationGraph
from condrank.models.model import Model
from condrank.objective.losses import QUADRATIC, get_loss
from condrank.objective.relations import RECIPROCAL, Relation, get_relation
from condrank.observations.edges import all_edges
from condrank.rankers.checks import as_graph, check_agreement
from condrank.solvers.explicit import FEATURES, MAX_BYTES, solve_explicit


class ExplicitRankRLS(WeightedBaseline):
    """Minimise ½ Σ_e (y_e - h(e))² + ½ λ‖h‖² over edges e (RLS); RankRLS first subtracts means over a node's edges.

    The solution is that of `condrank.ConditionalRanker` with the same parameters, on complete and incomplete graphs.
    The cost is that of a general-purpose learner: every edge is an example with r² product features, or a row of an
    edge kernel matrix.

    Parameters
    ----------
    relation : {"ordinary", "symmetric", "reciprocal"}
        Kernel of edges: Kronecker, symmetric or reciprocal (with the paper's ½, so λ means the same in all three).
    loss : {"ranking", "regression"}
        RankRLS or RLS.
    alpha : float
        Regularisation λ, > 0.
    features : {"product", "kernel", "auto"}
        "product" solves for the weights of the product features z_k z'_l, a p×p system with p = r² (about half of that
        for symmetric and reciprocal relations). "kernel" solves for the dual weights of the E edges, an E×E system.
        "auto" takes the smaller one.
    kernel, gamma, degree, coef0, kernel_params
        Node kernel and its parameters, as in `condrank.ConditionalRanker`.
    constant : bool
        Append a constant coordinate to z.
    max_bytes : int
        A system that needs more memory raises a ValueError.

    Attributes
    ----------
    coef_ : ndarray of shape (r, r)
        W of h(v, v') = z(v)ᵀ W z(v').
    """

    def __init__(
        self,
        relation: str = "ordinary",
        loss: str = "ranking",
        alpha: float = 1.0,
        features: str = "product",
        kernel: str | Callable[..., Any] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        constant: bool = False,
        max_bytes: int = MAX_BYTES,
    ):
        super().__init__(kernel, gamma, degree, coef0, kernel_params)
        self.relation = relation
        self.loss = loss
        self.alpha = alpha
        self.features = features
        self.constant = constant
        self.max_bytes = max_bytes

    def fit(self, X: Any, Y: Any = None) -> ExplicitRankRLS:
        """Learn from a graph, or from node features X (n_nodes, n_features) and their relation Y (n_nodes, n_nodes)."""
        graph = as_graph(X, Y)
        check_choice("loss", self.loss, tuple(dict.fromkeys(loss.name for loss in QUADRATIC)))
        loss = get_loss(self.loss)
        check_choice("features", self.features, FEATURES)
        alpha = check_number("alpha", self.alpha, above=0.0)
        relation = check_relation(self.relation, graph)
        check_agreement(graph, relation)
        centre = graph.centre if relation is RECIPROCAL else 0.0
        rows, cols = self.coordinates(graph)
        Z = rows.training()
        Z_objects = Z if cols is rows else cols.training()
        W = solve_explicit(
            relation,
            loss,
            Z,
            Z_objects,
            all_edges(graph.relation, centre),
            alpha,
            features=self.features,
            max_bytes=self.max_bytes,
        )
        self._keep_scorer(Model(rows, cols, W, offset=centre), graph.objects, graph.n_features_in_, graph)
        return self


def check_relation(name: str, graph: RelationGraph) -> Relation:
    """The relation with this name. The graph must have edges and, unless the relation is ordinary, one domain."""
    relation = get_relation(name)
    if graph.is_two_domain and relation.sign:
        raise ValueError(
            f"relation={name!r} needs conditioning nodes and objects of one domain, but the graph has two; "
            "use relation='ordinary'"
        )
    if graph.n_edges == 0:
        raise ValueError("the graph has no observed edge: there is nothing to learn from")
    return relation
