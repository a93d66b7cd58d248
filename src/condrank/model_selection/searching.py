"""A search that is under way: candidates in stages, judged on the same holdouts while there is time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from condrank.base.warn import warn
from condrank.baselines import TwoStepRidge
from condrank.diagnosis import recommend
from condrank.graph import RelationGraph
from condrank.model_selection import stages
from condrank.model_selection._splitter import Graphs
from condrank.model_selection.budget import Budget, affordable_holdouts
from condrank.model_selection.candidates import Candidate, weighted, work
from condrank.model_selection.choices import Choice, Space
from condrank.model_selection.deciding import Decision, row_of
from condrank.model_selection.holdouts import AUTO, ENOUGH_HOLDOUTS, FEWEST_HOLDOUTS, Holdouts, in_single, share_of
from condrank.model_selection.judging import Judge, Judged, joined, pair_counts_of, simplest
from condrank.model_selection.preparation import RAW
from condrank.model_selection.prepared import prepare
from condrank.model_selection.relevance import changed
from condrank.rankers.conditional import ConditionalRanker

# Share of all nodes (or edges) that is reserved for the last judgement.
RESERVED = 0.2
# Precision of the last fit, unless a ranker is given: rankings need no more.
PRECISION = {"tol": 1e-6, "max_iter": 1000}
# Of the logistic loss: with 1e-6 the last fit to Pokémon takes half as long again, and ranks new ones the same.
NEWTON_PRECISION = PRECISION | {"tol": 1e-4}
# So many times more holdouts decide between candidates that may be the best.
MORE = 2
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
        self.decision = Decision()
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
            self._take([Candidate("the given ranker", self.given, alphas=alphas, complexity=1)])
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
        last = [stages.pair_kernels, stages.relevance]
        for stage in last if self.given is not None else [stages.logistic, *last]:
            self._stage(stage)
        self._two_steps()
        self._decide()

    def _two_steps(self) -> None:
        """Two-step ridge with the kernels of the best choice, and then with other shapes of them."""
        small = max(self.graph.shape) <= MOST_EXACT
        if self.given is not None or self.best is None or not self.graph.is_complete or not small:
            return
        self.tried.update(one.candidate.choice for one in self._judged_two_steps())
        choices, best = stages.two_step(self.space, self.best.candidate.choice, self.defaults[0]), None
        for _ in range(1 + ROUNDS):
            self._take(map(self.space.candidate, choices))
            before, own = best, self._judged_two_steps()
            best = simplest(own) if own else None
            if best is before or best is None:
                break
            choices = stages.shapes(self.space, best.candidate.choice)

    def _judged_two_steps(self) -> list[Judged]:
        """Two-step ridge with all kernels that were judged, those of baselines too."""
        return [one for one in self.decision.judged if isinstance(one.candidate.ranker, TwoStepRidge)]

    def _decide(self) -> None:
        """Judge all that may be the best on more holdouts, so that the simpler of two is not taken for want of them."""
        kept = self.decision.contenders()
        if self.judge is None or len(kept) < 2:
            return
        needed = [(MORE * one.seconds, self._last_fits(one.candidate)) for one in kept]
        while len(kept) > 1 and not self.budget.affords(
            sum(more for more, _ in needed) + max(last for _, last in needed)
        ):
            kept, needed = kept[:-1], needed[:-1]
        splits = self._new_holdouts(MORE * len(self.judge)) if len(kept) > 1 else []
        if splits:
            judge, finalists = self._judge(splits), []
            for one in kept:
                try:
                    finalists.append(joined(one, judge.judge(one.candidate)))
                except ValueError:  # what this kernel cannot do on another holdout
                    continue
            if [one.candidate for one in finalists[:2]] == [one.candidate for one in kept[:2]]:
                self.decision.finalists = finalists

    def _priors(self) -> Callable[..., Iterable[Choice]]:
        """The similarity prior on the best first kernels, and on the kernel of the best similarity."""
        kernels = [one for one in self.decision.judged if one.candidate.choice and not one.candidate.choice.two_step]
        learned = sorted(kernels, key=lambda one: one.loss)
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
            self._take(self.space.candidate(one, self._near(one)) for one in stage(self.space, choice))
        return self.best is not before

    def _near(self, choice: Choice) -> tuple[float, ...] | None:
        """λ to try for the logistic loss, near that of the best choice, as small λ take very long; None for all."""
        if choice.loss != "logistic" or self.best is None or self.best.candidate.choice is None:
            return None
        best = self.best.candidate
        found = best.alphas[0] / self.space.unit(best.choice)
        # The curvature of the logistic loss is a quarter at most, and less where a game is decided: λ is smaller.
        return (10 * found, found, found / 10) if best.choice.loss == "logistic" else (found, found / 10)

    def _take(self, candidates: Iterable[Candidate]) -> None:
        """Try candidates; the best so far is then the simplest of everything that is about as good as the best."""
        for candidate in candidates:
            if candidate.choice is None or candidate.choice not in self.tried:
                self.tried.add(candidate.choice)
                self._try(candidate, self.best)
        self.best = self.decision.best

    def _try(self, candidate: Candidate, rival: Judged | None = None) -> Judged | None:
        """Judge a candidate if there is time."""
        assert self.judge is not None
        n_holdouts = len(self.judge)
        try:
            kind, flops = self.judge.cost(candidate)
            last = self._last_flops(candidate)
            if self.decision.judged and not self.budget.affords(self.budget.seconds(kind, flops + last)):
                return None

            def stop(seconds: float, left: int) -> bool:
                # Operations are as quick as those that were just timed.
                self.budget.learn(kind, flops / n_holdouts, seconds)
                needed = seconds * (left + n_holdouts * last / flops)
                return bool(self.decision.judged) and not self.budget.affords(needed)

            found = self.judge.judge(candidate, rival, stop)
        except ValueError:
            if candidate.name == "the given ranker":
                raise
            return None  # what this kernel cannot do, or has no memory for
        if found is None:
            return None
        self.budget.learn(kind, flops, found.seconds)
        self.decision.judged.append(found)
        row = row_of(found)
        if self.options.callback is not None:
            self.options.callback(row)
        if self.options.verbose:
            print(row, file=sys.stderr)
        return found

    def _last_flops(self, candidate: Candidate) -> float:
        """Operations of the fit for the last judgement and of that to the whole graph, in double precision: twice."""
        alpha = candidate.alphas[(len(candidate.alphas) - 1) // 2] if candidate.alphas else None
        last = candidate.at(alpha, None)
        if candidate.is_conditional:
            last = replace(last, ranker=changed(last.ranker, **self._precision(last.ranker)))
        return (1 + 2) * work(last, self.graph)[1]

    def _last_fits(self, candidate: Candidate) -> float:
        """Their seconds."""
        return self.budget.seconds(work(candidate, self.graph)[0], self._last_flops(candidate))

    # The result

    def chosen(self) -> Candidate:
        """What the decision is; the default if nothing was judged."""
        if not self.decision.judged:
            alpha = 1.0 if self.given is None else self.given.alpha
            default = self.space.candidate(self.defaults[0])
            if self.given is not None:
                default = Candidate("the given ranker", self.given, alphas=(alpha,))
            return default.at(default.alphas[len(default.alphas) // 2], None)
        return self.decision.chosen()

    def final(self, candidate: Candidate, graph: RelationGraph) -> Any:
        """The estimator of a candidate for a graph, with the precision of the last fit."""
        if not candidate.is_conditional:
            return candidate.estimator()
        params, ranker = self._precision(candidate.ranker), candidate.ranker
        if candidate.n_steps:
            ranker = weighted(candidate, graph if candidate.preparation == RAW else self._prepared(candidate, graph))
        plain = not ranker.compared and ranker.pairwise_kernel is None and ranker.n_components is None
        if self.given is None and plain and max(graph.shape) > MOST_EXACT:
            params = params | {"n_components": "auto", "random_state": 0}
        return Candidate(candidate.name, changed(ranker, **params), candidate.preparation).estimator()

    def _precision(self, ranker: Any) -> dict[str, Any]:
        """The precision of the last fit."""
        if self.given is not None:
            return {"tol": self.given.tol, "max_iter": self.given.max_iter}
        return NEWTON_PRECISION if ranker.loss == "logistic" else PRECISION

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
