"""Ids that are spelled alike are found among any number of ids, at a bounded cost."""

import numpy as np
import pytest

from condrank.frames.alike import COMPARED, spelled_alike
from condrank.frames.ids import Ids

MANY = {f"node{i}": i for i in range(50_000)}


@pytest.mark.parametrize("text", ["nod49999", "ndoe49999", "nodee49999", "Node49999", "nude49999", "node49999 "])
def test_one_change_is_found_beyond_those_that_are_compared(text):
    assert MANY["node49999"] > COMPARED
    assert "node49999" in spelled_alike(text, MANY)


def test_the_cost_does_not_grow_with_the_number_of_ids():
    class Counted(dict):
        looked = walked = 0

        def __contains__(self, key):
            Counted.looked += 1
            return super().__contains__(key)

        def __iter__(self):
            for key in super().__iter__():
                Counted.walked += 1
                yield key

    spelled_alike("x" * 20, Counted(MANY))
    assert Counted.walked <= COMPARED + 1
    assert Counted.looked < 4000
    assert spelled_alike("x" * 100, MANY) == []


def test_numbers_and_dates_are_compared_as_texts():
    assert Ids(np.arange(100, 200)).advice(np.array([1990])) == "did you mean '190' or '199'?"
    assert Ids(np.array(["a"], dtype=object), "own hint").advice(np.array(["b"])) == "own hint"
    assert Ids(np.array(["ann"], dtype=object)).advice(np.array(["zzz"])) == "ids are like 'ann'"
