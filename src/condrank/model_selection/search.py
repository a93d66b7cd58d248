"""ConditionalRankerCV: λ, and with it kernel width and prior weight, by the rank loss on held-out rows."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from condrank.base.warn import warn
from condrank.fitting.judging import NOTHING_TO_RANK, SORTED_NODES
from condrank.fitting.plan import Plan, make_plan
from condrank.fitting.reading import read_settings
from condrank.fitting.refusal import check_memory
from condrank.fitting.run import Run
from condrank.graph import RelationGraph
from condrank.kernels import Kernel
from condrank.model_selection.grid import Grid, rank_losses, read_grid
from condrank.model_selection.held_out import Shortcut
from condrank.model_selection.holdout import (
    ALPHAS,
    HoldingOut,
    SearchPlan,
    hold_out,
    is_holdout,
    is_rough,
    search_precision,
)
from condrank.model_selection.left_out import has_closed_form
from condrank.model_selection.seeing import SeenSetting, warn_of_classes
from condrank.problem.problem import Problem
from condrank.rankers.checks import as_graph, check_agreement, warn_of_no_scores, warn_of_nothing_to_rank
from condrank.rankers.conditional import ConditionalRanker
from condrank.solvers import SOLVERS

# How the λ of a fold are solved.
SHARED, STARTED = "all from one Krylov sequence over the edges", "each from the solutions for larger ones"
# Losses closer than this are equal: a tie goes to the larger λ, the simpler model.
SAME_LOSS = 1e-12


class ConditionalRankerCV(SeenSetting, ConditionalRanker):
    """`ConditionalRanker` whose λ is chosen by the rank loss on pairs that the model has not seen.

    On complete graphs the loss of leaving each row, node or edge out is exact and needs no refitting. Folds of a
    splitter cost one eigendecomposition each, for any number of λ and τ. The ranker is then fitted to the whole graph
    with what was chosen. A fit to the whole graph that needs more memory than there is raises a ValueError before
    anything is tried. A `SelectionWarning` says if the choice cannot see what is asked: nodes of new classes, if the
    graph was made from classes and single nodes are left out; or scores of new objects for new conditioning nodes, if
    rows or edges were left out.

    Parameters
    ----------
    alphas : sequence of float, optional
        The λ to try. By default 17 from 10⁻⁴ to 10⁴; with ``cv="holdout"`` on graphs without a shortcut six from 0.01
        to 1,000.
    cv : {"leave-query-out", "leave-node-out", "leave-edge-out", "holdout"}, splitter, int or iterable, optional
        What is held out.

        "leave-query-out": one row at a time; its node stays as an object (settings 2 and 3 of two domains). The column
        of a symmetric or reciprocal relation gives the row away, so for these it says little about new nodes.
        "leave-node-out": one node at a time, its row and its column (between settings 2 and 4). "leave-edge-out": one
        edge at a time, with its other direction if the relation is symmetric or reciprocal (setting 1). Complete graphs
        have an exact shortcut for all three. Incomplete graphs and the logistic loss have none: rows and nodes are
        then left out by one fit for each of them and each λ.

        "holdout": the shortcut of the default on complete graphs. On others some of the nodes, chosen at random, are
        held out once or a few times (setting 4). If too few edges are among them, some of the edges are (setting 1). If
        nothing can be held out, λ is the one of ``alphas`` nearest to 1, with a warning. The quickest choice.

        A splitter such as `condrank.model_selection.SettingSplit`; a number of folds of nodes (setting 4); an iterable
        of (training graph, test graph) or of positions of nodes, as scikit-learn's splitters give them.

        By default, on complete graphs, a node for symmetric and reciprocal relations and a row for ordinary ones; on
        others five folds of new conditioning nodes (setting 2; setting 1 for the Cartesian kernel, which knows no new
        nodes).
    gammas : sequence of float, optional
        Kernel widths γ to try too; one eigendecomposition (a fold) each. By default ``gamma`` alone.
    prior_weights : sequence of float, optional
        τ to try too, with ``prior="similarity"``; they cost next to nothing. By default ``prior_weight`` alone.
    select : {"pooled", "median"}
        Take the λ with the lowest loss pooled over all held-out rows; or the median (the lower one of two) of the best
        λ of each fold, as the paper does, at the width and prior weight with the lowest pooled loss.
    relation, loss, kernel, gamma, degree, coef0, kernel_params, prior, prior_weight, constant, rank_by, clip, solver, \
pairwise_kernel, tol, max_iter, random_state, compared, feature_weights, n_components, approximation, landmarks, \
object_kernel, fit_intercept
        As for `ConditionalRanker`.
    search_tol, search_max_iter : float, int, optional
        ``tol`` and ``max_iter`` of the fits that choose λ. Their ConvergenceWarnings are not shown if these are given.
        By default a search over fewer than 20,000 edges is as precise as the last fit. With more edges, or with
        ``cv="holdout"``, iterations end when it is clear which λ ranks best: at 10⁻⁴ (0.01 for the logistic loss) or
        before, when a loss has settled. λ smaller than one that is clearly worse than the best are given up, and have
        its loss.
        ``max_iter`` is 100 at most with ``cv="holdout"``. A ``search_tol`` that is given is reached by every λ. The
        last fit, to the whole graph, has ``tol`` and ``max_iter``.

    Attributes
    ----------
    alpha_, gamma_, prior_weight_ : float
        Chosen λ, kernel width and prior weight (the given ones if there was no choice).
    alphas_ : ndarray of shape (n_alphas,)
        The λ that were tried.
    chosen_by_ : str
        What was held out, in words: "leaving out one node at a time".
    cv_setting_ : int or None
        The setting of what was held out: 1 edges, 2 conditioning nodes, 3 objects, 4 both; None if it is none of these.
    cv_losses_ : ndarray of shape (n_alphas,)
        Rank loss of each λ at the chosen width and prior weight: wrongly ordered over comparable pairs of objects,
        pooled over all held-out rows. Every observed edge of a row counts, its loop too. NaN if nothing was held out.
    fold_losses_ : ndarray of shape (n_folds, n_alphas)
        The same for each fold; a shortcut counts as one.
    search_losses_ : ndarray of shape (n_gammas, n_prior_weights, n_alphas)
        Pooled losses of everything that was tried.

    Examples
    --------
    >>> from condrank import ConditionalRankerCV
    >>> from condrank.datasets import make_digits_task
    >>> train, test = make_digits_task(n_train=100, n_test=50, random_state=0)
    >>> ranker = ConditionalRankerCV(alphas=[0.01, 1.0, 100.0], cv="leave-node-out", relation="symmetric").fit(train)
    >>> ranker.alpha_, ranker.cv_losses_.shape
    (1.0, (3,))
    """

    alphas_: np.ndarray
    cv_losses_: np.ndarray
    fold_losses_: np.ndarray
    search_losses_: np.ndarray
    gamma_: float | str | None
    prior_weight_: float

    def __init__(
        self,
        alphas: Iterable[float] | None = None,
        cv: Any = None,
        gammas: Iterable[float] | None = None,
        prior_weights: Iterable[float] | None = None,
        select: str = "pooled",
        relation: str = "ordinary",
        loss: str = "ranking",
        kernel: str | Kernel | Callable[..., Any] = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        prior: str | None = None,
        prior_weight: float = 1.0,
        constant: bool | float = False,
        rank_by: str = "outgoing",
        clip: bool = False,
        solver: str = "auto",
        pairwise_kernel: str | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
        compared: Sequence[int] | None = None,
        feature_weights: Any = None,
        n_components: int | str | None = None,
        approximation: str = "nystroem",
        landmarks: str = "uniform",
        search_tol: float | None = None,
        search_max_iter: int | None = None,
        object_kernel: str | Kernel | Callable[..., Any] | None = None,
        fit_intercept: bool = False,
    ):
        super().__init__(
            relation=relation,
            loss=loss,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            prior=prior,
            prior_weight=prior_weight,
            constant=constant,
            rank_by=rank_by,
            clip=clip,
            solver=solver,
            pairwise_kernel=pairwise_kernel,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            compared=compared,
            feature_weights=feature_weights,
            n_components=n_components,
            approximation=approximation,
            landmarks=landmarks,
            object_kernel=object_kernel,
            fit_intercept=fit_intercept,
        )
        self.alphas = alphas
        self.cv = cv
        self.gammas = gammas
        self.prior_weights = prior_weights
        self.select = select
        self.search_tol = search_tol
        self.search_max_iter = search_max_iter

    @with_callbacks
    def fit(self, X: Any, Y: Any = None) -> ConditionalRankerCV:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Choose λ, then learn from the whole graph.

        Parameters
        ----------
        X : RelationGraph, or array-like or scipy sparse array of shape (n_nodes, n_features)
            A graph; or features (a kernel matrix for ``kernel="precomputed"``), which are not copied.
        Y : array-like or scipy sparse array of shape (n_nodes, n_nodes), optional
            Relation values when X is features; NaN, or not stored if sparse, means not observed.
        """
        graph = as_graph(X, Y)
        grid, problem, plan, is_closed = self._read(graph)
        check_memory(plan, problem)
        held_out = hold_out(self.cv, self, graph, problem.settings, plan if is_closed else None)
        check_agreement(graph, problem.settings.relation)
        if held_out.folds is not None:
            warn_of_classes(self.cv, graph, held_out.described)
        if held_out.folds is None and problem.settings.loss.centres_rows:
            warn_of_nothing_to_rank(problem.observed)
        n_steps: Any = None if held_out.n_folds is None else held_out.n_folds + 1
        context = self._init_callback_context(max_subtasks=n_steps)
        context.call_on_fit_task_begin(estimator=self, X=graph)
        counts, reusable = self._try(held_out, graph, grid, context)
        self.alphas_, self.chosen_by_, self.cv_setting_ = grid.alphas, held_out.described, held_out.setting
        gamma, tau = self._keep_losses(counts, grid)
        alpha = self._choose(grid)
        problem = Problem(graph, read_settings(self._candidate(alpha, gamma, tau), graph))
        if not is_closed:
            plan = make_plan(problem)  # λ, and perhaps the kernel, are not those that were planned
            check_memory(plan, problem)
        step = context.subcontext(task_name="fit", max_subtasks=self.max_iter + 1)
        step.call_on_fit_task_begin(estimator=self)
        coordinates, system = reusable[0], reusable[1].get(tau)
        del reusable  # systems for other τ
        Run(self, self._keep, step, None)(problem, plan, coordinates, system=system)
        warn_of_no_scores(self.fitted_.model.W, problem.settings.relation)
        step.call_on_fit_task_end(estimator=self)
        self.gamma_, self.prior_weight_ = gamma, tau if self.prior is not None else self.prior_weight
        context.call_on_fit_task_end(estimator=self, X=graph)
        return self

    def plan(self, X: Any, Y: Any = None) -> SearchPlan:
        """What `fit` will do: the solver of its last fit with flops and memory, and how λ will be chosen."""
        graph = as_graph(X, Y)
        grid, problem, plan, is_closed = self._read(graph)
        held_out = hold_out(self.cv, self, graph, problem.settings, plan if is_closed else None)
        n_alphas = 1 if held_out.folds is None else len(grid.alphas)
        searched_by = ""
        if not is_closed and n_alphas > 1 and problem.settings.loss.is_quadratic:
            # A fold is a little smaller than the graph; the solver that suits it is the same.
            over_edges = SOLVERS[make_plan(problem, grid.alphas.tolist()).solver].over_edges
            searched_by = SHARED if over_edges else STARTED
        return SearchPlan(**asdict(plan), n_alphas=n_alphas, chosen_by=held_out.described, searched_by=searched_by)

    def _saved_params(self) -> dict[str, Any]:
        # What was chosen: the plain ranker.
        return self._candidate(self.alpha_, self.gamma_, self.prior_weight_).get_params(deep=False)

    def _read(self, graph: RelationGraph) -> tuple[Grid, Problem, Plan, bool]:
        """What to try, the fit to the whole graph with a λ in the middle, its plan, and whether it is a closed form.

        The plan shows before the search what the last fit will need. It is made again for the λ that is chosen.
        """
        grid = read_grid(self)
        candidate = self._candidate(grid.middle, grid.gammas[0], grid.prior_weights[0])
        problem = Problem(graph, read_settings(candidate, graph, draw=False))
        is_closed = has_closed_form(problem)
        if self.alphas is None and is_holdout(self.cv) and not is_closed:
            grid = replace(grid, alphas=np.array(ALPHAS))
        return grid, problem, make_plan(problem), is_closed

    def _candidate(self, alpha: float, gamma: float | str | None, prior_weight: float) -> ConditionalRanker:
        """The plain ranker with some of these parameters."""
        own = {name: getattr(self, name) for name in ConditionalRanker().get_params(deep=False)}
        return ConditionalRanker(**own | {"alpha": alpha, "gamma": gamma, "prior_weight": prior_weight})

    def _try(
        self, held_out: HoldingOut, graph: RelationGraph, grid: Grid, context: Any
    ) -> tuple[np.ndarray | None, tuple[Any, dict]]:
        """Wrongly ordered and comparable pairs, (n_gammas, n_folds, n_taus, n_alphas, 2); None if nothing is held out.

        Also coordinates that the last fit can reuse, and its system for some τ; of the width with the lowest loss.
        """
        reusable: tuple[Any, dict[float, Any]] = (None, {})
        if held_out.folds is None:
            return None, reusable
        precision = search_precision(self, graph)
        candidates = [self._candidate(float(grid.alphas[0]), gamma, grid.prior_weights[0]) for gamma in grid.gammas]
        counts: list[list[np.ndarray]] = [[] for _ in candidates]
        best = np.inf
        with warnings.catch_warnings():
            if is_rough(self):  # given up on purpose
                warnings.simplefilter("ignore", ConvergenceWarning)
            for make in held_out.folds:
                step = context.subcontext(task_name="fold")
                step.call_on_fit_task_begin(estimator=self)
                for candidate, of_folds in zip(candidates, counts, strict=True):
                    pairs = make(candidate.set_params(**precision), grid.prior_weights, grid.alphas)
                    of_folds.append(pairs.counts(grid.alphas))
                    lowest = rank_losses(of_folds[-1]).min()
                    if isinstance(pairs, Shortcut) and lowest < best:
                        systems = zip(pairs.anchors, pairs.systems, strict=True)
                        best, reusable = lowest, (pairs.reusable, {} if pairs.reusable is None else dict(systems))
                    del pairs  # its factorisation goes before the next one comes
                step.call_on_fit_task_end(estimator=self)
        if not counts[0]:
            raise ValueError("cv gives no fold")
        return np.array(counts), reusable

    def _keep_losses(self, counts: np.ndarray | None, grid: Grid) -> tuple[float | str | None, float]:
        """Losses of the counts; the width and τ of the lowest pooled one, or the first ones without any counts."""
        if counts is None:
            n_gammas, n_taus, n_alphas = len(grid.gammas), len(grid.prior_weights), len(grid.alphas)
            self.search_losses_ = np.full((n_gammas, n_taus, n_alphas), np.nan)
            self.cv_losses_, self.fold_losses_ = self.search_losses_[0, 0], np.empty((0, n_alphas))
            return grid.gammas[0], grid.prior_weights[0]
        if not counts[..., 1].any():
            raise ValueError(f"{NOTHING_TO_RANK} in what cv holds out{SORTED_NODES}")
        empty = np.count_nonzero(counts[0, :, 0, 0, 1] == 0)
        if empty and not isinstance(self.cv, str | None):  # single rows or nodes often have nothing to rank
            warn(f"{empty} of {counts.shape[1]} folds have nothing to rank and do not count{SORTED_NODES}", UserWarning)
        self.search_losses_ = rank_losses(counts.sum(axis=1))
        i, j, _ = np.unravel_index(np.argmin(self.search_losses_), self.search_losses_.shape)
        self.cv_losses_, self.fold_losses_ = self.search_losses_[i, j], rank_losses(counts[i, :, j])
        return grid.gammas[i], grid.prior_weights[j]

    def _choose(self, grid: Grid) -> float:
        """λ by the losses. A warning if it is the smallest or the largest that was tried, or if nothing was tried."""
        if not len(self.fold_losses_):
            warn(f"λ = {grid.nearest_to_one:g}, with {self.chosen_by_}", UserWarning)
            return grid.nearest_to_one
        if self.select == "median":
            rankable = [losses for losses in self.fold_losses_ if np.isfinite(losses).all()]
            alpha = statistics.median_low(self._lowest(losses) for losses in rankable)
        else:
            alpha = self._lowest(self.cv_losses_)
        low, high = self.alphas_.min(), self.alphas_.max()
        if low < high and alpha in (low, high):
            end, beyond = ("smallest", "smaller") if alpha == low else ("largest", "larger")
            warn(f"the best λ, {alpha:g}, is the {end} of alphas; {beyond} ones may be better", UserWarning)
        return alpha

    def _lowest(self, losses: np.ndarray) -> float:
        return float(self.alphas_[losses <= losses.min() + SAME_LOSS].max())
