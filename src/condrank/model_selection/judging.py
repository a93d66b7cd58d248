"""Judges the candidates of a search on the same holdouts: losses, and paired differences with standard errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from condrank.baselines import TwoStepRidge
from condrank.exceptions import RelationWarning
from condrank.fitting.judging import edge_scores
from condrank.graph import RelationGraph
from condrank.metrics import pair_counts
from condrank.metrics.edges import EdgePairs
from condrank.model_selection import budget as time
from condrank.model_selection._splitter import Graphs
from condrank.model_selection.candidates import Candidate, weighted, work
from condrank.model_selection.fold import Fold
from condrank.model_selection.holdouts import ENOUGH_HOLDOUTS, share_of
from condrank.model_selection.preparation import RAW
from condrank.model_selection.prepared import prepare, prepared_graph
from condrank.model_selection.relevance import changed
from condrank.observations import Edges
from condrank.rankers.base import fitted_of

# A candidate is given up before the last holdout if it is worse by this many standard errors.
HOPELESS = 3.0


@dataclass(frozen=True)
class Judged:
    """A candidate, and its numbers of wrongly ordered and of comparable pairs.

    Attributes
    ----------
    candidate : Candidate
        With the λ and the prior weight that were best.
    counts : ndarray of shape (n_queries, 2)
        Wrong and comparable pairs of the conditioning nodes of all holdouts, in their order.
    unit : ndarray of shape (n_queries,)
        The number of each one's unit: a held-out conditioning node, or a group that was held out whole.
    holdout : ndarray of shape (n_queries,)
        The number of each one's holdout.
    seconds : float
        Time that it took.
    """

    candidate: Candidate
    counts: np.ndarray
    unit: np.ndarray
    holdout: np.ndarray
    seconds: float = 0.0

    @property
    def loss(self) -> float:
        """Rank loss, pooled over conditioning nodes."""
        return float(self.counts[:, 0].sum() / self.counts[:, 1].sum())

    @property
    def standard_error(self) -> float:
        """Standard error of the loss on other nodes: over the units, or over the holdouts if that is larger.

        Holdouts share nodes, so the variance of their mean is (1/n + ρ) times that of one holdout, with ρ the ratio of
        held-out to training nodes (Nadeau and Bengio 2003), rather than 1/n of it.
        """
        n = len(np.unique(self.holdout))
        held_out = share_of(n)
        return self._with_error(self.counts[:, 0], 1 + n * held_out / (1 - held_out))[1]

    def against(self, other: Judged) -> tuple[float, float]:
        """Difference of the two losses and its standard error, from paired differences of units, or of holdouts.

        If the other was judged on more holdouts, the first ones count. What is asked is which of the two is better for
        this graph, so holdouts count as independent here.
        """
        return self._with_error(self.counts[:, 0] - other.counts[: len(self.counts), 0], 1.0)

    def _with_error(self, wrong: np.ndarray, shared: float) -> tuple[float, float]:
        """Σ wrong / Σ comparable, and its standard error over the units, or over the holdouts if that is larger.

        The objects of a holdout are the same for all its conditioning nodes. If there are few of them, as targets of
        many drugs, the nodes alone would make the error too small. An error from a few holdouts would be noise. The
        variance over holdouts is multiplied by ``shared``.
        """
        comparable = self.counts[:, 1]
        total = comparable.sum()
        share = float(wrong.sum() / total)
        spread, used = wrong - share * comparable, comparable > 0
        errors = [0.0]
        for number, fewest, factor in ((self.unit, 2, 1.0), (self.holdout, ENOUGH_HOLDOUTS, shared)):
            n, sums = len(np.unique(number[used])), np.bincount(number, spread)
            if n >= fewest:
                errors.append(float(np.sqrt(factor * (sums @ sums) * n / (n - 1)) / total))
        return share, max(errors)

    def is_better(self, other: Judged) -> bool:
        """Whether the loss is lower by more than one standard error of the difference."""
        difference, error = self.against(other)
        return difference < -error

    def is_preferred(self, baseline: Judged) -> bool:
        """Whether it is taken rather than a baseline: its loss is lower, if that one is simpler by a standard error."""
        simpler = baseline.candidate.complexity < self.candidate.complexity
        return self.is_better(baseline) if simpler else self.loss < baseline.loss


def joined(first: Judged, second: Judged | None) -> Judged:
    """What two judgements of one candidate, on different holdouts, say together."""
    if second is None:
        return first
    counts, unit = np.concatenate([first.counts, second.counts]), np.concatenate([first.unit, second.unit])
    holdout = np.concatenate([first.holdout, first.holdout.max() + 1 + second.holdout])
    return Judged(first.candidate, counts, unit, holdout, first.seconds + second.seconds)


def simplest(judged: Iterable[Judged]) -> Judged:
    """The simplest of those that are not worse than the best by more than one standard error of the difference."""
    ranked = sorted(judged, key=lambda one: one.loss)
    best = ranked[0]
    as_good = [one for one in ranked if not best.is_better(one)]
    return min(as_good or [best], key=lambda one: (one.candidate.complexity, one.loss))


class Judge:
    """Holdouts, prepared once for each preparation.

    Parameters
    ----------
    splits : sequence of (training graph, held-out graph)
        The holdouts.
    units : sequence of ndarray
        A number for each conditioning node of each held-out graph: those with equal numbers are one unit.
    rank_by : {"outgoing", "incoming"}
        ``rank_by`` of the rankers.
    """

    def __init__(self, splits: Sequence[Graphs], units: Sequence[np.ndarray], rank_by: str):
        self.splits, self.rank_by = list(splits), rank_by
        self._unit = np.concatenate(units)
        self._holdout = np.repeat(np.arange(len(units)), [len(one) for one in units])
        self._prepared: dict[Any, list[Graphs]] = {}

    def __len__(self) -> int:
        return len(self.splits)

    def prepared(self, candidate: Candidate) -> list[Graphs]:
        """The holdouts with prepared features; each preparation is learned from its training nodes."""
        way = candidate.preparation
        if way == RAW:
            return self.splits
        if way not in self._prepared:
            self._prepared[way] = []
            for train, test in self.splits:
                sides, prepared = prepare(way, candidate.ranker, train)
                self._prepared[way].append((prepared, prepared_graph(sides, test)))
        return self._prepared[way]

    def cost(self, candidate: Candidate) -> tuple[str, float]:
        """The kind of work and about how many operations judging a candidate takes, on all holdouts."""
        return work(candidate, self.prepared(candidate)[0][0], len(self))

    def judge(
        self, candidate: Candidate, rival: Judged | None = None, stop: Callable[[float, int], bool] | None = None
    ) -> Judged | None:
        """The candidate with the λ and the prior weight of the lowest loss on all holdouts.

        None if it was given up before the last holdout: ``stop``, called with the seconds that a holdout takes and the
        number of those that are left, says so, or it is hopeless beside a ``rival``.
        """
        started, counts = time.clock(), []
        for number, (train, test) in enumerate(self.prepared(candidate), start=1):
            counts.append(_counts(candidate, train, test, self.rank_by))
            left = len(self) - number
            if left and stop is not None and stop((time.clock() - started) / number, left):
                return None
            if left and rival is not None and self._is_hopeless(candidate, np.concatenate(counts, axis=2), rival):
                return None
        return self._best(candidate, np.concatenate(counts, axis=2), time.clock() - started)

    def _best(self, candidate: Candidate, counts: np.ndarray, seconds: float) -> Judged:
        """The best of counts (n_prior_weights, n_alphas, n_queries, 2); of equal λ the largest, which comes first."""
        losses = counts[..., 0].sum(axis=2) / counts[..., 1].sum(axis=2)
        i, j = np.unravel_index(np.argmin(losses), losses.shape)
        alpha = candidate.alphas[j] if candidate.alphas else None
        tau = candidate.prior_weights[i] if candidate.prior_weights else None
        n = counts.shape[2]
        return Judged(candidate.at(alpha, tau), counts[i, j], self._unit[:n], self._holdout[:n], seconds)

    def _is_hopeless(self, candidate: Candidate, counts: np.ndarray, rival: Judged) -> bool:
        difference, error = self._best(candidate, counts, 0.0).against(rival)
        return difference > HOPELESS * error


def _counts(candidate: Candidate, train: RelationGraph, test: RelationGraph, rank_by: str) -> np.ndarray:
    """Wrong and comparable pairs of each conditioning node, (n_prior_weights, n_alphas, n_queries, 2)."""
    if candidate.is_conditional:
        if candidate.n_steps:
            ranker = weighted(candidate.at(candidate.alphas[0], None), train)
            return Fold(ranker, train, test, [0.0], [ranker.alpha]).counts_by_query(np.array([ranker.alpha]))
        ranker, taus = changed(candidate.ranker, alpha=candidate.alphas[0]), list(candidate.prior_weights) or [0.0]
        fold = Fold(ranker, train, test, taus, candidate.alphas, settle=True)
        return fold.counts_by_query(np.array(candidate.alphas))
    fresh: Any = clone(candidate.ranker)
    fitted = fresh.fit(train)
    rankers = fitted.path(candidate.alphas) if isinstance(fitted, TwoStepRidge) else [fitted]
    return np.array([[pair_counts_of(one, test, rank_by) for one in rankers]])


def pair_counts_of(ranker: Any, test: RelationGraph, rank_by: str) -> np.ndarray:
    """Wrongly ordered and comparable pairs of a fitted ranker for each conditioning node, (n_queries, 2)."""
    given, scorer = test.conditioned(rank_by), fitted_of(ranker).model
    if isinstance(given.observed, Edges):
        pairs = EdgePairs(given.observed.indptr, given.observed.values)
        return np.column_stack([pairs.wrong(edge_scores(scorer, given)), pairs.comparable])
    counts = np.zeros((given.observed.shape[0], 2))
    for block, scores in scorer.blocks(given.queries, given.objects):
        counts[block] = np.column_stack(pair_counts(given.observed.to_dense(block), scores))
    return counts


_lock, _searches, _filters = Lock(), 0, ExitStack()


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore ConvergenceWarning, as the fits of a search need not converge, and RelationWarning: the last fit warns.

    Warning filters apply to the whole process, and searches may run in threads. So the first search sets the filter and
    the last one removes it.
    """
    global _searches
    with _lock:
        if _searches == 0:
            _filters.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", RelationWarning)
        _searches += 1
    try:
        yield
    finally:
        with _lock:
            _searches -= 1
            if _searches == 0:
                _filters.close()
