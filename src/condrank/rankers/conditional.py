"""The scikit-learn facade: parameters in, fitted attributes out. The linear algebra is elsewhere."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.metaestimators import available_if

from condrank.base.checks import check_count, check_number, check_numbers
from condrank.fitting.fitted import FittedRanker
from condrank.fitting.held_out import HeldOut, hold_out
from condrank.fitting.partial import add_nodes
from condrank.fitting.plan import Plan, make_plan
from condrank.fitting.reading import read_settings, stops_early
from condrank.fitting.refusal import check_memory
from condrank.fitting.run import Run, warn_unless_converged
from condrank.fitting.warm_start import warm
from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.problem.problem import Problem
from condrank.rankers.base import fitted_of, read_pair
from condrank.rankers.checks import as_graph, warn_of_disagreement, warn_of_no_scores, warn_of_nothing_to_rank
from condrank.rankers.learned import Learned
from condrank.rankers.saving import Saved
from condrank.solvers.system import Options


class ConditionalRanker(CallbackSupportMixin, Saved, Learned):
    """Learn to rank objects conditioned on an object, from relation values between nodes with features.

    Minimises ½‖L(Y - F)‖² + ½ λ‖h‖² over functions h(v, v') = z(v)ᵀ W z(v') on pairs of nodes, F their values on the
    observed pairs: L is the identity (regression loss) or subtracts the mean over each conditioning node's edges
    (ranking loss, the paper's conditional RankRLS). The logistic loss takes outcomes of games instead.

    Parameters
    ----------
    relation : {"ordinary", "symmetric", "reciprocal"}
        What is known of the relation: nothing, h(v, v') = h(v', v), or h(v, v') = -h(v', v).
    loss : {"ranking", "regression", "logistic"}
        Order the objects of each conditioning node, predict the values, or (reciprocal only) predict the probability
        that v beats v'.
    alpha : float
        λ of the paper, > 0 (≥ 0 for early stopping).
    kernel : str or callable
        Node kernel: "linear", "rbf", "poly", "cosine", "laplacian", "chi2", "sigmoid", "precomputed" or a callable on
        two rows, as in scikit-learn's ``KernelRidge``; so are ``gamma``, ``degree``, ``coef0`` and ``kernel_params``.
    gamma, degree, coef0, kernel_params
        Parameters of the kernel.
    n_components : None, int or "auto"
        None: the kernel itself, whose coordinates are as many as nodes. A number of landmarks or of random features:
        an approximation, O(n) in time and memory. "auto": as many landmarks as ``alpha`` lets be seen, told from a
        sample of the nodes, and at most 2,000 (see `condrank.suggest_components`). Where that is no fewer than exact
        coordinates are, those are taken.
    approximation : {"nystroem", "fourier"}
        Kernel values against landmarks, for any kernel; or random Fourier features, for "rbf" and "laplacian".
    landmarks : {"uniform", "kmeans", "pivoted"}
        Nyström landmarks: a random choice of nodes, centres of clusters (of dense features), or randomly pivoted
        Cholesky, which looks for nodes that the ones before do not explain.
    prior : {None, "similarity"}
        "similarity": start from the unsupervised ranking by ``prior_weight`` · k(v, v') and learn corrections; λ → ∞
        is unsupervised ranking. For symmetric and ordinary relations of a single domain. Helps on classes that were
        not in training.
    prior_weight : float
        τ, the weight of the prior.
    constant : bool
        Append a constant coordinate (add 1 to the kernel), which gives the nodes main effects: for a reciprocal
        relation a difference of strengths beside the cyclic part, see `strengths`.
    compared : sequence of int, optional
        Features whose comparison matters, for reciprocal relations: adds Σ_f sign(x_f(v) - x_f(v')) z(v)ᵀ W_f z(v')
        with symmetric W_f, a step where v overtakes v' that no smooth kernel has.
        `condrank.model_selection.SimilaritySearch` finds them.
    feature_weights : array-like of shape (n_features,), optional
        Weights ≥ 0 that multiply the features before the kernel (automatic relevance determination when learned, as
        by the same search); compared features are compared as they are.
    rank_by : {"outgoing", "incoming"}
        Rank over the edges that start at the conditioning node, or those that end at it. ``predict(queries, objects)``
        scores the edges query → object, or object → query.
    clip : bool
        Drop the negative part of an indefinite kernel instead of refusing it.
    solver : {"auto", "closed_form", "iterative", "primal", "dual", "early_stopping", "explicit"}
        How to solve; `plan` tells what "auto" chooses. "iterative" is the better of "primal" and "dual".
    pairwise_kernel : {None, "linear", "poly2D", "cartesian", "ranking", "mlpk"}
        Kernel between edges in the place of the relation's Kronecker kernel: k(a, c) + k(b, d), its square, the
        Cartesian kernel (training nodes only), differences of one score, or metric learning. Solved in the dual.
    method : {"cg", "bicgstab"}
        Krylov method of early stopping.
    tol : float
        Relative residual at which an iteration ends.
    max_iter : int
        Most iterations.
    validation_fraction : float
        Share of the nodes that early stopping holds out, unless `fit` is given a validation graph.
    n_iter_no_change : int
        Iterations without a lower validation loss after which early stopping ends.
    warm_start : bool
        Start an iteration from the last fit's solution, for example after edges were added. The nodes must be the same.
    random_state : int, RandomState instance or None
        For the choice of held-out nodes, of landmarks and of random features.

    Attributes
    ----------
    coef_ : ndarray of shape (r, r)
        W, for coordinates of the starting and of the ending node of an edge; without the prior's own τ I. For the dual
        solver, whose coordinates are the kernel values k_v, the same as ``dual_coef_``, sparse.
    compared_coef_ : ndarray of shape (n_compared, r, r)
        The symmetric W_f of the compared features.
    dual_coef_ : ndarray of shape (n, n)
        A with predictions k_vᵀ A k_v' (beside the prior), computed when asked for. With ``pairwise_kernel`` the
        coefficients of the edges, sparse.
    alpha_ : float
        λ in use.
    solver_ : str
        Solver that ran: one of ``solver``, or "newton" and "dual_newton" for the logistic loss.
    n_iter_ : int or None
        Its iterations; None for a closed form.
    history_ : list of float
        Validation rank loss after each iteration of early stopping.
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
        n_components: int | str | None = None,
        approximation: str = "nystroem",
        landmarks: str = "uniform",
        prior: str | None = None,
        prior_weight: float = 1.0,
        constant: bool = False,
        compared: Sequence[int] | None = None,
        feature_weights: Any = None,
        rank_by: str = "outgoing",
        clip: bool = False,
        solver: str = "auto",
        pairwise_kernel: str | None = None,
        method: str = "cg",
        tol: float = 1e-8,
        max_iter: int = 1000,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
    ):
        self.relation = relation
        self.loss = loss
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.approximation = approximation
        self.landmarks = landmarks
        self.prior = prior
        self.prior_weight = prior_weight
        self.constant = constant
        self.compared = compared
        self.feature_weights = feature_weights
        self.rank_by = rank_by
        self.clip = clip
        self.solver = solver
        self.pairwise_kernel = pairwise_kernel
        self.method = method
        self.tol = tol
        self.max_iter = max_iter
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.random_state = random_state

    fitted_: FittedRanker

    @with_callbacks
    def fit(self, X: Any, Y: Any = None, validation: RelationGraph | None = None) -> ConditionalRanker:
        """Learn from a graph, or from node features and their relation.

        Parameters
        ----------
        X : RelationGraph, or array-like or scipy sparse array of shape (n_nodes, n_features)
            A graph; or features (a kernel matrix for ``kernel="precomputed"``), which are not copied.
        Y : array-like or scipy sparse array of shape (n_nodes, n_nodes), optional
            Relation values when X is features; NaN, or not stored if sparse, means not observed.
        validation : RelationGraph, optional
            Graph on which early stopping measures its loss; by default a share of the nodes is held out.
        """
        graph = as_graph(X, Y)
        settings = read_settings(self, graph)
        graph, held_out = self._hold_out(graph, validation)
        problem = Problem(graph, settings)
        plan = make_plan(problem)
        check_memory(plan, problem)
        warn_of_disagreement(graph, settings.relation)
        if settings.loss.centres_rows and not problem.is_distributed:
            warn_of_nothing_to_rank(problem.observed)
        last = vars(self).get("fitted_") if self.warm_start else None
        coordinates, start = warm(last, problem, plan)
        context = self._init_callback_context(max_subtasks=self.max_iter + 1)
        context.call_on_fit_task_begin(estimator=self, X=graph)
        Run(self, self._keep, context, held_out)(problem, plan, coordinates, start)
        warn_of_no_scores(self.fitted_.model.W, settings.relation)
        context.call_on_fit_task_end(estimator=self, X=graph)
        return self

    def _hold_out(self, graph: RelationGraph, validation: Any) -> tuple[RelationGraph, HeldOut | None]:
        """What is learned from, and what early stopping measures its loss on."""
        if validation is not None and not isinstance(validation, RelationGraph):
            raise ValueError(f"validation must be a RelationGraph, got {type(validation).__name__}")
        if not stops_early(self.solver):
            if validation is not None:
                raise ValueError(f"validation is for solver='early_stopping', got solver={self.solver!r}")
            return graph, None
        if validation is None:
            share = check_number("validation_fraction", self.validation_fraction)
            graph, validation = hold_out(graph, share, self.random_state, self.rank_by)
        patience = check_count("n_iter_no_change", self.n_iter_no_change)
        return graph, HeldOut(validation.conditioned(self.rank_by), patience)

    @available_if(lambda self: not hasattr(self, "alphas"))  # a search has nothing to choose by in sums
    def partial_fit(self, X: Any, Y: Any = None) -> ConditionalRanker:
        """Add nodes to those learned from so far, as fitting to all of them together would; from none at first.

        What is kept of the nodes is sums over their features, not the nodes: objects have to be passed to `predict`
        and `rank` afterwards. A node whose label comes later is a block of its own, to be added then.

        Parameters
        ----------
        X : RelationGraph
            Nodes with a factored relation (`RelationGraph.from_classes`, also of a taxonomy, or ``from_factors`` with
            the same S each time): that of pairs across blocks follows from the factors, classes being matched by name.
            The kernel is "linear" or "cosine", or approximated by ``n_components`` chosen from the first block.
        Y : None
            For scikit-learn only: a matrix of labels tells nothing of pairs across blocks.
        """
        graph, last = as_graph(X, Y), vars(self).get("fitted_")
        problem = Problem(graph, read_settings(self, graph, draw=last is None))
        fitted = add_nodes(last, problem)
        if graph.relation.two_way:
            warn_of_disagreement(graph, problem.settings.relation)
        self._keep(fitted)
        return self

    def path(self, alphas: Iterable[float]) -> Iterator[ConditionalRanker]:
        """Fitted rankers for other λ, one after the other, from the factorisation of this fit.

        On a complete graph a further λ costs O(r²); otherwise each iteration starts from the solution before.
        """
        fitted = fitted_of(self)
        if stops_early(fitted.solver):
            raise ValueError("path is for solvers of a given λ; early stopping is fitted anew for each")
        if fitted.system is None:
            raise ValueError("a loaded ranker has no factorisation to make a path from; fit it again")
        return self._path(fitted, check_numbers("alphas", alphas, above=0.0))

    def _path(self, fitted: FittedRanker, alphas: list[float]) -> Iterator[ConditionalRanker]:
        settings, system = fitted.settings, fitted.system
        assert system is not None
        for alpha in alphas:
            solution = system.solve(alpha, Options(settings.tol, settings.max_iter, fitted.model.W))
            warn_unless_converged(solution, settings)
            fitted = fitted.at(alpha, solution)
            ranker = copy.copy(self)
            ranker.alpha = alpha
            ranker._keep(fitted)
            yield ranker

    @available_if(lambda self: self.loss == "logistic")
    def predict_proba(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Probability that each conditioning node beats each object, (n_queries, n_objects); loss="logistic" only.

        With ``rank_by="incoming"`` that each object beats each conditioning node. Those of the two directions of a
        pair sum to one exactly.
        """
        model = fitted_of(self).model
        return model.probabilities(*read_pair(self, queries, objects))

    def strengths(self, nodes: Any) -> np.ndarray:
        """Strength f(v) of nodes: the transitive part f(v) - f(v') of a reciprocal relation learned with ``constant``.

        The rest of a score, predict - (f(v) - f(v')), is cyclic: no order of the nodes explains it. That does not hold
        with ``compared`` features, whose part is in the rest.
        """
        fitted_of(self)
        return strengths_of(self, read_pair(self, nodes, None if isinstance(nodes, RelationGraph) else nodes)[0])

    def plan(self, X: Any, Y: Any = None) -> Plan:
        """Which solver `fit` will take and why, with its flops and memory, before any work is done."""
        graph = as_graph(X, Y)
        settings = read_settings(self, graph, draw=False)
        early = stops_early(self.solver)
        held_out = check_number("validation_fraction", self.validation_fraction) if early else 0.0
        return make_plan(Problem(graph, settings, held_out))


def strengths_of(ranker: ConditionalRanker, nodes: Nodes) -> np.ndarray:
    """`ConditionalRanker.strengths` of nodes that are checked already."""
    model = fitted_of(ranker).model
    if ranker.relation != "reciprocal" or not ranker.constant:
        raise ValueError("strengths needs relation='reciprocal' and constant=True")
    return model.strengths(nodes) * (1.0 if ranker.rank_by == "outgoing" else -1.0)
