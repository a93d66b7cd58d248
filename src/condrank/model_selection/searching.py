"""A search that is under way: candidates in stages, judged on the same holdouts while there is time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.utils import check_random_state

from condrank.base.warn import warn
from condrank.diagnosis import recommend
from condrank.graph import RelationGraph
from condrank.model_selection import stages
from condrank.model_selection._splitter import Graphs
from condrank.model_selection.budget import Budget, affordable_holdouts
from condrank.model_selection.choices import Choice, Space
from condrank.model_selection.holdouts import AUTO, ENOUGH_HOLDOUTS, FEWEST_HOLDOUTS, Holdouts, in_single, share_of
from condrank.model_selection.judging import (
    Candidate,
    Judge,
    Judged,
    joined,
    pair_counts_of,
    simplest,
    weighted,
    work,
)
from condrank.model_selection.leaderboard import Leaderboard, LeaderboardRow
from condrank.model_selection.preparation import RAW
from condrank.model_selection.prepared import prepare
from condrank.model_selection.relevance import changed
from condrank.rankers.conditional import ConditionalRanker

# Share of all nodes (or edges) that is reserved for the last judgement.
RESERVED = 0.2
# Precision of the last fit, unless a ranker is given: rankings need no more.
PRECISION = {"tol": 1e-6, "max_iter": 1000}
# A difference of so many standard errors is clear; otherwise there are so many times more holdouts, for so many of each
# kind, learned and baselines.
CLEAR, MORE, FINALISTS = 2.0, 2, 3
# Rank loss of guessing, and how sure it must be that what is learned is better.
GUESSING, SURE = 0.5, 0.975
# With more nodes than this, the last fit approximates kernels.
MOST_EXACT = 5000
# How often the stages after the first kernels are gone through at most.
ROUNDS = 3
# Number of first kernels that are tried with a prior.
WITH_PRIOR = 3
# Nodes that are known in each setting: conditioning nodes, objects.
KNOWN = {1: (True, True), 2: (False, True), 3: (True, False), 4: (False, False)}


class Searching:
    """A search that is under way: holdouts, what was judged, and the best so far."""

    def __init__(self, search: Any, graph: RelationGraph, groups: Any):
        self.options, self.graph, self.budget = search, graph, Budget(search.time_limit)
        self.given: ConditionalRanker | None = search.ranker
        self.n_skipped = 0
        self.finalists: list[Judged] = []
        self.judged: list[Judged] = []
        self.tried: set[Choice | None] = set()
        self.best: Judged | None = None
        relation, loss = ("auto", "auto") if self.given is None else (self.given.relation, self.given.loss)
        found = recommend(graph, relation, loss)
        self.relation, self.loss = found.relation, found.loss
        if self.given is None and self.loss == "logistic":
            self.loss = "regression"  # many times cheaper; the logistic loss is tried once there is a kernel
        random, single = check_random_state(search.random_state), in_single(graph)
        self.holdouts = Holdouts(single, search.setting, search.rank_by, groups, random)
        self.reserved, self.searched, inner = self._hold_out(single)
        kernels = (None, None) if self.given is None else (self.given.kernel, self.given.object_kernel)
        sides = (graph.nodes, graph.objects)[: 1 + graph.is_two_domain]
        matrices = [
            stages.matrices_of(nodes, kernels[0] if kernel is None else kernel)
            for nodes, kernel in zip(sides, kernels, strict=False)
        ]
        self.space = Space(self.searched, ConditionalRanker() if self.given is None else self.given, random)
        self.defaults = stages.first_choices(self.space, self.relation, self.loss, matrices)
        if inner and search.n_holdouts == AUTO:
            default = self.space.candidate(self.defaults[0])
            n = affordable_holdouts(work(default, inner[0][0])[1], search.time_limit)
            if n >= ENOUGH_HOLDOUTS:
                more = self._new_holdouts(n)
                inner = more if len(more) >= FEWEST_HOLDOUTS else inner
        self.judge = self._judge(inner) if inner else None

    def _hold_out(self, graph: RelationGraph) -> tuple[Graphs | None, RelationGraph, list[Graphs]]:
        """What is reserved, the rest, and its holdouts. With too few groups, nothing is reserved rather than judged."""
        n = FEWEST_HOLDOUTS if self.options.n_holdouts == AUTO else self.options.n_holdouts
        while True:
            for reserved in [*self.holdouts.draw(graph, 1, RESERVED), None]:
                rest = graph if reserved is None else reserved[0]
                inner = self.holdouts.draw(rest, n, share_of(n), self.options.max_nodes)
                if len(inner) == n:
                    return reserved, rest, inner
            if not self.holdouts.by_nodes():
                return None, graph, []

    def _new_holdouts(self, n: int) -> list[Graphs]:
        """At most n holdouts, none of which this has drawn before."""
        return self.holdouts.draw(self.searched, n, share_of(n), self.options.max_nodes, again=False)

    def _judge(self, splits: list[Graphs]) -> Judge:
        return Judge(splits, [self.holdouts.units(test) for _, test in splits], self.options.rank_by)

    # Searching

    def search(self) -> None:
        """Judge candidates as long as there is time."""
        if self.judge is None:
            warn(
                f"too little can be held out of {self.graph!r} in setting {self.options.setting} to judge candidates "
                "on three or more holdouts; the default is fitted without a search",
                UserWarning,
            )
            return
        if self.options.baselines:
            for candidate in stages.baselines(self.space, self.defaults, self.judge.splits[0][0]):
                self._try(candidate)
        if self.given is not None:
            alphas = tuple(self.given.alpha * factor for factor in (100.0, 10.0, 1.0, 0.1, 0.01))
            self._take([Candidate("the given ranker", self.given, alphas=alphas)])
        self._take(map(self.space.candidate, self.defaults))
        self._stage(self._priors())
        known = KNOWN[self.options.setting]
        if self.options.rank_by != "outgoing":
            known = known[::-1]
        known = known if self.graph.is_two_domain else (any(known),)
        self._stage(stages.main_effects(known))
        rounds = [stages.constants, stages.losses, stages.shapes, stages.weights, stages.identities(known)]
        if self.given is not None:
            rounds.remove(stages.losses)
        # What is tried depends on what was taken before; the same choice is never judged twice.
        for _ in range(ROUNDS):
            taken = [self._stage(stage) for stage in (stages.compared, *rounds)]
            if not any(taken):
                break
        for stage in (stages.pair_kernels, stages.relevance):
            self._stage(stage)
        self._decide()

    def _decide(self) -> None:
        """Judge the best of both kinds on more holdouts if it is not clear whether learning adds something."""
        baseline = self.best_baseline()
        if self.best is None or baseline is None or self.judge is None:
            return
        difference, error = self.best.against(baseline)
        if abs(difference) > CLEAR * error:
            return
        ranked = sorted(self.judged, key=lambda one: one.loss)
        kinds = [[one for one in ranked if one.candidate.is_baseline == kind] for kind in (False, True)]
        kept = [self.best, *kinds[1][:FINALISTS], *(one for one in kinds[0][:FINALISTS] if one is not self.best)]
        needed = MORE * sum(one.seconds for one in kept) + self._last_fits(self.best.candidate)
        if not self.budget.affords(needed):
            kept, needed = [self.best, baseline], needed - MORE * sum(one.seconds for one in kept[2:])
        splits = self._new_holdouts(MORE * len(self.judge)) if self.budget.affords(needed) else []
        if splits:
            judge = self._judge(splits)
            self.finalists = [joined(one, judge.judge(one.candidate)) for one in kept]

    def _priors(self) -> Callable[..., Iterable[Choice]]:
        """The similarity prior on the best first kernels, and on the kernel of the best similarity."""
        learned = sorted((one for one in self.judged if one.candidate.choice is not None), key=lambda one: one.loss)
        found: list[Choice] = []
        for is_baseline in (True, False):
            some = [one.candidate.choice for one in learned if one.candidate.is_baseline == is_baseline]
            found += some[: 1 if is_baseline else WITH_PRIOR]
        return lambda space, _: [one for choice in dict.fromkeys(found) for one in stages.prior(space, choice)]

    def _stage(self, stage: Callable[..., Iterable[Choice]]) -> bool:
        """Try the changes of a stage; whether one was taken."""
        before = self.best
        choice = None if before is None else before.candidate.choice
        if choice is not None:
            self._take(map(self.space.candidate, stage(self.space, choice)))
        return self.best is not before

    def _take(self, candidates: Iterable[Candidate]) -> None:
        """Try candidates; the best so far is then the simplest of everything that is about as good as the best."""
        for candidate in candidates:
            if candidate.choice is None or candidate.choice not in self.tried:
                self.tried.add(candidate.choice)
                self._try(candidate, self.best)
        learned = [one for one in self.judged if not one.candidate.is_baseline]
        if learned:
            self.best = simplest(learned)

    def _try(self, candidate: Candidate, rival: Judged | None = None) -> Judged | None:
        """Judge a candidate if there is time."""
        assert self.judge is not None
        n_holdouts = len(self.judge)
        try:
            kind, flops = self.judge.cost(candidate)
            last = self._last_flops(candidate)
            if self.judged and not self.budget.affords(self.budget.seconds(kind, flops + last)):
                self.n_skipped += 1
                return None

            def stop(seconds: float, left: int) -> bool:
                # Operations are as quick as those that were just timed.
                self.budget.learn(kind, flops / n_holdouts, seconds)
                needed = seconds * (left + n_holdouts * last / flops)
                return bool(self.judged) and not self.budget.affords(needed)

            found = self.judge.judge(candidate, rival, stop)
        except ValueError:
            if candidate.name == "the given ranker":
                raise
            self.n_skipped += 1  # what this kernel cannot do, or has no memory for
            return None
        if found is None:
            self.n_skipped += 1
            return None
        self.budget.learn(kind, flops, found.seconds)
        self.judged.append(found)
        row = _row(found, False)
        if self.options.callback is not None:
            self.options.callback(row)
        if self.options.verbose:
            print(row, file=sys.stderr)
        return found

    def _last_flops(self, candidate: Candidate) -> float:
        """Operations of the fit for the last judgement and of that to the whole graph, in double precision: twice."""
        alpha = candidate.alphas[len(candidate.alphas) // 2] if candidate.alphas else None
        last = candidate.at(alpha, None)
        if not candidate.is_baseline:
            last = replace(last, ranker=changed(last.ranker, **self._precision))
        return (1 + 2) * work(last, self.graph)[1]

    def _last_fits(self, candidate: Candidate) -> float:
        """Their seconds."""
        return self.budget.seconds(work(candidate, self.graph)[0], self._last_flops(candidate))

    # The result

    def chosen(self) -> Candidate:
        """The simplest of the best: a baseline, unless something that was learned is better."""
        if not self.judged:
            alpha = 1.0 if self.given is None else self.given.alpha
            default = self.space.candidate(self.defaults[0])
            if self.given is not None:
                default = Candidate("the given ranker", self.given, alphas=(alpha,))
            return default.at(default.alphas[len(default.alphas) // 2], None)
        among = self.finalists or self.judged
        learned = [one for one in among if not one.candidate.is_baseline]
        best, baseline = simplest(learned) if learned else None, self.best_baseline(among)
        if best is None or (baseline is not None and not (best.is_better(baseline) and _is_above_chance(best))):
            assert baseline is not None
            return baseline.candidate
        return best.candidate

    def best_baseline(self, among: list[Judged] | None = None) -> Judged | None:
        """The best baseline of some, or of all that were judged; None if there is none."""
        found = (one for one in (self.judged if among is None else among) if one.candidate.is_baseline)
        return min(found, key=lambda one: one.loss, default=None)

    def final(self, candidate: Candidate, graph: RelationGraph) -> Any:
        """The estimator of a candidate for a graph, with the precision of the last fit."""
        if candidate.is_baseline:
            return candidate.estimator()
        params, ranker = self._precision, candidate.ranker
        if candidate.n_steps:
            ranker = weighted(candidate, graph if candidate.preparation == RAW else self._prepared(candidate, graph))
        plain = not ranker.compared and ranker.pairwise_kernel is None and ranker.n_components is None
        if self.given is None and plain and max(graph.shape) > MOST_EXACT:
            params = params | {"n_components": "auto", "random_state": 0}
        return Candidate(candidate.name, changed(ranker, **params), candidate.preparation).estimator()

    @property
    def _precision(self) -> dict[str, Any]:
        """The precision of the last fit."""
        return PRECISION if self.given is None else {"tol": self.given.tol, "max_iter": self.given.max_iter}

    @staticmethod
    def _prepared(candidate: Candidate, graph: RelationGraph) -> RelationGraph:
        return prepare(candidate.preparation, candidate.ranker, graph)[1]

    def reserved_loss(self, candidate: Candidate) -> tuple[float, float]:
        """Rank loss on the reserved part and its standard error, by a fit to the rest of the graph."""
        if self.reserved is None or not self.budget.affords(self._last_fits(candidate)):
            return float("nan"), float("nan")
        train, test = self.reserved
        fitted = self.final(candidate, train).fit(train)
        counts = pair_counts_of(fitted, test, self.options.rank_by)
        found = Judged(candidate, counts, self.holdouts.units(test), np.zeros(len(counts), dtype=int))
        return found.loss, found.standard_error

    def leaderboard(self, chosen: Candidate) -> Leaderboard:
        """Everything that was judged."""
        if not self.judged:
            nan = float("nan")
            return Leaderboard([LeaderboardRow(chosen.name, nan, nan, 0.0, False, True, chosen_params(chosen.ranker))])
        return Leaderboard([_row(one, one.candidate is chosen) for one in self.judged])

    def summary(self, chosen: Candidate, loss: float) -> str:
        """What was chosen, and what it gains over the best baseline."""
        if not self.judged:
            return f"Too little can be held out to judge anything: the default, {chosen.name}, was fitted."
        found = next(one for one in [*self.finalists, *self.judged] if one.candidate is chosen)
        measured = f"rank loss {found.loss:.4f} ± {found.standard_error:.4f}"
        if not any(found is one for one in self.judged):  # so it is not the number of the leaderboard
            measured += " on more holdouts"
        baseline = self.best_baseline(self.finalists or self.judged)
        new = f", {loss:.4f} on reserved {self.holdouts.by}" if loss == loss else ""
        if baseline is None:
            return f"Chosen: {chosen.name} ({measured}{new}); no baseline was tried."
        if chosen.is_baseline:
            return f"Learning adds nothing over the best baseline, {chosen.name} ({measured}{new}), which is returned."
        difference, error = found.against(baseline)
        return (
            f"Chosen: {chosen.name} ({measured}{new}), {-difference:.4f} ± {error:.4f} lower than the best baseline, "
            f"{baseline.candidate.name} ({baseline.loss:.4f})."
        )


def chosen_params(ranker: Any) -> dict[str, Any]:
    """Parameters that differ from the defaults, without those of the precision."""
    defaults, found = type(ranker)().get_params(deep=False), ranker.get_params(deep=False)
    left_out = ("tol", "max_iter")
    return {name: value for name, value in found.items() if name not in left_out and value != defaults[name]}


def _is_above_chance(found: Judged) -> bool:
    """Whether a loss is surely below that of guessing, by Student's t: of many candidates one is below it on noise."""
    error, n_units = found.standard_error, len(np.unique(found.unit))
    return n_units < 2 or found.loss < GUESSING - stdtrit(n_units - 1, SURE) * error


def _row(found: Judged, chosen: bool) -> LeaderboardRow:
    one = found.candidate
    params = {"preparation": one.preparation} | chosen_params(one.ranker)
    return LeaderboardRow(one.name, found.loss, found.standard_error, found.seconds, one.is_baseline, chosen, params)
