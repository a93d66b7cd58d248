"""The relation, the loss and the constant that a diagnosis recommends."""

import numpy as np

from condrank import diagnose

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
