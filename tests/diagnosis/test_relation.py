"""Symmetric and skew parts and levels of the labels, against loops over pairs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from condrank.diagnosis import describe_values, diagnose, relation_parts
from labelled import RPS, random_labels, relations


@given(relations)
@settings(max_examples=60, deadline=None)
def test_parts_agree_with_loops_over_pairs(Y):
    parts = relation_parts(Y)
    n = len(Y)
    pairs = [(i, j) for i, j in combinations(range(n), 2) if np.isfinite(Y[i, j]) and np.isfinite(Y[j, i])]
    assert parts.n_pairs == len(pairs)
    if not pairs:
        assert (parts.mean, parts.skew_share, parts.symmetric_share) == (None, None, None)
        return
    mean = np.mean([(Y[i, j] + Y[j, i]) / 2 - parts.offset for i, j in pairs])
    assert parts.mean == pytest.approx(mean, abs=1e-12)
    assert parts.constant == pytest.approx(2 * len(pairs) * mean**2, abs=1e-12)
    assert parts.skew == pytest.approx(sum((Y[i, j] - Y[j, i]) ** 2 / 2 for i, j in pairs), abs=1e-12)
    energy = sum((Y[i, j] - parts.offset) ** 2 + (Y[j, i] - parts.offset) ** 2 for i, j in pairs)
    assert parts.constant + parts.symmetric + parts.skew == pytest.approx(energy, abs=1e-12)


def test_probability_scale_is_centred_at_one_half():
    P = (1 + random_labels(0, 6, levels=(-1, 1))) / 2
    P = np.triu(P, 1) + np.tril(1 - P.T, -1)
    for diagonal in (0.5, 0.0, np.nan):
        np.fill_diagonal(P, diagonal)
        parts = relation_parts(P)
        assert (parts.scale, parts.offset) == ("probability", 0.5)
        assert parts.skew_energy_share == pytest.approx(1.0)
    assert relation_parts(2 * P).scale == "as given"
    P[0, 1] = 0.9 if P[1, 0] == 0 else 0.1
    assert relation_parts(P).scale == "as given"


def test_a_mean_far_from_zero_is_not_taken_for_symmetry():
    # Labels far from zero: nearly all energy is constant, yet the variation is skew.
    Y = 100 + (lambda A: A - A.T)(random_labels(1, 8))
    parts = relation_parts(Y)
    assert parts.skew_share == pytest.approx(1.0)
    assert parts.skew_energy_share < 0.01
    found = diagnose(Y)
    assert found.recommended_relation == "reciprocal"
    assert "mean 100" in found.reasons[0]


@pytest.mark.parametrize(
    ("labels", "kind", "levels"),
    [
        ([[0, 1], [1, 0]], "constant", (1.0,)),  # zeros on the diagonal are loops
        (RPS, "crisp", (-1.0, 1.0)),
        ([[np.nan, 0.1 + 0.2], [0.3, np.nan]], "constant", (0.3,)),
        ([[np.nan, 0.0], [-0.0, np.nan]], "constant", (0.0,)),
        (np.arange(9.0).reshape(3, 3), "graded", (1.0, 2.0, 3.0, 5.0, 6.0, 7.0)),
        (np.arange(16.0).reshape(4, 4), "valued", ()),
        (np.full((3, 3), np.nan), "none", ()),
        ([[7.0]], "constant", (7.0,)),
        ([[np.nan, 1e-300], [0, np.nan]], "crisp", (0.0, 1e-300)),
    ],
)
def test_labels_have_their_kind_and_levels(labels, kind, levels):
    values = describe_values(np.array(labels, dtype=float))
    assert (values.kind, values.levels) == (kind, levels)


def test_averages_of_duplicates_do_not_count_as_levels():
    Y = random_labels(0, 20, levels=(-1, 0, 1))
    Y[0, 1:16] = np.linspace(-0.9, 0.9, 15)
    assert describe_values(Y).kind == "valued"
    values = describe_values(Y, n_duplicates=15)
    assert (values.kind, values.levels) == ("crisp", (-1.0, 0.0, 1.0))
