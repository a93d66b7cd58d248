"""`ConditionalRanker`, the scikit-learn estimator: parameters in, fitted attributes out, no linear algebra."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

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
from condrank.kernels import Kernel
from condrank.problem.problem import Problem
from condrank.rankers.base import fitted_of
from condrank.rankers.checks import as_graph, check_agreement, warn_of_no_scores, warn_of_nothing_to_rank
from condrank.rankers.contests import Contests
from condrank.rankers.explained import Explained
from condrank.rankers.intervals import Intervals
from condrank.rankers.learned import Learned
from condrank.rankers.saving import Saved
from condrank.rankers.suggesting import Suggesting
from condrank.rankers.uncertain import Uncertain
from condrank.solvers.path import solve_path
from condrank.solvers.system import Options


class ConditionalRanker(CallbackSupportMixin, Saved, Uncertain, Learned, Contests, Intervals, Explained, Suggesting):
    """Learn to rank objects for an object, from nodes (objects with features) and edges (values of some pairs of them).

    A ranking is for one node v, the conditioning node (or query). It orders objects v' by score, highest first. The
    score is h(v, v') = z(v)ᵀ W z(v'), where z(v) has the r coordinates of v in the feature space of ``kernel``. Both v
    and v' may be nodes that were not in training.

    The fit minimises ½‖L(Y - F)‖² + ½ λ‖h‖², where Y and F are the labels and scores of the observed pairs. L is the
    identity for ``loss="regression"`` (with ``fit_intercept`` it subtracts the mean of all pairs). For
    ``loss="ranking"`` L subtracts the mean over each conditioning node's edges, which no ranking depends on (the
    paper's conditional RankRLS). ``loss="logistic"`` fits outcomes of games instead.

    An exact kernel of n nodes takes O(n³) time and O(n²) memory; ``n_components`` reduces both to O(n). Call `plan` to
    see what a fit will take.

    Parameters
    ----------
    relation : {"ordinary", "symmetric", "reciprocal"}, default="ordinary"
        What is known about the two directions of a pair: nothing, h(v, v') = h(v', v), or h(v, v') = -h(v', v).
    loss : {"ranking", "regression", "logistic"}, default="ranking"
        What to learn: the order of the objects for each conditioning node, the values of the pairs, or (reciprocal
        relations only) the probability that v beats v'.
    alpha : float, default=1.0
        Regularisation λ, > 0 (≥ 0 for early stopping). A larger value gives a simpler model.
    kernel : str, Kernel or callable, default="linear"
        Kernel between nodes: an expression of `condrank.kernels`, such as ``RBF("median") + 0.1 * Constant()`` (or its
        text); or a shorthand, as in scikit-learn's ``KernelRidge``: "linear", "rbf", "poly", "cosine",
        "laplacian", "chi2", "sigmoid", "precomputed" (nodes are given as a kernel matrix), or a callable on two rows.
    gamma, degree, coef0, kernel_params : default=None, 3, 1, None
        Parameters of a shorthand, as in ``KernelRidge``. ``gamma="median"`` is one over the median distance of the
        training nodes.
    n_components : int or "auto", default=None
        None takes the exact kernel. A number takes an approximation with that many landmarks or random features.
        "auto" takes as many landmarks as λ can make use of, estimated from a sample of the nodes, and at most 2,000
        (see `condrank.suggest_components`). If that is no fewer than the exact coordinates, the exact ones are used.
    approximation : {"nystroem", "fourier"}, default="nystroem"
        Use kernel values against landmarks, for any kernel; or random Fourier features, for "rbf" and "laplacian".
    landmarks : {"uniform", "kmeans", "pivoted"}, default="uniform"
        How to choose Nyström landmarks: nodes at random, centres of clusters (dense features only), or randomly pivoted
        Cholesky, which prefers nodes that the previous landmarks do not explain.
    prior : {"similarity"}, default=None
        "similarity" starts from the unsupervised ranking by ``prior_weight`` · k(v, v') and learns corrections to it,
        which vanish as λ → ∞. This helps on classes that were not in training. For symmetric and ordinary relations
        of a single domain.
    prior_weight : float, default=1.0
        Weight τ of the prior.
    constant : bool or float, default=False
        Append a constant coordinate, that is, add 1 (or this number) to the kernel, as ``+ Constant()`` does. This
        gives each node a score of its own: for a reciprocal relation a strength, beside the cyclic part (see
        `strengths`).
    compared : sequence of int, default=None
        Indices of features for which it matters who has more, for reciprocal relations. Adds
        Σ_f sign(x_f(v) - x_f(v')) z(v)ᵀ W_f z(v') with symmetric W_f: a step where v overtakes v', which no smooth
        kernel has. `condrank.model_selection.RankerSearch` finds such features.
    feature_weights : array-like of shape (n_features,), default=None
        Weights ≥ 0 that multiply the features before the kernel; compared features are compared without them.
        The same search learns them (automatic relevance determination).
    rank_by : {"outgoing", "incoming"}, default="outgoing"
        Rank by the edges that start at the conditioning node, or by those that end at it: ``predict(queries, objects)``
        scores the edges query → object, or object → query.
    clip : bool, default=False
        Drop the negative part of an indefinite kernel instead of raising an error.
    solver : {"auto", "closed_form", "iterative", "primal", "dual", "early_stopping", "explicit"}, default="auto"
        How to solve. `plan` reports what "auto" chooses. "iterative" takes the cheaper of "primal" and "dual".
    pairwise_kernel : {"linear", "poly2D", "cartesian", "ranking", "mlpk"}, default=None
        Kernel between edges (a, b) and (c, d) instead of the relation's Kronecker kernel: k(a, c) + k(b, d), its
        square, Cartesian (training nodes only), differences of one score, or metric learning. Solved in the dual.
    method : {"cg", "bicgstab"}, default="cg"
        Krylov method of early stopping.
    tol : float, default=1e-8
        Relative residual at which an iteration stops.
    max_iter : int, default=1000
        Largest number of iterations.
    validation_fraction : float, default=0.1
        Share of the nodes that early stopping holds out, unless `fit` gets a validation graph.
    n_iter_no_change : int, default=10
        Early stopping ends after this many iterations without a lower validation loss.
    warm_start : bool, default=False
        Start an iteration from the last solution, for example after edges were added. The nodes must be the same.
    random_state : int, RandomState instance or None, default=None
        Seed for the choice of held-out nodes, landmarks and random features.
    object_kernel : str, Kernel or callable, default=None
        Kernel of the objects, if they are nodes of a second domain; by default ``kernel``.
    fit_intercept : bool, default=False
        Fit a constant c to the labels as well, without a penalty, for ``loss="regression"``: minimises
        ½ Σ m (y - h - c)² + ½ λ‖h‖² over h and c, and predicts h + c. Adding a constant to all labels then changes
        nothing else. Without effect for a reciprocal relation, whose constant is fixed by its scale (0, or ½ for
        probabilities), for ``loss="logistic"``, which is for these, and for ``loss="ranking"``, to which no constant
        matters. ``constant`` is something else: its weights are penalised, and it adds scores of single nodes too.

    Attributes
    ----------
    coef_ : ndarray of shape (r, r)
        W, for the coordinates of the starting and the ending node of an edge, without the prior's τ I. The dual solver
        has the kernel values k_v as coordinates; its W is ``dual_coef_``, sparse.
    compared_coef_ : ndarray of shape (n_compared, r, r)
        The symmetric W_f of the compared features.
    dual_coef_ : ndarray of shape (n, n)
        A, such that scores are k_vᵀ A k_v' (plus the prior), computed at each access. With ``pairwise_kernel``, the
        coefficients of the edges, sparse.
    intercept_ : float
        The constant c of ``fit_intercept``; 0.0 if there is none.
    alpha_ : float
        λ of the model.
    solver_ : str
        The solver that ran: one of ``solver``, or "newton" or "dual_newton" for the logistic loss.
    n_iter_ : int or None
        Number of its iterations; None for a closed form.
    history_ : list of float
        Validation rank loss after each iteration of early stopping.
    plan_ : Plan
        The plan of the fit.
    n_features_in_ : int
        Number of features of a node.
    posterior_ : RankerPosterior
        How sure the scores are: ``noise_std``, ``scale``, ``way``, ``variance``, ``covariance``; computed when asked.

    Examples
    --------
    Three players have one feature, and the value of a pair is by how much one beats the other. Whom does a new player
    beat most easily?

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
        kernel: str | Kernel | Callable[..., Any] = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_components: int | str | None = None,
        approximation: str = "nystroem",
        landmarks: str = "uniform",
        prior: str | None = None,
        prior_weight: float = 1.0,
        constant: bool | float = False,
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
        object_kernel: str | Kernel | Callable[..., Any] | None = None,
        fit_intercept: bool = False,
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
        self.object_kernel = object_kernel
        self.fit_intercept = fit_intercept

    fitted_: FittedRanker

    @with_callbacks
    def fit(self, X: Any, Y: Any = None, validation: RelationGraph | None = None) -> ConditionalRanker:
        """Learn from a graph, or from the features of nodes and the values of their pairs.

        Parameters
        ----------
        X : RelationGraph, or array-like or scipy sparse array of shape (n_nodes, n_features)
            A graph; or features (a kernel matrix for ``kernel="precomputed"``), which are not copied.
        Y : array-like or scipy sparse array of shape (n_nodes, n_nodes), optional
            Relation values if X is features; NaN, or not stored if sparse, means not observed.
        validation : RelationGraph, optional
            Graph on which early stopping measures its loss; by default a share of the nodes is held out for this.
        """
        graph = as_graph(X, Y)
        settings = read_settings(self, graph)
        graph, held_out = self._hold_out(graph, validation)
        problem = Problem(graph, settings)
        plan = make_plan(problem)
        check_memory(plan, problem)
        check_agreement(graph, settings.relation)
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
        """The graph to learn from, and the held-out graph of early stopping."""
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

    @available_if(lambda self: not hasattr(self, "alphas"))  # sums over the nodes do not suffice to choose λ
    def partial_fit(self, X: Any, Y: Any = None) -> ConditionalRanker:
        """Learn from a further block of nodes. The result is the same as fitting to all blocks together.

        The ranker keeps sums over the features of the nodes, not the nodes. So `predict` and `rank` need objects
        afterwards. If the label of a node arrives later, add the node then, as a block of its own.

        Parameters
        ----------
        X : RelationGraph
            Nodes with a factored relation: `RelationGraph.from_classes`, also with a taxonomy, or ``from_factors`` with
            the same S each time. The values of pairs across blocks follow from the factors; classes are matched by
            name. The kernel is "linear" or "cosine", or approximated by ``n_components`` from the first block, which
            also gives the width of ``gamma="median"``.
        Y : None
            For scikit-learn only: a matrix of labels has no values for pairs across blocks.
        """
        graph, last = as_graph(X, Y), vars(self).get("fitted_")
        before = None if last is None else last.settings
        problem = Problem(graph, read_settings(self, graph, draw=last is None, before=before))
        fitted = add_nodes(last, problem)
        if graph.relation.two_way:
            check_agreement(graph, problem.settings.relation, whole=False)
        self._keep(fitted)
        return self

    def path(self, alphas: Iterable[float]) -> Iterator[ConditionalRanker]:
        """Fitted rankers for other values of λ, one at a time, from the factorisation of this fit.

        On a complete graph a further λ costs O(r²). On other graphs iterations over the edges serve all λ at once, and
        iterations on W start from the solutions before.
        """
        fitted = fitted_of(self)
        if stops_early(fitted.solver):
            raise ValueError("path needs a solver for a given λ, got early stopping, which has to be fitted for each")
        if fitted.system is None:
            raise ValueError("a loaded ranker has no factorisation to make a path from; fit it again")
        return self._path(fitted, check_numbers("alphas", alphas, above=0.0))

    def _path(self, fitted: FittedRanker, alphas: list[float]) -> Iterator[ConditionalRanker]:
        settings, system = fitted.settings, fitted.system
        assert system is not None
        options, waiting, at = Options(settings.tol, settings.max_iter, fitted.model.W), {}, 0
        # Solutions come in the order of the solver, rankers in the order of alphas.
        for place, solution in solve_path(system, alphas, options):
            waiting[place] = solution
            while at in waiting:
                solution, alpha = waiting.pop(at), alphas[at]
                warn_unless_converged(solution, settings)
                fitted = fitted.at(alpha, solution)
                ranker = copy.copy(self)
                ranker.alpha = alpha
                ranker._keep(fitted)
                yield ranker
                at += 1

    def plan(self, X: Any, Y: Any = None) -> Plan:
        """The solver that `fit` will use, why, and its flops and memory, before any work is done."""
        graph = as_graph(X, Y)
        settings = read_settings(self, graph, draw=False)
        early = stops_early(self.solver)
        held_out = check_number("validation_fraction", self.validation_fraction) if early else 0.0
        return make_plan(Problem(graph, settings, held_out))
