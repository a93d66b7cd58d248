"""Violations of stochastic transitivity and of T-transitivity, against loops over triples."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condrank.diagnosis import skew_flow, stochastic_transitivity, t_transitivity
from labelled import RPS, classes, order, random_labels, relations


def stochastic_naive(flow):
    P = (1 + flow / max(np.nanmax(np.abs(flow), initial=0.0), 1e-300)) / 2
    counts = np.zeros(4, dtype=int)
    for i, j, k in permutations(range(len(P)), 3):
        if not np.isfinite([P[i, j], P[j, k], P[i, k]]).all() or P[i, j] < 0.5 or P[j, k] < 0.5:
            continue
        low, high = sorted((P[i, j], P[j, k]))
        slack = 1e-9
        counts += (1, P[i, k] < 0.5, P[i, k] < low - slack, P[i, k] < high - slack)
    return counts


def t_norms_naive(R):
    counts = np.zeros(4, dtype=int)
    for i, j, k in permutations(range(len(R)), 3):
        a, b, c = R[i, j], R[j, k], R[i, k]
        if not np.isfinite([a, b, c]).all() or a <= 0 or b <= 0:
            continue
        counts += (1, c < min(a, b) - 1e-9, c < a * b - 1e-9, c < max(a + b - 1, 0) - 1e-9)
    return counts


def as_shares(counts):
    return [None if counts[0] == 0 else count / counts[0] for count in counts[1:]]


@given(relations, st.booleans())
@settings(max_examples=60, deadline=None)
def test_stochastic_transitivity_agrees_with_loops(Y, complete):
    flow = skew_flow(Y, complete=complete)
    found = stochastic_transitivity(flow)
    counts = stochastic_naive(flow)
    assert found.n_triples == counts[0]
    assert [found.weak, found.moderate, found.strong] == as_shares(counts)
    assert found.n_nodes_used == len(Y)
    # Probabilities minus ½ and labels of another unit violate the same triples.
    assert stochastic_transitivity(0.25 * flow) == found


@given(relations, st.booleans())
@settings(max_examples=60, deadline=None)
def test_t_transitivity_agrees_with_loops(Y, symmetric):
    R = (Y + Y.T) / 2 if symmetric else Y
    off = ~np.eye(len(R), dtype=bool) & np.isfinite(R)
    low, high = (R[off].min(), R[off].max()) if off.any() else (0.0, 1.0)
    scaled = low < 0 or high > 1
    found = t_transitivity(R)
    assert found.scaled == scaled
    if scaled:
        R = (R - low) / (high - low) if high > low else R - low
    counts = t_norms_naive(R)
    assert found.n_triples == counts[0]
    assert [found.minimum, found.product, found.lukasiewicz] == as_shares(counts)


def test_known_relations_have_the_expected_violations():
    transitive = stochastic_transitivity(skew_flow(order(12)))
    assert (transitive.weak, transitive.moderate, transitive.strong) == (0.0, 0.0, 0.0)
    cyclic = stochastic_transitivity(skew_flow(RPS))
    assert (cyclic.n_triples, cyclic.weak) == (3, 1.0)
    s = np.random.default_rng(0).normal(size=15)
    gradient = stochastic_transitivity(skew_flow(np.tanh(s[:, None] - s[None, :])))
    assert gradient.strong == 0.0
    assert t_transitivity(classes(12)).minimum == 0.0
    A = random_labels(0, 120)
    noise = stochastic_transitivity(skew_flow(A))
    assert [noise.weak, noise.moderate, noise.strong] == pytest.approx([1 / 2, 2 / 3, 5 / 6], abs=0.02)


def test_triples_are_sampled_only_if_there_are_too_many():
    A = random_labels(0, 80)
    exact = stochastic_transitivity(skew_flow(A))
    sampled = stochastic_transitivity(skew_flow(A), max_triples=40**3, random_state=1)
    assert exact.n_nodes_used == 80
    assert 35 <= sampled.n_nodes_used <= 41
    assert sampled.strong == pytest.approx(exact.strong, abs=0.05)
    # A sparse graph has few triples: all nodes stay.
    A[np.random.default_rng(1).random(A.shape) < 0.9] = np.nan
    assert stochastic_transitivity(skew_flow(A), max_triples=40**3).n_nodes_used == 80
    assert t_transitivity(random_labels(0, 50), max_triples=1).n_nodes_used == 3
