"""Paired comparisons against exact enumeration, and their calibration where there is no difference."""

from __future__ import annotations

from dataclasses import asdict
from itertools import product

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import NearestNeighbours
from condrank.model_selection import SettingSplit, compare, compare_rankers, cross_validate


def naive_p(difference):
    """Share of all 2ⁿ sign flips whose mean is at least as far from zero."""
    means = [np.mean(difference * np.array(signs)) for signs in product((-1, 1), repeat=len(difference))]
    return np.mean(np.abs(means) >= abs(np.mean(difference)) - 1e-12)


def naive_interval(difference, level):
    """Percentiles of the mean over all nⁿ resamples."""
    means = [np.mean(sample) for sample in product(difference, repeat=len(difference))]
    return np.quantile(means, [(1 - level) / 2, (1 + level) / 2])


@pytest.mark.parametrize("n", [2, 3, 6, 9])
def test_the_p_value_is_exact_for_few_queries(n):
    rng = np.random.default_rng(n)
    a, b = rng.random(n), rng.random(n)
    result = compare(a, b)
    assert result.p_value == pytest.approx(naive_p(a - b))
    assert result.difference == pytest.approx(np.mean(a - b))
    assert result.n_queries == n


def test_the_interval_approaches_that_of_all_resamples():
    rng = np.random.default_rng(0)
    a, b = rng.random(6), rng.random(6)
    result = compare(a, b, confidence=0.9, n_resamples=50_000)
    np.testing.assert_allclose((result.low, result.high), naive_interval(a - b, 0.9), atol=0.01)


def test_sampled_flips_approach_the_exact_test():
    rng = np.random.default_rng(1)
    a, b = rng.random(12), rng.random(12) + 0.1
    sampled = compare(a, b, n_resamples=3000).p_value  # fewer than 2¹²: sampled
    assert sampled == pytest.approx(naive_p(a - b), abs=0.03)


def test_the_test_is_calibrated_where_there_is_no_difference():
    rng = np.random.default_rng(0)
    p, covered = [], []
    for _ in range(300):
        a, b = rng.random(30), rng.random(30)
        result = compare(a, b, n_resamples=300, random_state=rng)
        p.append(result.p_value)
        covered.append(result.low <= 0 <= result.high)
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.09
    assert 0.4 <= np.mean(p) <= 0.6
    assert 0.90 <= np.mean(covered) <= 0.98


def test_a_clear_difference_is_found_and_seeded():
    rng = np.random.default_rng(0)
    b = rng.random(50)
    a = b - 0.1 + rng.normal(0, 0.05, 50)
    result = compare(a, b)
    assert result.p_value < 0.001
    assert result.high < 0
    assert result == compare(a, b)
    assert "p = " in str(result)


def test_queries_without_a_loss_are_left_out():
    a, b = np.array([0.1, np.nan, 0.4, 0.3]), np.array([0.2, 0.3, np.nan, 0.6])
    assert compare(a, b) == compare(a[[0, 3]], b[[0, 3]])
    same = compare(a[[0, 3]], a[[0, 3]])
    assert (same.low, same.high, same.p_value) == (0, 0, 1)


def make_graph():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 3))
    return RelationGraph(X, X @ rng.standard_normal((3, 3)) @ X.T + rng.normal(0, 0.5, (24, 24)))


@pytest.mark.parametrize("setting", [1, 2, 3, 4])
def test_results_of_cross_validation_are_compared_by_node(setting):
    graph, cv = make_graph(), SettingSplit(setting, 4, random_state=0)
    a = cross_validate(ConditionalRanker(), graph, cv=cv)
    b = cross_validate(NearestNeighbours(), graph, cv=cv)
    result = compare(a, b)
    # one difference for each conditioning node, whatever the number of folds that tested it
    losses = [
        np.array([np.nanmean(one.queries["rank_loss"][one.queries["query"] == node]) for node in range(24)])
        for one in (a, b)
    ]
    assert result.n_queries == 24
    assert result.difference == pytest.approx(np.mean(losses[0] - losses[1]))
    assert result.high < 0
    assert compare_rankers(ConditionalRanker(), NearestNeighbours(), graph, cv=cv) == result


def test_ids_may_be_of_several_types():
    plain = make_graph()
    ids = np.array([i if i % 2 else f"s{i}" for i in range(24)], dtype=object)
    named = RelationGraph(plain.nodes.rows, plain.to_dense(), ids=ids)
    for setting in (1, 4):
        found = [
            compare_rankers(ConditionalRanker(), NearestNeighbours(), one, setting, cv=3) for one in (plain, named)
        ]
        assert found[0] == found[1]


def test_a_comparison_is_shown_with_its_measure_and_direction():
    a, b = [0.1, 0.2, 0.3, 0.2], [0.2, 0.3, 0.4, 0.4]
    found = compare(a, b)
    interval = f"95% interval {found.low:+.4f} to {found.high:+.4f}, p = 0.125"
    told = f"mean over 4 conditioning nodes: A 0.2000, B 0.3250, A - B = -0.1250, {interval}"
    assert str(found) == f"loss, {told}; lower is better"
    assert str(compare(a, b, measure="auc")) == f"auc, {told}; higher is better"
    assert str(compare(a, b, measure="my own")) == f"my own, {told}"
    graph = make_graph()
    rankers = ConditionalRanker(), NearestNeighbours()
    losses, gains = (compare_rankers(*rankers, graph, scoring=name) for name in ("rank_loss", "concordance_index"))
    assert str(losses).startswith("rank_loss, mean over 24 conditioning nodes: A ")
    assert str(losses).endswith("lower is better")
    assert str(gains).endswith("higher is better")
    assert (losses.mean_a, losses.mean_b) == pytest.approx((1 - gains.mean_a, 1 - gains.mean_b))
    assert losses.difference == pytest.approx(losses.mean_a - losses.mean_b)
    by_node = cross_validate(rankers[0], graph).queries["rank_loss"]
    assert losses.mean_a == pytest.approx(np.nanmean(by_node))  # in setting 4 every node is tested once


def test_rankers_meet_the_same_folds():
    graph = make_graph()
    a, b = ConditionalRanker(), NearestNeighbours()
    folds = list(SettingSplit(4, 4, random_state=0).split(graph))
    expected = compare(cross_validate(a, graph, cv=folds), cross_validate(b, graph, cv=folds))
    assert compare_rankers(a, b, graph, cv=(pair for pair in folds)) == expected
    # Drawn anew by each ranker, such folds would differ, which compare refuses.
    for cv in (SettingSplit(4, 4), SettingSplit(4, 4, random_state=np.random.RandomState(0))):
        assert compare_rankers(a, b, graph, cv=cv).n_queries == 24


@pytest.mark.filterwarnings("ignore::condrank.exceptions.RelationWarning")
@pytest.mark.parametrize("cv", [4, SettingSplit(1, 4, random_state=0)])
def test_directions_are_tied_if_either_ranker_ties_them(cv):
    graph, plain, tying = make_graph(), ConditionalRanker(), ConditionalRanker("symmetric")
    together = SettingSplit(1, 4, both_directions=True, random_state=0)
    a, b = (cross_validate(one, graph, cv=together) for one in (plain, tying))
    assert compare_rankers(plain, tying, graph, 1, cv=cv) == compare(a, b)
    assert compare_rankers(tying, plain, graph, 1, cv=cv) == compare(b, a)


def test_rankers_that_cannot_be_compared_are_refused():
    graph, ranker = make_graph(), ConditionalRanker()
    with pytest.raises(ValueError, match="must have the same rank_by, got 'outgoing' and 'incoming'"):
        compare_rankers(ranker, ConditionalRanker(rank_by="incoming"), graph)
    with pytest.raises(ValueError, match="nothing to rank in any fold"):
        compare_rankers(ranker, ranker, graph, cv=SettingSplit(4, "leave-one-out"))
    with pytest.raises(ValueError, match="graph must be a RelationGraph"):
        compare_rankers(ranker, ranker, np.eye(3))
    with pytest.raises(ValueError, match="setting must be one of"):
        compare_rankers(ranker, ranker, graph, 5)


def infinite(Y_true, Y_score, average="micro"):
    return np.inf if average else np.full(len(Y_true), np.inf)


def test_infinite_losses_of_results_are_refused():
    result = cross_validate(ConditionalRanker(), make_graph(), scoring=infinite)
    with pytest.raises(ValueError, match="loss_a must be finite"):
        compare(result, result)


def test_results_must_be_of_the_same_folds():
    graph = make_graph()
    for setting in (1, 2, 3, 4):
        a, b = (cross_validate(ConditionalRanker(), graph, cv=SettingSplit(setting, 4, random_state=i)) for i in (0, 1))
        with pytest.raises(ValueError, match="different folds"):
            compare(a, b)
    with pytest.raises(ValueError, match="must be in both results"):
        compare(a, a, measure="auc")
    plain = cross_validate(ConditionalRanker(), graph, scoring={"error": lambda Y_true, Y_score: 1.0})
    with pytest.raises(ValueError, match="no values for single queries"):
        compare(plain, plain)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.1, 0.2], [0.1]), {}, "aligned, got"),
        (([[0.1]], [[0.1]]), {}, "one loss per query"),
        (([0.1], [0.2]), {}, "at least two queries"),
        (([0.1, np.inf, 0.3], [0.1, np.inf, 0.2]), {}, "loss_a must be finite, .* of query 1 is not"),
        (([0.1, 0.2, 0.3], [-np.inf, 0.2, 0.2]), {}, "loss_b must be finite, .* of query 0 is not"),
        (([0.1, 0.2], [0.2, 0.1]), {"confidence": 1.0}, "confidence must be below 1"),
        (([0.1, 0.2], [0.2, 0.1]), {"n_resamples": 0}, "n_resamples must be"),
    ],
)
def test_wrong_input_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        compare(*arguments, **options)


def test_losses_and_results_are_not_compared_with_each_other():
    result = cross_validate(ConditionalRanker(), make_graph())
    with pytest.raises(ValueError, match="both be losses, or both results"):
        compare(result, [0.1, 0.2])


def test_a_comparison_is_one_row_of_a_frame():
    found = compare([0.1, 0.2, 0.3, 0.2], [0.2, 0.3, 0.4, 0.4], measure="log_loss")
    assert found.to_frame("pandas").to_dict("records") == [asdict(found)]
    assert "lower is better" in str(found)
