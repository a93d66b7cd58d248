"""Decisions of a search: who may be the best, who is taken, and the sentence about it."""

import numpy as np
import pytest

from condrank import ConditionalRanker
from condrank.model_selection.candidates import Candidate
from condrank.model_selection.deciding import FINALISTS, Decision
from condrank.model_selection.judging import Judged, joined

PAIRS = np.full(60, 100.0)
NOISE = np.random.default_rng(0).normal(size=60)


def judged_at(loss, spread=1.0, name="", complexity=2, baseline=False, noise=NOISE):
    """Sixty conditioning nodes with 100 pairs each, of which a share is wrong; more noise is a larger error."""
    counts = np.column_stack([100 * loss + spread * (noise - noise.mean()), PAIRS])
    one = Candidate(name or f"{loss:g}", ConditionalRanker(), complexity=complexity, is_baseline=baseline)
    return Judged(one, counts, np.arange(60), np.zeros(60, dtype=int), 1.0)


def other_noise(seed):
    return np.random.default_rng(seed).normal(size=60)


@pytest.mark.parametrize(
    ("complexity", "of_baseline", "learned"), [(2, 1, False), (2, 2, True), (2, 3, True), (0, 0, True)]
)
def test_a_lower_loss_is_enough_unless_the_baseline_is_simpler(complexity, of_baseline, learned):
    """The difference of .001 is less than its standard error, about .002."""
    best = judged_at(0.199, complexity=complexity, noise=other_noise(1))
    baseline = judged_at(0.2, complexity=of_baseline, baseline=True, noise=other_noise(2))
    assert abs(best.against(baseline)[0]) < best.against(baseline)[1]
    assert (Decision([best, baseline]).chosen() is best.candidate) == learned


def test_every_simpler_baseline_has_to_be_beaten():
    """The best baseline is not simpler, but another one is, and it is about as good."""
    best = judged_at(0.199, complexity=2, noise=other_noise(1))
    near = judged_at(0.1995, complexity=3, baseline=True, noise=other_noise(2))
    simple = judged_at(0.2, complexity=0, baseline=True, noise=other_noise(3))
    assert Decision([best, near]).chosen() is best.candidate
    assert Decision([best, near, simple]).chosen() is near.candidate


def test_a_baseline_that_is_worse_than_another_has_no_say():
    """It is simpler than what was learned, which does not beat it by one standard error; but so what."""
    best = judged_at(0.195, 10.0, complexity=2, noise=other_noise(1))
    near, poor = (
        judged_at(loss, 10.0, complexity=complexity, baseline=True, noise=other_noise(2))
        for loss, complexity in ((0.2, 2), (0.21, 0))
    )
    assert near.is_better(poor)
    assert not best.is_better(poor)
    assert Decision([best, poor]).chosen() is poor.candidate
    assert Decision([best, near, poor]).chosen() is best.candidate


def test_what_is_clearly_worse_is_not_judged_again():
    best, near, far = judged_at(0.2), judged_at(0.201, noise=other_noise(1)), judged_at(0.3, noise=other_noise(2))
    baselines = [judged_at(loss, baseline=True, noise=other_noise(3)) for loss in (0.35, 0.4)]
    # The best baseline always is, right after the best, so that both can be compared.
    assert Decision([far, near, best, *baselines]).contenders() == [best, baselines[0], near]
    assert Decision([far, best, *baselines]).contenders() == []  # there is nothing to decide
    close = judged_at(0.2005, baseline=True, noise=other_noise(4))
    found = Decision([far, near, best, close, *baselines]).contenders()
    assert found[:2] == [best, close]
    assert {id(one) for one in found} == {id(one) for one in (best, close, near)}
    assert len(found) == 3
    many = [judged_at(0.2 + i / 1e5, noise=other_noise(i)) for i in range(30)]
    assert len(Decision(many).contenders()) <= 1 + FINALISTS
    assert Decision(baselines).contenders() == []


def test_what_is_learned_is_surely_better_than_guessing_if_there_are_finalists_too():
    learned = [judged_at(loss, 10.0, noise=other_noise(seed)) for loss, seed in ((0.495, 1), (0.496, 2))]
    baseline = judged_at(0.56, complexity=0, baseline=True, noise=other_noise(3))
    decision = Decision([*learned, baseline])
    assert decision.chosen() is baseline.candidate
    decision.finalists = [joined(one, one) for one in decision.contenders()]
    assert len(decision.finalists) == 3
    assert decision.chosen() is baseline.candidate


def test_more_holdouts_decide_against_the_simpler_one():
    """Within one error on the first holdouts the simpler is taken; three times as many show that it is worse."""
    rng = np.random.default_rng(5)

    def drawn(loss, complexity, noise):
        one = judged_at(loss, 2.0, complexity=complexity, noise=noise)
        return one, joined(one, judged_at(loss, 2.0, complexity=complexity, noise=rng.normal(size=60)))

    good, simple = drawn(0.2, 4, other_noise(6)), drawn(0.2025, 1, other_noise(7))
    assert not good[0].is_better(simple[0])
    first = Decision([good[0], simple[0]])
    assert first.chosen() is simple[0].candidate
    pairs = (good[1], 0.2), (simple[1], 0.2025)
    more = [joined(one, judged_at(loss, 2.0, noise=rng.normal(size=60))) for one, loss in pairs]
    assert more[0].is_better(more[1])
    first.finalists = more
    assert first.chosen() is good[0].candidate
    assert "on more holdouts" in first.summary(first.chosen(), 0.1, "nodes")


def test_the_sentence_compares_with_the_best_baseline_on_the_same_holdouts():
    best, near = judged_at(0.2, name="best"), judged_at(0.201, name="near", noise=other_noise(1))
    baseline = judged_at(0.4, name="guess", baseline=True, complexity=0, noise=other_noise(2))
    decision = Decision([best, near, baseline])
    decision.finalists = [joined(one, judged_at(0.3, noise=other_noise(5))) for one in decision.contenders()]
    found = {one.candidate.name: one for one in decision.finalists}
    difference, error = found["best"].against(found["guess"])
    sentence = decision.summary(best.candidate, float("nan"), "nodes")
    assert f"{-difference:.4f} ± {error:.4f} lower than the best baseline, guess (0.3500)" in sentence
    assert "rank loss 0.2500" in sentence
    assert "on more holdouts" in sentence
    assert "no baseline was tried" in Decision([best]).summary(best.candidate, float("nan"), "nodes")
    assert [row.chosen for row in decision.leaderboard(best.candidate)] == [True, False, False]
