"""One order and cycles: the Hodge split against least squares, cyclic triads against loops."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condrank.diagnosis import cyclic_triads, hodge_split, skew_flow
from labelled import RPS, order, random_labels, relations


def hodge_naive(flow):
    """Least squares on the incidence matrix, one row a pair."""
    n = len(flow)
    pairs = [(i, j) for i, j in combinations(range(n), 2) if np.isfinite(flow[i, j])]
    incidence = np.zeros((len(pairs), n))
    for row, (i, j) in enumerate(pairs):
        incidence[row, i], incidence[row, j] = 1, -1
    values = np.array([flow[pair] for pair in pairs])
    scores = np.linalg.pinv(incidence) @ values if pairs else np.zeros(n)
    return incidence, values, scores


def test_flow_reads_one_direction_as_reciprocal_when_asked():
    Y = np.array([[5, 0.9, np.nan], [0.1, 5, 0.8], [np.nan, np.nan, 5]])
    assert np.allclose(skew_flow(Y)[0, 1], 0.4)
    assert np.isnan(skew_flow(Y)[1, 2])
    flow = skew_flow(Y, centre=0.5, complete=True)
    assert np.allclose([flow[0, 1], flow[1, 2], flow[2, 1]], [0.4, 0.3, -0.3])
    assert np.isnan(flow[0, 2])
    assert np.isnan(np.diag(flow)).all()


@given(relations, st.booleans())
@settings(max_examples=80, deadline=None)
def test_hodge_split_agrees_with_least_squares(Y, complete):
    flow = skew_flow(Y, complete=complete)
    split = hodge_split(flow)
    incidence, values, scores = hodge_naive(flow)
    assert split.n_pairs == len(values)
    np.testing.assert_allclose(split.scores, scores, atol=1e-10)
    if len(values) == 0:
        assert split.noise_floor is None
        return
    rank = np.linalg.matrix_rank(incidence)
    assert split.noise_floor == pytest.approx(1 - rank / len(values))
    assert split.n_components == len(Y) - rank
    if not values.any():
        assert split.gradient_share is None
        return
    gradient = np.sum((incidence @ scores) ** 2) / np.sum(values**2)
    assert split.gradient_share == pytest.approx(gradient, abs=1e-10)
    assert split.cyclic_share == pytest.approx(1 - gradient, abs=1e-10)


@pytest.mark.parametrize("n", [2, 3, 10])
def test_hodge_scores_of_a_complete_graph_are_row_means(n):
    A = random_labels(3, n)
    A = A - A.T
    split = hodge_split(skew_flow(A))
    np.testing.assert_allclose(split.scores, A.mean(axis=1), atol=1e-12)
    assert split.noise_floor == pytest.approx(1 - 2 / n)


def test_hodge_split_knows_a_gradient_a_cycle_and_a_crisp_order():
    s = np.random.default_rng(0).normal(size=9)
    gradient = hodge_split(skew_flow(s[:, None] - s[None, :]))
    assert gradient.gradient_share == pytest.approx(1.0)
    assert gradient.order_ceiling == pytest.approx(1.0)
    assert gradient.adjusted_gradient_share == pytest.approx(1.0)
    np.testing.assert_allclose(gradient.scores, s - s.mean(), atol=1e-12)

    cycle = hodge_split(skew_flow(RPS))
    assert cycle.cyclic_share == pytest.approx(1.0)
    assert cycle.order_ceiling == pytest.approx(8 / 9)

    for n in (2, 3, 7, 30):
        crisp = hodge_split(skew_flow(order(n)))
        assert crisp.gradient_share == pytest.approx(2 * (n + 1) / (3 * n))
        assert crisp.order_ceiling == pytest.approx(crisp.gradient_share)


def test_noise_has_the_share_and_spread_of_the_noise_floor():
    n, hole = 12, np.random.default_rng(0).random((12, 12)) < 0.4
    shares = []
    for seed in range(400):
        A = random_labels(seed, n)
        A[hole] = np.nan
        split = hodge_split(skew_flow(A - A.T))
        shares.append(split.cyclic_share)
    assert np.mean(shares) == pytest.approx(split.noise_floor, abs=4 * split.noise_sd / 20)
    assert np.std(shares) == pytest.approx(split.noise_sd, rel=0.15)


@given(relations)
@settings(max_examples=60, deadline=None)
def test_cyclic_triads_agree_with_loops(Y):
    flow = skew_flow(Y, complete=True)
    n_triads = n_decided = n_cyclic = 0
    for i, j, k in combinations(range(len(Y)), 3):
        a, b, c = flow[i, j], flow[j, k], flow[k, i]
        if not np.isfinite([a, b, c]).all():
            continue
        n_triads += 1
        n_decided += bool(a and b and c)
        n_cyclic += (a > 0 and b > 0 and c > 0) or (a < 0 and b < 0 and c < 0)
    triads = cyclic_triads(flow)
    assert (triads.n_triads, triads.n_decided, triads.n_cyclic) == (n_triads, n_decided, n_cyclic)
    assert triads.share == (n_cyclic / n_decided if n_decided else None)


def test_coin_tosses_give_a_quarter_of_cyclic_triads_and_its_spread():
    shares = []
    for seed in range(300):
        A = np.triu(random_labels(seed, 10, levels=(-1, 1)), 1)
        found = cyclic_triads(skew_flow(A - A.T))
        shares.append(found.share)
    assert np.mean(shares) == pytest.approx(0.25, abs=4 * found.expected_sd / np.sqrt(300))
    assert np.std(shares) == pytest.approx(found.expected_sd, rel=0.15)
