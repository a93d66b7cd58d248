"""Names of objects in an index."""

import itertools

import numpy as np

from condrank.index.names import Names


def test_names_grow_without_a_copy_each_time_and_older_ones_stay():
    names = Names(np.array(["a", "b"]), np.zeros(0, dtype=np.intp))
    seen = []
    for number in range(200):
        names.add(names.check_new([f"name {number}"], 1))
        seen.append(names.ids)
    assert names.ids.tolist() == ["a", "b", *(f"name {number}" for number in range(200))]
    for number, before in enumerate(seen):
        assert before.tolist() == names.ids.tolist()[: number + 3]
    assert sum(not np.shares_memory(one, other) for one, other in itertools.pairwise(seen)) < 20
