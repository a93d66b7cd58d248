"""The relation, the loss and the constant that a diagnosis recommends."""

import json

import numpy as np
import pytest

from condrank import diagnose
from labelled import RPS, classes, order, players, random_labels

RNG = np.random.default_rng(0)


def test_a_diagnosis_recommends_the_constant_where_strengths_explain_the_relation():
    strength = RNG.normal(size=30)
    found = diagnose(strength[:, None] - strength)
    assert found.recommended_constant
    assert 'relation="reciprocal", loss="ranking", constant=True' in found.summary()
    angle = RNG.uniform(0, 2 * np.pi, 30)
    cyclic = diagnose(np.sin(angle[:, None] - angle))
    assert cyclic.recommended_relation == "reciprocal"
    assert not cyclic.recommended_constant
    assert "constant" not in cyclic.summary().split("Recommended")[1].splitlines()[0]
    assert not diagnose(np.exp(-np.abs(angle[:, None] - angle))).recommended_constant


@pytest.mark.parametrize(
    ("labels", "relation", "loss"),
    [
        (RPS, "reciprocal", "logistic"),
        (order(10), "reciprocal", "logistic"),
        ((1 + order(10)) / 2, "reciprocal", "logistic"),
        (players(), "reciprocal", "ranking"),
        (classes(12), "symmetric", "ranking"),
        (classes(12) + 0.05 * random_labels(0, 12), "symmetric", "ranking"),
        (random_labels(0, 12), "ordinary", "ranking"),
        (random_labels(0, 12)[:, :5], "ordinary", "ranking"),
        (random_labels(0, 12)[:, :2], "ordinary", "regression"),
        (random_labels(0, 40, hole=0.95), "ordinary", "regression"),
        (np.ones((4, 4)), "symmetric", "regression"),
        (np.full((4, 4), np.nan), "ordinary", "ranking"),
        ([[3.0]], "ordinary", "regression"),
        ([[np.nan]], "ordinary", "ranking"),
        ([[0, 1], [-1, 0]], "reciprocal", "logistic"),
        ([[0, 1], [0, 0]], "reciprocal", "logistic"),
        ([[np.nan, 1], [-1, np.nan]], "reciprocal", "logistic"),
        ([[0, 2], [2, 0]], "symmetric", "regression"),
        ([[0, 1], [0.2, 0]], "ordinary", "regression"),
        (np.where(order(6) > 0, random_labels(1, 6), np.nan), "ordinary", "regression"),
    ],
)
def test_known_relations_get_the_right_recommendation(labels, relation, loss):
    found = diagnose(labels)
    assert (found.recommended_relation, found.recommended_loss) == (relation, loss)
    assert found.reasons
    text = found.summary()
    assert str(found) == text
    assert f'relation="{relation}", loss="{loss}"' in text
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "nan" not in text
    assert "None" not in text
    assert set(found.loss_reasons) <= set(found.reasons)
    json.dumps(found.to_dict(), allow_nan=False)


def test_reasons_distinguish_order_cycles_and_noise():
    s = np.random.default_rng(0).normal(size=30)
    noise = random_labels(0, 30)
    noise = noise - noise.T

    ordered = diagnose(s[:, None] - s[None, :] + 0.1 * noise)
    assert ordered.hodge.cyclic_share < 0.1
    assert any("global order explains" in reason for reason in ordered.reasons)

    cyclic = diagnose(players())
    assert cyclic.parts.scale == "probability"
    assert "centred at ½" in cyclic.summary()
    assert any("cyclic or noise" in reason for reason in cyclic.reasons)

    # Everyone beats the next half of the circle: no order at all, which noise would not manage.
    turn = (np.arange(31)[None, :] - np.arange(31)[:, None]) % 31
    circle = diagnose(np.where(turn == 0, 0.0, np.where(turn <= 15, 1.0, -1.0)))
    assert circle.hodge.gradient_share == pytest.approx(0.0, abs=1e-12)
    assert any("more cyclic than noise" in reason for reason in circle.reasons)

    nothing = diagnose(noise)
    assert any("cyclic or noise" in reason for reason in nothing.reasons)

    crisp = diagnose(order(30))
    assert any("explains most of" in reason for reason in crisp.reasons)


def test_one_direction_is_read_as_reciprocal_only_with_a_reason():
    upper = np.where(
        np.triu(np.ones((9, 9)), 1) > 0, order(9) * np.random.default_rng(0).choice([-1, 1], (9, 9)), np.nan
    )
    signed = diagnose(upper)
    assert signed.read_as_reciprocal
    assert signed.hodge.n_pairs == 36
    assert "No pair" in signed.reasons[0]
    half_of_symmetric = diagnose(np.abs(upper))
    assert half_of_symmetric.hodge is None
    # Most pairs both ways, some one way: the relation is known to be reciprocal, so none is lost.
    some = order(9)
    some[0, 3:6] = np.nan
    mixed = diagnose(some)
    assert mixed.read_as_reciprocal
    assert mixed.triads.n_triads == 84
    assert mixed.triads.n_cyclic == 0


def test_sparse_sample_does_not_mislead_the_loss():
    Y = random_labels(0, 200, hole=0.9)
    assert diagnose(Y).recommended_loss == "ranking"
    found = diagnose(Y, max_nodes=20)
    assert found.rows.edges_per_row < 4
    assert found.recommended_loss == "ranking"
    assert "a larger max_nodes says more" in found.reasons[-1]
