"""Plain values: what JSON holds stays, anything else is refused by name."""

import json

import numpy as np
import pytest

from condrank.persistence.plain import check_same, plain


def test_numbers_of_numpy_and_tuples_become_plain():
    value = {"a": np.float32(0.5), "b": (np.int64(3), None, True), "c": np.array([[1.0], [2.0]]), "d": "text"}
    assert plain("settings", value) == {"a": 0.5, "b": [3, None, True], "c": [[1.0], [2.0]], "d": "text"}
    assert json.loads(json.dumps(plain("settings", value))) == plain("settings", value)


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (np.random.RandomState(0), "gamma cannot be saved: it is a RandomState; give a whole number as seed"),
        (max, "gamma cannot be saved: it is a function, and loading a model must run no code"),
        ({1: 2}, "gamma cannot be saved: it is a dict"),
        ([object()], "gamma cannot be saved: it is a object"),
        (1j, "gamma cannot be saved: it is a complex"),
    ],
)
def test_what_json_cannot_hold_is_refused_by_name(value, match):
    with pytest.raises(ValueError, match=match):
        plain("gamma", value)


def test_a_contradiction_is_refused_with_both_values():
    check_same("alpha", 1, 1.0)
    with pytest.raises(ValueError, match=r"alpha is 2, which contradicts the 1\.0 that follows from the rest"):
        check_same("alpha", 2, 1.0)
