"""The scikit-learn facade: parameters in, fitted attributes out. The linear algebra is elsewhere."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from condrank.exceptions import RelationWarning
from condrank.graph import RelationGraph
from condrank.metrics import pair_counts
from condrank.model import Model
from condrank.nodes import ExactKernel, ExplicitFeatures, NodeKernel, Nodes
from condrank.ranking import Ranking, rank_objects
from condrank.relations import ORDINARY, RECIPROCAL, Relation, get_relation
from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.plan import SOLVERS, Plan, check_memory, make_plan
from condrank.validation import check_features


class ConditionalRanker(BaseEstimator):
    """Learn to rank objects conditioned on an object, from relation values between nodes with features.

    Minimises ½‖L(Y - F)‖² + ½ λ‖h‖² over functions h(v, v') = z(v)ᵀ W z(v') on pairs of nodes, F their values on the
    observed pairs: L is the identity (regression loss) or subtracts the mean over each conditioning node's edges
    (ranking loss, the paper's conditional RankRLS).

    Parameters
    ----------
    relation : {"ordinary", "symmetric", "reciprocal"}
        What is known of the relation: nothing, h(v, v') = h(v', v), or h(v, v') = -h(v', v).
    loss : {"ranking", "regression"}
        Order the objects of each conditioning node, or predict the values.
    alpha : float
        λ of the paper, > 0.
    kernel : str or callable
        Node kernel: "linear", "rbf", "poly", "cosine", "laplacian", "chi2", "sigmoid", "precomputed" or a callable on
        two rows, as in scikit-learn's ``KernelRidge``; so are ``gamma``, ``degree``, ``coef0`` and ``kernel_params``.
    gamma, degree, coef0, kernel_params
        Parameters of the kernel.
    prior : {None, "similarity"}
        "similarity": start from the unsupervised ranking by ``prior_weight`` · k(v, v') and learn corrections; λ → ∞
        is unsupervised ranking. For symmetric and ordinary relations of a single domain. Helps on classes that were
        not in training.
    prior_weight : float
        τ, the weight of the prior.
    constant : bool
        Append a constant coordinate (add 1 to the kernel), which gives the nodes main effects: for a reciprocal
        relation a difference of scores beside the cyclic part.
    rank_by : {"outgoing", "incoming"}
        Rank over the edges that start at the conditioning node, or those that end at it. ``predict(queries, objects)``
        scores the edges query → object, or object → query.
    clip : bool
        Drop the negative part of an indefinite kernel instead of refusing it.
    solver : {"auto", "closed_form"}
        How to solve; see `plan`.

    Attributes
    ----------
    coef_ : ndarray of shape (r, r)
        W, for coordinates of the starting and of the ending node of an edge; without the prior's own τ I.
    dual_coef_ : ndarray of shape (n, n)
        A with predictions k_vᵀ A k_v' (beside the prior), computed when asked for.
    alpha_ : float
        λ in use.
    solver_ : str
        Solver that ran.
    n_iter_ : int or None
        Its iterations; None for a closed form.
    plan_ : Plan
        What was planned.
    n_features_in_ : int
        Number of features of a node.

    Examples
    --------
    >>> import numpy as np
    >>> from condrank import ConditionalRanker
    >>> strength = np.array([[0.1], [0.9], [0.5]])
    >>> ranker = ConditionalRanker(relation="reciprocal", loss="regression", alpha=0.1, constant=True)
    >>> ranker.fit(strength, strength - strength.T).rank([[0.7]], top=3).indices
    array([[0, 2, 1]])
    """

    def __init__(
        self,
        relation: str = "ordinary",
        loss: str = "ranking",
        alpha: float = 1.0,
        kernel: str | Callable[..., Any] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        prior: str | None = None,
        prior_weight: float = 1.0,
        constant: bool = False,
        rank_by: str = "outgoing",
        clip: bool = False,
        solver: str = "auto",
    ):
        self.relation = relation
        self.loss = loss
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.prior = prior
        self.prior_weight = prior_weight
        self.constant = constant
        self.rank_by = rank_by
        self.clip = clip
        self.solver = solver

    def fit(self, X: Any, Y: Any = None) -> ConditionalRanker:
        """Learn from a graph, or from node features and their relation.

        Parameters
        ----------
        X : RelationGraph, or array-like or scipy sparse array of shape (n_nodes, n_features)
            A graph; or features (a kernel matrix for ``kernel="precomputed"``), which are not copied.
        Y : array-like or scipy sparse array of shape (n_nodes, n_nodes), optional
            Relation values when X is features.
        """
        graph = _as_graph(X, Y)
        relation = self._check_parameters(graph)
        plan = self.plan(graph)
        check_memory(plan)
        _warn_of_disagreement(graph, relation)
        first, second = self._sides(graph)
        rows = self._coordinates(first)
        cols = rows if second is first else self._coordinates(second)
        observed = graph.relation if self.rank_by == "outgoing" else graph.relation.transpose()
        system = ClosedForm(relation, self.loss, rows, cols, observed, self._prior_weight)
        self._system = system
        self._graph_ids = first.ids, second.ids
        self.plan_, self.solver_, self.n_iter_ = plan, plan.solver, None
        self.n_features_in_ = graph.nodes.base.shape[1]
        offset = graph.centre if relation is RECIPROCAL else 0.0
        self._set_solution(Model(rows, cols, system.solve(self.alpha), self._prior_weight, offset))
        return self

    def _set_solution(self, model: Model) -> None:
        self._model = model
        self.alpha_ = float(self.alpha)

    def path(self, alphas: Iterable[float]) -> Iterator[ConditionalRanker]:
        """Fitted rankers for other λ, one after the other, from the factorisation of this fit.

        A further λ costs O(r²), or one Cholesky factorisation for symmetric and reciprocal ranking.
        """
        check_is_fitted(self, "alpha_")
        alphas = [_check_positive("alphas", alpha) for alpha in alphas]
        for alpha in alphas:
            ranker = copy.copy(self)
            ranker.alpha = alpha
            model = copy.copy(self._model)
            model.W = self._system.solve(alpha)
            ranker._set_solution(model)
            yield ranker

    def predict(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Scores of objects conditioned on nodes; a higher score is a better rank.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features), or RelationGraph
            Conditioning nodes, known or new; kernel values against the training nodes for ``kernel="precomputed"``.
            A graph stands for all pairs of its nodes.
        objects : array-like of shape (n_objects, n_features), optional
            Objects to rank, known or new; by default the training nodes.

        Returns
        -------
        ndarray of shape (n_queries, n_objects)
        """
        return self._fitted().scores(*self._pair(queries, objects))

    def predict_edges(self, queries: Any, objects: Any) -> np.ndarray:
        """Scores of aligned pairs: of ``objects[i]`` conditioned on ``queries[i]``, (n_pairs,)."""
        model = self._fitted()
        first, second = Nodes(check_features(queries, "queries")), Nodes(check_features(objects, "objects"))
        if len(first) != len(second):
            raise ValueError(f"queries and objects must be aligned, got {len(first)} and {len(second)}")
        return model.edge_scores(first, second)

    def rank(self, queries: Any, objects: Any = None, top: int = 10) -> Ranking:
        """The ``top`` objects for each conditioning node, best first; scores are made and dropped in blocks.

        Parameters are those of `predict`; ``top`` is cut to the number of objects.
        """
        model = self._fitted()
        if not isinstance(top, Integral) or top < 1:
            raise ValueError(f"top must be a whole number of at least 1, got {top!r}")
        first, second = self._pair(queries, objects)
        names = second if second is not None else Nodes(np.empty((model.cols.n_nodes, 0)), None, self._graph_ids[1])
        return rank_objects(model, first, second, int(top), names)

    def score(self, X: Any, Y: Any = None) -> float:
        """1 - rank loss, pooled over conditioning nodes, on all pairs of the given nodes (setting 4 if they are new).

        Parameters
        ----------
        X, Y
            As in `fit`.
        """
        model = self._fitted()
        graph = _as_graph(X, Y)
        observed = graph.relation if self.rank_by == "outgoing" else graph.relation.transpose()
        wrong, comparable = 0.0, 0
        for block, scores in model.blocks(*self._sides(graph)):
            lost, pairs = pair_counts(observed.to_dense(block), scores)
            wrong, comparable = wrong + float(lost.sum()), comparable + int(pairs.sum())
        if comparable == 0:
            raise ValueError("no conditioning node has two objects with different relation values: nothing to rank")
        return 1.0 - wrong / comparable

    def plan(self, X: Any, Y: Any = None) -> Plan:
        """Which solver `fit` will take and why, with its flops and memory, before any work is done."""
        graph = _as_graph(X, Y)
        relation = self._check_parameters(graph)
        return make_plan(graph, self._node_kernel(), relation, self.loss, self.solver)

    @property
    def coef_(self) -> np.ndarray:
        """W for coordinates of the starting and of the ending node of an edge."""
        W = self._fitted().W
        return W if self.rank_by == "outgoing" else W.T

    @property
    def dual_coef_(self) -> np.ndarray:
        """Dual coefficients of the pairs of training nodes, computed at each access by two matrix products."""
        A = self._fitted().dual()
        return A if self.rank_by == "outgoing" else A.T

    @property
    def _prior_weight(self) -> float:
        return float(self.prior_weight) if self.prior is not None else 0.0

    def _fitted(self) -> Model:
        check_is_fitted(self, "alpha_")
        return self._model

    def _sides(self, graph: RelationGraph) -> tuple[Nodes, Nodes]:
        """Conditioning nodes and objects of a graph."""
        return (graph.nodes, graph.objects) if self.rank_by == "outgoing" else (graph.objects, graph.nodes)

    def _pair(self, queries: Any, objects: Any) -> tuple[Nodes, Nodes | None]:
        """Conditioning nodes and objects to score."""
        if isinstance(queries, RelationGraph):
            if objects is not None:
                raise ValueError("objects must be left out when queries is a RelationGraph, which has its own")
            return self._sides(queries)
        first = Nodes(check_features(queries, "queries"))
        if objects is None:
            return first, None
        return first, first if objects is queries else Nodes(check_features(objects, "objects"))

    def _node_kernel(self) -> NodeKernel:
        params = self.kernel_params or {}
        return NodeKernel(self.kernel, self.gamma, self.degree, self.coef0, params, bool(self.constant))

    def _coordinates(self, nodes: Nodes) -> ExactKernel | ExplicitFeatures:
        kernel = self._node_kernel()
        if ExplicitFeatures.applies(kernel, nodes):
            return ExplicitFeatures(kernel, nodes)
        return ExactKernel(kernel, nodes, self.clip)

    def _check_parameters(self, graph: RelationGraph) -> Relation:
        relation = get_relation(self.relation)
        choices = {
            "loss": (self.loss, ("ranking", "regression")),
            "rank_by": (self.rank_by, ("outgoing", "incoming")),
            "prior": (self.prior, (None, "similarity")),
            "solver": (self.solver, SOLVERS),
        }
        for name, (value, allowed) in choices.items():
            if value not in allowed:
                raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}")
        _check_positive("alpha", self.alpha)
        self._node_kernel()
        if graph.is_two_domain and relation is not ORDINARY:
            raise ValueError(
                f"relation={self.relation!r} needs conditioning nodes and objects of one domain, but the graph has two; "
                "use relation='ordinary'"
            )
        if self.prior is not None:
            if relation is RECIPROCAL:
                raise ValueError("prior='similarity' is symmetric and cannot be the prior of a reciprocal relation")
            if graph.is_two_domain:
                raise ValueError("prior='similarity' needs a single domain: there is no similarity across two")
            if not isinstance(self.prior_weight, Real) or not np.isfinite(self.prior_weight):
                raise ValueError(f"prior_weight must be a finite number, got {self.prior_weight!r}")
        if graph.n_edges == 0:
            raise ValueError("the graph has no observed edge: there is nothing to learn from")
        return relation

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags


def _as_graph(X: Any, Y: Any) -> RelationGraph:
    if isinstance(X, RelationGraph):
        if Y is not None:
            raise ValueError("Y must be left out when X is a RelationGraph, which has its own relation")
        return X
    if Y is None:
        raise ValueError("Y is missing: pass the relation values between the nodes, or a RelationGraph as X")
    return RelationGraph(X, Y)


def _check_positive(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a finite number greater than 0 for a closed form, got {value!r}")
    return float(value)


def _warn_of_disagreement(graph: RelationGraph, relation: Relation) -> None:
    """As in the paper, the symmetric or skew part is learned of a relation that is not quite so."""
    if relation is ORDINARY:
        return
    gap = graph.disagreement(relation.sign, graph.centre if relation is RECIPROCAL else 0.0)
    if gap > 1e-6:
        part = "symmetric" if relation.sign > 0 else "skew-symmetric"
        warnings.warn(
            f"relation={relation.name!r}, but the two directions of some pairs disagree by up to {gap:.2g} of the largest "
            f"label; the {part} part is learned",
            RelationWarning,
            stacklevel=3,
        )
