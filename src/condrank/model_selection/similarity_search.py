"""Learning the similarity of nodes: chooses preprocessing, kernel, width, λ, compared features and feature weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from condrank.base.checks import check_choice, check_count, check_number
from condrank.fitting.reading import read_settings
from condrank.graph import RelationGraph
from condrank.kernels import read_kernel
from condrank.kernels.widths import median_width
from condrank.model_selection._splitter import Graphs
from condrank.model_selection.judging import (
    PREPROCESSING,
    Candidate,
    Judge,
    Judged,
    PreparedRanker,
    Step,
    differing,
    prepare,
    quiet,
    ways_for,
)
from condrank.model_selection.relevance import KERNELS as DISTANCE_KERNELS
from condrank.model_selection.relevance import changed, learn_weights
from condrank.model_selection.search import ConditionalRankerCV
from condrank.model_selection.splits import SettingShuffleSplit
from condrank.nodes.views import Views
from condrank.rankers.checks import as_graph
from condrank.rankers.conditional import ConditionalRanker

# Values of λ to begin with, and factors to refine it.
ALPHAS, REFINED = (0.03, 0.3, 3.0, 30.0), (0.25, 1.0, 4.0)
# With a compared feature a larger λ is enough, and small λ are slow: λ is at least these when one is tried.
COMPARED = (0.3, 3.0)
# Factors of λ for a fit to all nodes.
TUNED = (1.0, 4.0)
# Kernel widths relative to 1/median distance, and factors to refine them.
WIDTHS, REFINED_WIDTHS = (0.1, 0.3, 1.0, 3.0), (0.3, 3.0, 10.0)
PRIOR_WEIGHTS = (0.1, 1.0, 10.0)
# Number of nodes from which the median distance is computed.
SAMPLE = 300
# Of many candidates, only this many, the best on the first holdout, are judged on all holdouts.
SHORTLIST = 4
# Shares of the nodes: held out to judge a step, and reserved for the final check.
HELD_OUT, RESERVED = 1 / 3, 0.25
# The smallest number of nodes for which both shares are at least two nodes.
FEWEST = 7
# Solvers that can fit every candidate: with compared features, on incomplete graphs and for another λ.
SOLVERS = ("auto", "iterative", "primal")
# Counts and their smallest values. Weights are learned on two thirds of max_nodes, which must be at least two.
COUNTS = {"max_compared": 0, "n_steps": 0, "n_splits": 1, "max_nodes": 3}


class SimilaritySearch(PreparedRanker):
    """Choose how nodes are compared, step by step, by the rank loss on held-out nodes (setting 4).

    The steps: λ and kernel width of the given ranker (the simple model); preprocessing and kernel; a constant; a prior
    (for relations that have one); compared features, one at a time (reciprocal relations); the width again; feature
    weights. A step is kept if it lowers the loss by more than ``margin`` + √(2 ln k) standard errors, where k is the
    number of its candidates: the best of k useless candidates would seem to gain about √(2 ln k) standard errors.

    At the end every kept step is checked on reserved nodes, which no step has seen. With too few data only the simple
    model is left. Feature weights are learned on holdouts of all nodes that are not reserved, also of those on which
    the step is judged. So the loss of this step in ``history_`` is optimistic; that of its final check is not.

    Parameters
    ----------
    ranker : ConditionalRanker
        Relation, loss and other parameters to start from. For a single domain with features; ``solver`` must be
        "auto", "iterative" or "primal".
    preprocessing : sequence of {"raw", "standard", "quantile"}
        Try features as they are, standardised, or mapped to their quantiles; the simple model uses the first. Sparse
        features are standardised without centring, and not mapped to quantiles.
    kernels : sequence of str or callable
        Kernels of features to try.
    max_compared : int
        Largest number of compared features; 0 tries none.
    n_steps : int
        Descent steps for feature weights; 0 learns none. For "rbf" and "laplacian" without prior and
        ``pairwise_kernel``.
    n_splits : int
        Number of holdouts on which a step is judged.
    max_nodes : int
        Largest number of training nodes in the search; more only cost time.
    margin : float
        Number of standard errors by which a step has to be better.
    tol : float
        Tolerance of the fits in the search.
    callback : callable, optional
        Called with every `Step`.
    random_state : int, RandomState instance or None
        Seed for the choice of nodes.

    Attributes
    ----------
    best_ranker_ : ConditionalRanker
        The best ranker, fitted to the whole graph on prepared features.
    best_params_ : dict
        Parameters that differ from the given ranker, and the preprocessing.
    transformer_ : NodeTransformer or None
        Prepares features for the best ranker; None for raw features.
    history_ : list of Step
        All steps, with those of the final check last.
    n_features_in_ : int
        Number of features of a node.
    """

    def __init__(
        self,
        ranker: Any,
        *,
        preprocessing: Sequence[str] = PREPROCESSING,
        kernels: Sequence[str] = ("rbf", "laplacian", "linear"),
        max_compared: int = 2,
        n_steps: int = 30,
        n_splits: int = 3,
        max_nodes: int = 300,
        margin: float = 1.0,
        tol: float = 1e-4,
        callback: Callable[[Step], None] | None = None,
        random_state: Any = None,
    ):
        self.ranker = ranker
        self.preprocessing = preprocessing
        self.kernels = kernels
        self.max_compared = max_compared
        self.n_steps = n_steps
        self.n_splits = n_splits
        self.max_nodes = max_nodes
        self.margin = margin
        self.tol = tol
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, Y: Any = None) -> SimilaritySearch:
        """Search, then fit the best ranker to the whole graph; X and Y as for `ConditionalRanker.fit`."""
        graph = as_graph(X, Y)
        self._check(graph)
        self._random, self._dtype, self.history_ = check_random_state(self.random_state), graph.nodes.dtype, []
        with quiet():
            best = self._search(graph)
        self.transformer_, prepared = prepare(best.preprocessing, graph)
        self.best_ranker_ = changed(best.ranker, tol=self.ranker.tol).fit(prepared)
        given, found = (ranker.get_params(deep=False) for ranker in (self.ranker, self.best_ranker_))
        self.best_params_ = {"preprocessing": best.preprocessing} | differing(given, found)
        self.n_features_in_ = graph.n_features_in_
        return self

    def _search(self, graph: RelationGraph) -> Candidate:
        searched, reserved = next(self._holdouts(graph, 1, RESERVED))
        # All before any fit, because each raises an error if there is nothing to rank.
        fresh = Judge([(searched, reserved)], self.rank_by)
        whole = Judge(self._holdouts(searched, self.n_splits, RESERVED), self.rank_by)
        holdouts = self._cut(self._holdouts(searched, self.n_splits, HELD_OUT), self.max_nodes)
        judge = Judge(holdouts, self.rank_by, np.float32)
        start = Candidate(ways_for(graph, self.preprocessing)[0], changed(self.ranker, tol=self.tol))
        chain = [self._judged(judge, self._of_kernel(start, start.ranker.kernel, searched), ALPHAS)]
        self._note("simple", chain[0], None, True)
        for step in (self._kernels, self._constant, self._prior):
            self._take(step.__name__.strip("_"), judge, chain, step(chain[-1].candidate, searched))
        for _ in range(self.max_compared):
            if not self._take("compared", judge, chain, self._compared(chain[-1].candidate, searched)):
                break
        for step in (self._width, self._weights):
            self._take(step.__name__.strip("_"), judge, chain, step(chain[-1].candidate, searched))
        return self._checked([one.candidate for one in chain], whole, fresh)

    # Candidates of each step

    def _kernels(self, best: Candidate, graph: RelationGraph) -> Iterator[Candidate]:
        for preprocessing in ways_for(graph, self.preprocessing):
            for kernel in self.kernels:
                yield from self._of_kernel(Candidate(preprocessing, best.ranker), kernel, graph)

    def _of_kernel(self, candidate: Candidate, kernel: Any, graph: RelationGraph) -> Iterator[Candidate]:
        """Candidates with a kernel, in all its widths."""
        if kernel not in DISTANCE_KERNELS:
            own = kernel == candidate.ranker.kernel
            yield candidate.with_params(kernel=kernel, gamma=candidate.ranker.gamma if own else None)
            return
        rows = prepare(candidate.preprocessing, graph)[1].nodes.rows
        median = median_width(kernel, rows[self._random.permutation(len(graph))[:SAMPLE]])
        for width in WIDTHS:
            yield candidate.with_params(kernel=kernel, gamma=width / median)

    def _constant(self, best: Candidate, graph: RelationGraph) -> Iterator[Candidate]:
        yield best.with_params(constant=not best.ranker.constant)

    def _prior(self, best: Candidate, graph: RelationGraph) -> Iterator[Candidate]:
        if best.ranker.relation != "reciprocal":
            for weight in PRIOR_WEIGHTS:
                yield best.with_params(prior="similarity", prior_weight=weight)

    def _compared(self, best: Candidate, graph: RelationGraph) -> Iterator[Candidate]:
        if best.ranker.relation == "reciprocal":
            before = [] if best.ranker.compared is None else list(best.ranker.compared)
            for feature in range(graph.n_features_in_):
                if feature not in before:
                    yield best.with_params(compared=[*before, feature])

    def _width(self, best: Candidate, graph: RelationGraph) -> Iterator[Candidate]:
        if best.ranker.gamma is not None and not isinstance(best.ranker.gamma, str):
            for factor in REFINED_WIDTHS:
                yield best.with_params(gamma=factor * best.ranker.gamma)

    def _weights(self, best: Candidate, graph: RelationGraph) -> Iterator[Candidate]:
        ranker = best.ranker
        plain = ranker.prior is None and ranker.pairwise_kernel is None
        if self.n_steps and ranker.kernel in DISTANCE_KERNELS and plain:
            # The noise of single steps averages out. So each has fewer nodes, for more steps in the same time.
            splits = self._cut(self._holdouts(graph, self.n_steps, HELD_OUT), 2 * self.max_nodes // 3)
            prepared = (prepare(best.preprocessing, *pair)[1:] for pair in splits)
            yield Candidate(best.preprocessing, learn_weights(ranker, prepared))

    # Judging

    def _take(self, name: str, judge: Judge, chain: list[Judged], candidates: Iterable[Candidate]) -> bool:
        """Append the best of some candidates to the chain if it is better by more than chance explains."""
        tried = list(candidates)
        if not tried:
            return False
        alpha = chain[-1].candidate.ranker.alpha
        alphas = ALPHAS if name == "kernels" else tuple(factor * alpha for factor in REFINED)
        if name == "compared":
            alphas = tuple({max(alpha, least) for least in COMPARED})
        found = self._judged(judge, tried, alphas)
        difference, error = found.against(chain[-1])
        accepted = difference < -(self.margin + np.sqrt(2 * np.log(len(tried)))) * error
        self._note(name, found, chain[-1], accepted)
        if accepted:
            chain.append(found)
        return accepted

    @staticmethod
    def _judged(judge: Judge, candidates: Iterable[Candidate], alphas: Sequence[float]) -> Judged:
        tried = list(candidates)
        if len(tried) > SHORTLIST:
            losses = [judge.judge(one, alphas, n_splits=1).loss for one in tried]
            tried = [tried[place] for place in np.argsort(losses, kind="stable")[:SHORTLIST]]
        return min((judge.judge(one, alphas) for one in tried), key=lambda judged: judged.loss)

    def _checked(self, chain: list[Candidate], whole: Judge, fresh: Judge) -> Candidate:
        """The last candidate of the chain that is better on reserved nodes than the one kept before it."""
        kept: Judged | None = None
        for candidate in chain:
            # With more nodes than in the search another λ may be better.
            tuned = whole.judge(candidate, [factor * candidate.ranker.alpha for factor in TUNED]).candidate
            found = fresh.judge(tuned, [tuned.ranker.alpha])
            difference, error = (-np.inf, 0.0) if kept is None else found.against(kept)
            accepted = difference < -self.margin * error
            self._note("check", found, kept, accepted)
            kept = found if accepted else kept
        assert kept is not None
        return kept.candidate

    def _note(self, name: str, found: Judged, before: Judged | None, accepted: bool) -> None:
        step = Step.of(name, found, before, self.ranker, accepted)
        self.history_.append(step)
        if self.callback is not None:
            self.callback(step)

    def _holdouts(self, graph: RelationGraph, n_splits: int, share: float) -> Iterator[Graphs]:
        seed = int(self._random.randint(np.iinfo(np.int32).max))
        return SettingShuffleSplit(4, n_splits, test_size=share, random_state=seed).split(graph)

    def _cut(self, splits: Iterable[Graphs], max_nodes: int) -> Iterator[Graphs]:
        for train, test in splits:
            if len(train) > max_nodes:
                train = train[np.sort(self._random.permutation(len(train))[:max_nodes])]
            yield train, test

    def _check(self, graph: RelationGraph) -> None:
        ranker = self.ranker
        if not isinstance(ranker, ConditionalRanker) or isinstance(ranker, ConditionalRankerCV):
            raise ValueError(f"ranker must be a ConditionalRanker, whose parameters are searched, got {ranker!r}")
        check_choice("solver of the ranker", ranker.solver, SOLVERS)
        for name in ("preprocessing", "kernels"):
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Sequence) or not given:
                raise ValueError(f"{name} must be a sequence of at least one name, got {given!r}")
        for one in self.preprocessing:
            check_choice("preprocessing", one, PREPROCESSING)
        if graph.is_two_domain:
            raise ValueError("SimilaritySearch needs the features of a single domain, but the graph has two domains")
        if isinstance(graph.nodes.base, Views):
            raise ValueError(
                f"SimilaritySearch needs features without views, got {graph.nodes.base}; learn_kernel_weights weighs "
                "kernels of several views"
            )
        for kernel in (ranker.kernel, *self.kernels):
            if read_kernel(kernel).matrices:
                raise ValueError("SimilaritySearch needs features, got a precomputed kernel")
        if not ways_for(graph, self.preprocessing):
            raise ValueError("preprocessing must have 'raw' or 'standard' for sparse features, got only 'quantile'")
        for name, least in COUNTS.items():
            check_count(name, getattr(self, name), least)
        for name in ("margin", "tol"):
            check_number(name, getattr(self, name), at_least=0.0)
        if len(graph) < FEWEST:
            raise ValueError(f"SimilaritySearch needs at least {FEWEST} nodes, to hold some out, got {len(graph)}")
        read_settings(ranker, graph, draw=False)
