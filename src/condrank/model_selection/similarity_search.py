"""Learning the similarity: features, kernel, width, λ, compared features and feature weights by held-out loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from condrank.graph import RelationGraph
from condrank.model_selection.judging import PREPROCESSING, Candidate, Graphs, Judge, Judged, Step, prepare
from condrank.model_selection.relevance import KERNELS as DISTANCE_KERNELS
from condrank.model_selection.relevance import changed, learn_weights
from condrank.model_selection.splits import SettingShuffleSplit
from condrank.ranker import as_graph
from condrank.ranking import Ranking
from condrank.settings import check_choice, check_count, check_number, read_settings

# λ to begin with, and factors by which to refine it.
ALPHAS, REFINED = (0.03, 0.3, 3.0, 30.0), (0.25, 1.0, 4.0)
# A compared feature explains what needed a small λ before, and small λ are slow: it is tried with at least these.
COMPARED = (0.3, 3.0)
# Factors for λ once all nodes are trained on.
TUNED = (1.0, 4.0)
# Kernel widths relative to 1/median distance, and factors by which to refine them.
WIDTHS, REFINED_WIDTHS = (0.1, 0.3, 1.0, 3.0), (0.3, 3.0, 10.0)
PRIOR_WEIGHTS = (0.1, 1.0, 10.0)
# Nodes whose distances are looked at for the median.
SAMPLE = 300
# Of many candidates, those best on the first holdout are judged on all.
SHORTLIST = 4
# Shares of the nodes: those that a step is judged on, and those that only the final check sees.
HELD_OUT, RESERVED = 1 / 3, 0.25


class SimilaritySearch(MetaEstimatorMixin, BaseEstimator):
    """Choose how nodes are compared by the rank loss on held-out nodes (setting 4), greedily and guarded.

    One step after the other: λ and kernel width of the given ranker (the simple model); preparation of the features
    and kernel; a constant; a prior (relations that have one); compared features, one at a time (reciprocal
    relations); the width again; feature weights. A step is kept if it lowers the loss by more than ``margin`` +
    √(2 ln k) standard errors, k the number of its candidates: so much would the best of k useless ones seem to gain. At
    the end, every kept step has to prove itself on nodes that no step has seen; where data are too few, that leaves the
    simple model.

    Parameters
    ----------
    ranker : ConditionalRanker
        Its relation, loss and other parameters; of a single domain, with features.
    preprocessing : sequence of {"raw", "standard", "quantile"}
        Features as they are, standardised, or mapped to their quantiles; the simple model has the first.
    kernels : sequence of str
        Kernels to try.
    max_compared : int
        Most compared features; 0 tries none.
    n_steps : int
        Descent steps of the feature weights; 0 leaves them out. For kernels "rbf" and "laplacian" without a prior.
    n_splits : int
        Holdouts that a step is judged on.
    max_nodes : int
        Most nodes that a candidate is trained on while searching; more only cost time.
    margin : float
        Standard errors by which a step has to be better.
    tol : float
        Tolerance of the fits while searching.
    callback : callable, optional
        Called with every `Step`.
    random_state : int, RandomState instance or None
        For the choice of nodes.

    Attributes
    ----------
    best_ranker_ : ConditionalRanker
        Fitted to the whole graph, on prepared features.
    best_params_ : dict
        What differs from the given ranker, and the preprocessing.
    transformer_ : NodeTransformer or None
        Prepares features for it.
    history_ : list of Step
        All steps, those of the final check last.
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
        self._random = check_random_state(self.random_state)
        self.history_ = []
        searched, reserved = next(self._holdouts(graph, 1, RESERVED))
        judge = Judge(self._cut(self._holdouts(searched, self.n_splits, HELD_OUT), self.max_nodes), np.float32)
        start = Candidate(self.preprocessing[0], changed(self.ranker, tol=self.tol))
        chain = [self._judged(judge, self._of_kernel(start, start.ranker.kernel, searched), ALPHAS)]
        self._note("simple", chain[0], None, True)
        for step in (self._kernels, self._constant, self._prior):
            self._take(step.__name__.strip("_"), judge, chain, step(chain[-1].candidate, searched))
        for _ in range(self.max_compared):
            if not self._take("compared", judge, chain, self._compared(chain[-1].candidate, searched)):
                break
        for step in (self._width, self._weights):
            self._take(step.__name__.strip("_"), judge, chain, step(chain[-1].candidate, searched))
        best = self._checked([one.candidate for one in chain], searched, reserved)
        self.transformer_, prepared = prepare(best.preprocessing, graph)
        self.best_ranker_ = changed(best.ranker, tol=self.ranker.tol).fit(prepared)
        given = self.ranker.get_params()
        self.best_params_ = {"preprocessing": best.preprocessing} | _changed(given, self.best_ranker_.get_params())
        self.n_features_in_ = graph.n_features_in_
        return self

    # Candidates of each step

    def _kernels(self, best: Candidate, graph: RelationGraph) -> Iterator[Candidate]:
        for preprocessing in self.preprocessing:
            for kernel in self.kernels:
                yield from self._of_kernel(Candidate(preprocessing, best.ranker), kernel, graph)

    def _of_kernel(self, candidate: Candidate, kernel: Any, graph: RelationGraph) -> Iterator[Candidate]:
        """A kernel in all its widths."""
        if kernel not in DISTANCE_KERNELS:
            yield candidate.with_params(kernel=kernel, gamma=candidate.ranker.gamma if callable(kernel) else None)
            return
        prepared: RelationGraph = prepare(candidate.preprocessing, graph)[1]
        rows = prepared.nodes.rows[: min(SAMPLE, len(prepared))]
        rows = rows.toarray() if sparse.issparse(rows) else rows
        distance = euclidean_distances(rows, squared=True) if kernel == "rbf" else manhattan_distances(rows)
        median = float(np.median(distance[distance > 0])) if (distance > 0).any() else 1.0
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
            before = list(best.ranker.compared or ())
            for feature in range(graph.n_features_in_):
                if feature not in before:
                    yield best.with_params(compared=[*before, feature])

    def _width(self, best: Candidate, graph: RelationGraph) -> Iterator[Candidate]:
        if best.ranker.gamma is not None:
            for factor in REFINED_WIDTHS:
                yield best.with_params(gamma=factor * best.ranker.gamma)

    def _weights(self, best: Candidate, graph: RelationGraph) -> Iterator[Candidate]:
        ranker = best.ranker
        if self.n_steps and ranker.kernel in DISTANCE_KERNELS and ranker.prior is None:
            # Noise of a step averages out over them: fewer nodes each, for more steps in the same time.
            splits = self._cut(self._holdouts(graph, self.n_steps, HELD_OUT), 2 * self.max_nodes // 3)
            prepared = (prepare(best.preprocessing, *pair)[1:] for pair in splits)
            yield Candidate(best.preprocessing, learn_weights(ranker, prepared))

    # Judging

    def _take(self, name: str, judge: Judge, chain: list[Judged], candidates: Iterable[Candidate]) -> bool:
        """Put the best of some candidates on the chain if it is better by more than chance explains."""
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

    def _checked(self, chain: list[Candidate], searched: RelationGraph, reserved: RelationGraph) -> Candidate:
        """The last step of the chain that is better on reserved nodes than the one kept before it."""
        whole = Judge(self._holdouts(searched, self.n_splits, RESERVED))
        fresh = Judge([(searched, reserved)])
        kept: Judged | None = None
        for candidate in chain:
            # More nodes than in the search may want another λ.
            tuned = whole.judge(candidate, [factor * candidate.ranker.alpha for factor in TUNED]).candidate
            found = fresh.judge(tuned, [tuned.ranker.alpha])
            accepted = True
            if kept is not None:
                difference, error = found.against(kept)
                accepted = difference < -self.margin * error
            self._note("check", found, kept, accepted)
            kept = found if accepted or kept is None else kept
        assert kept is not None
        return kept.candidate

    def _note(self, name: str, found: Judged, before: Judged | None, accepted: bool) -> None:
        difference, error = (0.0, 0.0) if before is None else found.against(before)
        old = self.ranker.get_params() if before is None else before.candidate.ranker.get_params()
        params = {"preprocessing": found.candidate.preprocessing} | _changed(old, found.candidate.ranker.get_params())
        if before is not None and before.candidate.preprocessing == found.candidate.preprocessing:
            del params["preprocessing"]
        step = Step(name, params, found.loss, difference, error, bool(accepted))
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
        if graph.is_two_domain or self.ranker.kernel == "precomputed":
            what = "has two domains" if graph.is_two_domain else "has a precomputed kernel"
            raise ValueError(f"SimilaritySearch needs the features of a single domain, but the graph {what}")
        for name, allowed in (("preprocessing", PREPROCESSING), ("kernels", None)):
            if isinstance(getattr(self, name), str) or not len(getattr(self, name)):
                raise ValueError(f"{name} must be a sequence of at least one name, got {getattr(self, name)!r}")
            for one in getattr(self, name) if allowed else ():
                check_choice(name, one, allowed or ())
        for name in ("max_compared", "n_steps"):
            if getattr(self, name) != 0:
                check_count(name, getattr(self, name))
        check_count("n_splits", self.n_splits)
        check_count("max_nodes", self.max_nodes)
        check_number("margin", self.margin, at_least=0.0)
        read_settings(self.ranker, graph)

    # The best ranker, on prepared features

    def predict(self, queries: Any, objects: Any = None) -> np.ndarray:
        """Scores, as `ConditionalRanker.predict`."""
        return self._best().predict(*self._prepared(queries, objects))

    def rank(self, queries: Any, objects: Any = None, top: int = 10) -> Ranking:
        """Rankings, as `ConditionalRanker.rank`."""
        return self._best().rank(*self._prepared(queries, objects), top=top)

    def score(self, X: Any, Y: Any = None) -> float:
        """1 - rank loss, as `ConditionalRanker.score`."""
        best = self._best()
        return best.score(*self._prepared(as_graph(X, Y), None)[:1])

    def _best(self) -> Any:
        check_is_fitted(self, "best_ranker_")
        return self.best_ranker_

    def _prepared(self, queries: Any, objects: Any) -> tuple[Any, Any]:
        if self.transformer_ is None:
            return queries, objects
        transform = self.transformer_.transform
        return transform(queries), None if objects is None else transform(objects)


def _changed(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Parameters that differ, the search's tolerance apart."""
    return {
        name: value
        for name, value in new.items()
        if name != "tol" and not np.array_equal(np.asarray(value, object), np.asarray(old[name], object))
    }
