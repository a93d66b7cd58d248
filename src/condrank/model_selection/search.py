"""ConditionalRankerCV: λ, and with it kernel width and prior weight, by the rank loss on held-out rows."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.callback import with_callbacks

from condrank.base.checks import check_choice, check_numbers
from condrank.base.warn import warn
from condrank.fitting.judging import NOTHING_TO_RANK
from condrank.fitting.plan import Plan, make_plan
from condrank.fitting.reading import read_settings, stops_early
from condrank.fitting.refusal import check_memory
from condrank.fitting.run import Run
from condrank.graph import RelationGraph
from condrank.model_selection.folds import read_folds
from condrank.model_selection.held_out import Fold, HeldOutPairs, Shortcut, check_one_out, one_out
from condrank.model_selection.left_out import has_closed_form
from condrank.model_selection.splits import SettingSplit
from condrank.problem.problem import Problem
from condrank.problem.settings import Settings
from condrank.rankers.checks import as_graph, warn_of_disagreement, warn_of_no_scores
from condrank.rankers.conditional import ConditionalRanker

# Losses closer than this are equal: a tie goes to the larger λ, the simpler model.
SAME_LOSS = 1e-12


class ConditionalRankerCV(ConditionalRanker):
    """`ConditionalRanker` whose λ is chosen by the rank loss on pairs that the model has not seen.

    On complete graphs the loss of leaving each row, node or edge out is exact and needs no refitting; folds of a
    splitter cost one eigendecomposition each, however many λ and τ are tried. The ranker is then fitted to the whole
    graph with what was chosen.

    Parameters
    ----------
    alphas : sequence of float, optional
        The λ to try; by default 17 from 10⁻⁴ to 10⁴.
    cv : {"leave-query-out", "leave-node-out", "leave-edge-out"}, splitter, int or iterable, optional
        What is held out. One row at a time, whose node stays as an object (settings 2 and 3 of two domains; of a
        symmetric or reciprocal relation the column gives the row away, so this says little of new nodes); one node,
        its row and its column (between settings 2 and 4); one edge, with its other direction for relations that have
        one (setting 1). By default, on complete graphs, a node for symmetric and reciprocal relations and a row for
        ordinary ones; on others five folds of new conditioning nodes (setting 2; of the Cartesian kernel, which knows
        no new nodes, setting 1).

        Or a splitter such as `condrank.model_selection.SettingSplit`; a number of folds of nodes (setting 4); an
        iterable of (training graph, test graph) or of positions of nodes, as scikit-learn's splitters give them.
        Incomplete graphs and the logistic loss have no shortcut: asked for by name, rows and nodes are then left out by
        fitting once for each and every λ.
    gammas : sequence of float, optional
        Kernel widths γ to try beside; one eigendecomposition (a fold) each. By default ``gamma`` alone.
    prior_weights : sequence of float, optional
        τ to try beside, with ``prior="similarity"``; they cost next to nothing. By default ``prior_weight`` alone.
    select : {"pooled", "median"}
        Take the λ of the lowest loss pooled over all held-out rows; or the median (the lower one of two) of the best
        λ of each fold, as the paper does, at the width and prior weight of the lowest pooled loss.
    relation, loss, kernel, gamma, degree, coef0, kernel_params, prior, prior_weight, constant, rank_by, clip, solver, \
pairwise_kernel, tol, max_iter, random_state, compared, feature_weights, n_components, approximation, landmarks
        As for `ConditionalRanker`.

    Attributes
    ----------
    alpha_, gamma_, prior_weight_ : float
        Chosen λ, kernel width and prior weight (the given ones where there was no choice).
    alphas_ : ndarray of shape (n_alphas,)
        The λ that were tried.
    cv_losses_ : ndarray of shape (n_alphas,)
        Rank loss of each λ at the chosen width and prior weight: wrongly ordered over comparable pairs of objects,
        pooled over all held-out rows. Every observed edge of a row counts, its loop too.
    fold_losses_ : ndarray of shape (n_folds, n_alphas)
        The same for each fold; of a shortcut there is one.
    search_losses_ : ndarray of shape (n_gammas, n_prior_weights, n_alphas)
        Pooled losses of all that was tried.

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
    gamma_: float | None
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
        pairwise_kernel: str | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: Any = None,
        compared: Sequence[int] | None = None,
        feature_weights: Any = None,
        n_components: int | str | None = None,
        approximation: str = "nystroem",
        landmarks: str = "uniform",
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
        )
        self.alphas = alphas
        self.cv = cv
        self.gammas = gammas
        self.prior_weights = prior_weights
        self.select = select

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
        alphas, gammas, taus = self._grid()
        candidates = [self._candidate(float(alphas[0]), gamma, taus[0]) for gamma in gammas]
        settings = [read_settings(candidate, graph) for candidate in candidates]
        problem, plan = Problem(graph, settings[0]), None
        if has_closed_form(problem):  # whatever λ will be
            plan = make_plan(problem)
            check_memory(plan, problem)
        n_steps, folds = self._folds(graph, settings[0], plan)
        warn_of_disagreement(graph, settings[0].relation)
        context = self._init_callback_context(max_subtasks=n_steps)
        context.call_on_fit_task_begin(estimator=self, X=graph)
        counts: list[list[np.ndarray]] = [[] for _ in candidates]
        coordinates, best = None, np.inf
        for make in folds:
            step = context.subcontext(task_name="fold")
            step.call_on_fit_task_begin(estimator=self)
            for candidate, of_folds in zip(candidates, counts, strict=True):
                pairs = make(candidate, taus)
                of_folds.append(pairs.counts(alphas))
                lowest = _losses(of_folds[-1]).min()
                if isinstance(pairs, Shortcut) and lowest < best:
                    best, coordinates = lowest, pairs.reusable
                del pairs  # its factorisation goes before the next one comes
            step.call_on_fit_task_end(estimator=self)
        if not counts[0]:
            raise ValueError("cv gives no fold")
        gamma, tau = self._keep_losses(np.array(counts), alphas, gammas, taus)
        chosen = self._candidate(self._choose(), gamma, tau)
        problem = Problem(graph, read_settings(chosen, graph))
        if plan is None:
            plan = make_plan(problem)
            check_memory(plan, problem)
        step = context.subcontext(task_name="fit", max_subtasks=self.max_iter + 1)
        step.call_on_fit_task_begin(estimator=self)
        Run(self, self._keep, step, None)(problem, plan, coordinates)
        warn_of_no_scores(self.fitted_.model.W, problem.settings.relation)
        step.call_on_fit_task_end(estimator=self)
        self.gamma_, self.prior_weight_ = gamma, tau if self.prior is not None else self.prior_weight
        context.call_on_fit_task_end(estimator=self, X=graph)
        return self

    def _saved_params(self) -> dict[str, Any]:
        # What was chosen: the plain ranker.
        return self._candidate(self.alpha_, self.gamma_, self.prior_weight_).get_params(deep=False)

    def _grid(self) -> tuple[np.ndarray, list[float | None], list[float]]:
        """The λ, γ and τ to try, checked."""
        check_choice("select", self.select, ("pooled", "median"))
        if stops_early(self.solver):
            raise ValueError("solver='early_stopping' takes its own held-out loss in the place of a λ to choose")
        if self.prior_weights is not None and self.prior is None:
            raise ValueError("prior_weights needs prior='similarity'")
        if self.gammas is not None and self.kernel in ("linear", "cosine", "precomputed"):
            raise ValueError(f"gammas needs a kernel with a width, such as 'rbf'; kernel={self.kernel!r} has none")
        alphas = np.logspace(-4, 4, 17) if self.alphas is None else _checked("alphas", self.alphas, above=0.0)
        gammas: list[float | None] = [self.gamma]
        if self.gammas is not None:
            gammas = [*_checked("gammas", self.gammas, above=0.0).tolist()]
        taus = [self.prior_weight] if self.prior is not None else [0.0]
        if self.prior_weights is not None:
            taus = _checked("prior_weights", self.prior_weights).tolist()
        return alphas, gammas, taus

    def _candidate(self, alpha: float, gamma: float | None, prior_weight: float) -> ConditionalRanker:
        """The plain ranker with some of these parameters."""
        own = {name: getattr(self, name) for name in ConditionalRanker().get_params(deep=False)}
        return ConditionalRanker(**own | {"alpha": alpha, "gamma": gamma, "prior_weight": prior_weight})

    def _folds(
        self, graph: RelationGraph, settings: Settings, plan: Plan | None
    ) -> tuple[Any, Iterator[Callable[..., HeldOutPairs]]]:
        """How many steps there will be, None if that is not known, and what each fold holds out.

        ``plan`` is that of a closed form, whose shortcuts need no folds.
        """
        cv = self.cv
        if cv is None and plan is not None:
            cv = "leave-node-out" if settings.relation.sign else "leave-query-out"
        elif cv is None:
            setting = 1 if self.pairwise_kernel == "cartesian" else 2
            n_folds = max(2, min(5, graph.n_edges if setting == 1 else graph.shape[self.rank_by == "incoming"]))
            cv = SettingSplit(setting, n_folds, rank_by=self.rank_by, random_state=0)
        if not isinstance(cv, str):
            # A number of folds is the same folds each time, as in scikit-learn.
            seed = 0 if self.random_state is None else self.random_state
            pairs, n_folds, _ = read_folds(cv, graph, self, random_state=seed)
            return None if n_folds is None else n_folds + 1, (_fold(*pair) for pair in pairs)
        check_one_out(cv, graph)
        if plan is not None:
            return 2, iter([lambda ranker, taus: Shortcut(cv, ranker, graph, taus, plan)])
        if cv == "leave-edge-out":
            raise ValueError(
                f"cv='leave-edge-out' needs the closed form of a complete graph, but {graph.density:.2%} of the "
                f"pairs are observed and loss={self.loss!r}; use cv=SettingSplit(setting=1)"
            )
        return None, (_fold(*pair) for pair in one_out(cv, graph, self.rank_by))

    def _keep_losses(
        self, counts: np.ndarray, alphas: np.ndarray, gammas: list[float | None], taus: list[float]
    ) -> tuple[float | None, float]:
        """Losses of counts (n_gammas, n_folds, n_taus, n_alphas, 2); the width and τ of the lowest pooled one."""
        if not counts[..., 1].any():
            raise ValueError(f"{NOTHING_TO_RANK} in what cv holds out")
        self.search_losses_ = _losses(counts.sum(axis=1))
        i, j, _ = np.unravel_index(np.argmin(self.search_losses_), self.search_losses_.shape)
        self.alphas_, self.cv_losses_ = alphas, self.search_losses_[i, j]
        self.fold_losses_ = _losses(counts[i, :, j])
        return gammas[i], taus[j]

    def _choose(self) -> float:
        """λ by the losses; a warning where it is the outermost of those tried."""
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


def _fold(train: RelationGraph, test: RelationGraph) -> Callable[..., HeldOutPairs]:
    return lambda ranker, taus: Fold(ranker, train, test, taus)


def _losses(counts: np.ndarray) -> np.ndarray:
    """Rank losses of wrong and comparable pairs along the last axis; NaN where nothing is comparable."""
    wrong, comparable = counts[..., 0], counts[..., 1]
    return np.divide(wrong, comparable, out=np.full(wrong.shape, np.nan), where=comparable > 0)


def _checked(name: str, values: Iterable[float], above: float = -np.inf) -> np.ndarray:
    checked = check_numbers(name, values, above=above)
    if not checked:
        raise ValueError(f"{name} must not be empty")
    return np.array(checked)
