"""What can be saved and what cannot."""

import datetime

import numpy as np
import pytest

from condrank import ConditionalRanker, RelationGraph

RNG = np.random.default_rng(0)


N, D = 30, 4


X = RNG.normal(size=(N, D))


LABELS = np.arange(N) % 3


from_classes = RelationGraph.from_classes


def test_ids_and_generators_that_cannot_be_saved_are_refused_with_advice(tmp_path):
    dates = np.array([datetime.date(2020, 1, 1 + day) for day in range(N)], dtype=object)
    with pytest.raises(ValueError, match=r"numpy\.datetime64"):
        ConditionalRanker().fit(from_classes(X, LABELS, ids=dates)).save(tmp_path / "ranker")
    with pytest.raises(ValueError, match=r"random_state cannot be saved.*seed"):
        ConditionalRanker(random_state=np.random.RandomState(0)).fit(from_classes(X, LABELS)).save(tmp_path / "ranker")
