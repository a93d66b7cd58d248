"""Judging candidates on held-out nodes."""

import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from condrank import ConditionalRanker
from condrank.exceptions import RelationWarning
from condrank.model_selection import candidates
from condrank.model_selection.candidates import Candidate
from condrank.model_selection.judging import Judge, Judged, joined, quiet, simplest
from condrank.model_selection.ranker_search import RankerSearch
from reference_search import faster_wins, ranker


def judge_of(graph, *parts):
    splits = [(graph[train], graph[test]) for train, test in parts]
    return Judge(splits, [test for _, test in parts], "outgoing")


def test_the_preparation_follows_the_training_nodes_only():
    judge = judge_of(faster_wins(30), (np.arange(20), np.arange(20, 30)))
    candidate = Candidate("one", ranker(), "standard", alphas=(10.0, 0.1))
    (prepared,) = judge.prepared(candidate)
    np.testing.assert_allclose(prepared[0].nodes.rows.mean(axis=0), 0, atol=1e-12)
    assert np.abs(prepared[1].nodes.rows.mean(axis=0)).max() > 1e-3
    judged = judge.judge(candidate)
    one = ranker(alpha=judged.candidate.ranker.alpha).fit(prepared[0])
    assert judged.loss == pytest.approx(1 - one.score(prepared[1]))
    whole = judged.candidate.estimator().fit(judge.splits[0][0])
    assert judged.loss == pytest.approx(1 - whole.score(judge.splits[0][1]))


def judged_of(wrong, pairs, unit=None, complexity=0, holdout=None):
    unit = np.arange(len(wrong)) if unit is None else unit
    holdout = np.zeros(len(wrong), dtype=int) if holdout is None else holdout
    return Judged(Candidate("", None, complexity=complexity), np.column_stack([wrong, pairs]), unit, holdout)


def test_the_standard_error_is_that_of_paired_differences():
    rng = np.random.default_rng(0)
    pairs = np.full(400, 20.0)
    differences = []
    for _ in range(200):
        wrong = rng.binomial(20, 0.3, size=400).astype(float)
        other = np.clip(wrong + rng.integers(-1, 2, size=400), 0, 20)
        difference, error = judged_of(other, pairs).against(judged_of(wrong, pairs))
        differences.append(difference)
    assert error == pytest.approx(np.std(differences), rel=0.25)


def test_nodes_of_one_unit_are_wrong_together():
    rng = np.random.default_rng(0)
    unit, pairs = np.repeat(np.arange(40), 10), np.full(400, 20.0)
    losses, errors = [], []
    for _ in range(200):
        found = judged_of(np.repeat(rng.binomial(20, 0.3, size=40), 10).astype(float), pairs, unit)
        losses.append(found.loss)
        errors.append(found.standard_error)
    assert np.mean(errors) == pytest.approx(np.std(losses), rel=0.15)
    assert np.mean(errors) > 2 * judged_of(found.counts[:, 0], pairs).standard_error


def test_holdouts_that_disagree_make_the_error_larger():
    holdout, pairs = np.repeat(np.arange(6), 50), np.full(300, 20.0)
    wrong = np.repeat([2.0, 2.0, 6.0, 6.0, 10.0, 10.0], 50)
    alone, found = judged_of(wrong, pairs), judged_of(wrong, pairs, holdout=holdout)
    spread = np.std([0.1, 0.1, 0.3, 0.3, 0.5, 0.5], ddof=1)
    assert found.standard_error == pytest.approx(spread * np.sqrt(1 / 6 + 1 / 3))  # a quarter is held out
    assert found.standard_error > 5 * alone.standard_error
    none = judged_of(0 * wrong, pairs, holdout=holdout)
    assert found.against(none) == pytest.approx((0.3, spread / np.sqrt(6)))  # for a choice, holdouts are independent
    three = judged_of(wrong, pairs, holdout=holdout // 2)
    assert three.standard_error == alone.standard_error


def test_the_error_is_that_of_other_nodes_although_holdouts_share_nodes():
    """The loss of a pair is an effect of its conditioning node plus one of its object, which a whole holdout shares."""
    rng = np.random.default_rng(0)
    losses, errors, alone = [], [], []
    for _ in range(200):
        rows, cols = rng.normal(size=(2, 40))
        wrong, unit = [], []
        for _ in range(16):
            a, b = (rng.permutation(40)[:10] for _ in range(2))
            wrong.append(10 * (5 + rows[a] + cols[b].mean()))
            unit.append(a)
        wrong, unit = np.concatenate(wrong), np.concatenate(unit)
        found = judged_of(wrong, np.full(160, 100.0), unit, holdout=np.repeat(np.arange(16), 10))
        losses.append(found.loss)
        errors.append(found.standard_error)
        alone.append(judged_of(wrong, np.full(160, 100.0), unit).standard_error)
    assert np.mean(alone) < 0.8 * np.std(losses)
    assert 0.85 * np.std(losses) < np.mean(errors) < 1.4 * np.std(losses)


def test_the_simplest_within_one_standard_error_is_taken():
    rng = np.random.default_rng(0)
    pairs, wrong = np.full(100, 20.0), rng.binomial(20, 0.3, size=100).astype(float)
    best = judged_of(wrong, pairs, complexity=3)
    noise = rng.choice([-1.0, 1.0], size=100)
    noise[0] += 1 - noise.sum()  # hardly worse than the best
    near, far = judged_of(wrong + noise, pairs, complexity=1), judged_of(wrong + 1, pairs, complexity=0)
    assert best.loss < near.loss < far.loss
    assert simplest([best, near, far]) is near
    assert simplest([best, far]) is best
    together = joined(best, near)
    assert together.loss == pytest.approx((best.loss + near.loss) / 2)


def test_a_hopeless_candidate_is_given_up_before_the_last_holdout():
    rng = np.random.default_rng(0)
    parts = [np.split(rng.permutation(60), [40]) for _ in range(3)]
    judge = judge_of(faster_wins(60), *parts)
    fitted = []

    good = judge.judge(Candidate("rbf", ranker(), alphas=(0.1,)))
    bad = Candidate("linear", ConditionalRanker("reciprocal", "regression"), alphas=(1.0,))
    assert judge.judge(bad, good) is None
    assert judge.judge(bad).loss > good.loss
    assert judge.judge(bad, stop=lambda seconds, left: fitted.append(left) or len(fitted) > 1) is None
    assert fitted == [2, 1]


def test_warnings_are_silent_while_any_search_runs_and_back_afterwards():
    before = list(warnings.filters)
    inside, leave = threading.Event(), threading.Event()

    def other():
        with quiet():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with quiet():
        thread.start()
        assert inside.wait(10)
    with warnings.catch_warnings(record=True) as told:
        warnings.warn("not converged", ConvergenceWarning, stacklevel=1)
    assert not told
    leave.set()
    thread.join()
    assert warnings.filters == before
    rough = faster_wins(60).to_dense()
    rough[0, 1], rough[1, 0] = 3.0, 1.0
    with pytest.warns(RelationWarning) as told:
        RankerSearch(ranker(), n_holdouts=3, random_state=0).fit(faster_wins(60).nodes.rows, rough)
    assert len(told) == 1


def test_feature_weights_start_from_the_same_ridge_when_judged_and_when_fitted(monkeypatch):
    started = []

    def learn(one, splits):
        started.append(one.alpha)
        return one

    monkeypatch.setattr(candidates, "learn_weights", learn)
    judge = judge_of(faster_wins(30), (np.arange(20), np.arange(20, 30)), (np.arange(10, 30), np.arange(10)))
    candidate = Candidate("weighted", ranker(), alphas=(7.0,), n_steps=2)
    candidates.weighted(judge.judge(candidate).candidate, faster_wins(30))
    assert started == [7.0, 7.0, 7.0]
